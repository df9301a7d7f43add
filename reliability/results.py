"""Outcomes in a file, one JSON object a line: a study of hours goes on where it was broken off; it is drawn from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from reliability.cases import Case, Fault, Outcome
from trident import Level


def add(file: Path, outcome: Outcome) -> None:
    """Append an outcome."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(asdict(outcome)) + "\n")


def read(file: Path) -> dict[Case, Outcome]:
    """Return what a file holds, by run; the last one of each."""
    return {outcome.case: outcome for outcome in _read(file)} if file.exists() else {}


def _read(file: Path) -> Iterator[Outcome]:
    for line in file.read_text("utf-8").splitlines():
        values = json.loads(line)
        of = values.pop("case")
        yield Outcome(Case(Level(of["level"]), Fault(of["fault"]), of["faults"], of["numbers"]), **values)
