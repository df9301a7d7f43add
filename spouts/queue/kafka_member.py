"""A member of a Kafka consumer group whose offsets are committed up to what is acked."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Final, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicCollection
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient

from trident.base.errors import FatalError, TridentError
from trident.spouts.base import StartAt
from trident.spouts.queue.kafka_errors import GroupPlace, classify, exchanged, is_away, is_denied, is_moved
from trident.spouts.queue.kafka_offsets import OffsetsInFlight, TopicPartition

_PATIENCE_S: Final = 10.0
_AT_ONCE: Final = 500
_COMMIT_S: Final = 1.0
_LOOK_S: Final = 10.0
"""How often it is asked whether a topic is still the one that it was."""
_BEGINNING: Final = -2
_NONE: Final = -1001
_OURS: Final = {
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    # a group without a position is placed here by name; any other reset would skip what was lost
    "auto.offset.reset": "error",
    "allow.auto.create.topics": "false",
    "enable.partition.eof": "true",
    "partition.assignment.strategy": "range,roundrobin",
    "log_level": "2",
}


class GroupMember:
    """A consumer of its own, from `open` to `close`; for one thread. Calls raise what `classify` makes of errors."""

    def __init__(self, options: Mapping[str, str], place: GroupPlace, start: StartAt) -> None:
        self._options = {**options, **_OURS, "group.id": place.group}
        self._place = place
        self._start = start
        self._flight = OffsetsInFlight()
        self._has_joined = False
        self._ended: set[TopicPartition] = set()
        self._fetched: deque[Message] = deque()
        self._error: TridentError | None = None
        self._commit_at = 0.0
        self._look_at = 0.0
        self._ids: dict[str, str] = {}
        self._asked: Mapping[str, Future[object]] = {}

    @property
    def flight(self) -> OffsetsInFlight:
        """What is under way."""
        return self._flight

    @property
    def is_at_end(self) -> bool:
        """Whether the group was joined and every record was taken that there was in the partitions of this member."""
        return self._has_joined and self._ended >= self._flight.partitions

    def topic_id(self, topic: str) -> str:
        """Return the id that a topic had when this was opened; empty where the brokers have none."""
        return self._ids[topic]

    def open(self) -> None:
        """Ask for every topic, and join the group."""
        self._consumer = self._made()
        self._admin = AdminClient(_of_admins(self._options))
        self._require_topics()
        self._ids = {topic: self._id(answer) for topic, answer in self._describe().items()}
        self._look_at = time.monotonic() + _LOOK_S
        self._consumer.subscribe(
            list(self._place.topics), on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )

    def take(self) -> Message | None:
        """Return the next record of a partition that is ours; None where there is none now."""
        self._look()
        self.commit()
        if not self._fetched:
            self._fetched.extend(self._consumer.consume(_AT_ONCE, 0))
            self._require_well()
        while self._fetched:
            found = self._fetched.popleft()
            if (error := found.error()) is not None:
                self._hear(error, found)
            elif place_of(found) in self._flight.partitions:
                self._flight.emit(place_of(found), cast("int", found.offset()))
                self._ended.discard(place_of(found))
                return found
        return None

    def commit(self, *, at_once: bool = False) -> None:
        """Commit what is acked, now and then; `at_once` waits until that is done."""
        if not at_once and time.monotonic() < self._commit_at:
            return
        self._commit_at = time.monotonic() + _COMMIT_S
        wanted = self._wanted()
        for place in wanted:
            self._flight.note_committed(TopicPartition(place.topic, place.partition), place.offset)
        try:
            if wanted and at_once:
                self._committed(None, self._consumer.commit(offsets=wanted, asynchronous=False))
            elif wanted:
                self._consumer.commit(offsets=wanted)
        except KafkaException as error:
            self._committed(error.args[0], wanted)
        self._require_well()

    def close(self) -> None:
        """Commit what is acked and leave the group."""
        try:
            if self._error is None:  # else it was raised, and what is not committed is read again
                self.commit(at_once=True)
        finally:
            self._consumer.close()

    def _made(self) -> Consumer:
        heard = {"error_cb": self._hear_of_all, "on_commit": self._committed}
        try:
            return Consumer({**self._options, **heard})
        except KafkaException as error:
            said = str(error.args[0])  # it may quote the value: only names are told
            meant = sorted(name for name in self._options if name in said)
            raise FatalError(
                f"{self._place}: the client refuses its options ({error.args[0].name()}: {', '.join(meant)}); nothing "
                "was read. Correct client_options"
            ) from None

    def _require_topics(self) -> None:
        for topic in self._place.topics:
            try:
                found = self._consumer.list_topics(topic, timeout=_PATIENCE_S).topics[topic]
            except KafkaException as error:
                # a login that is refused looks like brokers that are away, but to who is called back
                self._consumer.poll(0)
                self._require_well()
                raise classify(error.args[0], self._place) from None
            if found.error is not None:
                raise classify(found.error, self._place, topic)

    def _describe(self) -> Mapping[str, Future[object]]:
        asked = self._admin.describe_topics(TopicCollection(list(self._place.topics)), request_timeout=_PATIENCE_S)
        return cast("Mapping[str, Future[object]]", asked)

    def _id(self, answer: Future[object]) -> str:
        try:
            return str(getattr(answer.result(_PATIENCE_S), "topic_id", None) or "")
        except KafkaException as error:
            raise classify(error.args[0], self._place) from None

    def _look(self) -> None:
        """Look now and then whether each topic is still the one that it was, without waiting for the answer."""
        if self._asked and all(answer.done() for answer in self._asked.values()):
            for topic, answer in self._asked.items():
                self._require_same(topic, answer)
            self._asked = {}
        if not self._asked and time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + _LOOK_S
            self._asked = self._describe()

    def _require_same(self, topic: str, answer: Future[object]) -> None:
        error = answer.exception()
        if isinstance(error, KafkaException) and is_away(error.args[0]):
            return
        if self._id(answer) != self._ids[topic]:
            raise exchanged(self._place, topic)

    def _assigned(self, consumer: Consumer, partitions: Sequence[Place]) -> None:
        try:
            found = consumer.committed(list(partitions), _PATIENCE_S)
            places = [self._placed(consumer, place) for place in found]
        except KafkaException as error:
            self._error = classify(error.args[0], self._place)
            return
        consumer.assign(places)
        self._has_joined = True
        if self._start is StartAt.LATEST:  # whoever comes after a crash must not begin at a later end
            self._commit_in_rebalance(consumer)

    def _placed(self, consumer: Consumer, place: Place) -> Place:
        """Say where a partition is read from: where the group has left it, or where it is to begin."""
        partition, offset = TopicPartition(place.topic, place.partition), place.offset
        if offset == _NONE and self._start is StartAt.LATEST:
            offset = consumer.get_watermark_offsets(place, _PATIENCE_S)[1]
            self._flight.assign(partition, offset)
            self._flight.note_committed(partition, None)
        elif offset == _NONE:
            self._flight.assign(partition, None)
            offset = _BEGINNING
        else:
            self._flight.assign(partition, offset)
        return Place(place.topic, place.partition, offset)

    def _revoked(self, consumer: Consumer, partitions: Sequence[Place]) -> None:
        self._commit_in_rebalance(consumer)
        self._lost(consumer, partitions)

    def _commit_in_rebalance(self, consumer: Consumer) -> None:
        wanted = self._wanted()
        try:
            if wanted:
                self._committed(None, consumer.commit(offsets=wanted, asynchronous=False))
        except KafkaException as error:
            self._committed(error.args[0], wanted)

    def _wanted(self) -> list[Place]:
        return [Place(*partition, offset) for partition, offset in self._flight.to_commit().items()]

    def _lost(self, consumer: Consumer, partitions: Sequence[Place]) -> None:
        gone = {TopicPartition(place.topic, place.partition) for place in partitions}
        self._flight.revoke(gone)
        self._ended -= gone
        self._has_joined = False
        self._fetched = deque(each for each in self._fetched if each.error() or place_of(each) not in gone)

    def _committed(self, error: KafkaError | None, places: Sequence[Place]) -> None:
        failed = [place for place in places if error is not None or place.error is not None]
        for place in failed:
            self._flight.note_committed(TopicPartition(place.topic, place.partition), None)
            problem = error or place.error
            if problem is not None and not is_away(problem) and not is_moved(problem):
                self._error = classify(problem, self._place)

    def _hear_of_all(self, error: KafkaError) -> None:
        if is_denied(error) or error.fatal():
            self._error = classify(error, self._place)

    def _hear(self, error: KafkaError, found: Message) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            self._ended.add(place_of(found))
            return
        if is_moved(error) and not error.fatal():
            return
        if is_away(error) and error.code() != KafkaError._ALL_BROKERS_DOWN:
            return  # one broker of several: the client goes on by itself
        raise classify(error, self._place, f"{found.topic()}[{found.partition()}]" if found.topic() else "")

    def _require_well(self) -> None:
        if self._error is not None:
            raise self._error


def place_of(record: Message) -> TopicPartition:
    """Return the partition that a record is of."""
    return TopicPartition(cast("str", record.topic()), cast("int", record.partition()))


def _of_admins(options: Mapping[str, str]) -> dict[str, str | int | float | bool]:
    """Return the options that say how to reach the brokers and log in."""
    begin = ("bootstrap.", "security.", "client.", "sasl.", "ssl.", "socket.", "broker.", "log_level")
    return {name: value for name, value in options.items() if name.startswith(begin)}
