"""What an attempt will read: its plan, and the offsets that it skips."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from trident.base.digest import Digest
from trident.base.ranges import OffsetRange, PartitionId


@dataclass(frozen=True, slots=True)
class SpoutRange:
    """What an attempt will read of one partition of one spout."""

    spout: str
    range: OffsetRange


@dataclass(frozen=True, slots=True)
class Loss:
    """Offsets that were gone before they could be read, skipped by the plan of that attempt."""

    spout: str
    id: PartitionId
    start: int
    stop: int
    reason: str


@dataclass(frozen=True, slots=True)
class ReceivedIds:
    """What an attempt will process of a spout without positions: the messages that it has received, by id."""

    spout: str
    ids: tuple[str, ...]
    digest: Digest
    """Of the ids, as whoever read the messages again must find it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one attempt will read: a range for every partition ever seen, of every spout that has positions.

    `predecessor` is the attempt at txid - 1 that the ranges follow on (0 for an incarnation's
    first txid). `batch_time` is the only time that user code may see.
    """

    txid: int
    attempt: int
    tries: int
    predecessor: int
    batch_time: datetime
    ranges: tuple[SpoutRange, ...]
    losses: tuple[Loss, ...] = ()
    timers: tuple[str, ...] = ()
    """The names of what is due although nothing may have been read."""
    received: tuple[ReceivedIds, ...] = ()
    """What was received of spouts without positions, which have no ranges."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do: no record in any range, no message received, no timer due."""
        has_records = any(item.range.width for item in self.ranges) or any(item.ids for item in self.received)
        return not has_records and not self.timers
