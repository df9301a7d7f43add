"""`Stream.to_kafka`: what it takes, checked, and the sink that is meant where none is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from pyspark.sql import Column

from trident.base.checks import check_instance, check_text, refused
from trident.base.errors import ConfigurationError
from trident.graph.nodes import BY_COLUMN, Node, SourceNode, walk
from trident.operations.kafka_records import RecordParts
from trident.operations.sending import check_callable_with_batch, check_sendable
from trident.spouts.kafka.spout import OpaqueKafkaSpout, TransactionalKafkaSpout
from trident.state.kafka.records import LINEAGE
from trident.state.kafka.sink import MARKER_TOPIC, KafkaSink, check_topic_name

_TO_REACH: Final = ("security.", "sasl.", "ssl.", "socket.", "broker.", "client.id")
_PART: Final = "the name of a field, a Spark column, a Python function over Arrow batches, or None"


def checked_parts(topic: object, key: object, value: object, headers: Mapping[str, str | Column] | None) -> RecordParts:
    """Return what a record is made of; raises ConfigurationError for what can be none of it."""
    if not isinstance(topic, Column):
        check_topic_name("to_kafka: the topic", topic)
    for what, part in (("key", key), ("value", value)):
        _check_part(f"to_kafka: the {what}", part)
    given = {} if headers is None else headers
    if not isinstance(given, Mapping):
        raise refused("headers", "a mapping of names to fields or columns, or None", headers)
    for name, part in given.items():
        if not isinstance(name, str) or not name or name.startswith(LINEAGE):
            raise refused("a header's name", f"a text that does not begin with {LINEAGE!r}", name)
        if not isinstance(part, Column):
            check_text(f"header {name!r}", part, allowed="the name of a field or a Spark column")
    return RecordParts(topic, key, value, dict(given))  # type: ignore[arg-type]  # all were checked


def described_topic(topic: str | Column) -> str:
    """Return what the ledger keeps of it."""
    return topic if isinstance(topic, str) else BY_COLUMN


def sink_of(node: Node, topic: str | Column, sink: object) -> KafkaSink:
    """Return the given sink, or one in the cluster that the stream is read from, named after its topic."""
    if sink is not None:
        return check_instance("sink", sink, KafkaSink, allowed="a KafkaSink(name, bootstrap_servers=…), or None")
    if not isinstance(topic, str):
        raise ConfigurationError(
            "to_kafka: a topic that each record names gives the sink no name; name it with sink=KafkaSink(name, "
            "bootstrap_servers=…). Nothing was started or changed"
        )
    clusters = {(spout.bootstrap_servers, tuple(sorted(_reaching(spout.client_options)))) for spout in _spouts(node)}
    if len(clusters) != 1:
        found = "several Kafka clusters" if clusters else "no Kafka cluster"
        raise ConfigurationError(
            f"to_kafka: the stream is read from {found}, so where topic {topic!r} is must be said: "
            "sink=KafkaSink(name, bootstrap_servers=…). Nothing was started or changed"
        )
    ((servers, options),) = clusters
    return KafkaSink(topic, bootstrap_servers=servers, client_options=dict(options))


def check_no_markers(topic: str | Column, sink: KafkaSink) -> None:
    """Raise ConfigurationError for a topic of markers: a record there would stop whoever's marker has its key.

    Another sink's are looked for when the topology starts to run, since two clusters may be one.
    """
    if isinstance(topic, str) and topic in (sink.marker_topic, MARKER_TOPIC):
        raise ConfigurationError(
            f"to_kafka: topic {topic!r} holds the markers of sinks and nothing else; name another topic. Nothing was "
            "started or changed"
        )


def _check_part(what: str, part: object) -> None:
    if part is None or isinstance(part, Column):
        return
    if isinstance(part, str):
        check_text(what, part, allowed=_PART)
        return
    if not callable(part) or isinstance(part, type):
        raise refused(what, _PART, part)
    check_callable_with_batch(what, part)
    check_sendable(what, part)


def _reaching(options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what is about reaching a cluster, and not about reading."""
    return ((name, value) for name, value in options.items() if name.startswith(_TO_REACH))


def _spouts(node: Node) -> Iterator[OpaqueKafkaSpout | TransactionalKafkaSpout]:
    for each in walk(node):
        if isinstance(each, SourceNode) and isinstance(each.spout, OpaqueKafkaSpout | TransactionalKafkaSpout):
            yield each.spout
