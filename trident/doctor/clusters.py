"""Every cluster that a topology uses: does it answer, which version is it, and what may be done with its topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from kafka import errors as kafka_errors
from kafka.admin import KafkaAdminClient
from kafka.protocol.metadata import CoordinatorType
from kafka.protocol.producer.transaction import EndTxnRequest

from trident.base.kafka.admin import UNKNOWN_TOPIC
from trident.doctor.clients import ClusterAt
from trident.doctor.findings import Finding, ok, problem, warning
from trident.doctor.subject import Subject

_READ: Final = ("DESCRIBE", "READ")
_WRITE: Final = ("DESCRIBE", "DESCRIBE_CONFIGS", "WRITE")
_MARKERS: Final = ("DESCRIBE", "DESCRIBE_CONFIGS", "READ", "WRITE")
_DENIED_ID: Final = kafka_errors.TransactionalIdAuthorizationFailedError
_DENIED_TOPIC: Final = kafka_errors.TopicAuthorizationFailedError.errno
_NOBODYS_PRODUCER: Final = 2**62
"""A producer id that no cluster has given out: what is asked under it is refused, whoever may ask."""


@dataclass(frozen=True, slots=True)
class TopicUse:
    """What is done with a topic, and by whom."""

    topic: str
    who: str
    rights: tuple[str, ...]
    is_marker: bool = False


def place_of(cluster: ClusterAt) -> str:
    """Return how findings name a cluster."""
    return f"Kafka at {cluster.servers}"


def look_at_cluster(cluster: ClusterAt) -> Iterator[Finding]:
    """Say whether it answers, and which version it is of."""

    def question(admin: KafkaAdminClient) -> tuple[Mapping[str, Any], tuple[int, ...]]:
        return admin.describe_cluster(), tuple(admin._manager.broker_version)

    told, version = cluster.ask("describe the cluster", question)
    shown = ".".join(map(str, version))
    # the client tells a broker by the requests that it knows: a newer one is taken for the newest that the client knows
    yield ok(
        place_of(cluster),
        f"{len(told['brokers'])} brokers answer, cluster {told['cluster_id']!r}, Kafka {shown} or newer",
    )


def uses_of(subject: Subject, cluster: ClusterAt) -> tuple[TopicUse, ...]:
    """Return what the topology does with topics of one cluster."""
    found = [
        TopicUse(topic, f"stream {stream.name!r}", _READ)
        for stream in subject.streams
        if stream.cluster is cluster
        for topic in stream.topics()
    ]
    for output in subject.outputs:
        if output.cluster is cluster:
            who = f"sink {output.sink.name!r}"
            if output.topic is not None:
                found.append(TopicUse(output.topic, who, _WRITE))
            found.append(TopicUse(output.sink.marker_topic, who, _MARKERS, is_marker=True))
    for output in subject.plain_outputs:
        if output.cluster is cluster and output.topic is not None:
            found.append(TopicUse(output.topic, f"sink {output.sink.name!r}", _WRITE))
    return tuple(found)


def look_at_topics(subject: Subject, cluster: ClusterAt) -> Iterator[Finding]:
    """Say of each topic whether it is there, and which right is missing on it."""
    uses = uses_of(subject, cluster)
    for stream in subject.streams:
        if stream.cluster is cluster and not stream.topics():
            yield problem(
                f"stream {stream.name!r}",
                f"no topic matches its pattern {stream.spout.pattern!r}",
                "a run stops before its first batch; nothing is lost",
                "create one, grant DESCRIBE on it, or mend the pattern",
            )
    names = sorted({use.topic for use in uses})
    if not names:
        return
    told = cluster.ask("describe topics", lambda admin: admin.describe_topics(names))
    by_name: dict[str, Mapping[str, Any]] = {each["name"]: each for each in told}
    may_create = "CREATE" in cluster.ask("describe the cluster", _cluster_rights)
    for use in uses:
        yield judged(use, by_name.get(use.topic, {"error_code": UNKNOWN_TOPIC}), may_create=may_create)


def judged(use: TopicUse, told: Mapping[str, Any], *, may_create: bool) -> Finding:
    """Return what the brokers' word on a topic means."""
    about, code = f"topic {use.topic!r} of {use.who}", told["error_code"]
    if code == _DENIED_TOPIC:
        return _lacking(about, use.topic, ("DESCRIBE",))
    if code == UNKNOWN_TOPIC:
        return _absent(about, use, may_create=may_create)
    if code:
        name = kafka_errors.for_code(code).__name__
        return problem(about, f"its brokers say {name}", "it is waited for; nothing is lost", "look at the brokers")
    rights = told.get("authorized_operations")
    if rights is None:
        return warning(about, "it is there; its brokers do not tell rights", "they can't be told", "start and see")
    missing = tuple(right for right in use.rights if right not in rights)
    partitions = len(told["partitions"])
    return _lacking(about, use.topic, missing) if missing else ok(about, f"{partitions} partitions, rights are there")


def look_at_transactional_ids(subject: Subject, cluster: ClusterAt) -> Iterator[Finding]:
    """Say of each sink whether it may describe its transactional id, and write under it.

    The second is asked with an end of a transaction of a producer that there is not: whether that is refused for want
    of a right, or because there is none, is the answer, and nothing is begun or ended.
    """
    for output in subject.outputs:
        if output.cluster is cluster:
            for id_ in output.ids(subject.topology):
                yield _of_id(cluster, output.sink.name, id_)


def _of_id(cluster: ClusterAt, sink: str, id_: str) -> Finding:
    about = f"transactional id {id_!r}"
    try:
        cluster.ask("ask for a transactional id", partial(_may_use, id_), _DENIED_ID)
    except _DENIED_ID:
        return problem(
            about,
            f"sink {sink!r} lacks DESCRIBE or WRITE on it",
            "a run stops when it begins a session; nothing is sent, and what is done waits",
            f"grant both to its user on TransactionalId {id_}",
        )
    return ok(about, f"sink {sink!r} may use it")


def _may_use(id_: str, admin: KafkaAdminClient) -> None:
    admin._manager.run(_end_none, admin, id_)


async def _end_none(admin: KafkaAdminClient, id_: str) -> None:
    places = await admin._find_coordinator_ids([id_], key_type=CoordinatorType.TRANSACTION)
    request = EndTxnRequest(
        transactional_id=id_, producer_id=_NOBODYS_PRODUCER, producer_epoch=0, committed=False, max_version=3
    )
    response = await admin._manager.send(request, node_id=places[id_])
    if response.error_code == _DENIED_ID.errno:
        raise _DENIED_ID


def _cluster_rights(admin: KafkaAdminClient) -> tuple[str, ...]:
    return tuple(admin.describe_cluster().get("authorized_operations") or ())


def _lacking(about: str, topic: str, rights: tuple[str, ...]) -> Finding:
    return problem(
        about,
        f"{', '.join(rights)} is not allowed",
        "a run stops where it needs it; what is done stays, and nothing is skipped",
        f"grant {', '.join(rights)} on topic {topic} to its user (kafka-acls.sh --add)",
    )


def _absent(about: str, use: TopicUse, *, may_create: bool) -> Finding:
    if not use.is_marker:
        return problem(
            about,
            "it is not there",
            "a run stops before its first batch; nothing is lost",
            "create it, or mend the name",
        )
    if may_create:
        return ok(about, "it is not there; the first start makes it")
    return warning(
        about,
        "it is not there, and CREATE on the cluster is not allowed",
        "the first start makes it, if CREATE on the topic itself is; else it is refused, and nothing is sent",
        f"create {use.topic} with cleanup.policy=compact, or grant CREATE",
    )
