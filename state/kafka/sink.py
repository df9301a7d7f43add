"""A sink that a user names: where its records go, and how the cluster is reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from trident.base.checks import check_flag, check_text, check_texts, refused
from trident.base.kafka.clients import hidden, told
from trident.base.kafka.words import checked_options
from trident.base.names import check_given_name
from trident.base.secrets import Secret
from trident.base.timeouts import DEFAULT_TIMEOUTS, Timeouts
from trident.state.kafka.markers import Markers
from trident.state.kafka.outbox_target import OutboxTarget
from trident.state.kafka.producing import ConfluentProducers
from trident.state.kafka.python_cluster import PythonCluster
from trident.state.kafka.records import ROWS
from trident.state.kafka.target import KafkaTarget
from trident.state.maps.blobs import open_blobs
from trident.state.postgres.database import PostgresDatabase
from trident.state.target import LedgerDatabase

MARKER_TOPIC: Final = "trident-markers"
_RESERVED: Final = {
    "bootstrap.servers": "bootstrap_servers=",
    "metadata.broker.list": "bootstrap_servers=",
    "transactional.id": "nothing: it is made of the names of topology and sink",
    "enable.idempotence": "nothing: transactions need it",
    "acks": "nothing: transactions need all",
    "request.required.acks": "nothing: transactions need all",
}
_LONGEST_TOPIC: Final = 249
_COMPRESSION: Final = ("compression.type", "compression.codec")


@dataclass(frozen=True, slots=True)
class KafkaSink:
    """Records in Kafka topics, each exactly once for readers with `isolation.level=read_committed`.

    All records of a txid, and the marker that says so, are one Kafka transaction under the id `{topology}.{sink}`.
    The marker topic is made when it is missing (compacted); several sinks and topologies may share it. `lineage` adds
    headers that name topology, txid, attempt and source range. `client_options` are librdkafka's, and shown in no repr.
    """

    name: str
    bootstrap_servers: str = field(kw_only=True)
    marker_topic: str = field(default=MARKER_TOPIC, kw_only=True)
    lineage: bool = field(default=True, kw_only=True)
    client_options: Mapping[str, str] = field(default_factory=dict, kw_only=True, repr=False, hash=False)

    def __post_init__(self) -> None:
        """Check what can be checked without a connection."""
        check_given_name("a sink's name", self.name)
        check_text("bootstrap_servers", self.bootstrap_servers, allowed="host:port of at least one broker")
        check_topic_name("marker_topic", self.marker_topic)
        check_flag("lineage", self.lineage)
        given = check_texts("client_options", self.client_options, secret=True)
        object.__setattr__(self, "client_options", checked_options(given, _RESERVED))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it without its client options: a function that holds a sink by mistake must not take them along."""
        open_ = (self.name, self.bootstrap_servers, self.marker_topic, self.lineage)
        return _restored, (*open_, hidden(self.client_options))

    def description(self) -> dict[str, str]:
        """Return what must stay the same over restarts."""
        return {"store": "kafka", "markers": self.marker_topic}

    @property
    def schema(self) -> pa.Schema:
        """A row per record."""
        return ROWS

    def open(
        self, ledger_database: LedgerDatabase, timeouts: Timeouts = DEFAULT_TIMEOUTS
    ) -> KafkaTarget | OutboxTarget:
        """Return the target; it connects when it is first asked.

        Where the ledger is in PostgreSQL records wait there, in the pin's own transaction, and are sent afterwards;
        elsewhere staged rows lie in the ledger's database, and are sent before their txid is done.
        """
        seconds = timeouts.lease.total_seconds()
        cluster = PythonCluster(self.name, self.bootstrap_servers, self.client_options, seconds)
        producers = ConfluentProducers(self.name, self.bootstrap_servers, self.client_options, timeouts.lease)
        markers = Markers(self.name, self.marker_topic, cluster, producers)
        compressed = any(self.client_options.get(name, "none") != "none" for name in _COMPRESSION)
        blobs = open_blobs(self.name, ledger_database)
        target = KafkaTarget(self.name, markers, cluster, blobs, lineage=self.lineage, compressed=compressed)
        if not isinstance(ledger_database, PostgresDatabase):
            return target
        return OutboxTarget(target, ledger_database, markers, cluster, lineage=self.lineage, compressed=compressed)


def check_topic_name(what: str, given: object) -> str:
    """Return the name of a topic that Kafka takes."""
    allowed = "a topic's name: up to 249 letters, digits, '.', '_' and '-'"
    if not isinstance(given, str) or not 1 <= len(given) <= _LONGEST_TOPIC or given in (".", ".."):
        raise refused(what, allowed, given)
    if not all(character.isascii() and (character.isalnum() or character in "._-") for character in given):
        raise refused(what, allowed, given)
    return given


def _restored(name: str, servers: str, marker_topic: str, lineage: bool, given: Secret | None) -> KafkaSink:
    return KafkaSink(
        name, bootstrap_servers=servers, marker_topic=marker_topic, lineage=lineage, client_options=told(given)
    )
