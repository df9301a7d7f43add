"""Administration and markers by kafka-python."""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from kafka import KafkaConsumer, TopicPartition
from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.protocol.consumer.offsets import IsolationLevel, OffsetSpec

from trident.base.errors import MismatchError, RetryableError
from trident.base.kafka.admin import UNKNOWN_TOPIC, admin_of, described, is_reachable
from trident.base.kafka.clients import for_kafka_python
from trident.base.kafka.errors import OF_THE_CLIENT
from trident.base.kafka.logs import keep_secrets_out_of_logs
from trident.state.kafka.clients.cluster import FoundMarker, StillOpenError, TopicSettings
from trident.state.kafka.clients.errors import of_asking, of_hidden_settings

_T = TypeVar("_T")
_AT_ONCE: Final = 500
"""How many records from the end on are looked through first; the newest marker of a sink is mostly among them."""
_POLL_MS: Final = 200
_BRIEFLY: Final = 0.25
"""Which part of the time limit is waited briefly."""
_MARKER_TOPIC: Final = {
    "cleanup.policy": "compact",
    # A new segment once an hour, or from so many bytes on: only what is not in the newest one is ever compacted.
    "segment.ms": "3600000",
    "segment.bytes": str(16 << 20),
    "min.cleanable.dirty.ratio": "0.1",
}
_PARTITIONS: Final = 12


@dataclass(frozen=True, slots=True)
class _Looked:
    """Up to where a log was looked through for a key, and its newest value there."""

    upto: int
    value: bytes | None


class PythonCluster:
    """See `Cluster`. Connects at the first call."""

    def __init__(self, sink: str, servers: str, options: Mapping[str, str], timeout_seconds: float) -> None:
        self._sink = sink
        self._servers = servers
        self._options = options
        self._seconds = timeout_seconds
        self._admin: KafkaAdminClient | None = None
        self._consumer: KafkaConsumer | None = None
        self._lock = threading.Lock()
        self._seen: dict[tuple[str, str], int] = {}
        """In which partition a key's markers are."""
        self._looked: dict[tuple[TopicPartition, str], _Looked] = {}

    def id(self) -> str:
        """Return the cluster's own id."""
        found = self._ask("ask for the cluster's id", lambda: self._connected().describe_cluster())
        return str(found["cluster_id"])

    def settings(self, topics: Collection[str]) -> Mapping[str, TopicSettings]:
        """Return the settings of those topics that are there."""
        names = sorted(set(topics))
        partitions: dict[str, int] = {}
        rights: dict[str, Collection[str] | None] = {}
        for topic in self._ask("describe topics", lambda: described(self._connected(), names)):
            if topic["error_code"] == UNKNOWN_TOPIC:
                continue
            if topic["error_code"]:
                error = kafka_errors.for_code(topic["error_code"])()
                raise of_asking(error, self._sink, f"describe topic {topic['name']!r}", self._servers)
            partitions[topic["name"]] = len(topic["partitions"])
            rights[topic["name"]] = topic.get("authorized_operations")
        if not partitions:
            return {}
        resources = [ConfigResource(ConfigResourceType.TOPIC, name, None) for name in partitions]
        told = self._ask(
            "read the settings of topics", lambda: self._connected().describe_configs(resources, config_filter="all")
        )
        (by_topic,) = told.values()
        for name in partitions:
            if not by_topic.get(name):  # what is wrong with it the client does not tell
                raise of_hidden_settings(self._sink, name, rights[name])
        return {name: _settings(count, by_topic[name]) for name, count in partitions.items()}

    def make_marker_topic(self, topic: str) -> None:
        """Create the topic; whoever else has just made it had the same reason."""
        wanted = {topic: {"num_partitions": _PARTITIONS, "configs": _MARKER_TOPIC}}

        def create() -> None:
            with suppress(kafka_errors.TopicAlreadyExistsError):
                self._connected().create_topics(wanted, wait_for_metadata=True)

        self._ask(f"create the marker topic {topic!r}", create)

    def newest(self, topic: str, key: str, *, briefly: bool = False) -> FoundMarker:
        """Look through the partition that a key falls into, then, should partitions have been added, the others.

        What was looked through is not looked through again: only what has come since.
        """
        seconds = self._seconds * _BRIEFLY if briefly else self._seconds
        known = self._seen.get((topic, key))
        if known is not None:
            found = self._newest_in(TopicPartition(topic, known), key, seconds)
            return FoundMarker(found.value, known)
        settings = self.settings([topic]).get(topic)
        if settings is None:
            raise MismatchError(f"the marker topic {topic!r} of sink {self._sink!r} is gone; nothing was sent")
        own = zlib.crc32(key.encode()) % settings.partitions
        for partition in sorted(range(settings.partitions), key=lambda number: number != own):
            found = self._newest_in(TopicPartition(topic, partition), key, seconds)
            if found.value is not None:
                self._seen[topic, key] = partition
                return FoundMarker(found.value, partition)
        return FoundMarker(None, own)

    def close(self) -> None:
        """Close both connections; may be called again."""
        admin, self._admin = self._admin, None
        self._forget()
        if admin is not None:
            admin.close()

    def _newest_in(self, place: TopicPartition, key: str, seconds: float) -> _Looked:
        """Return what is newest up to the end that the log has now, from where it was looked through before."""
        end = self._offset(place, OffsetSpec.LATEST)
        known = self._looked.get((place, key))
        if known is None or known.upto > end:  # a log that has become shorter is another one
            known = self._backwards(place, end, key, seconds)
        elif known.upto < end:
            found = self._asking_for_markers(place, known.upto, end, key, seconds)
            known = _Looked(end, known.value if found is None else found)
        self._looked[place, key] = known
        return known

    def _backwards(self, place: TopicPartition, end: int, key: str, seconds: float) -> _Looked:
        """Go through the log from its end, in ever larger pieces."""
        begin = self._offset(place, OffsetSpec.EARLIEST)
        width, stop = _AT_ONCE, end
        while stop > begin:
            start = max(begin, stop - width)
            found = self._asking_for_markers(place, start, stop, key, seconds)
            if found is not None:
                return _Looked(end, found)
            width, stop = width * 4, start
        return _Looked(end, None)

    def _asking_for_markers(
        self, place: TopicPartition, start: int, stop: int, key: str, seconds: float
    ) -> bytes | None:
        read = partial(self._read, place, start, stop, key.encode(), seconds)
        try:
            return self._ask(f"read markers of {place.topic!r}", read)
        except RetryableError:
            self._forget()  # where it stands in the log is not known any more
            raise

    def _forget(self) -> None:
        self._looked.clear()
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    def _read(self, place: TopicPartition, start: int, stop: int, key: bytes, seconds: float) -> bytes | None:
        """Return the newest value of a key in a range, all of which is committed or aborted once this returns."""
        consumer = self._reading()
        consumer.assign([place])
        consumer.seek(place, start)
        deadline = time.monotonic() + seconds
        newest: bytes | None = None
        while consumer.position(place) < stop:
            for records in consumer.poll(timeout_ms=_POLL_MS).values():
                for record in records:
                    if record.key == key and record.offset < stop:
                        newest = record.value
            if time.monotonic() > deadline:
                raise StillOpenError(
                    f"sink {self._sink!r}: topic {place.topic!r}, partition {place.partition}, can be read up to "
                    f"{consumer.position(place)} only, its log ends at {stop}: a transaction is open there, or a "
                    "replica is behind. Until it has ended nobody knows what was sent, and nothing more is"
                )
        return newest

    def _offset(self, place: TopicPartition, spec: int) -> int:
        """Return an offset whatever is still open: a committed one would end before what is to be waited for."""
        level, patience = IsolationLevel.READ_UNCOMMITTED, int(self._seconds * 1000)
        found = self._ask(
            "list offsets", lambda: self._connected().list_partition_offsets({place: spec}, level, patience)
        )
        return int(found[place].offset)

    def _ask(self, doing: str, question: Callable[[], _T]) -> _T:
        try:
            return question()
        except (kafka_errors.KafkaError, OSError) as error:
            raise of_asking(error, self._sink, doing, self._servers) from error
        except OF_THE_CLIENT as error:
            raise of_asking(error, self._sink, doing, self._servers) from None  # it may quote what it was given

    def _connected(self) -> KafkaAdminClient:
        with self._lock:  # rows are staged while others are sent
            if self._admin is None:
                self._require_reachable()
                self._admin = admin_of(self._servers, self._options, int(self._seconds * 1000))
            return self._admin

    def _reading(self) -> KafkaConsumer:
        if self._consumer is None:
            self._require_reachable()
            keep_secrets_out_of_logs()
            self._consumer = KafkaConsumer(
                **for_kafka_python(self._servers, self._options),
                group_id=None,
                enable_auto_commit=False,
                auto_offset_reset="none",
                isolation_level="read_committed",
                fetch_max_wait_ms=20,
            )
        return self._consumer

    def _require_reachable(self) -> None:
        if not is_reachable(self._servers, self._seconds):
            raise RetryableError(f"sink {self._sink!r}: no Kafka broker answers at {self._servers}; nothing was sent")


def _settings(partitions: int, told: Mapping[str, Mapping[str, object]]) -> TopicSettings:
    def value(name: str) -> str:
        return str(told[name]["value"])

    return TopicSettings(partitions, value("cleanup.policy"), int(value("max.message.bytes")))
