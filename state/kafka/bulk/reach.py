"""How tasks reach a sink's cluster: all that a driver knows of it, to be pickled."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from trident.base.kafka.clients import told
from trident.base.secrets import Secret
from trident.base.timeouts import Timeouts
from trident.state.kafka.clients.cluster import Cluster, Producers
from trident.state.kafka.clients.limits import MessageLimits, is_compressed
from trident.state.kafka.clients.plain import PlainProducers
from trident.state.kafka.clients.producing import ConfluentProducers
from trident.state.kafka.clients.python_cluster import PythonCluster


class Reach(Hashable, Protocol):
    """Opens what a sink needs, wherever it was taken; shows no secret."""

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """What a process must have been told before it opens anything."""

    @property
    def limit(self) -> timedelta:
        """How long sending a share may take."""

    def cluster(self) -> Cluster:
        """Return the cluster; it connects when it is first asked."""

    def limits(self, cluster: Cluster, *, lineage: bool) -> MessageLimits:
        """Return what the topics take, of records with or without the headers that say where they came from."""

    def producers(self) -> Producers:
        """Return what opens sessions."""


@dataclass(frozen=True, slots=True)
class KafkaReach:
    """See `Reach`; of one sink."""

    sink: str
    servers: str
    options: Secret | None
    timeouts: Timeouts
    of_markers: frozenset[str] = frozenset()
    """Topics that are not for records."""

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """The client's options, as whoever gave them may have meant any of them."""
        return () if self.options is None else (self.options,)

    @property
    def limit(self) -> timedelta:
        """As long as a batch may be processed; what is broken off is sent again."""
        return self.timeouts.batch_timeout

    def cluster(self) -> Cluster:
        """Administration and markers."""
        return PythonCluster(self.sink, self.servers, told(self.options), self.timeouts.lease.total_seconds())

    def limits(self, cluster: Cluster, *, lineage: bool) -> MessageLimits:
        """Before they are compressed, where the options say so."""
        compressed = is_compressed(told(self.options))
        return MessageLimits(cluster, lineage=lineage, of_markers=self.of_markers, is_compressed=compressed)

    def producers(self) -> Producers:
        """A producer per transaction."""
        return ConfluentProducers(self.sink, self.servers, told(self.options), self.timeouts.lease, self.limit)

    def plain(self) -> PlainProducers:
        """What sends without transactions."""
        return PlainProducers(self.sink, self.servers, told(self.options), self.timeouts.give_up_after)
