"""The two Kafka spouts that a user builds a topology with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from datetime import datetime

from trident.base.checks import check_able, check_flag, check_limit, check_seconds, check_texts, refused
from trident.base.errors import ConfigurationError
from trident.base.kafka.clients import hidden, told
from trident.base.policies import policy_of
from trident.base.secrets import Secret
from trident.spouts.base import BadRecord, Limits, LostOffsets, SpoutKind, Start, StartAt
from trident.spouts.decoders.base import Decoder
from trident.spouts.decoders.raw import Raw
from trident.spouts.kafka.options import KafkaOptions
from trident.spouts.kafka.readers.arrow import ArrowReader
from trident.spouts.kafka.readers.base import RangeReader
from trident.spouts.kafka.source import KafkaSource
from trident.spouts.kafka.topics import TopicPattern, checked_topics
from trident.spouts.offsets import OFFSETS, StartOffsets


@dataclass(frozen=True, slots=True)
class _KafkaSpout(ABC):
    topics: str | Sequence[str] = ()
    """One topic, or several, by their names."""
    _: KW_ONLY
    bootstrap_servers: str
    """`host:port` of at least one broker."""
    pattern: str | None = None
    """In the place of names: a regular expression for the whole name of a topic."""
    value: Decoder = field(default_factory=Raw)
    """How a record becomes fields: `Json("account string, amount bigint")`, or `Raw()`."""
    start: Start | Mapping[str, Mapping[int, int]] = StartAt.EARLIEST
    """Where a new topology begins: "earliest", "latest", a datetime with its zone, or an offset for each partition.

    `start={"payments": {0: 1200, 1: 900}}` names the first record to read of every partition of every topic. It is
    resolved to offsets once, at the topology's first start (and by a reset that does not say otherwise), and kept in
    the ledger: later runs go on where the last one stood, whatever it says then. What a log does not hold is refused. A
    partition that comes later, and a topic that a pattern finds later, is read from its beginning; one that is added by
    name begins as this says then.
    """
    max_records_per_batch: int | None = None
    """How many offsets one batch takes at most; without it, and the next, all that is there."""
    max_bytes_per_batch: int | None = None
    """About how many bytes one batch takes at most, by what records have measured so far."""
    max_records_per_partition: int | None = None
    """How many offsets of one partition one batch takes at most, beside these."""
    read_committed: bool = True
    """Whether records of transactions that are open or aborted are left out."""
    on_lost_offsets: LostOffsets = LostOffsets.STOP
    """What becomes of offsets that are gone before they were read: "stop", or "resume_at_earliest" (opaque spouts)."""
    on_bad_record: BadRecord = BadRecord.FAIL
    """What becomes of a record that does not decode: "fail" stops the topology, "dead_letter": the ledger has it."""
    reader: RangeReader = field(default_factory=ArrowReader)
    """How tasks read."""
    client_options: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    """Options of the Kafka client by librdkafka's names (logins, certificates), wherever this spout connects."""
    connect_timeout: float = 10.0
    """How many seconds a broker may take to answer."""
    report_lag: bool = True
    """Whether positions that are done are reported to the group `trident.{topology}.{stream}`, for tools."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "topics", checked_topics(self.topics, self.pattern))
        object.__setattr__(self, "client_options", check_texts("client_options", self.client_options, secret=True))
        object.__setattr__(self, "on_lost_offsets", policy_of(LostOffsets, self.on_lost_offsets, "on_lost_offsets"))
        object.__setattr__(self, "on_bad_record", policy_of(BadRecord, self.on_bad_record, "on_bad_record"))
        object.__setattr__(self, "start", _checked_start(self.start))
        self._check_topics_of_start()
        check_limit("max_records_per_batch", self.max_records_per_batch)
        check_limit("max_bytes_per_batch", self.max_bytes_per_batch)
        check_limit("max_records_per_partition", self.max_records_per_partition)
        check_flag("read_committed", self.read_committed)
        check_seconds("connect_timeout", self.connect_timeout)
        check_flag("report_lag", self.report_lag)
        check_able("value", self.value, ("describe", "compile"), "a decoder such as Raw() or Json('account string')")
        check_able("reader", self.reader, ("read",), "a reader such as ArrowReader()")
        if self.on_lost_offsets is LostOffsets.RESUME_AT_EARLIEST and self.kind is SpoutKind.TRANSACTIONAL:
            raise ConfigurationError(
                "a transactional spout can't resume at the earliest offset: a txid would hold other records than "
                "before. Use OpaqueKafkaSpout, or LostOffsets.STOP"
            )
        options = self._options()
        if isinstance(self.reader, ArrowReader):
            self.reader.check(options)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it without its client options: a function that holds a spout by mistake must not take them along."""
        open_ = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "client_options"}
        return _restored, (type(self), open_, hidden(self.client_options))

    @property
    @abstractmethod
    def kind(self) -> SpoutKind:
        """Say what a new attempt at a txid may read."""

    @property
    def takes_offsets(self) -> bool:
        """Streams of Kafka can begin at offsets."""
        return True

    @property
    def limits(self) -> Limits:
        """Say how much one batch may take."""
        return Limits(self.max_records_per_batch, self.max_bytes_per_batch, self.max_records_per_partition)

    def description(self) -> dict[str, str]:
        """Return kind and topics, or their pattern: what the ledger holds a restart to."""
        read = {"topics": ",".join(self.topics)} if self.pattern is None else {"pattern": self.pattern}
        return {"spout": "kafka", "kind": self.kind.value, **read}

    def reads(self, topic: str) -> bool:
        """Tell whether a topic of this name, in this cluster, is one of those that are read."""
        return topic in self.topics if self.pattern is None else TopicPattern(self.pattern).matches(topic)

    def open(self, name: str) -> KafkaSource:
        """Return the source; it connects when it is first asked."""
        return KafkaSource(
            name,
            tuple(self.topics) if self.pattern is None else TopicPattern(self.pattern),
            self._options(),
            self.value,
            self.reader,
            _checked_start(self.start),
            self.connect_timeout,
            self.report_lag,
        )

    def _check_topics_of_start(self) -> None:
        topics = self.start.topics if isinstance(self.start, StartOffsets) else ()
        others = [topic for topic in topics if not self.reads(topic)]
        if others:
            raise refused("start", "offsets of topics that this spout reads", others)

    def _options(self) -> KafkaOptions:
        return KafkaOptions(self.bootstrap_servers, self.read_committed, self.client_options)


@dataclass(frozen=True, slots=True)
class TransactionalKafkaSpout(_KafkaSpout):
    """Kafka topics of which a txid always holds the same records.

    They are named, or all that match a `pattern`: one that comes later is read from its beginning, and found within
    two seconds.

    Tools that show lag find how far a stream is under the consumer group `trident.{topology}.{stream}`, which nothing
    reads back (`report_lag=False` leaves it out).

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

    They are named, or all that match a `pattern`: one that comes later is read from its beginning, and found within
    two seconds.

    Tools that show lag find how far a stream is under the consumer group `trident.{topology}.{stream}`, which nothing
    reads back (`report_lag=False` leaves it out).

    A new attempt may hold other records than the one before, so lost offsets can be skipped and
    recorded (`on_lost_offsets`). Nothing connects before the topology runs; `client_options`
    (SASL, TLS and any other client option, in librdkafka's dotted style) are shown in no repr.
    """

    @property
    def kind(self) -> SpoutKind:
        """Opaque."""
        return SpoutKind.OPAQUE


def _restored(kind: Callable[..., _KafkaSpout], open_: Mapping[str, object], given: Secret | None) -> _KafkaSpout:
    return kind(**open_, client_options=told(given))


def _checked_start(given: Start | Mapping[str, Mapping[int, int]]) -> Start:
    if isinstance(given, StartOffsets):
        return given
    if isinstance(given, Mapping):
        return StartOffsets.of(given)
    if isinstance(given, datetime):
        if given.utcoffset() is None:
            raise refused("start", "a datetime with a time zone, say datetime(2026, 1, 1, tzinfo=UTC)", given)
        return given
    return policy_of(StartAt, given, "start", beside=f", a datetime with a time zone or {OFFSETS}")
