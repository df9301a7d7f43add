"""Which records of a group may be given again, and so how many more may be taken until one is forgotten: pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Set

from trident.spouts.queue.kafka_offsets import TopicPartition

Place = tuple[TopicPartition, int]


class ExposedRecords:
    """The records that are done, in their order, from the oldest on that no confirmed position of the group covers.

    A stream remembers the last `horizon` records that are done. Guarantee: as long as a record is taken only where
    `has_room` says so, each record that may come again is among these, whichever process dies and whichever commit is
    lost. So of what is under way all is counted, since it may be done before anything is confirmed; and what an earlier
    process has left (`known`, oldest first) is exposed as well. New records take half of the horizon: the other half is
    for what was under way when a process died, which has to be done before what is above it can be covered.
    A horizon of 0 promises nothing and holds nothing.
    """

    def __init__(self, horizon: int, known: Iterable[Place] = ()) -> None:
        self._horizon = horizon
        self._done: deque[Place] = deque(dict.fromkeys(known))
        self._is_done = set(self._done)
        self._under_way: set[Place] = set()
        self._known_to: dict[TopicPartition, int] = {}
        for partition, offset in self._done:
            self._known_to[partition] = max(offset, self._known_to.get(partition, 0))
        self._covered: dict[TopicPartition, int] = {}

    def __len__(self) -> int:
        return len(self._done)

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
        if not self._horizon or offset <= self._known_to.get(partition, -1) or place in self._under_way:
            return True
        return place in self._is_done or len(self._done) + len(self._under_way) < max(1, self._horizon // 2)

    def take(self, place: Place) -> None:
        """Hear that a record is under way: until it is done or covered, also where it is given back."""
        if self._horizon and place not in self._is_done:
            self._under_way.add(place)

    def done(self, place: Place) -> None:
        """Hear that a record is done; one that is known keeps its place in the order."""
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
        self._under_way = {place for place in self._under_way if not self._is_covered(place)}

    def of_others(self, ours: Set[TopicPartition]) -> frozenset[TopicPartition]:
        """Return the partitions of the oldest record and of those under way that are another member's."""
        oldest = [self._done[0][0]] if self._done else []
        return frozenset(oldest + [partition for partition, _ in self._under_way]) - ours

    def _forget_covered(self) -> None:
        while self._done and self._is_covered(self._done[0]):
            self._is_done.discard(self._done.popleft())

    def _is_covered(self, place: Place) -> bool:
        partition, offset = place
        return offset < self._covered.get(partition, 0)
