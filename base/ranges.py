"""What is read: partitions, half-open ranges of positions, and what a task says of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from trident.base.digest import Digest


@dataclass(frozen=True, slots=True, order=True)
class PartitionId:
    """One log of a spout; `topic` is the spout's own name where there are no topics."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class PartitionBounds:
    """What a partition holds now; `stop` is the last stable offset where the reader is committed-only."""

    id: PartitionId
    topic_id: str
    earliest: int
    stop: int
    epoch: int | None = None
    """The leader epoch that the log was in when it said so; None where the source has none."""


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Positions `[start, stop)` of one partition of the topic with that id."""

    id: PartitionId
    topic_id: str
    start: int
    stop: int
    epoch: int | None = None
    """What proves later that the log is still the one it was: a leader epoch in which it held all up to `stop`, or what
    a source makes for that position (`ProvesPositions`)."""

    @property
    def width(self) -> int:
        """Number of positions, holes included; an upper bound of the number of records."""
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Edge:
    """One range as a reading task gets it; its id is XORed into the batch's ack value."""

    id: int
    range: OffsetRange


@dataclass(frozen=True, slots=True)
class RangeManifest:
    """What a task says of one range (or, with `id` None, of its only non-empty range) that it read.

    `position` is the next offset to fetch when the task stopped, None where the reader can't know
    it (Spark's JVM connector, whose own end check then stands for it). `count`, `digest` and
    `size_bytes` are of the records before `stop`; `newest` is their largest timestamp in
    milliseconds since the epoch.
    """

    edge: int
    id: PartitionId | None
    position: int | None
    digest: Digest
    size_bytes: int = 0
    newest: int | None = None

    @property
    def count(self) -> int:
        """Number of records before the stop."""
        return self.digest.count


@dataclass(frozen=True, slots=True)
class BadRecordRow:
    """A record that did not decode, as it came from the source; never put into a log."""

    id: PartitionId
    offset: int
    timestamp: int | None
    reason: str
    key: bytes | None = field(repr=False)
    value: bytes | None = field(repr=False)
