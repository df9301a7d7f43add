"""Records of Kafka topics as messages, each acked by itself, as Storm's `KafkaSpout` has it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from trident.base.checks import check_flag, check_texts
from trident.base.errors import ConfigurationError, FatalError
from trident.base.kafka.clients import LEFT_OUT, for_librdkafka
from trident.base.kafka.known import check_known
from trident.base.policies import policy_of
from trident.spouts.base import StartAt
from trident.spouts.kafka.options import KafkaOptions
from trident.spouts.kafka.topics import checked_topics
from trident.spouts.queue.acking import AckingSpout, SpoutContext, StreamProgress
from trident.spouts.queue.addresses import check_name
from trident.spouts.queue.bodies.body import Body, RawBody, checked_body
from trident.spouts.queue.kafka.offsets import TopicPartition, id_of
from trident.spouts.queue.message import Message
from trident.spouts.queue.received import Received, UnreadableError, unreadable

if TYPE_CHECKING:
    from confluent_kafka import Message as Record

    from trident.spouts.queue.kafka.errors import GroupPlace
    from trident.spouts.queue.kafka.member import GroupMember

_COMMITS: Final = "nothing: positions are kept in the group, and committed when their records are done"
_TAKEN: Final = {
    "group.id": "group=",
    "partition.assignment.strategy": "nothing: partitions move as a whole, with what is under way",
    "allow.auto.create.topics": "nothing: no topic is created",
    "enable.auto.commit": _COMMITS,
    "enable.auto.offset.store": _COMMITS,
    "auto.offset.reset": "start=, which says where a group begins: no other position is ever reset",
}


@dataclass(frozen=True, slots=True)
class _Emitted:
    partition: TopicPartition
    offset: int
    message: Message


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """A record that ends the run, when what was given before it is done."""

    partition: TopicPartition
    offset: int
    error: FatalError


class AckingKafkaSpout(AckingSpout):
    """Kafka topics, read by a consumer group: `AckingKafkaSpout("clicks", group="counts", bootstrap_servers=…)`.

    Guarantee: a record is acked when its batch is in every state and sink, and the group's position is the lowest
    record that is not. What is above it is read again after a crash or a rebalance; that counts once, since it has the
    same id: topic, partition, offset, and the topic's own id where the brokers have one.

    What failed is emitted again from here. Partitions may be shared with other members of the group; what is under way
    of one that moves is emitted again by its new owner, and counts once only where that is the same stream: so a group
    is of one. No more is taken above the group's committed positions than the `horizon` remembers: meanwhile
    `holds_back` says why, and the run warns of it. For exactly once over whole topics use `OpaqueKafkaSpout`, which
    needs no memory of ids.

    `start` says where a group begins that has no position in a partition; nothing else ever resets one.
    `client_options` are as those of `OpaqueKafkaSpout`, and shown in no repr.
    """

    def __init__(
        self,
        topics: str | Sequence[str],
        *,
        group: str,
        bootstrap_servers: str,
        body: Body = RawBody(),  # noqa: B008 - it is immutable
        start: StartAt = StartAt.EARLIEST,
        read_committed: bool = True,
        client_options: Mapping[str, str] | None = None,
    ) -> None:
        self._topics = checked_topics(topics, None)
        self._group = check_name("group", group, "the name of a consumer group")
        given = check_texts("client_options", {} if client_options is None else client_options, secret=True)
        _check_taken(given)
        self._options = _checked(KafkaOptions(bootstrap_servers, check_flag("read_committed", read_committed), given))
        self._brokers = bootstrap_servers
        self._body = checked_body(body)
        self.schema = body.schema  # type: ignore[misc]  # each object has its own
        self._start = policy_of(StartAt, start, "start")
        self._member: GroupMember | None = None
        self._emitted: dict[str, _Emitted] = {}
        self._again: deque[str] = deque()
        self._unreadable: _Unreadable | None = None

    def __repr__(self) -> str:
        return f"AckingKafkaSpout({list(self._topics)!r}, group={self._group!r})"

    def identity(self) -> Mapping[str, str]:
        """Return topics and group; the brokers may move."""
        return {"spout": "kafka-acking", "topics": ",".join(self._topics), "group": self._group}

    def shared_out(self) -> Sequence[str]:
        """Return the topics as the group reads them, for each broker: another stream may name others of the same."""
        brokers = [broker.strip() for broker in self._brokers.split(",") if broker.strip()]
        return [
            f"the topic {topic!r} in the group {self._group!r} at Kafka {broker}"
            for topic in self._topics
            for broker in brokers
        ]

    def open(self, context: SpoutContext) -> None:
        """Look at the topics and join the group; raises `RetryableError` where the brokers are away."""
        from trident.spouts.queue.kafka.member import GroupMember
        from trident.spouts.queue.kafka.standing import Remembered

        self._emitted.clear()
        self._again.clear()
        self._unreadable = None
        self._member = GroupMember(self._options, self._place, self._start)
        self._member.open(Remembered(self.horizon, context.known, context.progress, context.is_new))

    def next_tuple(self) -> Message | None:
        """Return what failed before what is new."""
        if not self._again:
            return self._new()
        self._opened().tend()
        while self._again:
            found = self._emitted.get(self._again.popleft())
            if found is not None and self._is_ours(found):
                return Message(found.message.values, found.message.id, True)
        return None

    def is_waiting(self) -> bool:
        """Return whether the group is not joined yet, or a partition not read to its end."""
        return self._unreadable is not None or not self._opened().is_at_end

    def holds_back(self) -> str:
        """Return why records that are there are not emitted."""
        if self._unreadable is None:
            return self._opened().why_held
        partition, offset = self._unreadable.partition, self._unreadable.offset
        return (
            f"{partition.topic}[{partition.partition}] offset {offset} can't be read, which ends the run as soon as "
            "what was given before it is done"
        )

    def reached(self, progress: StreamProgress) -> None:
        """Note it beside each position: a ledger that was put back is known by having less."""
        self._opened().reached(progress)

    def ack(self, id_: str | None) -> None:
        """Let the group's position move on, where nothing below the record is under way."""
        found = self._emitted.pop(id_ or "", None)
        if found is not None:
            self._opened().done(found.partition, found.offset)

    def fail(self, id_: str | None) -> None:
        """Emit the record again; not where its partition is another member's, who does."""
        self._opened().tend()
        found = self._emitted.get(id_ or "")
        if found is None or not self._is_ours(found):
            self._emitted.pop(id_ or "", None)
        else:
            self._again.append(id_ or "")

    def deactivate(self) -> None:
        """Commit what is acked; after `max.poll.interval.ms` the group gives the partitions to other members."""
        self._opened().commit()

    def close(self) -> None:
        """Commit what is acked and leave the group."""
        if self._member is not None:
            self._member.close(is_settled=set(self._emitted) <= set(self._again))
            self._member = None

    @property
    def _place(self) -> GroupPlace:
        from trident.spouts.queue.kafka.errors import GroupPlace

        return GroupPlace(self._brokers, self._topics, self._group)

    def _opened(self) -> GroupMember:
        assert self._member is not None, "the spout was not opened"
        return self._member

    def _is_ours(self, emitted: _Emitted) -> bool:
        return self._opened().flight.is_under_way(emitted.partition, emitted.offset)

    def _new(self) -> Message | None:
        if self._unreadable is None:
            record = self._opened().take()
            return None if record is None else self._first(record)
        self._opened().tend()
        self._end_with(self._unreadable)
        return None

    def _end_with(self, bad: _Unreadable) -> None:
        """Raise it when all that was given is done: the way on that it names leaves out whatever lies below it."""
        if not self._opened().flight.is_under_way(bad.partition, bad.offset):
            self._unreadable = None  # another member's by now
        elif not any(map(self._is_ours, self._emitted.values())):
            self._opened().commit()
            raise bad.error

    def _first(self, record: Record) -> Message | None:
        partition, offset = TopicPartition(record.topic() or "", record.partition() or 0), record.offset() or 0
        id_ = id_of(partition, offset, self._opened().topic_id(partition.topic))
        headers = _headers(record)
        try:
            values = self._body.values(Received(id_, partition.topic, record.value(), record.key(), headers))
        except UnreadableError as error:
            way_on = (
                f"It comes again with the next run: while no run is there, {self._place.setting} "
                f"--topic {partition.topic}:{partition.partition} --to-offset {offset + 1} leaves it out, and nothing "
                "else: what was given before it is done"
            )
            told = unreadable(f"topic {partition.topic!r}", id_, str(error), way_on)
            self._unreadable = _Unreadable(partition, offset, told)
            self._end_with(self._unreadable)
            return None
        message = Message(values, id_)
        self._emitted[id_] = _Emitted(partition, offset, message)
        return message


def _headers(record: Record) -> dict[str, bytes | None]:
    """Return a record's headers by name, the last of those that have one name."""
    found = cast("Sequence[tuple[str, bytes | None]] | None", record.headers())
    return dict(found or ())


def _check_taken(given: Mapping[str, str]) -> None:
    """Refuse what this spout sets by itself, before what the other Kafka spouts say of the same option."""
    for name in given:
        if name in _TAKEN:
            raise ConfigurationError(f"client option {name!r} can't be set; use {_TAKEN[name]}")


def _checked(options: KafkaOptions) -> dict[str, str]:
    """Return the consumer's options as librdkafka has them; they are kept, since this object is what is pickled."""
    check_known(options.client_options, LEFT_OUT)
    fixed = {"bootstrap.servers": options.bootstrap_servers, "isolation.level": options.isolation_level}
    return {**for_librdkafka(options.client_options), **fixed}
