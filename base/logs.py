"""Whether a log is still the one that was read: an offset alone can't tell, a cut log grows over it again.

A log has leader epochs: each time that a partition gets a leader its number is raised, and one leader only
appends. So a log that held everything up to an offset while it was in an epoch is still that log exactly as
long as its part up to that epoch reaches that offset. Compaction and retention do not change this; where the
source gives no epochs nothing can be proven.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trident.base.ranges import OffsetRange, PartitionBounds, PartitionId


@dataclass(frozen=True, slots=True)
class EpochEnd:
    """What a log says when it is asked for an epoch: the latest one it has up to that, and where this one ends."""

    epoch: int
    end: int


@dataclass(frozen=True, slots=True)
class LogCut:
    """A log that is not what was read, or planned: it was cut at `end` since, and may have grown again."""

    range: OffsetRange
    end: int


def cut_of(known: OffsetRange, answer: EpochEnd) -> LogCut | None:
    """Return what of a log was cut since it held all up to the range's stop; None if it still has that."""
    return LogCut(known, answer.end) if answer.end < known.stop else None


def unproven(known: Iterable[OffsetRange], bounds: Mapping[PartitionId, PartitionBounds]) -> tuple[OffsetRange, ...]:
    """Return the ranges of which a log has to be asked: those of another epoch than it is in now.

    One leader only appends, so the epoch in which a range was seen proves it as long as it lasts. What was seen
    without an epoch can't be proven, and where nothing was read nothing can be missing.
    """
    return tuple(item for item in known if _is_asked(item, bounds.get(item.id)))


def _is_asked(known: OffsetRange, bound: PartitionBounds | None) -> bool:
    if bound is None or bound.topic_id != known.topic_id or known.epoch is None or not known.stop:
        return False
    return bound.epoch != known.epoch
