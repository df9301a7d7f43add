"""Habits that keep the tree readable, checked over every file of the product."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("trident", "base", "spouts", "state", "coordinators")
FUNCTION_LINES = 70
MODULE_LINES = 400
MAY_PRINT = ("examples", "benchmarks", "chaos", "manual", "reliability", "trident/local", "trident/cli")
RAISES_THE_FIRST = ("base/closing.py",)
"""Where whatever goes wrong second is logged, because what went wrong first is about to be raised."""
HANDS_IT_ON = ("base/performing.py", "base/watching.py")
"""Where whatever a call raises is brought back to whoever asked for it, or to the interpreter where nobody did."""
OWN_CLOCK = "base/clock.py"
ONE_CLOCK = ("base/", "spouts/", "state/", "coordinators/")
"""Where time is an argument."""
CLOCKS = tuple(f"time.{name}" for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "sleep"))
TASK_CLOCKS = (
    "base/kafka/admin.py",
    "base/kafka/greeting.py",
    "base/kafka/silence.py",
    "spouts/files/folder.py",
    "spouts/kafka/progress.py",
    "spouts/kafka/topics.py",
    "spouts/queue/process/calling.py",
    "spouts/queue/process/child.py",
    "spouts/queue/process/instance.py",
    "spouts/queue/kafka/commits.py",
    "spouts/queue/kafka/member.py",
    "spouts/queue/kafka/others.py",
    "spouts/queue/http/server.py",
    "spouts/queue/kafka/watch.py",
    "spouts/queue/rabbitmq/line.py",
    "spouts/queue/redis/spout.py",
    "spouts/queue/process/writing.py",
    "state/kafka/clients/producing.py",
    "state/kafka/clients/python_cluster.py",
    "state/postgres/looking.py",
    "state/postgres/patience.py",
)
"""Patience with a server or another process: where no coordinator's clock reaches, and while a spout is opened."""
LINKED = tuple(f"trident/{name}/" for name in ("base", "spouts", "state", "coordinators"))


def product_files() -> Iterator[Path]:
    for folder in (*PACKAGES, "examples", "benchmarks", "chaos", "manual", "reliability"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            if not name_of(file).startswith(LINKED):
                yield file


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def nodes(file: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(file.read_text()))


FILES = list(product_files())


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_file_is_tidy(file: Path) -> None:
    assert not list(problems(file))


def problems(file: Path) -> Iterator[str]:
    name = name_of(file)
    lines = file.read_text().count("\n")
    if lines > MODULE_LINES:
        yield f"{name}: {lines} lines"
    for node in nodes(file):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield f"{name}:{node.lineno}: {node.name} has {length} lines"
        elif isinstance(node, ast.ExceptHandler) and catches_all(node) and name not in RAISES_THE_FIRST + HANDS_IT_ON:
            yield f"{name}:{node.lineno}: catches everything and goes on"
        elif isinstance(node, ast.Call):
            yield from calls(name, node)
    yield from own_clocks(name, file)


def own_clocks(name: str, file: Path) -> Iterator[str]:
    """A clock is made only where none was given."""
    every = list(nodes(file))
    given = {
        id(node.values[-1])
        for node in every
        if isinstance(node, ast.BoolOp) and ast.unparse(node) == "clock or SystemClock()"
    }
    for node in every:
        if isinstance(node, ast.Call) and ast.unparse(node) == "SystemClock()" and id(node) not in given:
            yield f"{name}:{node.lineno}: makes its own clock"


def catches_all(handler: ast.ExceptHandler) -> bool:
    """A catch-all is fine only where it raises again at its end: it cleans up, it does not go on."""
    kind = handler.type
    everything = kind is None or (isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException"))
    return everything and not isinstance(handler.body[-1], ast.Raise)


def calls(name: str, node: ast.Call) -> Iterator[str]:
    called = ast.unparse(node.func)
    if called == "print" and not name.startswith(MAY_PRINT):
        yield f"{name}:{node.lineno}: prints"
    if called in ("datetime.now", "datetime.utcnow", "datetime.datetime.now") and name != OWN_CLOCK:
        yield f"{name}:{node.lineno}: reads the clock"
    if called in CLOCKS and name.startswith(ONE_CLOCK) and name not in (OWN_CLOCK, *TASK_CLOCKS):
        yield f"{name}:{node.lineno}: goes round the clock"


def test_the_rules_find_what_they_are_for(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    body = "\n".join(f"    x = {number}" for number in range(FUNCTION_LINES))
    bad.write_text(
        f"def long():\n{body}\nprint(1)\ndatetime.now()\ntry:\n    pass\nexcept Exception:\n    pass\n"
        "try:\n    pass\nexcept BaseException:\n    raise\n"
        "time.perf_counter()\n"
    )
    found = [problem for node in nodes(bad) if isinstance(node, ast.Call) for problem in calls("base/bad.py", node)]
    assert [problem.rsplit(": ", 1)[1] for problem in found] == ["prints", "reads the clock", "goes round the clock"]
    assert all(any(call in (ROOT / name).read_text() for call in CLOCKS) for name in TASK_CLOCKS), "no longer needed"
    bad_clock = tmp_path / "clocks.py"
    bad_clock.write_text(
        "def one(clock=None):\n    return clock or SystemClock()\ndef other():\n    return SystemClock()\n"
    )
    assert list(own_clocks("clocks.py", bad_clock)) == ["clocks.py:4: makes its own clock"]
    handlers = [node for node in nodes(bad) if isinstance(node, ast.ExceptHandler)]
    assert [catches_all(handler) for handler in handlers] == [True, False]
