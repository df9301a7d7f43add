"""The positions of a consumer group as a member commits them, one commit at a time, and what is known to be durable."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as Place

from trident.base.errors import TridentError
from trident.spouts.queue.acking import StreamProgress
from trident.spouts.queue.kafka.errors import GroupPlace, classify, is_away, is_moved
from trident.spouts.queue.kafka.exposed import ExposedRecords
from trident.spouts.queue.kafka.notes import horizon_in, is_of_another_topic, note_of, progress_in
from trident.spouts.queue.kafka.offsets import OffsetsInFlight, TopicPartition

_NONE: Final = -1001
_COMMIT_S: Final = 1.0
_LAST_S: Final = 1.0
_ANSWER_S: Final = 10.0
"""How long the answer to a commit is waited for before the last one is sent behind it."""


class GroupCommits:
    """Commits what is acked; for the thread of its consumer.

    No commit is sent while another one is out: the client sends one again that the brokers could not take, and then it
    would land behind a later one and move the group's position back, unnoticed.
    """

    def __init__(
        self,
        place: GroupPlace,
        flight: OffsetsInFlight,
        exposed: ExposedRecords,
        ids: Mapping[str, str] | None = None,
        progress: StreamProgress | None = None,
    ) -> None:
        """`ids` are those of the topics that the positions are of."""
        self._ids = ids or {}
        self._progress = progress
        self._acked_at: dict[TopicPartition, StreamProgress | None] = {}
        """How far the stream was when the newest record was acked that a partition's position may pass."""
        self._horizon = exposed.horizon
        self._place = place
        self._flight = flight
        self._exposed = exposed
        self._out: frozenset[tuple[TopicPartition, int]] = frozenset()
        self._due_at = 0.0
        self._is_urgent = False
        self._error: TridentError | None = None
        self._placed_here: set[TopicPartition] = set()

    @property
    def error(self) -> TridentError | None:
        """What the brokers have refused for good."""
        return self._error

    def is_placed(self, partition: TopicPartition) -> bool:
        """Tell whether a death now would lose no sight of where the partition is read from."""
        return partition not in self._placed_here

    def place_here(self, partition: TopicPartition) -> None:
        """Hear of a partition that begins where its log ended just now: nobody knows, until that is committed."""
        self._flight.note_committed(partition, None)
        self._placed_here.add(partition)

    def reached(self, progress: StreamProgress) -> None:
        """Hear how far the stream is: noted beside the position of each partition of which a record is acked then."""
        if self._progress is None or not progress.is_behind(self._progress):  # two threads may tell of two moments
            self._progress = progress

    def acked(self, partition: TopicPartition) -> None:
        """Hear that a record of a partition is acked.

        A process that has only been given again what is done does not know the txid of that, and keeps what is noted.
        """
        now, noted = self._progress, self._acked_at.get(partition)
        if now is not None and noted is not None and not now.txid and _are_of_one_life(now, noted):
            now = replace(now, txid=noted.txid)
        self._acked_at[partition] = now

    def take_over(self, partition: TopicPartition, note: str) -> None:
        """Hear what is noted beside the position that a partition is read from; it is committed again if it differs.

        What is done above it may be as much as this horizon by now. No record was acked since that it passes.
        """
        noted, now = progress_in(note), self._progress
        is_of_now = noted is not None and now is not None and _are_of_one_life(now, noted)
        # who has not heard how far its stream is takes no note away: what was acked below the position stays acked
        self._acked_at[partition] = noted if is_of_now or now is None else now
        if horizon_in(note) != self._horizon:
            self._flight.note_committed(partition, None)

    def revoke(self, partitions: set[TopicPartition]) -> None:
        """Hear that partitions are another member's."""
        self._placed_here -= partitions

    def hurry(self) -> None:
        """Commit with the next call, whenever the last one was: something waits for it."""
        self._is_urgent = True

    def now_and_then(self, consumer: Consumer) -> None:
        """Commit what is acked, if it is time, and wait for nothing."""
        if self._out or not (self._is_urgent or time.monotonic() >= self._due_at):
            return
        self._due_at = time.monotonic() + _COMMIT_S
        self._is_urgent = False
        wanted = self._wanted()
        if not wanted:
            return
        self._out = frozenset(_places(wanted))
        try:
            consumer.commit(offsets=wanted)
        except KafkaException as error:
            self.heard(error.args[0], wanted)

    def at_once(self, consumer: Consumer, serve: Callable[[], None]) -> None:
        """Commit what is acked and wait until that is done; `serve` lets the client call back."""
        latest = time.monotonic() + _ANSWER_S
        while self._out and time.monotonic() < latest:
            serve()
        self.in_rebalance(consumer)

    def at_the_end(self, consumer: Consumer) -> None:
        """Note that nothing is done above the positions, where that is so: the next process may remember fewer.

        Brokers that are away are not waited for: the client would wait with a commit, and with its end, for long. The
        note that stays asks for more than is needed, and no harm is done.
        """
        if not self._horizon or not self._flight.partitions or len(self._exposed) or self._out:
            return
        try:
            consumer.committed([Place(*each) for each in self._flight.partitions], _LAST_S)
        except KafkaException:
            return
        self._horizon = 0
        for partition in self._flight.partitions:
            self._flight.note_committed(partition, None)
        self.in_rebalance(consumer)

    def in_rebalance(self, consumer: Consumer) -> None:
        """Commit what is acked where the client calls back, and can't do so again.

        A commit that is out is passed: by the end of the rebalance the brokers refuse what was sent before.
        """
        wanted = self._wanted()
        if not wanted:
            return
        try:
            self.heard(None, consumer.commit(offsets=wanted, asynchronous=False) or ())
        except KafkaException as error:
            self.heard(error.args[0], wanted)

    def heard(self, error: KafkaError | None, places: Sequence[Place]) -> None:
        """Hear what became of a commit."""
        if frozenset(_places(places)) == self._out:
            self._out = frozenset()
        for place in places:
            problem = error or place.error
            partition = partition_of(place)
            if problem is None:
                if place.offset != self._flight.committed(partition):
                    self._flight.note_committed(partition, None)  # it may stand behind one that was sent later
                self._placed_here.discard(partition)
                self._exposed.cover(partition, place.offset)
                continue
            self._flight.note_committed(partition, None)
            if not is_away(problem) and not is_moved(problem):
                self._error = classify(problem, self._place)

    def _wanted(self) -> list[Place]:
        wanted = self._flight.to_commit()
        for partition, offset in wanted.items():
            self._flight.note_committed(partition, offset)
        return [Place(*partition, offset, self._noted(partition)) for partition, offset in wanted.items()]

    def _noted(self, partition: TopicPartition) -> str:
        progress = self._acked_at.get(partition, self._progress)
        return note_of(self._ids.get(partition.topic, ""), self._horizon, progress)


def _are_of_one_life(one: StreamProgress, other: StreamProgress) -> bool:
    return (one.life, one.birth) == (other.life, other.birth)


def position_in(place: Place, ids: Mapping[str, str]) -> int | None:
    """Return where a group stands; None for nowhere, or in a topic that had the name before.

    One that somebody else has committed, as tools do, is believed.
    """
    is_of_another = is_of_another_topic(place.metadata or "", ids.get(place.topic, ""))
    return place.offset if has_position(place) and not is_of_another else None


def has_position(place: Place) -> bool:
    """Tell whether anything is committed, in whichever topic of the name."""
    return place.offset != _NONE


def partition_of(place: Place) -> TopicPartition:
    """Return the partition that a place of the client's is in."""
    return TopicPartition(place.topic, place.partition)


def _places(places: Sequence[Place]) -> list[tuple[TopicPartition, int]]:
    return [(partition_of(place), place.offset) for place in places]
