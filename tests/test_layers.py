"""Arrows point down only: trident (top) -> coordinators -> spouts, state -> trident.base."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BELOW = {
    "trident.base": {"trident.base"},
    "trident.spouts": {"trident.base", "trident.spouts"},
    "trident.state": {"trident.base", "trident.state"},
    "trident.coordinators": {"trident.base", "trident.spouts", "trident.state", "trident.coordinators"},
}
"""What each layer may import of this project.

Spouts and states know nothing of each other: the words that they share are in `trident.base`."""
FOLDERS = {
    "trident.base": "base",
    "trident.spouts": "spouts",
    "trident.state": "state",
    "trident.coordinators": "coordinators",
}
PURE = {
    "__future__",
    "bisect",
    "collections",
    "dataclasses",
    "datetime",
    "enum",
    "functools",
    "itertools",
    "types",
    "typing",
    "trident",
}
"""What the pure protocol may import: no engine, no client, no clock, no thread, no log."""


def imports(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            names.add(str(node.module))
            names.update(f"{node.module}.{alias.name}" for alias in node.names if node.module == "trident")
    return names


def runtime_imports(file: Path) -> set[str]:
    """As `imports`, without those that are made for the type checker only."""
    tree = ast.parse(file.read_text())
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                setattr(node, name, [each for each in value if not _is_for_types(each)])
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module))
    return names


def _is_for_types(node: object) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def layer_of(name: str) -> str:
    return next((layer for layer in BELOW if name == layer or name.startswith(layer + ".")), "trident")


@pytest.mark.parametrize("layer", list(BELOW))
def test_arrows_point_down(layer: str) -> None:
    files = sorted((ROOT / FOLDERS[layer]).rglob("*.py"))
    assert files
    upwards = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in files
        for name in sorted(imports(file))
        if name.startswith("trident.") and layer_of(name) not in BELOW[layer]
    ]
    assert not upwards


UPPER = ("operations", "graph", "engine", "managing", "doctor", "language", "cli")
"""The floors inside `trident/`, the lowest first.

Operations know how one step is lowered; the graph holds them and knows no Spark; the engine runs graphs; managing
starts runs and decisions; the doctor looks at what they stand on; the language, which users write, builds graphs and
hands them down.
"""


@pytest.mark.parametrize("floor", UPPER)
def test_arrows_point_down_inside_the_package(floor: str) -> None:
    above = {f"trident.{name}" for name in UPPER[UPPER.index(floor) + 1 :]}
    files = sorted((ROOT / "trident" / floor).rglob("*.py"))
    assert files
    upwards = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in files
        for name in sorted(runtime_imports(file))
        if ".".join(name.split(".")[:2]) in above
    ]
    assert not upwards


def test_the_engine_knows_nothing_of_the_language() -> None:
    """Not even its types: graphs are what they have in common."""
    files = sorted((ROOT / "trident" / "engine").rglob("*.py"))
    assert not [file.name for file in files for name in imports(file) if name.startswith("trident.language")]


@pytest.mark.parametrize("layer", list(BELOW))
def test_packages_are_imported_by_their_public_name(layer: str) -> None:
    top_level = {"base", "spouts", "state", "coordinators"}
    found = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in sorted((ROOT / FOLDERS[layer]).rglob("*.py"))
        for name in imports(file)
        if name.split(".")[0] in top_level
    ]
    assert not found


def test_the_protocol_does_no_io() -> None:
    seen: set[str] = set()
    todo = ["trident.coordinators.protocol.step"]
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        file = file_of(name)
        if file is None:
            continue
        foreign = {each for each in imports(file) if each.split(".")[0] not in PURE}
        # records of other layers come along by name; what they import in turn is their own affair
        assert not foreign, f"{file} imports {sorted(foreign)}"
        todo += [each for each in imports(file) if each.startswith("trident.coordinators.")]


def test_the_loop_knows_no_thread_clock_queue_or_store() -> None:
    """What decides in production decides in the simulation too, so all of it comes in as values."""
    foreign = {"threading", "queue", "time", "concurrent", "secrets"}
    foreign |= {"tenacity", "sqlalchemy", "psycopg", "confluent_kafka"}
    seen: set[str] = set()
    todo = ["trident.coordinators.batches.loop"]
    while todo:
        name = todo.pop()
        file = file_of(name)
        if name in seen or file is None:
            continue
        seen.add(name)
        found = imports(file)
        assert not {each.split(".")[0] for each in found} & foreign, f"{file} imports {sorted(found)}"
        assert "trident.base.clock" not in found, f"{file} asks for the time itself"
        todo += [each for each in found if each.startswith("trident.coordinators.")]
    for name in ("loop", "flight", "requests"):
        assert f"trident.coordinators.batches.{name}" in seen
        assert "random" not in imports(ROOT / "coordinators" / "batches" / f"{name}.py")
    outside = ("trident.coordinators.ledger", "trident.coordinators.retrying", "trident.coordinators.batches.work")
    assert not [name for name in seen if name.startswith(outside)]


def test_the_memory_ledger_knows_no_sql() -> None:
    """Both ledgers stand on the same rules; neither on the other."""
    found = {
        f"{file.name} imports {name}"
        for room, other in (("memory", "sql"), ("sql", "memory"), ("rules", "sql"), ("rules", "memory"))
        for file in (ROOT / "coordinators" / "ledger" / room).glob("*.py")
        for name in imports(file)
        if name.startswith(f"trident.coordinators.ledger.{other}.") or ("sqlalchemy" in name and room != "sql")
    }
    assert found == set()


def file_of(name: str) -> Path | None:
    parts = name.split(".")[1:]
    file = ROOT.joinpath(*parts).with_suffix(".py")
    return file if file.exists() else None


def test_top_folders_are_linked_into_the_package() -> None:
    for name in ("base", "spouts", "state", "coordinators"):
        link = ROOT / "trident" / name
        assert link.is_symlink()
        assert link.readlink() == Path("..", name)


def test_nothing_imports_the_local_services() -> None:
    files = [file for folder in FOLDERS.values() for file in (ROOT / folder).rglob("*.py")]
    files += [file for folder in UPPER for file in (ROOT / "trident" / folder).rglob("*.py")]
    users = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in files
        for name in imports(file)
        if name.startswith(("trident.local", "trident.testing"))
    ]
    assert users == [
        "trident/doctor/versions.py imports trident.local.java",  # which says what Java there is
        "trident/cli/loading.py imports trident.local.session",  # for a topology that needs one
    ]


SPARK_FREE = (
    "trident.coordinators.holding.run",
    "trident.coordinators.decisions.commands",
    "trident.managing.deciding",
    "trident.coordinators.ledger",
    "trident.coordinators.ledger.view",
    "trident.state.postgres.state",
    "trident.spouts.base",
    "trident.spouts.queue.http.spout",
    "trident.spouts.queue.kafka.spout",
    "trident.spouts.queue.rabbitmq.spout",
    "trident.spouts.queue.redis.spout",
    "trident.graph.jobs",
    "trident.cli.app",
)


@pytest.mark.parametrize("module", SPARK_FREE)
def test_needs_no_spark(module: str) -> None:
    """In a process of its own; a coordinator, a ledger or `trident status` never loads Spark."""
    code = f"import sys, {module}; print([name for name in sys.modules if name.split('.')[0] in ('pyspark', 'py4j')])"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "[]"
