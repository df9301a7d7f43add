"""`make mutants`: removes each guard in a copy of the tree and asks the tests whether they notice.

The exit code is 1 when a guard can be removed unnoticed, when a mutant's text is no longer in the
product, or when its tests fail without it.
"""

from __future__ import annotations

import argparse
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import Mutant
from trident.local.postgres import LocalPostgres

ROOT = Path(__file__).parents[2]
_AT_ONCE = 2
_LEFT_OUT = (
    ".git",
    ".venv",
    "build",
    "dist",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    "__pycache__",
    ".hypothesis",
)
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_SECONDS = 600


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


def judge(mutant: Mutant, tree: Path, dsn: str) -> Verdict:
    """Remove the guard, run its tests until one fails, and put the guard back."""
    started = time.monotonic()
    text = mutant.apply(tree)
    try:
        killer = first_failure(tree, mutant.killers, dsn)
    finally:
        (tree / mutant.file).write_text(text)
    return Verdict(mutant, killer, time.monotonic() - started)


def first_failure(tree: Path, killers: Sequence[str], dsn: str) -> str | None:
    """Return the name of the first test that fails, None when all pass; raises when pytest itself fails."""
    words = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    server = [f"--pg-dsn={dsn}"] if any(killer.startswith("integration_tests") for killer in killers) else []
    answer = subprocess.run(
        [*words, *server, *killers], cwd=tree, capture_output=True, text=True, check=False, timeout=_SECONDS
    )
    if answer.returncode == 0:
        return None
    failed = _FAILED.search(answer.stdout)
    if failed is None:
        raise RuntimeError(f"pytest ended with {answer.returncode}:\n{answer.stdout[-2000:]}\n{answer.stderr[-2000:]}")
    return failed.group(1)


def judge_all(mutants: Sequence[Mutant], dsn: str, console: Console) -> list[Verdict]:
    """Judge all mutants, some at once, each of these in a copy of its own."""
    free: queue.SimpleQueue[Path] = queue.SimpleQueue()
    with ExitStack() as stack:
        for _ in range(_AT_ONCE):
            free.put(stack.enter_context(copy_of_the_tree()))

        def judge_one(mutant: Mutant) -> Verdict:
            tree = free.get()
            try:
                verdict = judge(mutant, tree, dsn)
            finally:
                free.put(tree)
            console.print(f"{verdict.seconds:6.1f} s  {'killed' if verdict.killer else 'SURVIVED'}  {mutant.guard}")
            return verdict

        needed = sorted({killer for mutant in mutants for killer in mutant.killers})
        tree = free.get()
        unprovoked = first_failure(tree, needed, dsn)
        free.put(tree)
        if unprovoked:
            raise SystemExit(f"{unprovoked} fails without any mutant; nothing can be judged")
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(judge_one, mutants))


def show(verdicts: Sequence[Verdict], console: Console) -> None:
    """Print the verdict table."""
    table = Table("guard that was removed", "in", "noticed by")
    for verdict in verdicts:
        killer = verdict.killer.split("::")[-1] if verdict.killer else "NOBODY"
        table.add_row(verdict.mutant.guard, verdict.mutant.file, killer, style=None if verdict.killer else "bold red")
    console.print(table)


def main() -> int:
    """Judge the mutants whose guard contains the given word, or all; returns the exit code."""
    parser = argparse.ArgumentParser(description="Removes guards one at a time and asks the tests")
    parser.add_argument("--guard", default="", help="only guards whose text contains this")
    word = parser.parse_args().guard
    mutants = [mutant for mutant in MUTANTS if word in mutant.guard]
    console = Console(width=160)
    with LocalPostgres() as server:
        verdicts = judge_all(mutants, server.dsn, console)
    show(verdicts, console)
    survivors = [verdict for verdict in verdicts if verdict.killer is None]
    console.print(
        f"{len(verdicts)} guards removed, {len(verdicts) - len(survivors)} noticed, {len(survivors)} survived"
    )
    return 1 if survivors or not verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
