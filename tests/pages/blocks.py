"""The fenced blocks of README.md and docs/, and what becomes of each: compiled, parsed, or left out for a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Final

ROOT: Final = Path(__file__).parents[2]
COMPILED: Final = ("python", "sql")
"""Languages whose blocks are run where a test says so; those of Python compile, in any case."""
PARSED: Final = ("sh",)
"""Languages whose lines `tests/pages/shell.py` holds to the programs that they name."""
NOT_RUN: Final = {
    "mermaid": "a picture; those of docs/design.md are compared with the code by tests/test_house.py and others",
    "text": "what a program prints, or a picture",
}
"""Languages that nothing runs, and why."""
_FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a page."""

    page: str
    language: str
    text: str
    line: int
    """Of its first line in the page, from 1."""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    def compiled(self) -> CodeType:
        """Return a block of Python as code whose errors name the page and its line."""
        return compile("\n" * (self.line - 1) + self.text, self.page, "exec", dont_inherit=True)


def pages() -> list[str]:
    """Return the pages for users, as paths in the repository."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path.relative_to(ROOT).as_posix() for path in found]


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page in their order."""
    return list(blocks_in(page, (ROOT / page).read_text()))


def blocks_in(page: str, text: str) -> Iterator[Block]:
    """Yield the blocks of a text."""
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start(2)) + 1
        yield Block(page, found[1], found[2], line)


def every_block() -> list[Block]:
    """Return the blocks of all pages."""
    return [block for page in pages() for block in blocks_of(page)]
