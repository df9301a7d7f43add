"""Outcomes in a file, one JSON object a line: a study of hours goes on where it was broken off; it is drawn from it.

Each line names the commit of the tree that was tried: what another one has done says nothing of this one.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from reliability.cases import Case, Fault, Outcome
from trident import Level


def commit_of(root: Path) -> str:
    """Return the commit that is checked out, and where the tree holds more a hash of that; empty without git."""
    changes = _git(root, "diff", "HEAD")
    more = f"+{hashlib.blake2b(changes.encode(), digest_size=4).hexdigest()}" if changes else ""
    return _git(root, "describe", "--always", "--abbrev=9", "--exclude=*").strip() + more


def _git(root: Path, *words: str) -> str:
    command = ["git", *words]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout  # noqa: S603 - the user's own git


def add(file: Path, outcome: Outcome, commit: str) -> None:
    """Append an outcome of a commit."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps({"commit": commit, **asdict(outcome)}) + "\n")


def read(file: Path, commit: str | None = None) -> dict[Case, Outcome]:
    """Return what a file holds, by run; the last one of each, of one commit where it is named."""
    found = _read(file) if file.exists() else ()
    return {outcome.case: outcome for of, outcome in found if commit in (None, of)}


def commits(file: Path) -> list[str]:
    """Return the commits of which a file has outcomes."""
    return sorted({commit for commit, _ in _read(file)}) if file.exists() else []


def _read(file: Path) -> Iterator[tuple[str, Outcome]]:
    for line in file.read_text("utf-8").splitlines():
        values = json.loads(line)
        of = values.pop("case")
        commit = values.pop("commit")
        yield commit, Outcome(Case(Level(of["level"]), Fault(of["fault"]), of["faults"], of["numbers"]), **values)
