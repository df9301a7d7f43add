"""The table in `docs/hazards.md` has every row, and each names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "hazards.md").read_text()
FOLDERS = ("tests/hazards", "integration_tests/hazards")
OPEN = {"H5"}
"""Rows about what is not built; whoever builds it replays the row and takes it out here and on the page."""


def rows() -> dict[str, str]:
    return {match[1]: match[0] for match in re.finditer(r"^\| (H\d+) \|.*$", PAGE, re.MULTILINE)}


def known_tests() -> set[str]:
    files = [file for folder in FOLDERS for file in (ROOT / folder).glob("test_*.py")]
    return {name for file in files for name in re.findall(r"^def (test_h\d+\w*)", file.read_text(), re.MULTILINE)}


def test_every_row_names_its_tests_and_they_are_there() -> None:
    assert list(rows()) == [f"H{number}" for number in range(1, 18)]
    for name, row in rows().items():
        named = re.findall(r"`(test_\w+)`", row)
        assert named, f"{name} has no test"
        assert all(test.startswith(f"test_h{int(name[1:]):02}_") for test in named)
        assert set(named) <= known_tests()


def test_what_is_open_is_said_to_be_open_with_its_reason() -> None:
    assert {name for name, row in rows().items() if "**open" in row} == OPEN
    reasons = PAGE.split("## What is open, and why")[1]
    assert all(f"- **{name}.**" in reasons for name in OPEN)
