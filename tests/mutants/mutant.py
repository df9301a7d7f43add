"""One guard removed: a text in one file of the product and what stands there instead."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class PatchError(Exception):
    """The text to be replaced is not there exactly once: the product has changed and the mutant must follow."""


class Layer(StrEnum):
    """Which tests notice, from the quickest to the slowest; a mutant of a later one escapes all before it."""

    TESTS = "tests"
    """Ordinary tests of one thing, with or without a server."""
    EXPLORATION = "exploration"
    """Every order of events of a small world."""
    SIMULATION = "simulation"
    """Drawn worlds in virtual time."""
    MATRIX = "crash matrix"
    """A process that dies at every border."""
    CHAOS = "chaos"
    """Real kills of real servers."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A guard, how it is removed, and the tests that have to notice; `killers` are arguments of pytest."""

    guard: str
    file: str
    before: str
    after: str
    killers: tuple[str, ...]
    layer: Layer = Layer.TESTS

    def apply(self, root: Path) -> str:
        """Remove the guard in the tree below `root`; returns the file's text as it was. Raises PatchError."""
        path = root / self.file
        text = path.read_text()
        if text.count(self.before) != 1:
            raise PatchError(f"{self.guard}: found {text.count(self.before)} times in {self.file}: {self.before!r}")
        path.write_text(text.replace(self.before, self.after))
        return text
