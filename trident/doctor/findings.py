"""What an examination says: one line for each thing that was looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    """Nothing is held up by it now, or it can't be told."""
    PROBLEM = "problem"
    """The topology can't run, waits, or would stop."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was found, what it means for the data, and what to do next."""

    level: Level
    about: str
    found: str
    means: str = ""
    next: str = ""

    @property
    def is_problem(self) -> bool:
        """Whether something is to be done."""
        return self.level is Level.PROBLEM

    def record(self) -> dict[str, str]:
        """Return it as it can be written as JSON."""
        return {
            "level": self.level.value,
            "about": self.about,
            "found": self.found,
            "means": self.means,
            "next": self.next,
        }

    def __str__(self) -> str:
        said = [part.strip().rstrip(".") for part in (self.found, self.means, self.next) if part]
        return f"{self.level.value:<8} {self.about}: {'. '.join(said)}"


Look = Callable[[], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Check:
    """One look, and the place that has to answer for it: where that is away, nothing more is asked of it."""

    about: str
    look: Look
    place: str = ""
    opens: bool = False
    """Whether it is the look that tells if the place answers."""


def ok(about: str, found: str) -> Finding:
    """Return a finding that nothing follows from."""
    return Finding(Level.OK, about, found)


def warning(about: str, found: str, means: str, next_: str) -> Finding:
    """Return a finding that holds nothing up now."""
    return Finding(Level.WARNING, about, found, means, next_)


def problem(about: str, found: str, means: str, next_: str) -> Finding:
    """Return a finding about which something is to be done."""
    return Finding(Level.PROBLEM, about, found, means, next_)


def span(seconds: float) -> str:
    """Return a length of time as a person says it."""
    for size, word in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {word}"
    return f"{seconds:.0f} s"
