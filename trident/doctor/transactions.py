"""Transactions in Kafka that hang: those of the topology's sinks, and anybody's that hold back what it reads."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kafka import TopicPartition
from kafka import errors as kafka_errors
from kafka.admin import KafkaAdminClient
from kafka.protocol.consumer.offsets import IsolationLevel, OffsetSpec

from trident.base.kafka.admin import described
from trident.doctor.clients import ClusterAt
from trident.doctor.clusters import place_of
from trident.doctor.findings import Finding, ok, problem, span
from trident.doctor.subject import Subject

OPEN: Final = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")
_DECIDED: Final = {"PrepareCommit": "all of its records can", "PrepareAbort": "none of its records can"}
_PARTITIONS_SHOWN: Final = 5
OF_MARKERS: Final = "where sinks stand can't be told before that has ended: nothing more is sent, and nothing is lost"
OF_READ: Final = "records behind it wait, none is skipped or lost; the topology reads on once that has ended"
OF_WRITTEN: Final = (
    "readers of what is committed see nothing behind it, of this topology neither, until that has ended; what was sent "
    "is there, and more is sent meanwhile"
)
"""What an open end means, of a topic of markers, and of one that the topology reads or writes."""


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that has begun and not ended, as its coordinator knows it."""

    id: str
    producer: str
    """Its producer's id and epoch."""
    state: str
    seconds: float
    timeout_seconds: float
    partitions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A partition of which readers of what is committed get no further than `stable`."""

    place: TopicPartition
    stable: int
    end: int
    producer_id: int | None
    """None where nobody was seen to hold it."""
    producer_epoch: int
    seconds: float
    id: str | None
    """The transactional id, where its coordinator knows it and we may."""


def open_transactions(cluster: ClusterAt, own: Collection[str]) -> tuple[OpenTransaction, ...]:
    """Return the open transactions of these ids, oldest first, as far as they may be described.

    Of whole ids: another program may have one that begins like a topology's.
    """
    listed = cluster.ask("list transactions", lambda admin: admin.list_transactions(state_filters=OPEN))
    ids = {str(getattr(each, "transactional_id", "")) for found in listed.values() for each in found}
    found = [_described(cluster, id_) for id_ in sorted(ids.intersection(own))]
    return tuple(sorted((each for each in found if each is not None), key=lambda each: -each.seconds))


def look_at_own(subject: Subject, cluster: ClusterAt) -> Iterator[Finding]:
    """Say which transactions of the topology have been open for long."""
    own = {id_ for output in subject.outputs if output.cluster is cluster for id_ in output.ids(subject.topology)}
    about, found = f"transactions in {place_of(cluster)}", open_transactions(cluster, own)
    hanging = [each for each in found if each.seconds >= subject.open_longer_than.total_seconds()]
    for each in hanging:
        yield said_of_own(about, each)
    if not hanging:
        age = span(subject.open_longer_than.total_seconds())
        yield ok(about, f"none of {len(own)} own ids has been open for {age}; {len(found)} are open")


def said_of_own(about: str, found: OpenTransaction) -> Finding:
    """Return what an own transaction that hangs means."""
    shown = ", ".join(found.partitions[:_PARTITIONS_SHOWN])
    more = f" and {len(found.partitions) - _PARTITIONS_SHOWN} more" if len(found.partitions) > _PARTITIONS_SHOWN else ""
    said = f"{found.id!r} ({found.state}, producer {found.producer}) has been open for {span(found.seconds)} in {shown}"
    if (will := _DECIDED.get(found.state)) is not None:
        return problem(
            about,
            f"{said}{more}",
            f"its end is decided, and brokers have still to write it there: {will} be read then, and readers of what "
            "is committed wait until then; nothing is lost",
            "look for brokers that are away and partitions without a leader: nothing else ends it",
        )
    return problem(
        about,
        f"{said}{more}",
        "readers of what is committed wait at its first record in each of them; none of its records can be read, and "
        "what it was to send is kept and will be sent",
        f"start the topology, or --abort {found.id}; else the broker aborts it {span(found.timeout_seconds)} after its "
        "beginning",
    )


def look_at_held_back(subject: Subject, cluster: ClusterAt) -> Iterator[Finding]:
    """Say which partitions that the topology reads or writes are held back by a transaction of anybody."""
    topics = {
        topic for each in subject.streams if each.cluster is cluster and each.read_committed for topic in each.topics()
    }
    markers = {each.sink.marker_topic for each in subject.outputs if each.cluster is cluster}
    written = {each.topic for each in subject.outputs if each.cluster is cluster and each.topic is not None}
    looked_at = sorted(topics | markers | written)
    if not looked_at:
        return
    about = f"open ends in {place_of(cluster)}"
    least = subject.open_longer_than.total_seconds()
    found = [each for each in held_back(cluster, looked_at, subject.seconds) if each.seconds >= least]
    for each in found:
        topic = each.place.topic
        means = OF_MARKERS if topic in markers else OF_READ if topic in topics else OF_WRITTEN
        yield said_of_held(about, each, cluster.servers, means)
    if not found:
        yield ok(about, f"nothing in {', '.join(looked_at)} waits for a transaction for {span(least)}")


def said_of_held(about: str, held: HeldBack, servers: str, means: str) -> Finding:
    """Return that a partition is held back, by whom, and what that means."""
    topic, partition = held.place
    who = (
        f"producer {held.producer_id} epoch {held.producer_epoch}"
        if held.producer_id is not None
        else "somebody unseen"
    )
    named = f" ({held.id!r})" if held.id is not None else ""
    way = (
        f"end the program of {held.id!r}, or wait until its timeout aborts it"
        if held.id is not None
        else f"end its program; if none is known: kafka-transactions.sh --bootstrap-server {servers} abort --topic "
        f"{topic} --partition {partition} --start-offset {held.stable}"
    )
    return problem(
        about,
        f"{topic}[{partition}] can be read up to {held.stable} of {held.end}: {who}{named} has had a transaction open "
        f"there for {span(held.seconds)}",
        means,
        way,
    )


def held_back(cluster: ClusterAt, topics: Sequence[str], seconds: float) -> tuple[HeldBack, ...]:
    """Return the partitions whose last stable offset is below their end, and who holds them."""
    places = cluster.ask("describe topics", lambda admin: _places(admin, topics))
    if not places:
        return ()
    ends = _ends(cluster, places, IsolationLevel.READ_UNCOMMITTED, seconds)
    stable = _ends(cluster, places, IsolationLevel.READ_COMMITTED, seconds)
    behind = [place for place in places if stable[place] < ends[place]]
    if not behind:
        return ()
    states = cluster.ask("describe producers", lambda admin: admin.describe_producers(behind))
    now, found = time.time() * 1000, []
    for place in behind:
        holders = [each for each in states[place].active_producers if each.current_transaction_start_offset >= 0]
        first = min(holders, key=lambda each: each.current_transaction_start_offset, default=None)
        if first is None:
            continue  # it has ended just now
        id_, age = _known_by(cluster, first.producer_id)
        seconds_open = age if age is not None else max(now - first.last_timestamp, 0) / 1000
        found.append(
            HeldBack(place, stable[place], ends[place], first.producer_id, first.producer_epoch, seconds_open, id_)
        )
    return tuple(found)


def _known_by(cluster: ClusterAt, producer_id: int) -> tuple[str | None, float | None]:
    """Return the transactional id of a producer, and for how long its transaction has been open."""
    listed = cluster.ask("list transactions", lambda admin: admin.list_transactions(producer_id_filters=[producer_id]))
    ids = [each.transactional_id for found in listed.values() for each in found]
    described_ = _described(cluster, ids[0]) if ids else None
    if described_ is None:
        return None, None
    return described_.id, described_.seconds


def _described(cluster: ClusterAt, id_: str) -> OpenTransaction | None:
    """Return a transaction, None where it has ended or may not be described."""
    gone = (kafka_errors.TransactionalIdNotFoundError, kafka_errors.TransactionalIdAuthorizationFailedError)
    try:
        told = cluster.ask("describe transactions", lambda admin: admin.describe_transactions([id_])[id_], *gone)
    except gone:
        return None
    if told.state.value not in OPEN:
        return None
    return OpenTransaction(
        id_,
        f"{told.producer_id} epoch {told.producer_epoch}",
        told.state.value,
        max(time.time() - told.transaction_start_time_ms / 1000, 0),
        told.transaction_timeout_ms / 1000,
        tuple(sorted(f"{place.topic}[{place.partition}]" for place in told.topic_partitions)),
    )


def _places(admin: KafkaAdminClient, topics: Sequence[str]) -> list[TopicPartition]:
    return [
        TopicPartition(topic["name"], partition["partition_index"])
        for topic in described(admin, topics)
        if not topic["error_code"]
        for partition in topic["partitions"]
    ]


def _ends(
    cluster: ClusterAt, places: Sequence[TopicPartition], level: int, seconds: float
) -> Mapping[TopicPartition, int]:
    asked, patience = dict.fromkeys(places, OffsetSpec.LATEST), int(seconds * 1000)
    told = cluster.ask("list offsets", lambda admin: admin.list_partition_offsets(asked, level, patience))
    return {place: int(told[place].offset) for place in places}
