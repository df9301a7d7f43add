"""What the documents say is there is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(path for path in (ROOT / "docs").rglob("*.md"))
_TEST = re.compile(r"`((?:tests|integration_tests|trident/testing)/[\w/]+\.py)(?:::(?:(\w+)::)?(\w+))?`")
_MODULE = re.compile(r"`([\w/]+\.py)`")
_ROOMS = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith((".", "build"))}
_OF_USERS = {"payments.py", "jobs/payments.py", "send.py"}
_LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_test_that_a_document_names_exists(document: Path) -> None:
    missing = []
    for file, _, test in _TEST.findall(document.read_text()):
        path = ROOT / file
        if not path.exists() or (test and f"def {test}(" not in path.read_text()):
            missing.append(f"{file}::{test}")
    assert not missing


@pytest.mark.parametrize("document", [*DOCUMENTS, *ROOT.glob("*.md")], ids=lambda path: path.name)
def test_every_module_that_a_document_names_is_there(document: Path) -> None:
    """By its path from the root or the package, or by its name alone."""
    every = {path.relative_to(ROOT).as_posix() for room in _ROOMS for path in (ROOT / room).rglob("*.py")}
    every |= {path.removeprefix("trident/") for path in every}
    names = {path.rsplit("/", 1)[-1] for path in every}
    missing = [
        named
        for named in _MODULE.findall(document.read_text())
        if named not in (every if "/" in named else names)
        and named not in _OF_USERS
        and not any(path.endswith("/" + named) for path in every)
    ]
    assert not missing


@pytest.mark.parametrize("document", [*DOCUMENTS, *ROOT.glob("*.md")], ids=lambda path: path.name)
def test_every_file_that_a_document_links_to_exists(document: Path) -> None:
    links = [link for link in _LINK.findall(document.read_text()) if not (document.parent / link).exists()]
    assert not links


@pytest.mark.parametrize("document", [*DOCUMENTS, *ROOT.glob("*.md")], ids=lambda path: path.name)
def test_every_row_of_a_table_has_a_head(document: Path) -> None:
    """A blank line between two rows ends a table: what follows is shown as plain text."""
    lines = ["", *document.read_text().splitlines(), ""]
    rows = zip(lines, lines[1:], lines[2:], strict=False)
    heads = [(line, below) for above, line, below in rows if line.startswith("|") and not above.startswith("|")]
    assert not [line for line, below in heads if not re.fullmatch(r"\|(\s*:?-+:?\s*\|)+", below)]


def test_the_guarantees_name_their_tests() -> None:
    head = "| … | what happens | shown by |"
    rows = [line for line in (ROOT / "docs/guarantees.md").read_text().splitlines() if line.startswith("| ")]
    faults = [row for row in rows[rows.index(head) :] if row != head]
    nameless = [row for row in faults if "`" not in row.split("|")[3] and "the same" not in row.split("|")[3]]
    assert len(faults) > 20
    assert not nameless
