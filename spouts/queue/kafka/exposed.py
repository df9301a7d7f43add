"""Which records of a group may be given again, and so how many more may be taken until one is forgotten: pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Set

from trident.spouts.queue.kafka.offsets import TopicPartition

Place = tuple[TopicPartition, int]


class ExposedRecords:
    """The records that are done, in their order, from the oldest on that no confirmed position of the group covers.

    A stream remembers the last `horizon` records that are done. Guarantee: as long as a record is taken only where
    `has_room` says so, each record that may come again is among these, whichever process dies and whichever commit is
    lost. So of what is under way all is counted, since it may be done before anything is confirmed; and what an earlier
    process has left (`known`, oldest first) is exposed as well. Below a known record there may be some that were under
    way when that process died. They always may be taken, for they have to be done before the known one can be covered;
    until they are, they are owed, and counted by their offsets. New records take half of the horizon, so that what one
    death makes owed has room. A horizon of 0 promises nothing and holds nothing.
    """

    def __init__(self, horizon: int, known: Iterable[Place] = ()) -> None:
        self._horizon = horizon
        self._done: deque[Place] = deque(dict.fromkeys(known))
        self._is_done = set(self._done)
        self._under_way: set[Place] = set()
        self._covered: dict[TopicPartition, int] = {}
        self._ahead: dict[TopicPartition, list[int]] = {}
        for partition, offset in self._done:
            self._ahead.setdefault(partition, []).append(offset)
        for offsets in self._ahead.values():
            offsets.sort()
        self._newest = {partition: offsets[-1] for partition, offsets in self._ahead.items()}
        self._owed = {partition: _gaps(offsets, 0) for partition, offsets in self._ahead.items()}
        self._owes = sum(self._owed.values())

    def __len__(self) -> int:
        return len(self._done)

    @property
    def horizon(self) -> int:
        """How many records that are done the stream remembers."""
        return self._horizon

    @property
    def under_way(self) -> int:
        """How many records are under way that are not known."""
        return len(self._under_way)

    @property
    def oldest(self) -> Place | None:
        """The record that was done first of those that may come again."""
        return self._done[0] if self._done else None

    def has_room(self, place: Place) -> bool:
        """Tell whether a record may be taken: one that is known, or has a known one above it, always may."""
        partition, offset = place
        is_old = partition in self._ahead and offset <= self._ahead[partition][-1]
        if not self._horizon or is_old or place in self._under_way or place in self._is_done:
            return True
        return len(self._done) + len(self._under_way) + self._owes < max(1, self._horizon // 2)

    def knows(self, partition: TopicPartition) -> int | None:
        """Return the newest offset of a partition that is done, here or by an earlier process."""
        return self._newest.get(partition)

    def take(self, place: Place) -> None:
        """Hear that a record is under way: until it is done or covered, also where it is given back."""
        if self._horizon and place not in self._is_done:
            self._under_way.add(place)
        self.reach(place[0], place[1] + 1)

    def reach(self, partition: TopicPartition, offset: int) -> None:
        """Hear that nothing below an offset is still to be read."""
        before = self._owed.get(partition, 0)
        if before:
            self._owed[partition] = min(before, _gaps(self._ahead[partition], offset))
            self._owes -= before - self._owed[partition]

    def done(self, place: Place) -> None:
        """Hear that a record is done; one that is known keeps its place in the order."""
        partition, offset = place
        self._newest[partition] = max(offset, self._newest.get(partition, offset))
        self._under_way.discard(place)
        if self._horizon and place not in self._is_done:
            self._done.append(place)
            self._is_done.add(place)
            self._forget_covered()

    def cover(self, partition: TopicPartition, below: int) -> None:
        """Hear that nothing below an offset comes again: the group's position is there for sure, or the log begins."""
        self._covered[partition] = max(below, self._covered.get(partition, 0))
        self._forget_covered()

    def pass_by(self, partition: TopicPartition, below: int) -> None:
        """Hear the same of what others may have done, so of records too that are under way here, or were given back."""
        self.cover(partition, below)
        self.reach(partition, below)
        self._under_way = {place for place in self._under_way if not self._is_covered(place)}

    def of_others(self, ours: Set[TopicPartition]) -> frozenset[TopicPartition]:
        """Return the partitions of the oldest record, of those under way and owed, that are another member's."""
        oldest = [self._done[0][0]] if self._done else []
        owed = [partition for partition, count in self._owed.items() if count]
        return frozenset(oldest + owed + [partition for partition, _ in self._under_way]) - ours

    def _forget_covered(self) -> None:
        while self._done and self._is_covered(self._done[0]):
            self._is_done.discard(self._done.popleft())

    def _is_covered(self, place: Place) -> bool:
        partition, offset = place
        return offset < self._covered.get(partition, 0)


def _gaps(offsets: list[int], first: int) -> int:
    """Return how many offsets there are from one on, up to the last of these, beside them."""
    return max(0, offsets[-1] + 1 - first - (len(offsets) - bisect_left(offsets, first)))
