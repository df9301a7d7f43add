"""A Kafka cluster in memory that one sink sends to: transactions, fences and markers, and no network that fails."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final

from trident.base.errors import RetryableError
from trident.state.kafka.clients.cluster import FoundMarker, TopicSettings
from trident.state.kafka.records import Record

_MOST_BYTES: Final = 1_048_588
"""What a record may have at a broker whose settings nobody has changed."""


class SentRecords:
    """See `Cluster` and `Producers`; every topic that is asked for is there, with one partition.

    May be called from several threads.
    """

    def __init__(self, marker_topic: str) -> None:
        self._marker_topic = marker_topic
        self._lock = threading.Lock()
        self._commits: list[tuple[Record, ...]] = []
        self._markers: dict[str, bytes] = {}
        self._epochs: Counter[str] = Counter()

    @property
    def seen(self) -> tuple[Record, ...]:
        """What a reader of committed records has seen, in the order in which it was committed."""
        return tuple(record for records in self.commits for record in records)

    @property
    def commits(self) -> tuple[tuple[Record, ...], ...]:
        """The same, by the transaction that brought them."""
        with self._lock:
            return tuple(self._commits)

    def id(self) -> str:
        """See `Cluster`."""
        return "memory"

    def settings(self, topics: Collection[str]) -> Mapping[str, TopicSettings]:
        """See `Cluster`."""
        return {
            topic: TopicSettings(1, "compact" if topic == self._marker_topic else "delete", _MOST_BYTES)
            for topic in topics
        }

    def make_marker_topic(self, topic: str) -> None:
        """Do nothing: it is there."""

    def newest(self, topic: str, key: str, *, briefly: bool = False) -> FoundMarker:
        """See `Cluster`."""
        with self._lock:
            return FoundMarker(self._markers.get(key), 0)

    def open(self, transactional_id: str, limits: Mapping[str, int]) -> MemorySession:
        """See `Producers`: who had the id before can't commit any more."""
        with self._lock:
            self._epochs[transactional_id] += 1
            return MemorySession(self, transactional_id, self._epochs[transactional_id])

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def commit(self, transactional_id: str, epoch: int, records: Collection[Record]) -> None:
        """Let readers see these, all at once; raises RetryableError once a newer session has begun."""
        with self._lock:
            if self._epochs[transactional_id] != epoch:
                raise RetryableError(f"a newer session of {transactional_id!r} has begun; nothing was sent")
            self._commits.append(tuple(record for record in records if record.topic != self._marker_topic))
            for record in records:
                if record.topic == self._marker_topic and record.key is not None and record.value is not None:
                    self._markers[record.key.decode()] = record.value


class MemorySession:
    """See `Session`."""

    def __init__(self, cluster: SentRecords, transactional_id: str, epoch: int) -> None:
        self._cluster = cluster
        self._id = transactional_id
        self._epoch = epoch
        self._open: list[Record] = []

    def cluster_id(self) -> str:
        """See `Session`."""
        return self._cluster.id()

    def begin(self) -> None:
        """Do nothing: nothing is sent for that."""

    def send(self, record: Record, partition: int | None = None) -> None:
        """See `Session`."""
        self._open.append(record)

    def commit(self) -> None:
        """See `Session`."""
        self._cluster.commit(self._id, self._epoch, self._open)
        self._open = []

    def close(self) -> None:
        """Forget what was not committed."""
        self._open = []
