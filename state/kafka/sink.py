"""A sink that a user names: where its records go, and how the cluster is reached."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyarrow as pa

from trident.base.checks import check_count, check_flag, check_text, check_texts, refused
from trident.base.errors import ConfigurationError, RetryableError
from trident.base.kafka.clients import LEFT_OUT, hidden, told
from trident.base.kafka.words import checked_options
from trident.base.names import check_given_name
from trident.base.secrets import Secret
from trident.base.timeouts import DEFAULT_TIMEOUTS, Timeouts
from trident.state.kafka.bulk.address import check_folder
from trident.state.kafka.bulk.folder import StagingFolder
from trident.state.kafka.bulk.reach import KafkaReach
from trident.state.kafka.bulk.sending import BulkPlace, BulkSender
from trident.state.kafka.markers import Markers
from trident.state.kafka.outbox.stored import Outbox
from trident.state.kafka.outbox.target import OutboxTarget
from trident.state.kafka.plain import PlainKafka
from trident.state.kafka.records import ROWS, is_topic_name
from trident.state.kafka.sender import KafkaSender
from trident.state.kafka.target import KafkaTarget
from trident.state.maps.blobs import open_blobs
from trident.state.plainly import no_plain_form
from trident.state.postgres.database import PostgresDatabase
from trident.state.target import LedgerDatabase

MARKER_TOPIC: Final = "trident-markers"
DEFAULT_PRODUCERS: Final = 4
_RESERVED: Final = {
    "bootstrap.servers": "bootstrap_servers=",
    "metadata.broker.list": "bootstrap_servers=",
    "transactional.id": "nothing: it is made of the names of topology and sink",
    "enable.idempotence": "nothing: transactions need it",
    "acks": "nothing: transactions need all",
    "request.required.acks": "nothing: transactions need all",
}
_MOST_PRODUCERS: Final = 64


@dataclass(frozen=True, slots=True)
class KafkaSink:
    """Records in Kafka topics, each exactly once for readers with `isolation.level=read_committed`.

    All records of a txid, and the marker that says so, are one Kafka transaction under the id `{topology}.{sink}`.
    The marker topic is made when it is missing (compacted); several sinks and topologies may share it. `lineage` adds
    headers that name topology, txid, attempt and source range. `client_options` are librdkafka's, and shown in no repr.

    With a `staging_folder`, which driver and executors share (a path, or an address that Arrow knows), batches that
    are too many for the driver are staged there by tasks, and sent by so many `producers` in tasks: each key by one of
    them, each of them in a transaction of its own, so that readers may see the parts of such a txid one after another.
    """

    name: str
    bootstrap_servers: str = field(kw_only=True)
    marker_topic: str = field(default=MARKER_TOPIC, kw_only=True)
    lineage: bool = field(default=True, kw_only=True)
    client_options: Mapping[str, str] = field(default_factory=dict, kw_only=True, repr=False, hash=False)
    staging_folder: str | Path | None = field(default=None, kw_only=True)
    producers: int = field(default=DEFAULT_PRODUCERS, kw_only=True)

    def __post_init__(self) -> None:
        """Check what can be checked without a connection."""
        check_given_name("a sink's name", self.name)
        check_text("bootstrap_servers", self.bootstrap_servers, allowed="host:port of at least one broker")
        check_topic_name("marker_topic", self.marker_topic)
        check_flag("lineage", self.lineage)
        given = check_texts("client_options", self.client_options, secret=True)
        object.__setattr__(self, "client_options", checked_options(given, _RESERVED, LEFT_OUT))
        if self.staging_folder is not None:
            object.__setattr__(self, "staging_folder", check_folder("staging_folder", self.staging_folder))
        check_count("producers", self.producers, most=_MOST_PRODUCERS)
        if self.staging_folder is None and self.producers != DEFAULT_PRODUCERS:
            raise ConfigurationError(
                f"sink {self.name!r}: producers={self.producers} needs a staging_folder, since they send what tasks "
                "have staged there; without one a sink has one producer, in the coordinator"
            )

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it without its client options: a function that holds a sink by mistake must not take them along."""
        open_ = (self.name, self.bootstrap_servers, self.marker_topic, self.lineage)
        return _restored, (*open_, hidden(self.client_options), self.staging_folder, self.producers)

    def description(self) -> dict[str, str]:
        """Return what must stay the same over restarts."""
        shared = {} if self.staging_folder is None else {"producers": str(self.producers)}
        return {"store": "kafka", "markers": self.marker_topic, **shared}

    @property
    def shares(self) -> range:
        """The numbers of its producers beside its own transactional id; none without a folder."""
        return range(0 if self.staging_folder is None else self.producers)

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
        reach = self._reach(timeouts)
        cluster = reach.cluster()
        markers = Markers(self.name, self.marker_topic, cluster, reach.producers())
        sender = KafkaSender(
            self.name, cluster, markers, reach.limits(cluster, lineage=self.lineage), self.lineage, self._bulk(reach)
        )
        if isinstance(ledger_database, PostgresDatabase):
            return OutboxTarget(sender, Outbox(self.name, ledger_database))
        return KafkaTarget(sender, open_blobs(self.name, ledger_database))

    def check_plain(self) -> None:
        """See `PlainSink`."""
        if self.staging_folder is not None:
            raise no_plain_form(
                f"sink {self.name!r}: a staging_folder, which nothing is staged in there,", "leave it out"
            )

    def open_plain(self, ledger_database: LedgerDatabase, timeouts: Timeouts = DEFAULT_TIMEOUTS) -> PlainKafka:
        """See `PlainSink`."""
        self.check_plain()
        return PlainKafka(self._reach(timeouts), lineage=self.lineage)

    def require_topic(self, topic: str | None, timeouts: Timeouts = DEFAULT_TIMEOUTS) -> str | None:
        """Return the cluster's id; raise ConfigurationError where it says that it has no such topic, if one is given.

        A cluster that is away says nothing: None.
        """
        if topic is not None:
            check_topic_name("topic", topic)
        with closing(self._reach(timeouts).cluster()) as cluster:
            try:
                id_ = cluster.id()
            except RetryableError:  # whoever runs waits for it
                return None
            try:
                is_there = topic is None or topic in cluster.settings([topic])
            except RetryableError:
                return id_
        if not is_there:
            raise ConfigurationError(
                f"sink {self.name!r}: there is no topic {topic!r} at Kafka {self.bootstrap_servers}, or this login may "
                "not see it; nothing was read. Create it, or correct the name"
            )
        return id_

    def _reach(self, timeouts: Timeouts) -> KafkaReach:
        of_markers = frozenset({self.marker_topic, MARKER_TOPIC})
        return KafkaReach(self.name, self.bootstrap_servers, hidden(self.client_options), timeouts, of_markers)

    def _bulk(self, reach: KafkaReach) -> BulkSender | None:
        if self.staging_folder is None:
            return None
        folder = StagingFolder(str(self.staging_folder), self.name)
        return BulkSender(BulkPlace(folder, reach, self.marker_topic, self.producers, self.lineage))


def check_topic_name(what: str, given: object) -> str:
    """Return the name of a topic that Kafka takes."""
    allowed = "a topic's name: up to 249 letters, digits, '.', '_' and '-'"
    if not isinstance(given, str) or not is_topic_name(given):
        raise refused(what, allowed, given)
    return given


def _restored(
    name: str, servers: str, marker_topic: str, lineage: bool, given: Secret | None, folder: str | None, producers: int
) -> KafkaSink:
    return KafkaSink(
        name,
        bootstrap_servers=servers,
        marker_topic=marker_topic,
        lineage=lineage,
        client_options=told(given),
        staging_folder=folder,
        producers=producers,
    )
