"""Which test noticed a guard's removal the last time: asked first, so that a run of all goes through no whole files.

It is only an order: where that test is gone, or says nothing any more, all tests that a mutant names are asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.mutants.mutant import Mutant

_FILE: Final = Path(__file__).with_name("noticed.tsv")


def last_noticed(mutants: Sequence[Mutant], file: Path = _FILE) -> dict[str, str]:
    """Return the test of each guard of which one is known that its mutant names, and whose file is there."""
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    known = dict(line.split("\t", 1) for line in lines)
    root = Path(__file__).parents[2]
    return {
        mutant.guard: test
        for mutant in mutants
        if (test := known.get(mutant.guard)) and _is_of(test, mutant) and (root / _file_of(test)).exists()
    }


def remember(found: Mapping[str, str], mutants: Sequence[Mutant], file: Path = _FILE) -> None:
    """Keep what was found beside what was known of guards that there are."""
    known = {**last_noticed(mutants, file), **found}
    lines = [f"{guard}\t{known[guard]}\n" for guard in sorted(known) if guard in {each.guard for each in mutants}]
    file.write_text("".join(lines), "utf-8")


def _file_of(test: str) -> str:
    return test.partition("::")[0]


def _is_of(test: str, mutant: Mutant) -> bool:
    return "::" in test and any(test.startswith(killer) for killer in mutant.killers)
