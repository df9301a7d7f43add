"""A spout whose records are given as rows, and a state that is never opened: all that the engine itself needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from trident.base.control import CONTROL, BadRecordWord, Undecoded, encode
from trident.base.digest import Digest, hash64, seed_of
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.logs import LogCut
from trident.base.order import ORDER, order_of
from trident.base.ranges import BadRecordRow, Edge, OffsetRange, PartitionBounds, PartitionId, RangeManifest
from trident.base.secrets import Secret
from trident.base.timeouts import Timeouts
from trident.base.writes import WriteManifest
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.options import Audit
from trident.engine.compiled import CompiledTopology
from trident.engine.processor import SparkProcessor
from trident.engine.staging import Staging
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.base import BadRecord, Limits, LostOffsets, SmallBatch, Source, SpoutKind, Start
from trident.spouts.tally import position_digest
from trident.state.capabilities import Capabilities
from trident.state.layout import StateKind, StateLayout
from trident.state.staged import HeldUpdates, StagingWriter
from trident.state.target import LedgerDatabase, Target

BATCH = BatchId(Owner("fakes", "incarnation-1"), Epoch(1, "token"), txid=1, attempt=1)
BATCH_TIME = datetime(2026, 3, 4, 5, 6, 7, 891011, tzinfo=UTC)

Rows = Sequence[tuple[object, ...]]


@dataclass(frozen=True)
class RowsSource:
    """One partition per list of rows.

    With `repeat` every range is read twice, as a broken reader would; with `slow` the quick way does not do.
    """

    ddl: str
    partitions: tuple[Rows, ...]
    bad: tuple[BadRecordRow, ...] = ()
    repeat: bool = False
    slow: bool = False

    def schema(self, spark: SparkSession) -> StructType:
        schema = StructType.fromDDL(self.ddl)
        assert isinstance(schema, StructType)
        return schema

    def bounds(self) -> tuple[PartitionBounds, ...]:
        return tuple(PartitionBounds(PartitionId("rows", n), "id", 0, len(p)) for n, p in enumerate(self.partitions))

    def ends(self, ids: Sequence[PartitionId]) -> dict[PartitionId, int]:
        return {bound.id: bound.stop for bound in self.bounds() if bound.id in ids}

    def starts(self, policy: Start | None = None) -> tuple[PartitionBounds, ...]:
        return self.bounds()

    def read(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        table, schema = self.table(spark, edges, quick=quick)
        return spark.createDataFrame(table, schema).repartition(tasks)

    def table(
        self, spark: SparkSession, edges: Sequence[Edge], *, quick: bool, in_order: bool = False
    ) -> tuple[pa.Table, StructType]:
        """Return what a read has, and its fields."""
        more = [StructField(ORDER, BinaryType())] if in_order else []
        schema = StructType([*self.schema(spark).fields, *more, StructField(CONTROL, StringType())])
        rows: list[tuple[object, ...]] = []
        for edge in edges:
            kept = self.partitions[edge.range.id.partition]
            orders = order_of("rows", edge.range.id.partition, np.arange(len(kept))).to_pylist()
            for place in range(edge.range.start, edge.range.stop):
                rows.append((*kept[place], *orders[place : place + len(more)], None))
            rows.append((*[None] * (len(schema) - 1), encode(manifest(edge))))
            words = [BadRecordWord(edge.id, bad) for bad in self.bad if bad.id == edge.range.id]
            rows.extend((*[None] * (len(schema) - 1), encode(word)) for word in words)
        if quick and self.slow:
            rows = [(*[None] * (len(schema) - 1), encode(Undecoded(1)))]
        rows *= 2 if self.repeat else 1
        arrow = arrow_schema(schema)
        columns = list(zip(*rows, strict=True)) or [()] * len(schema)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, arrow, strict=True)]
        return pa.table(arrays, schema=arrow), schema

    def verify(self, ranges: Sequence[OffsetRange]) -> None:
        """Rows stay."""

    def recognize(self, known: Sequence[OffsetRange]) -> tuple[LogCut, ...]:
        return ()

    def committed(self, txid: int, ranges: Sequence[OffsetRange]) -> None:
        """Nobody to tell."""

    def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True)
class SmallRowsSource(RowsSource):
    """Reads what is asked for in this process, and says how each batch was read."""

    ways: list[str] = field(default_factory=list, compare=False)

    def read(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        self.ways.append("quick" if quick else "careful")
        return super().read(spark, edges, tasks, quick)

    def read_in_order(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        self.ways.append("quick" if quick else "careful")
        table, schema = self.table(spark, edges, quick=quick, in_order=True)
        return spark.createDataFrame(table, schema).repartition(tasks)

    def read_small(self, spark: SparkSession, edges: Sequence[Edge], *, in_order: bool) -> SmallBatch | None:
        self.ways.append("small")
        table, schema = self.table(spark, edges, quick=True, in_order=in_order)
        return SmallBatch(table.combine_chunks().to_batches()[0], schema)


class LosingSource(SmallRowsSource):
    """Says of a record that it has read it, and does not give it."""

    def table(
        self, spark: SparkSession, edges: Sequence[Edge], *, quick: bool, in_order: bool = False
    ) -> tuple[pa.Table, StructType]:
        table, schema = super().table(spark, edges, quick=quick, in_order=in_order)
        return table.slice(1), schema


FOURTH: Final = BadRecordRow(PartitionId("rows", 0), 3, None, "not JSON", None, b"payload")


class BadSource(SmallRowsSource):
    """Has no row of the fourth record, but a word on it."""

    def table(
        self, spark: SparkSession, edges: Sequence[Edge], *, quick: bool, in_order: bool = False
    ) -> tuple[pa.Table, StructType]:
        table, schema = super().table(spark, edges, quick=quick, in_order=in_order)
        return pa.concat_tables([table.slice(0, 3), table.slice(4)]), schema


@dataclass(frozen=True)
class RowsSpout:
    source: RowsSource
    kind: SpoutKind = SpoutKind.OPAQUE
    limits: Limits = field(default_factory=Limits)
    on_lost_offsets: LostOffsets = LostOffsets.STOP
    on_bad_record: BadRecord = BadRecord.DEAD_LETTER

    def description(self) -> dict[str, str]:
        return {"spout": "rows"}

    def open(self, name: str) -> RowsSource:
        return self.source


def rows_spout(ddl: str, *partitions: Rows, bad: tuple[BadRecordRow, ...] = (), repeat: bool = False) -> RowsSpout:
    return RowsSpout(RowsSource(ddl, partitions, bad, repeat))


def small_spout(ddl: str, *partitions: Rows, bad: tuple[BadRecordRow, ...] = (), repeat: bool = False) -> RowsSpout:
    return RowsSpout(SmallRowsSource(ddl, partitions, bad, repeat))


@dataclass(frozen=True)
class UnopenedState:
    name: str
    kind: StateKind = StateKind.OPAQUE

    def description(self) -> dict[str, str]:
        return {"state": "unopened"}

    def open(self, layout: StateLayout, ledger_database: LedgerDatabase, timeouts: Timeouts) -> Target:
        raise NotImplementedError


@dataclass(frozen=True)
class FileWriter:
    """Stages rows as Arrow files in a folder, as an executor would stage them in a table."""

    folder: str
    state: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[str]:
        import uuid

        table = pa.Table.from_batches(list(batches))
        write_id = uuid.uuid4().hex
        with pa.OSFile(f"{self.folder}/{write_id}.arrow", "wb") as sink, pa.ipc.new_file(sink, table.schema) as file:
            file.write_table(table)
        digest = Digest.of(hash64(seed_of(write_id), np.arange(table.num_rows)))
        yield encode(WriteManifest(self.state, write_id, digest))


@dataclass(frozen=True)
class WriterStore:
    """The one method of a `Target` that the engine calls."""

    staging_writer: StagingWriter | None

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(writing=self if self.staging_writer is not None else None)

    @property
    def secrets(self) -> tuple[Secret, ...]:
        return ()

    def writer(self, batch: BatchId) -> StagingWriter:
        assert self.staging_writer is not None
        return self.staging_writer

    def check_written(self, batch: BatchId, writes: Sequence[WriteManifest]) -> None:
        assert writes


def manifest(edge: Edge) -> RangeManifest:
    id_ = edge.range.id
    positions = np.arange(edge.range.start, edge.range.stop)
    return RangeManifest(edge.id, id_, edge.range.stop, position_digest(id_.topic, id_.partition, positions))


def edges_of(source: Source, first: int = 1) -> tuple[Edge, ...]:
    found = [b for b in source.bounds() if b.stop > b.earliest]
    return tuple(Edge(first + n, OffsetRange(b.id, b.topic_id, b.earliest, b.stop)) for n, b in enumerate(found))


def request_for(compiled: CompiledTopology, sources: Mapping[str, Source]) -> ProcessRequest:
    edges = {spout: edges_of(sources[spout], 1 + 100 * n) for n, spout in enumerate(compiled.spouts)}
    return ProcessRequest(BATCH, 1, BATCH_TIME, edges)


def run(
    compiled: CompiledTopology,
    spark: SparkSession,
    *,
    staging: Staging = Staging.AUTO,
    stores: dict[str, Target] | None = None,
    diverts: tuple[str, ...] = (),
    audit: Audit = Audit.OFF,
) -> ProcessResult:
    """Process all rows of all spouts as one batch."""
    sources = {name: spout.open(name) for name, spout in compiled.spouts.items()}
    processor = SparkProcessor(compiled, spark, sources, stores or {}, staging=staging, audit=audit)
    return processor.process(replace(request_for(compiled, sources), diverts=diverts))


def held_rows(result: ProcessResult, state: str) -> list[tuple[object, ...]]:
    """Return a state's staged rows as sorted tuples."""
    updates = result.updates[state]
    assert isinstance(updates, HeldUpdates)
    rows = [tuple(row.values()) for row in updates.rows.to_pylist()]
    return sorted(rows, key=repr)
