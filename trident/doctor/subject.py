"""What is examined: a topology with its ledger, its databases and its clusters, opened and not yet asked anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from kafka.admin import KafkaAdminClient

from trident.base.clock import Clock, SystemClock
from trident.base.closing import giving_back
from trident.base.timeouts import Timeouts
from trident.coordinators.ledger import Ledger
from trident.coordinators.registered import TopologySpec
from trident.doctor.clients import ClusterAt
from trident.graph.nodes import SinkNode
from trident.spouts.kafka.spout import OpaqueKafkaSpout, TransactionalKafkaSpout
from trident.spouts.queue.acking import AckingSpout
from trident.state.kafka.marker import transactional_id
from trident.state.kafka.sink import KafkaSink
from trident.state.row_tables.plain import PlainRows
from trident.state.tables.plain import PlainTable
from trident.state.tables.sql_target import SqlTarget
from trident.state.target import Target

if TYPE_CHECKING:
    from trident.language.topology import Topology

PlainInSql = PlainTable | PlainRows


@dataclass(frozen=True, slots=True)
class KafkaStream:
    """A stream that is read from Kafka."""

    name: str
    spout: OpaqueKafkaSpout | TransactionalKafkaSpout
    read_committed: bool
    cluster: ClusterAt

    def topics(self) -> tuple[str, ...]:
        """Return what it reads; asks the cluster where that is a pattern."""
        if self.spout.pattern is None:
            return tuple(self.spout.topics)
        return tuple(sorted(filter(self.spout.reads, self.cluster.ask("list topics", _names))))


def _names(admin: KafkaAdminClient) -> list[str]:
    return [str(name) for name in admin.list_topics()]


@dataclass(frozen=True, slots=True)
class KafkaOutput:
    """A sink in Kafka; `topic` is None where each record names its own."""

    sink: KafkaSink
    topic: str | None
    cluster: ClusterAt

    def ids(self, topology: str) -> tuple[str, ...]:
        """Return the transactional ids of the sink and of each of its producers."""
        return tuple(transactional_id(topology, self.sink.name, share) for share in (None, *self.sink.shares))


@dataclass(frozen=True, slots=True)
class Subject:
    """One topology; everything else is asked with the patience of `timeouts`."""

    topology: str
    ledger: Ledger
    timeouts: Timeouts
    open_longer_than: timedelta
    """From which age on a transaction counts as one that hangs."""
    targets: Mapping[str, Target] = field(default_factory=dict)
    streams: tuple[KafkaStream, ...] = ()
    outputs: tuple[KafkaOutput, ...] = ()
    plain: Mapping[str, PlainInSql] = field(default_factory=dict)
    """Tables that stand at no txid, at a weaker level: of these only whether they are there and fit is asked."""
    plain_outputs: tuple[KafkaOutput, ...] = ()
    """Sinks in Kafka that have no markers and no transactions, at such a level."""
    spec: TopologySpec | None = None
    """What the ledger is to know of this version; None where nobody asks."""
    queues: tuple[str, ...] = ()
    """Streams from which nobody can be told what is there without taking it."""
    clock: Clock = field(default_factory=SystemClock)

    @property
    def seconds(self) -> float:
        """How long one answer may take."""
        return self.timeouts.lease.total_seconds()

    @property
    def tables(self) -> tuple[SqlTarget, ...]:
        """The states and sinks in SQL databases."""
        return tuple(target for target in self.targets.values() if isinstance(target, SqlTarget))

    @property
    def clusters(self) -> tuple[ClusterAt, ...]:
        """Every cluster that a stream or a sink is in, once."""
        outputs = (*self.outputs, *self.plain_outputs)
        found = [*(stream.cluster for stream in self.streams), *(output.cluster for output in outputs)]
        return tuple(dict.fromkeys(found))


@contextmanager
def opened_subject(
    topology: Topology, ledger: Ledger, timeouts: Timeouts, open_longer_than: timedelta
) -> Iterator[Subject]:
    """Give a topology's parts, and let go of their connections; raises ConfigurationError for what can't be opened."""
    compiled = topology.compile()
    clusters: dict[tuple[str, tuple[tuple[str, str], ...]], ClusterAt] = {}

    def cluster(servers: str, options: Mapping[str, str]) -> ClusterAt:
        key = (servers, tuple(sorted(options.items())))
        return clusters.setdefault(key, ClusterAt(servers, options, timeouts.lease.total_seconds()))

    streams = tuple(
        KafkaStream(name, spout, spout.read_committed, cluster(spout.bootstrap_servers, spout.client_options))
        for name, spout in compiled.spouts.items()
        if isinstance(spout, OpaqueKafkaSpout | TransactionalKafkaSpout)
    )
    outputs = tuple(
        KafkaOutput(end.sink, end.topic, cluster(end.sink.bootstrap_servers, end.sink.client_options))
        for end in compiled.ends
        if isinstance(end, SinkNode) and isinstance(end.sink, KafkaSink)
    )
    is_plain = compiled.level.is_plain
    with ExitStack() as stack:
        targets: dict[str, Target] = {}
        for name, opens in compiled.targets.items():
            targets[name] = opens(ledger.database, timeouts)
            stack.enter_context(giving_back(f"closing {name!r}", targets[name].close))
        for each in clusters.values():
            stack.enter_context(giving_back("closing a client of Kafka", each.close))
        queues = tuple(name for name, spout in compiled.spouts.items() if isinstance(spout, AckingSpout))
        made = Subject(
            topology.name, ledger, timeouts, open_longer_than, {}, streams, spec=compiled.spec(), queues=queues
        )
        # what is asked of the others is about positions, markers and transactions, which a weaker level does not have
        plain = {name: target for name, target in targets.items() if isinstance(target, PlainInSql)}
        yield (
            replace(made, plain=plain, plain_outputs=outputs)
            if is_plain
            else replace(made, targets=targets, outputs=outputs)
        )
