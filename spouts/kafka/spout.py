"""The two Kafka spouts that a user builds a topology with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime

from trident.base.errors import ConfigurationError
from trident.base.policies import policy_of
from trident.spouts.base import BadRecord, Limits, LostOffsets, SpoutKind, Start, StartAt
from trident.spouts.decoders.base import Decoder
from trident.spouts.decoders.raw import Raw
from trident.spouts.kafka.options import KafkaOptions
from trident.spouts.kafka.readers.arrow import ArrowReader
from trident.spouts.kafka.readers.base import RangeReader
from trident.spouts.kafka.source import KafkaSource


@dataclass(frozen=True, slots=True)
class _KafkaSpout(ABC):
    topics: str | Sequence[str]
    _: KW_ONLY
    bootstrap_servers: str
    value: Decoder = field(default_factory=Raw)
    start: Start = StartAt.EARLIEST
    max_records_per_batch: int | None = None
    max_bytes_per_batch: int | None = None
    read_committed: bool = True
    on_lost_offsets: LostOffsets = LostOffsets.STOP
    on_bad_record: BadRecord = BadRecord.FAIL
    reader: RangeReader = field(default_factory=ArrowReader)
    client_options: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    connect_timeout: float = 10.0

    def __post_init__(self) -> None:
        topics = (self.topics,) if isinstance(self.topics, str) else tuple(self.topics)
        _check_topics(topics)
        object.__setattr__(self, "topics", topics)
        object.__setattr__(self, "client_options", dict(self.client_options))
        for name, kind in (("on_lost_offsets", LostOffsets), ("on_bad_record", BadRecord), ("start", StartAt)):
            value = getattr(self, name)
            if not isinstance(value, datetime):
                object.__setattr__(self, name, policy_of(kind, value, name))
        _check_limits(self.limits)
        if self.connect_timeout <= 0:
            raise ConfigurationError("connect_timeout must be above zero seconds")
        if isinstance(self.start, datetime) and self.start.tzinfo is None:
            raise ConfigurationError("start: a datetime needs a time zone, say datetime(2026, 1, 1, tzinfo=UTC)")
        if self.on_lost_offsets is LostOffsets.RESUME_AT_EARLIEST and self.kind is SpoutKind.TRANSACTIONAL:
            raise ConfigurationError(
                "a transactional spout can't resume at the earliest offset: a txid would hold other records than "
                "before. Use OpaqueKafkaSpout, or LostOffsets.STOP"
            )
        self._options()

    @property
    @abstractmethod
    def kind(self) -> SpoutKind:
        """Say what a new attempt at a txid may read."""

    @property
    def limits(self) -> Limits:
        """Say how much one batch may take."""
        return Limits(self.max_records_per_batch, self.max_bytes_per_batch)

    def description(self) -> dict[str, str]:
        """Return kind and topics: what the ledger holds a restart to."""
        return {"spout": "kafka", "kind": self.kind.value, "topics": ",".join(self.topics)}

    def open(self, name: str) -> KafkaSource:
        """Return the source; it connects when it is first asked."""
        return KafkaSource(
            tuple(self.topics), self._options(), self.value, self.reader, self.start, self.connect_timeout
        )

    def _options(self) -> KafkaOptions:
        return KafkaOptions(self.bootstrap_servers, self.read_committed, self.client_options)


@dataclass(frozen=True, slots=True)
class TransactionalKafkaSpout(_KafkaSpout):
    """Kafka topics of which a txid always holds the same records.

    When planned offsets are gone from Kafka the topology stops: a batch that can't be repeated is
    never replaced by another one. Nothing connects before the topology runs; `client_options`
    (SASL, TLS and any other client option, in librdkafka's dotted style) are shown in no repr.
    """

    @property
    def kind(self) -> SpoutKind:
        """Transactional."""
        return SpoutKind.TRANSACTIONAL


@dataclass(frozen=True, slots=True)
class OpaqueKafkaSpout(_KafkaSpout):
    """Kafka topics of which each record succeeds in exactly one txid.

    A new attempt may hold other records than the one before, so lost offsets can be skipped and
    recorded (`on_lost_offsets`). Nothing connects before the topology runs; `client_options`
    (SASL, TLS and any other client option, in librdkafka's dotted style) are shown in no repr.
    """

    @property
    def kind(self) -> SpoutKind:
        """Opaque."""
        return SpoutKind.OPAQUE


def _check_topics(topics: tuple[str, ...]) -> None:
    if not topics or not all(isinstance(topic, str) and topic.strip() for topic in topics):
        raise ConfigurationError("a Kafka spout needs the name of at least one topic")
    if len(set(topics)) < len(topics):
        raise ConfigurationError(f"a topic is named twice: {', '.join(topics)}")


def _check_limits(limits: Limits) -> None:
    named = {"max_records_per_batch": limits.max_records, "max_bytes_per_batch": limits.max_bytes}
    for name, value in named.items():
        if value is not None and value < 1:
            raise ConfigurationError(f"{name} must be above zero, or None for no limit; it is {value}")
