"""Rows that lie in the coordinator's process, as frames: they travel inside the job, with their control rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from trident.base.control import CONTROL
from trident.base.order import ORDER, order_of
from trident.base.ranges import Edge, OffsetRange
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.base import SmallBatch
from trident.spouts.rows import control_batch, groups_of
from trident.spouts.spread import spread
from trident.spouts.tally import RangeTally

RowsOf = Callable[[OffsetRange], pa.Table]
"""Gives the rows of a range, one for each of its positions."""


@dataclass(frozen=True, slots=True)
class Slice:
    """The rows of one range."""

    edge: Edge
    rows: pa.Table = field(repr=False)


def read_schema(fields: StructType, *, in_order: bool) -> StructType:
    """Return the columns of a frame that a source reads: its fields, `ORDER` where that is asked for, control rows.

    In a control row each field is null, one that is declared NOT NULL too.
    """
    order = [StructField(ORDER, BinaryType())] if in_order else []
    own = [StructField(each.name, each.dataType) for each in fields.fields]
    return StructType([*own, *order, StructField(CONTROL, StringType())])


def frame_of_rows(
    spark: SparkSession, schema: StructType, edges: Sequence[Edge], tasks: int, rows_of: RowsOf
) -> DataFrame:
    """Return the lazy frame of the ranges; their rows are asked for now."""
    groups = spread(edges, tasks)
    slices = tuple(tuple(Slice(edge, rows_of(edge.range)) for edge in group) for group in groups)
    return spark.range(0, len(groups), 1, len(groups)).mapInArrow(_ReadSlices(slices, schema), schema)


def small_batch_of_rows(schema: StructType, edges: Sequence[Edge], rows_of: RowsOf) -> SmallBatch:
    """Return what the frame of the ranges would hold, without a task."""
    wanted = arrow_schema(schema)
    parts = [part for edge in edges for part in _batches_of(wanted, Slice(edge, rows_of(edge.range)))]
    table = pa.Table.from_batches(parts, schema=wanted)
    columns = [column.combine_chunks() for column in table.columns]
    return SmallBatch(pa.RecordBatch.from_arrays(columns, schema=wanted), schema)


@dataclass(frozen=True, slots=True)
class _ReadSlices:
    groups: tuple[tuple[Slice, ...], ...] = field(repr=False)
    schema: StructType

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema(self.schema)
        for group in groups_of(batches):
            for item in self.groups[group]:
                yield from _batches_of(schema, item)


def _batches_of(schema: pa.Schema, item: Slice) -> Iterator[pa.RecordBatch]:
    range_ = item.edge.range
    tally = RangeTally(item.edge)
    offsets = np.arange(range_.start, range_.start + item.rows.num_rows, dtype=np.int64)
    tally.add(offsets, np.full(len(offsets), -1, dtype=np.int64), ())
    first = range_.start
    for rows in item.rows.to_batches():
        places = np.arange(first, first + rows.num_rows, dtype=np.int64)
        order = [order_of(range_.id.topic, range_.id.partition, places)] if ORDER in schema.names else []
        yield pa.RecordBatch.from_arrays([*rows.columns, *order, pa.nulls(rows.num_rows, pa.string())], schema=schema)
        first += rows.num_rows
    yield control_batch(schema, [tally.manifest(range_.start + item.rows.num_rows)])
