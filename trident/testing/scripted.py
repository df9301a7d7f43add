"""A spout whose batches a test says: it stands for the one that a topology was built with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from trident.base.arrays import AnyArray, AnyChunks
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import ConfigurationError
from trident.base.logs import LogCut
from trident.base.order import ORDER, order_of
from trident.base.python_rows import UnfitRowError, columns_of
from trident.base.ranges import Edge, OffsetRange, PartitionBounds, PartitionId
from trident.engine.prepared import frame_of
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.base import BadRecord, Limits, LostOffsets, SmallBatch, SpoutKind, Start, StartAt
from trident.spouts.row_logs import Row
from trident.spouts.rows import control_batch
from trident.spouts.slices import read_schema
from trident.spouts.tally import RangeTally

_TOPIC_ID = "scripted"


@dataclass(frozen=True, slots=True)
class Given:
    """Rows as a test gave them, and as their stream has them."""

    rows: tuple[Row, ...]
    table: pa.Table


class Script:
    """The rows that a stream was given: those of the batch under way, at positions behind all before them.

    Changed by the test's thread while nothing runs, read by a run's.
    """

    def __init__(self, stream: str, schema: StructType) -> None:
        self.stream = stream
        self.schema = schema
        self._base = 0
        self._given = self._standing = Given((), arrow_schema(schema).empty_table())

    @property
    def end(self) -> int:
        """The position behind the last row."""
        return self._base + len(self._standing.rows)

    @property
    def given(self) -> tuple[Row, ...]:
        """The rows that the test gave the batch under way."""
        return self._given.rows

    @property
    def rows(self) -> tuple[Row, ...]:
        """Those of them that it still has."""
        return self._standing.rows

    def checked(self, rows: Sequence[Row]) -> Given:
        """Return rows as the stream has them; raises ConfigurationError for one that its fields don't hold exactly."""
        fields = self.schema.fields
        wanted = arrow_schema(self.schema)
        try:
            columns = columns_of(rows, list(wanted), [field.dataType.simpleString() for field in fields])
        except UnfitRowError as error:
            raise ConfigurationError(
                f"rows of stream {self.stream!r}: {error}; it has the fields {self.schema.simpleString()[7:-1]}. "
                "Nothing was run"
            ) from None
        return Given(tuple(rows), pa.Table.from_arrays(columns, schema=wanted))

    def offer(self, rows: Given) -> None:
        """Have these read next, behind all that was read before."""
        self._base = self.end
        self.replace(rows)

    def replace(self, rows: Given) -> None:
        """Have these read where the batch under way stands."""
        self._given = self._standing = rows

    def between(self, start: int, stop: int) -> pa.Table:
        """Return the rows of a range, which is of the batch under way."""
        return self._standing.table.slice(start - self._base, stop - start)


@dataclass(frozen=True, slots=True)
class ScriptedSpout:
    """See `Spout`; of the kind of the one that it stands for."""

    script: Script
    kind: SpoutKind
    limits: Limits = field(default_factory=Limits)
    on_lost_offsets: LostOffsets = LostOffsets.STOP
    on_bad_record: BadRecord = BadRecord.FAIL
    has_moments: bool = False

    def description(self) -> dict[str, str]:
        """See `Spout`."""
        return {"spout": "scripted"}

    def open(self, name: str) -> ScriptedSource:
        """Return the source over the rows."""
        return ScriptedSource(self.script)


class ScriptedSource:
    """See `Source`, `KnowsOrder`, `ReadsSmallBatches`: one partition with its stream's name, read in this process."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._id = PartitionId(script.stream, 0)

    def schema(self, spark: SparkSession) -> StructType:
        """Return the fields that the stream has in its topology."""
        return self._script.schema

    def bounds(self) -> tuple[PartitionBounds, ...]:
        """Return all rows up to the end of the batch under way: one plan takes them."""
        return (PartitionBounds(self._id, _TOPIC_ID, 0, self._script.end),)

    def ends(self, ids: Sequence[PartitionId]) -> Mapping[PartitionId, int]:
        """Return that end."""
        return dict.fromkeys(ids, self._script.end)

    def starts(self, policy: Start | StartAt | datetime | None = None) -> tuple[PartitionBounds, ...]:
        """Begin at the first row, whatever the policy: what a test gives is what is to be read."""
        return self.bounds()

    def read(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        """Return the frame of the ranges."""
        return frame_of(spark, self.read_small(spark, edges, in_order=False))

    def read_in_order(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        """Return the same with the rows' places."""
        return frame_of(spark, self.read_small(spark, edges, in_order=True))

    def read_small(self, spark: SparkSession, edges: Sequence[Edge], *, in_order: bool) -> SmallBatch:
        """Return the rows of the ranges and their words, here and now."""
        reached(CrashPoint.READING)
        schema = read_schema(self._script.schema, in_order=in_order)
        wanted = arrow_schema(schema)
        parts = [batch for edge in edges for batch in self._read(wanted, edge)]
        table = pa.Table.from_batches(parts, schema=wanted)
        columns = [column.combine_chunks() for column in table.columns]
        return SmallBatch(pa.RecordBatch.from_arrays(columns, schema=wanted), schema)

    def _read(self, schema: pa.Schema, edge: Edge) -> list[pa.RecordBatch]:
        range_ = edge.range
        rows = self._script.between(range_.start, range_.stop).combine_chunks()
        places = np.arange(range_.start, range_.start + rows.num_rows, dtype=np.int64)
        tally = RangeTally(edge)
        tally.add(places, np.full(len(places), -1, dtype=np.int64), ())
        order = [order_of(range_.id.topic, range_.id.partition, places)] if ORDER in schema.names else []
        words = control_batch(schema, [tally.manifest(range_.start + rows.num_rows)])
        columns: list[AnyChunks | AnyArray] = [*rows.columns, *order, pa.nulls(rows.num_rows, pa.string())]
        return [*pa.Table.from_arrays(columns, schema=schema).to_batches(), words]

    def verify(self, ranges: Sequence[OffsetRange]) -> None:
        """Do nothing: nothing changes while a run reads."""

    def recognize(self, known: Sequence[OffsetRange]) -> tuple[LogCut, ...]:
        """Return nothing: no log is cut."""
        return ()

    def committed(self, txid: int, ranges: Sequence[OffsetRange]) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing: there is no connection."""
