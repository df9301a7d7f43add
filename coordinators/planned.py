"""What an attempt will read: its plan, and the offsets that it skips."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

from trident.base.digest import Digest, text_digest
from trident.base.ranges import OffsetRange, PartitionId


@dataclass(frozen=True, slots=True)
class SpoutRange:
    """What an attempt will read of one partition of one spout."""

    spout: str
    range: OffsetRange


@dataclass(frozen=True, slots=True)
class StartPosition:
    """Where an incarnation starts to read one partition, resolved to a number once."""

    spout: str
    id: PartitionId
    topic_id: str
    start: int
    epoch: int | None = None
    """A leader epoch in which the log held all up to there."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Offsets that were gone before they could be read, skipped by the plan of that attempt."""

    spout: str
    id: PartitionId
    start: int
    stop: int
    reason: str

    @property
    def count(self) -> int:
        """How many offsets are gone; records were at most as many."""
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class ReceivedIds:
    """Which messages an attempt will process of a spout whose messages have ids, in the order of its positions."""

    spout: str
    ids: tuple[str, ...]
    digest: Digest
    """Of the ids: a row of the ledger that says others is damaged."""
    bodies: tuple[str, ...] = ()
    """For each id the digest that its message came with, empty of one without; none at all where no message has one."""

    def __post_init__(self) -> None:
        """Refuse digests that are not one for each id; of a row that is read, it is damaged."""
        if self.bodies and len(self.bodies) != len(self.ids):
            raise ValueError(f"{len(self.bodies)} digests for {len(self.ids)} ids")

    @classmethod
    def of(cls, spout: str, ids: tuple[str, ...], bodies: tuple[str, ...] = ()) -> Self:
        """Return the word on these ids."""
        return cls(spout, ids, text_digest(ids), bodies if any(bodies) else ())

    @property
    def messages(self) -> Iterable[tuple[str, str]]:
        """Each id with the digest that its message came with, empty where that is not known."""
        return zip(self.ids, self.bodies or ("",) * len(self.ids), strict=True)


@dataclass(frozen=True, slots=True)
class Plan:
    """What one attempt will read: a range for every partition ever seen, of every spout.

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
    """Which messages the ranges are, of spouts whose messages have ids."""
    diverts: tuple[str, ...] = ()
    """States whose rows a person decided to take out of these very records."""
    sifted: tuple[str, ...] = field(default=(), compare=False)
    """Those of them that keep what they don't refuse. Not stored: the decisions say it, who plans again asks them."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do: no record, no message received, no timer due, no loss to record."""
        has_records = any(item.range.width for item in self.ranges) or any(item.ids for item in self.received)
        return not has_records and not self.timers and not self.losses

    def has_records_of(self, other: Plan) -> bool:
        """Tell whether both read the same records of the same logs; empty ranges, attempts and times may differ."""
        return _records(self) == _records(other)


def _records(plan: Plan) -> tuple[frozenset[SpoutRange], frozenset[tuple[str, str]]]:
    # a range that is handed out again keeps its proof: the same numbers under another one may be other records
    ranges = frozenset(item for item in plan.ranges if item.range.width)
    return ranges, frozenset((item.spout, id_) for item in plan.received for id_ in item.ids)


@dataclass(frozen=True, slots=True)
class PartFull:
    """There are records, less than fill a batch, and they are left for a fuller one."""
