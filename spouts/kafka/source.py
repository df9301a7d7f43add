"""An opened Kafka spout: what the coordinator asks the brokers, and the frames it reads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeVar

from kafka import TopicPartition
from kafka import errors as kafka_errors
from kafka.admin import KafkaAdminClient
from kafka.protocol.consumer.offsets import IsolationLevel, OffsetSpec
from kafka.structs import OffsetAndTimestamp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from trident.base.advice import RESET_ANEW
from trident.base.errors import ConfigurationError, FatalError, RetryableError, TridentError
from trident.base.kafka.admin import UNKNOWN_TOPIC, admin_of, described, is_reachable
from trident.base.kafka.errors import OF_THE_CLIENT
from trident.base.kafka.silence import Silence
from trident.base.logs import LogCut, cut_of
from trident.base.ranges import Edge, OffsetRange, PartitionBounds, PartitionId
from trident.spouts.base import OffsetsLostError, SmallBatch, Start, StartAt, TopicsMissingError
from trident.spouts.decoders.base import Decoder, KnowsRecords, TaskDecoder
from trident.spouts.kafka.epochs import epoch_ends
from trident.spouts.kafka.errors import classify
from trident.spouts.kafka.keeping import cleanup_of, what_is_gone
from trident.spouts.kafka.moments import milliseconds_from
from trident.spouts.kafka.options import KafkaOptions
from trident.spouts.kafka.readers.base import RangeReader, ReadsHere
from trident.spouts.kafka.readers.here import SmallReads, most_bytes_of
from trident.spouts.kafka.reporting import PositionReporter, group_of
from trident.spouts.kafka.topics import FoundTopics, TopicPattern
from trident.spouts.offsets import StartOffsets

_T = TypeVar("_T")
_NO_OFFSET: Final = -1


class KafkaSource:
    """See `Source`. Connects at the first call; `verify` and `read` may be called from several threads."""

    def __init__(
        self,
        name: str,
        topics: tuple[str, ...] | TopicPattern,
        options: KafkaOptions,
        decoder: Decoder,
        reader: RangeReader,
        start: Start,
        connect_timeout: float,
        report_lag: bool = False,
    ) -> None:
        self._name = name
        self._topics = topics
        self._found = FoundTopics(topics) if isinstance(topics, TopicPattern) else None
        self._options = options
        self._decoder = decoder
        self._reader = reader
        self._start = start
        self._timeout_ms = int(connect_timeout * 1000)
        self._lock = threading.Lock()
        self._admin: KafkaAdminClient | None = None
        self._compiled: TaskDecoder | None = None
        self._seen: set[str] = set()
        self._silence = Silence(options.bootstrap_servers)
        self._report_lag = report_lag
        self._reporter: PositionReporter | None = None
        self._small: SmallReads | None = None

    def schema(self, spark: SparkSession) -> StructType:
        """Return the decoder's fields."""
        return self._task_decoder(spark).schema

    def bounds(self) -> tuple[PartitionBounds, ...]:
        """Return what every partition holds now; `stop` is the last stable offset for a committed-only read."""
        return self._bounds(*self._wanted())

    def follow(self, positions: Mapping[PartitionId, OffsetRange]) -> None:
        """Hear which topics were read before: one that is gone is missed although no pattern finds it."""
        if self._found is not None:
            self._found.known = frozenset(id_.topic for id_ in positions)

    def ends(self, ids: Sequence[PartitionId]) -> dict[PartitionId, int]:
        """Return the high watermarks."""
        found = self._listed(ids, OffsetSpec.LATEST, IsolationLevel.READ_UNCOMMITTED)
        return {id_: item.offset for id_, item in found.items()}

    def starts(self, policy: Start | None = None) -> tuple[PartitionBounds, ...]:
        """Resolve a start policy (None: the spout's own) now.

        A partition without a record at or after a start time starts at its end; up to 1970 a time is the earliest.
        Raises ConfigurationError for offsets that are not within the logs of all partitions.
        """
        start = policy if policy is not None else self._start
        found = self._bounds_of_all()
        if isinstance(start, StartOffsets):
            return start.begun(self._name, found)
        since = milliseconds_from(start) if isinstance(start, datetime) else None
        if since is None and start is not StartAt.LATEST:
            return found
        begins = {item.id: item.stop for item in found}
        if since is not None:
            stamps = self._offsets(begins, since)
            for item in found:
                if stamps[item.id] != _NO_OFFSET:
                    begins[item.id] = min(max(stamps[item.id], item.earliest), item.stop)
        return tuple(replace(item, earliest=begins[item.id]) for item in found)

    def read(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        """Return the frame of the ranges; see `Source.read`."""
        decoder = self._form(spark, quick=quick, in_order=False)
        return self._reader.read(spark, self._options, decoder, edges, tasks)

    def read_in_order(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        """Return the frame of the ranges with the records' places; see `KnowsOrder`."""
        decoder = self._form(spark, quick=quick, in_order=True)
        return self._reader.read(spark, self._options, decoder, edges, tasks)

    def read_small(self, spark: SparkSession, edges: Sequence[Edge], *, in_order: bool) -> SmallBatch | None:
        """Return what the ranges hold, where the reader takes them for few; see `ReadsSmallBatches`."""
        if not isinstance(self._reader, ReadsHere):
            return None
        decoder = self._form(spark, quick=True, in_order=in_order)
        return self._reader.read_here(self._options, decoder, edges, self._small_reads(spark))

    def verify(self, ranges: Sequence[OffsetRange]) -> None:
        """Check after a read that the topics are still the planned ones, with the ranges' beginnings and ends."""
        read = [item for item in ranges if item.width]
        if not read:
            return
        topics = sorted({item.id.topic for item in read})
        ids = self._topic_ids(topics, topics)
        for item in read:
            if ids.get(item.id) != item.topic_id:
                raise FatalError(
                    f"topic {item.id.topic!r} was deleted and created anew while a batch was read "
                    f"(id {item.topic_id}, now {ids.get(item.id, 'without that partition')}); nothing of the batch "
                    f"was applied. To read the new topic, {RESET_ANEW}"
                )
        earliest = self._offsets([item.id for item in read], OffsetSpec.EARLIEST)
        lost = tuple(item for item in read if earliest[item.id] > item.start)
        if lost:
            raise OffsetsLostError(lost)
        for cut in self.recognize(read):
            where = f"partition {cut.range.id.partition} of topic {cut.range.id.topic!r}"
            raise RetryableError(
                f"{where} was cut at {cut.end} after a batch was planned up to {cut.range.stop}; nothing of the batch "
                "was applied"
            )

    def recognize(self, known: Sequence[OffsetRange]) -> tuple[LogCut, ...]:
        """Ask the partitions' leaders where the ranges' epochs end; a range without an epoch proves nothing."""
        asked = [item for item in known if item.epoch is not None]
        if not asked:
            return ()
        ends = self._ask("ask for the ends of leader epochs", lambda admin: epoch_ends(admin, asked))
        cuts = (cut_of(item, end) for item, end in zip(asked, ends, strict=True))
        return tuple(cut for cut in cuts if cut is not None)

    def why_gone(self, ranges: Sequence[OffsetRange]) -> str | None:
        """Ask for ids, ends, settings and former leaders of the topics; see `KeepsRecords`."""
        ids = self._topic_ids(sorted({item.id.topic for item in ranges}), ())
        topics = sorted({id_.topic for id_ in ids})
        bounds = self._bounds(topics, ()) if topics else ()
        policies = self._ask("read the settings of topics", lambda admin: cleanup_of(admin, topics)) if topics else {}
        gone = what_is_gone(ranges, {item.id: item for item in bounds}, policies)
        if gone is not None:
            return gone
        for cut in self.recognize([item for item in ranges if item.width]):
            where = f"partition {cut.range.id.partition} of topic {cut.range.id.topic!r}"
            return f"the log of {where} was cut at {cut.end} since, and is another one from there on"
        return None

    def committed(self, txid: int, ranges: Sequence[OffsetRange]) -> None:
        """Do nothing: positions are in the ledger."""

    def report(self, topology: str, ranges: Sequence[OffsetRange]) -> None:
        """Tell the stream's consumer group, unless that is switched off."""
        if not self._report_lag:
            return
        if self._reporter is None:
            self._reporter = PositionReporter(group_of(topology, self._name), self._options)
        self._reporter.report(ranges)

    def close(self) -> None:
        """Close the connection to the brokers; may be called again."""
        with self._lock:
            admin, self._admin = self._admin, None
        reporter, self._reporter = self._reporter, None
        if reporter is not None:
            reporter.close()
        if admin is not None:
            admin.close()
        with self._lock:
            small = self._small
        if small is not None:
            small.close()

    def _bounds(self, topics: Sequence[str], required: Collection[str]) -> tuple[PartitionBounds, ...]:
        ids = self._topic_ids(topics, required)
        earliest = self._offsets(ids, OffsetSpec.EARLIEST)
        latest = self._listed(ids, OffsetSpec.LATEST, self._level)
        return tuple(
            PartitionBounds(id_, ids[id_], earliest[id_], latest[id_].offset, latest[id_].leader_epoch)
            for id_ in sorted(ids)
        )

    def _bounds_of_all(self) -> tuple[PartitionBounds, ...]:
        """Return the bounds of all that a start means: a topic left out now would be read from its beginning later."""
        if self._found is None:
            return self.bounds()
        self._found.forget()
        try:
            topics, _ = self._wanted()
        except ConfigurationError:
            self._require_sure(self._found.unsure)
            raise
        self._require_sure(self._found.unsure)
        try:
            return self._bounds(topics, topics)
        except TopicsMissingError as error:
            self._require_sure(frozenset(error.topics).difference(self._found.known))
            raise

    def _require_sure(self, unsure: Collection[str]) -> None:
        if unsure:
            raise RetryableError(
                f"stream {self._name!r}: the brokers list {', '.join(map(repr, sorted(unsure)))}, which the pattern "
                "matches, but do not describe it now, so where it starts is not known. Nothing was read"
            )

    def _small_reads(self, spark: SparkSession) -> SmallReads:
        with self._lock:
            if self._small is None:
                self._small = SmallReads(most_bytes_of(spark))
            return self._small

    def _form(self, spark: SparkSession, *, quick: bool, in_order: bool) -> TaskDecoder:
        decoder = self._task_decoder(spark)
        asked = decoder.quick() if quick else decoder
        if not in_order:
            return asked
        if not isinstance(asked, KnowsRecords):
            raise ConfigurationError(
                f"the decoder of stream {self._name!r}, {self._decoder.describe()}, has no ordered(), so it can't say "
                "which record a row is of: its rows can be aggregated, but neither sent one by one nor audited. "
                "Nothing was read"
            )
        return asked.ordered()

    def _task_decoder(self, spark: SparkSession) -> TaskDecoder:
        if self._compiled is None:
            self._compiled = self._decoder.compile(spark)
        return self._compiled

    def _wanted(self) -> tuple[Sequence[str], Collection[str]]:
        """Return the topics to read, and those of them that have to be there: one that was just found may have gone."""
        if self._found is None:
            assert not isinstance(self._topics, TopicPattern)
            return self._topics, self._topics
        names = self._found.names(lambda: self._ask("list the topics", lambda admin: admin.describe_topics()))
        if not names:
            raise ConfigurationError(
                f"stream {self._name!r}: no topic at Kafka {self._options.bootstrap_servers} matches the pattern "
                f"{self._found.pattern.text!r} (it has to match the whole name), or none that may be described. "
                "Nothing was read. Create one, or correct pattern or address"
            )
        return names, self._found.known

    def _topic_ids(self, topics: Sequence[str], required: Collection[str]) -> dict[PartitionId, str]:
        """Return every partition of the topics with its topic's id."""
        found = self._ask("describe the topics", lambda admin: described(admin, topics))
        unknown = {topic["name"] for topic in found if topic["error_code"] == UNKNOWN_TOPIC}
        if not unknown.isdisjoint(required):
            raise self._missing(sorted(unknown.intersection(required)))
        ids: dict[PartitionId, str] = {}
        for topic in found:
            if topic["name"] in unknown:
                continue
            if topic["error_code"]:
                error = kafka_errors.for_code(topic["error_code"])()
                raise self._classified(error, f"describe topic {topic['name']!r}")
            for partition in topic["partitions"]:
                ids[PartitionId(topic["name"], partition["partition_index"])] = str(topic["topic_id"] or "")
        self._seen.update(id_.topic for id_ in ids)
        return ids

    def _missing(self, topics: Sequence[str]) -> FatalError:
        server = f"Kafka {self._options.bootstrap_servers}"
        if self._seen.isdisjoint(topics):
            return TopicsMissingError(tuple(topics), server)
        return FatalError(
            f"the topic {', '.join(map(repr, topics))} at {server} was deleted while it was read. Nothing more was "
            "read, and what is done stays. Made again under this name it is another topic: to read that one, "
            f"{RESET_ANEW}"
        )

    def _offsets(self, ids: Iterable[PartitionId], spec: int) -> dict[PartitionId, int]:
        return {id_: item.offset for id_, item in self._listed(ids, spec, self._level).items()}

    @property
    def _level(self) -> IsolationLevel:
        return IsolationLevel.READ_COMMITTED if self._options.read_committed else IsolationLevel.READ_UNCOMMITTED

    def _listed(
        self, ids: Iterable[PartitionId], spec: int, level: IsolationLevel
    ) -> dict[PartitionId, OffsetAndTimestamp]:
        specs = {TopicPartition(id_.topic, id_.partition): spec for id_ in ids}
        found = self._ask("list offsets", lambda admin: admin.list_partition_offsets(specs, level, self._timeout_ms))
        return {PartitionId(place.topic, place.partition): item for place, item in found.items()}

    def _ask(self, doing: str, question: Callable[[KafkaAdminClient], _T]) -> _T:
        try:
            with self._silence.told(f"{doing} for the stream {self._name!r}", self._timeout_ms / 1000):
                return question(self._connected())
        except (kafka_errors.KafkaError, OSError) as error:
            raise self._classified(error, doing) from error
        except OF_THE_CLIENT as error:
            raise self._classified(error, doing) from None  # it may quote what it was given

    def _classified(self, error: Exception, doing: str) -> TridentError:
        return classify(error, f"{doing} for the stream {self._name!r}", self._options.bootstrap_servers)

    def _connected(self) -> KafkaAdminClient:
        with self._lock:
            if self._admin is None:
                servers, timeout_ms = self._options.bootstrap_servers, self._timeout_ms
                if not is_reachable(servers, timeout_ms / 1000):
                    raise RetryableError(f"no Kafka broker answers at {servers}; nothing was read")
                self._admin = admin_of(servers, self._options.client_options, timeout_ms)
            return self._admin
