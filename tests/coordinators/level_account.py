"""How much of each record may be in each target of a topology at a weaker level, whatever has happened to it; pure.

Each record has a key of its own, so a target's rows say how often each record was counted there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from trident.base.levels import Level

BATCH = 10
"""How many records are in a batch at most."""
Rows = Mapping[str, int]


def key_of(offset: int) -> str:
    """Return the key of the record at an offset."""
    return f"r{offset:05}"


@dataclass
class LevelAccount:
    """What one topology owes its targets in this incarnation, and what its level lets pass."""

    level: Level
    since: dict[str, int] = field(default_factory=dict)
    """From which record on a target has to have all that is done; also of one that was taken out."""
    before: dict[str, Rows] = field(default_factory=dict)
    """What a target had kept when it began."""
    excused: int = 0
    """At least once: how many batches may be there once more. At most once: how many may be missing."""

    def excuse(self, batches: int = 1) -> None:
        """Hear of a failure that lets so many batches be doubled, or lost."""
        self.excused += batches

    @contextmanager
    def excusing(self, batches: int, *, for_good: bool) -> Iterator[None]:
        """Excuse so many batches, and no longer than this unless it is for good: they are under way."""
        self.excused += batches
        yield
        self.excused -= 0 if for_good else batches

    def born(self, target: str, at: int, rows: Rows) -> None:
        """Let a target begin at a record, with what is in it."""
        self.since[target], self.before[target] = at, dict(rows)

    def check(self, target: str, rows: Rows, done: int) -> None:
        """Hold a target's rows against the records that are done."""
        counted = {key: n - self.before[target].get(key, 0) for key, n in rows.items()}
        assert all(n >= 0 for n in counted.values()), f"{target}: rows are gone that were kept"
        wanted = {key_of(offset) for offset in range(self.since[target], done)}
        twice = Counter({key: n - 1 for key, n in counted.items() if n > 1})
        missing = sorted(wanted - {key for key, n in counted.items() if n > 0})
        if self.level is Level.AT_MOST_ONCE:
            assert not twice, f"{target}: counted twice at most once: {dict(twice)}"
            assert len(missing) <= BATCH * self.excused, (
                f"{target}: {len(missing)} are lost, {self.excused} batches may"
            )
            return
        assert not missing, f"{target}: lost at least once: {missing}"
        doubled = twice.total()
        assert doubled <= BATCH * self.excused, f"{target}: {doubled} are doubled, {self.excused} batches may"
