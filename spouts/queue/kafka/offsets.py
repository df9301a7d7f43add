"""Which offsets of a group's partitions are under way, and up to where all are done: pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


@dataclass(slots=True)
class _Assigned:
    position: int | None
    """Behind the newest offset that was emitted; None before the first one, where nobody knows where it begins."""
    committed: int | None = None
    emitted: deque[int] = field(default_factory=deque)
    """From the lowest that is not acked on, ascending; of these the `unacked` are under way."""
    unacked: set[int] = field(default_factory=set)

    def ack(self, offset: int) -> None:
        self.unacked.discard(offset)
        while self.emitted and self.emitted[0] not in self.unacked:
            self.emitted.popleft()

    def done(self) -> int | None:
        return self.emitted[0] if self.emitted else self.position


class OffsetsInFlight:
    """What this member of a group has emitted of the partitions that are its own; not safe between threads.

    Guarantee: an offset is to be committed only when every offset below it that was emitted since the partition was
    assigned is acked. Where a partition is revoked all is forgotten: acks of it are of no use to anybody.
    """

    def __init__(self) -> None:
        self._assigned: dict[TopicPartition, _Assigned] = {}

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """The partitions that are assigned."""
        return frozenset(self._assigned)

    def position(self, partition: TopicPartition) -> int | None:
        """Return the offset behind the newest that was emitted; None for another's, or before the first of a log."""
        found = self._assigned.get(partition)
        return None if found is None else found.position

    def assign(self, partition: TopicPartition, position: int | None) -> None:
        """Hear that a partition is read from a position, which is committed; None: from its beginning, wherever."""
        self._assigned[partition] = _Assigned(position, position)

    def revoke(self, partitions: Iterable[TopicPartition]) -> None:
        """Hear that partitions are another member's."""
        for partition in partitions:
            self._assigned.pop(partition, None)

    def emit(self, partition: TopicPartition, offset: int) -> None:
        """Hear that an offset is under way, above all others of its partition; raises `ValueError` for another."""
        found = self._assigned[partition]
        if found.position is not None and offset < found.position:
            raise ValueError(f"{partition.topic}[{partition.partition}]: {offset} after {found.position}")
        found.emitted.append(offset)
        found.unacked.add(offset)
        found.position = offset + 1

    def skip_to(self, partition: TopicPartition, offset: int) -> None:
        """Hear that behind what was emitted nothing is in the log below an offset: the position may be there."""
        found = self._assigned.get(partition)
        if found is not None and (found.position is None or found.position < offset):
            found.position = offset

    def is_under_way(self, partition: TopicPartition, offset: int) -> bool:
        """Tell whether an offset was emitted and not acked since its partition was assigned."""
        found = self._assigned.get(partition)
        return found is not None and offset in found.unacked

    def ack(self, partition: TopicPartition, offset: int) -> None:
        """Hear that an offset is done; one that is not under way is no matter of this member."""
        found = self._assigned.get(partition)
        if found is not None:
            found.ack(offset)

    def to_commit(self) -> Mapping[TopicPartition, int]:
        """Return up to where each partition is done, where that is more than was committed."""
        done = {partition: found.done() for partition, found in self._assigned.items()}
        return {
            partition: offset
            for partition, offset in done.items()
            if offset is not None and offset != self._assigned[partition].committed
        }

    def committed(self, partition: TopicPartition) -> int | None:
        """Return what was last sent for a partition; None where that is not known to be the group's position."""
        found = self._assigned.get(partition)
        return None if found is None else found.committed

    def note_committed(self, partition: TopicPartition, offset: int | None) -> None:
        """Hear that an offset was committed; None: that it is not known what was."""
        if partition in self._assigned:
            self._assigned[partition].committed = offset


def id_of(partition: TopicPartition, offset: int, topic_id: str) -> str:
    """Return the id of a record: its place, and which topic of that name it is of, where the brokers know."""
    return f"{partition.topic}/{partition.partition}/{offset}" + (f"@{topic_id}" if topic_id else "")


def place_named(id_: str, topic_ids: Mapping[str, str]) -> tuple[TopicPartition, int] | None:
    """Return the place of the record with an id; None where it is of no topic that there is now."""
    place, _, made = id_.partition("@")
    parts = place.split("/")
    if len(parts) != 3 or topic_ids.get(parts[0]) != made or not (parts[1] + parts[2]).isdecimal():
        return None
    return TopicPartition(parts[0], int(parts[1])), int(parts[2])


def topic_named(id_: str) -> str:
    """Return the name of the topic that a record is of by its id, whichever topic had the name; else empty."""
    return id_.split("/", 1)[0] if "/" in id_ else ""
