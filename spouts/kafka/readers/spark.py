"""The other reader: Spark's own JVM Kafka connector, decoded in Python tasks behind it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyspark
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from trident.base.digest import Digest
from trident.base.errors import ConfigurationError
from trident.base.ranges import Edge, PartitionId, RangeManifest
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.decoders.base import Headers, TaskDecoder, UnreadableHeaders
from trident.spouts.kafka.logs import no_commands_logged
from trident.spouts.kafka.options import KafkaOptions
from trident.spouts.kafka.readers.pause import collector_paused
from trident.spouts.rows import control_batch
from trident.spouts.tally import RangeTally

_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp")


@dataclass(frozen=True, slots=True)
class SparkReader:
    """Read with `spark.read.format("kafka")`: one task per non-empty range, whatever `tasks` says.

    The connector shows no position, so a manifest's position is None and the connector's own end
    check (`failOnDataLoss`) stands for it. A task that got rows takes its range's edge from the
    partition that it sees; one without rows can't know its range and returns a manifest with id None
    and an edge of its own below zero (two such words must differ: equal ones mean a range that was
    read twice). **The rule for the acker**: a job over n non-empty ranges returns exactly n
    manifests; each named one clears its own edge, once; each nameless one clears any one edge that
    no named one clears. Fewer or more manifests, or a name seen twice, never add up to complete.

    Java's way with two parts of a record: a header's name that is not UTF-8 has U+FFFD where its bytes are none
    (`ArrowReader` makes a bad record of it), and one whose timestamp is beyond 292,000 years fails the read, whether
    the timestamp is used or not: the connector makes a row's columns of all of a record.

    Needs the connector's jar in the session; `ConfigurationError` names it otherwise.
    """

    def read(
        self,
        spark: SparkSession,
        options: KafkaOptions,
        decoder: TaskDecoder,
        edges: Sequence[Edge],
        tasks: int,
    ) -> DataFrame:
        """See `RangeReader`."""
        wide = tuple(edge for edge in edges if edge.range.width)
        task = DecodeRanges(wide, decoder)
        if not wide:
            empty = spark.range(0, 0, 1, 1).mapInArrow(_nothing, decoder.task_schema)
            return decoder.finish(empty)
        columns = [*_COLUMNS, "headers"] if decoder.wants_headers else _COLUMNS
        rows = _load(spark, options, wide, decoder.wants_headers).select(*columns)
        return decoder.finish(rows.mapInArrow(task, decoder.task_schema))


def connector_package() -> str:
    """Return the Maven coordinates of the connector that fits the installed pyspark."""
    return f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"


def _load(spark: SparkSession, options: KafkaOptions, edges: Sequence[Edge], headers: bool) -> DataFrame:
    assign: dict[str, list[int]] = {}
    starts: dict[str, dict[str, int]] = {}
    stops: dict[str, dict[str, int]] = {}
    for edge in edges:
        id_ = edge.range.id
        assign.setdefault(id_.topic, []).append(id_.partition)
        starts.setdefault(id_.topic, {})[str(id_.partition)] = edge.range.start
        stops.setdefault(id_.topic, {})[str(id_.partition)] = edge.range.stop
    try:
        with no_commands_logged():
            reader = spark.read.format("kafka").options(**options.for_spark())
            reader = reader.option("assign", json.dumps(assign)).option("includeHeaders", str(headers).lower())
            reader = reader.option("startingOffsets", json.dumps(starts)).option("endingOffsets", json.dumps(stops))
            return reader.option("failOnDataLoss", "true").load()
    except AnalysisException as error:
        raise ConfigurationError(
            "SparkReader needs Spark's Kafka connector in the session; nothing was read. Build the session with "
            f'.config("spark.jars.packages", "{connector_package()}"), or use ArrowReader'
        ) from error


def _nothing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.slice(0, 0)


@dataclass(frozen=True, slots=True)
class DecodeRanges:
    """The function given to `mapInArrow` behind the connector: all rows of a task are of one range."""

    edges: tuple[Edge, ...]
    decoder: TaskDecoder = field(repr=False)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Decode a task's rows and say at the end what they were, also when there were none."""
        with collector_paused():
            yield from self._decode(batches)

    def _decode(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        edges = {edge.range.id: edge for edge in self.edges}
        tally: RangeTally | None = None
        for batch in batches:
            if not batch.num_rows:
                continue
            records = ConnectorRecords(batch, edges)
            tally = tally or RangeTally(edges[records.id])
            tally.add(records.offsets, records.timestamps, records.values)
            yield from self.decoder.decode(records)
        manifest = tally.manifest(None) if tally else _nameless()
        yield control_batch(arrow_schema(self.decoder.task_schema), [manifest])


def _nameless() -> RangeManifest:
    return RangeManifest(-1 - secrets.randbits(62), None, None, Digest())


class ConnectorRecords:
    """A batch of the connector's rows, all of one partition; see `RawRecords`."""

    def __init__(self, batch: pa.RecordBatch, edges: Mapping[PartitionId, Edge]) -> None:
        self._batch = batch
        self.topic: str = batch.column("topic")[0].as_py()
        self.partition: int = batch.column("partition")[0].as_py()
        self.id = PartitionId(self.topic, self.partition)
        self.edge = edges[self.id].id
        self.offsets: npt.NDArray[np.int64] = batch.column("offset").to_numpy()
        micros = batch.column("timestamp").cast(pa.int64()).to_numpy()
        self.timestamps: npt.NDArray[np.int64] = np.floor_divide(micros, 1000)
        self.values: list[bytes | None] = batch.column("value").to_pylist()

    def keys(self, rows: Sequence[int]) -> list[bytes | None]:
        """Return the keys of the given rows."""
        keys: list[bytes | None] = self._batch.column("key").take(pa.array(rows, pa.int64())).to_pylist()
        return keys

    def headers(self, rows: Sequence[int]) -> list[Headers | UnreadableHeaders]:
        """Return the headers of the given rows."""
        items = self._batch.column("headers").take(pa.array(rows, pa.int64())).to_pylist()
        return [None if not item else [(header["key"], header["value"]) for header in item] for item in items]
