"""`make mutants`: removes each guard in a copy of the tree and asks the tests whether they notice.

The exit code is 1 when a guard can be removed unnoticed, when a mutant's text is no longer in the
product, or when its tests fail without it. With `--prove` also when a mutant of a slow layer is noticed
by a quicker one: then it says nothing for the slow one.
"""

from __future__ import annotations

import argparse
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest
from rich.console import Console
from rich.table import Table

from tests.effort import draw_base_seed
from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import Layer, Mutant
from tests.mutants.noticed import last_noticed, remember
from trident.local.postgres import LocalPostgres

ROOT = Path(__file__).parents[2]
_AT_ONCE = 2
_ONLY_LONG = "integration_tests/test_chaos.py"
_LEFT_OUT = (
    ".git",
    ".venv",
    ".venv-newest",
    "build",
    "dist",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    "__pycache__",
    ".hypothesis",
)
# of the summary: a line of a captured log has more blanks behind its level
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)
_NOT_FOUND = re.compile(r"^ERROR: not found: (?:.*/)?((?:tests|integration_tests)/.+)$", re.MULTILINE)
_SECONDS = 900
_QUICK = (
    "tests/coordinators", "tests/ledger", "tests/cli", "tests/hazards", "tests/dsl", "tests/state",
    "integration_tests/ledger", "integration_tests/state",
)  # fmt: skip
_SEARCHES = {Layer.EXPLORATION: "tests/simulation/test_exploration.py", Layer.SIMULATION: "tests/simulation"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which test noticed, none if nobody did."""

    mutant: Mutant
    killer: str | None
    seconds: float


@contextmanager
def copy_of_the_tree() -> Iterator[Path]:
    """Yield a folder with the product and its tests, links as links."""
    with tempfile.TemporaryDirectory(prefix="trident-mutants-") as folder:
        target = Path(folder) / "tree"
        shutil.copytree(ROOT, target, symlinks=True, ignore=shutil.ignore_patterns(*_LEFT_OUT))
        yield target


def judge(mutant: Mutant, tree: Path, dsn: str, noticed: str | None = None, unsound: Collection[str] = ()) -> Verdict:
    """Remove the guard, run its tests until one fails, and put the guard back.

    `noticed` is asked before all others, `unsound` tests, which fail without a mutant, not at all.
    """
    started = time.monotonic()
    text = mutant.apply(tree)
    try:
        killer = first_failure(tree, (noticed,), dsn) if noticed else None
        is_new = killer is None or "::" not in killer  # a slow test is slow without a mutant, too
        killer = killer or first_failure(tree, mutant.killers, dsn, unsound=unsound)
    finally:
        (tree / mutant.file).write_text(text)
    if is_new and killer is not None:
        asked = (killer,) if "::" in killer else tuple(filter(None, (noticed, *mutant.killers)))
        require_unprovoked(tree, asked, dsn, unsound)
    return Verdict(mutant, killer, time.monotonic() - started)


def require_unprovoked(tree: Path, tests: Sequence[str], dsn: str, unsound: Collection[str] = ()) -> None:
    """Raise SystemExit for a test that fails, or has no end, although no guard is gone: it can judge nothing."""
    if failed := first_failure(tree, tests, dsn, unsound=unsound):
        raise SystemExit(f"{failed} fails without any mutant; nothing can be judged by it")


def first_failure(
    tree: Path, killers: Sequence[str], dsn: str, seconds: float | None = _SECONDS, *, unsound: Collection[str] = ()
) -> str | None:
    """Return the first test that fails, or that none ends; None when all pass; raises when pytest itself fails."""
    asked = [killer for killer in killers if not is_among(unsound, killer)]
    left_out = [f"--deselect={test}" if "::" in test else f"--ignore={test}" for test in sorted(unsound)]
    try:
        return next(iter(failures(tree, asked, dsn, seconds, "-x", *left_out)), None) if asked else None
    except subprocess.TimeoutExpired:
        return f"no end within {seconds} s"


def failures(tree: Path, killers: Sequence[str], dsn: str, seconds: float | None = None, *options: str) -> list[str]:
    """Return the tests that fail; raises when pytest itself fails, or has not ended in time."""
    words = [sys.executable, "-B", "-m", "pytest", *options, "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    words += ["--base-seed=0", "--every-case", f"--pg-dsn={dsn}"]
    if any(killer.startswith(_ONLY_LONG) for killer in killers):
        words.append("--effort=verify")
    elif all("::" in killer for killer in killers):
        words.append("--long-too")  # a test that is named is played, though it has no short form
    answer = subprocess.run([*words, *killers], cwd=tree, capture_output=True, text=True, check=False, timeout=seconds)
    if answer.returncode in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):  # nobody is left who could notice
        return []
    gone = set(_NOT_FOUND.findall(answer.stdout + answer.stderr))
    if answer.returncode == pytest.ExitCode.USAGE_ERROR and gone:  # a test that had noticed has another name by now
        left = [killer for killer in killers if killer not in gone]
        return failures(tree, left, dsn, seconds, *options) if left and len(left) < len(killers) else []
    failed = _FAILED.findall(answer.stdout)
    if not failed:
        raise RuntimeError(f"pytest ended with {answer.returncode}:\n{answer.stdout[-2000:]}\n{answer.stderr[-2000:]}")
    return failed


def judge_all(mutants: Sequence[Mutant], dsn: str, console: Console) -> list[Verdict]:
    """Judge all mutants, some at once, each of these in a copy of its own."""
    with ExitStack() as stack:
        trees = [stack.enter_context(copy_of_the_tree()) for _ in range(_AT_ONCE)]
        before = last_noticed(mutants)
        unsound = failing(before.values(), trees, dsn, console)
        noticed = {guard: test for guard, test in before.items() if not is_among(unsound, test)}
        free: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for each in trees:
            free.put(each)

        def judge_one(mutant: Mutant) -> Verdict:
            tree = free.get()
            try:
                verdict = judge(mutant, tree, dsn, noticed.get(mutant.guard), unsound)
            finally:
                free.put(tree)
            console.print(f"{verdict.seconds:6.1f} s  {'killed' if verdict.killer else 'SURVIVED'}  {mutant.guard}")
            return verdict

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(judge_one, mutants))


def failing(noticed: Collection[str], trees: Sequence[Path], dsn: str, console: Console) -> set[str]:
    """Return which of the tests that have noticed fail though no guard is gone, and files that can't be collected.

    They are printed; nothing is judged by them, but by all the other tests that a mutant names.
    """
    tests = sorted({test for test in noticed if not test.startswith(_ONLY_LONG)})
    files = {file: number for number, file in enumerate(sorted({test.partition("::")[0] for test in tests}))}
    shares = [[test for test in tests if files[test.partition("::")[0]] % len(trees) == n] for n in range(len(trees))]
    long = sorted(set(noticed) - set(tests))  # minutes each, and run with another effort
    with ThreadPoolExecutor(len(trees)) as pool:
        parts = [(tree, share) for tree, share in zip([*trees, trees[0]], [*shares, long], strict=True) if share]
        failed = {test for found in pool.map(lambda part: _failing(part[0], part[1], dsn), parts) for test in found}
    for test in sorted(failed):
        console.print(f"{test} fails without any mutant; nothing is judged by it")
    return failed


def _failing(tree: Path, tests: Sequence[str], dsn: str) -> set[str]:
    """Return the tests that fail; where a file can't be collected pytest plays none, so the others are asked again."""
    failed: set[str] = set()
    left = list(tests)
    while left:
        found = failures(tree, left, dsn)
        failed |= set(found)
        files = {each for each in found if "::" not in each} & {test.partition("::")[0] for test in left}
        left = [test for test in left if not is_among(files, test)] if files else []
    return failed


def is_among(unsound: Collection[str], test: str) -> bool:
    """Tell whether a test fails without a mutant, or is of a file that does; a name is printed up to a ' - ' in it."""
    return any(test == each or test.startswith((f"{each} - ", f"{each}::")) for each in unsound)


def quicker(layer: Layer) -> tuple[str, ...]:
    """Return the tests of all layers before one."""
    before = list(Layer)[: list(Layer).index(layer)]
    searches = [_SEARCHES[each] for each in before if each in _SEARCHES]
    matrix = ["integration_tests/crash_matrix"] if Layer.MATRIX in before else []
    return (*_QUICK, *searches, *matrix) if before else ()


def prove(mutants: Sequence[Mutant], dsn: str, console: Console) -> int:
    """Run the quicker layers against every mutant of a slow one; returns how many are noticed there already."""
    noticed = 0
    with copy_of_the_tree() as tree:
        for mutant in mutants:
            if mutant.layer is Layer.TESTS:
                continue
            text = mutant.apply(tree)
            try:
                sooner = first_failure(tree, quicker(mutant.layer), dsn, None)
            finally:
                (tree / mutant.file).write_text(text)
            noticed += sooner is not None
            console.print(f"{mutant.layer}: {mutant.guard}: {f'noticed by {sooner}' if sooner else 'nothing sooner'}")
    return noticed


def plain_console(file: IO[str] | None = None) -> Console:
    """Return where verdicts are printed; a test's id such as `test_a[/b]` is no markup."""
    return Console(width=160, markup=False, emoji=False, file=file)


def show(verdicts: Sequence[Verdict], console: Console) -> None:
    """Print the verdict table, and what each layer notices that no quicker one does."""
    table = Table("guard that was removed", "in", "layer", "noticed by")
    for verdict in verdicts:
        mutant = verdict.mutant
        killer = verdict.killer.split("::")[-1] if verdict.killer else "NOBODY"
        table.add_row(mutant.guard, mutant.file, mutant.layer, killer, style=None if verdict.killer else "bold red")
    console.print(table)
    removed = Counter(verdict.mutant.layer for verdict in verdicts)
    noticed = Counter(verdict.mutant.layer for verdict in verdicts if verdict.killer)
    for layer in Layer:
        if removed[layer]:
            console.print(f"{layer}: {removed[layer]} removed, {noticed[layer]} noticed")


def drawn(mutants: Sequence[Mutant], count: int, seed: int | None, console: Console) -> list[Mutant]:
    """Draw so many; those that only chaos notices take minutes each, and are left to a run of all."""
    seed = draw_base_seed() if seed is None else seed
    quick = [mutant for mutant in mutants if mutant.layer is not Layer.CHAOS]
    chosen = random.Random(seed).sample(quick, min(count, len(quick)))
    console.print(f"{len(chosen)} of {len(mutants)} mutants, drawn with --seed {seed}")
    return chosen


def main() -> int:
    """Judge the mutants whose guard contains the given word, or some that are drawn, or all; returns the exit code."""
    parser = argparse.ArgumentParser(description="Removes guards one at a time and asks the tests")
    parser.add_argument("--guard", default="", help="only guards whose text contains this")
    parser.add_argument("--drawn", type=int, help="only so many, drawn")
    parser.add_argument("--seed", type=int, help="draw as an earlier run did; fresh without it")
    parser.add_argument("--remember", action="store_true", help="keep which test noticed, for the next run")
    parser.add_argument("--prove", action="store_true", help="do the quicker layers miss those of the slow ones?")
    arguments = parser.parse_args()
    mutants = [mutant for mutant in MUTANTS if arguments.guard in mutant.guard]
    console = plain_console()
    if arguments.drawn is not None:
        mutants = drawn(mutants, arguments.drawn, arguments.seed, console)
    with LocalPostgres(durable=False) as server:
        if arguments.prove:
            return 1 if prove(mutants, server.dsn, console) else 0
        verdicts = judge_all(mutants, server.dsn, console)
    if arguments.remember:
        remember({each.mutant.guard: each.killer for each in verdicts if each.killer and "::" in each.killer}, MUTANTS)
    show(verdicts, console)
    survivors = [verdict for verdict in verdicts if verdict.killer is None]
    console.print(
        f"{len(verdicts)} guards removed, {len(verdicts) - len(survivors)} noticed, {len(survivors)} survived"
    )
    return 1 if survivors or not verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
