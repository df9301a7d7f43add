"""A user's spout as a source: its bounds become plans, its rows frames with their control rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from trident.base.control import CONTROL
from trident.base.errors import ConfigurationError, FatalError, UncomputableError
from trident.base.logs import LogCut
from trident.base.order import ORDER, order_of
from trident.base.python_rows import UnfitRowError, columns_of
from trident.base.ranges import Edge, OffsetRange, PartitionBounds, PartitionId
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.base import OffsetsLostError, Start, StartAt
from trident.spouts.offsets import StartOffsets, no_offsets
from trident.spouts.python.declared import declared_schema
from trident.spouts.python.positions import checked_bounds
from trident.spouts.python.raising import in_spout
from trident.spouts.rows import control_batch, groups_of
from trident.spouts.slices import read_schema
from trident.spouts.spread import spread
from trident.spouts.tally import RangeTally

TOPIC_ID: Final = "python"
_AT_ONCE: Final = 10_000


class ReadsPositions(Protocol):
    """What is asked of a user's spout."""

    schema: ClassVar[str]

    def bounds(self) -> object:
        """See `PythonSpout.bounds`; what it says is not believed before it was looked at."""

    def read(self, partition: int, start: int, stop: int) -> Iterable[object]:
        """See `PythonSpout.read`."""


class PythonSource:
    """See `Source`."""

    def __init__(self, name: str, spout: ReadsPositions) -> None:
        self._name = name
        self._spout = spout
        self._schema: StructType | None = None

    def schema(self, spark: SparkSession) -> StructType:
        """Parse the spout's schema; raises `ConfigurationError` when it has none that is valid."""
        if self._schema is None:
            self._schema = declared_schema(spark, self._name, self._spout)
        return self._schema

    def bounds(self) -> tuple[PartitionBounds, ...]:
        """Ask the spout; raises `FatalError` for what it raises, and for what can't be positions."""
        return tuple(
            PartitionBounds(PartitionId(self._name, number), TOPIC_ID, first, stop)
            for number, first, stop in checked_bounds(self._name, self._said())
        )

    def _said(self) -> object:
        with in_spout(self._name, "bounds()", "Nothing was planned, what is done or pinned stays"):
            return self._spout.bounds()

    def ends(self, ids: Sequence[PartitionId]) -> dict[PartitionId, int]:
        """Return where the partitions end: nothing is ever open."""
        return {bound.id: bound.stop for bound in self.bounds() if bound.id in ids}

    def starts(self, policy: Start | None = None) -> tuple[PartitionBounds, ...]:
        """Start at the first position, or behind the last for StartAt.LATEST; positions have no time to start at."""
        if isinstance(policy, StartOffsets):
            raise no_offsets(self._name)
        if isinstance(policy, datetime):
            raise ConfigurationError(f"stream {self._name!r} has no timestamps to start at; nothing was changed")
        if policy is not StartAt.LATEST:
            return self.bounds()
        return tuple(PartitionBounds(each.id, each.topic_id, each.stop, each.stop) for each in self.bounds())

    def read(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        """Return the frame of the ranges: tasks ask the spout for their rows."""
        return self._read(spark, edges, tasks, in_order=False)

    def read_in_order(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        """Return the same with the rows' places."""
        return self._read(spark, edges, tasks, in_order=True)

    def _read(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, *, in_order: bool) -> DataFrame:
        fields = self.schema(spark)
        schema = read_schema(fields, in_order=in_order)
        groups = spread(edges, tasks)
        types = tuple(each.dataType.simpleString() for each in fields.fields)
        reading = ReadPositions(self._name, self._spout, groups, arrow_schema(schema), types)
        return spark.range(0, len(groups), 1, len(groups)).mapInArrow(reading, schema)

    def verify(self, ranges: Sequence[OffsetRange]) -> None:
        """Check that what was read is still there."""
        bounds = {bound.id: bound for bound in self.bounds()}
        lost = tuple(item for item in ranges if item.id in bounds and bounds[item.id].earliest > item.start)
        if lost:
            raise OffsetsLostError(lost)
        for item in ranges:
            if item.id in bounds and bounds[item.id].stop < item.stop:
                raise FatalError(
                    f"stream {self._name!r}: partition {item.id.partition} was read up to {item.stop} and ends at "
                    f"{bounds[item.id].stop} now. Nothing of the batch was applied"
                )

    def recognize(self, known: Sequence[OffsetRange]) -> tuple[LogCut, ...]:
        """Return nothing: there are no epochs."""
        return ()

    def committed(self, txid: int, ranges: Sequence[OffsetRange]) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing: there is no connection."""


@dataclass(frozen=True, slots=True)
class ReadPositions:
    """Runs in a Python task: reads its ranges, and holds the spout to them."""

    name: str
    spout: ReadsPositions
    groups: tuple[tuple[Edge, ...], ...]
    schema: pa.Schema
    types: tuple[str, ...]
    """Of the fields, as they are declared."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's ranges."""
        for group in groups_of(batches):
            for edge in self.groups[group]:
                yield from self._read(edge)

    def _read(self, edge: Edge) -> Iterator[pa.RecordBatch]:
        range_ = edge.range
        tally = RangeTally(edge)
        position = range_.start
        given = iter(self.spout.read(range_.id.partition, range_.start, range_.stop))
        while some := list(itertools.islice(given, _AT_ONCE)):
            if position + len(some) > range_.stop:
                raise FatalError(
                    f"stream {self.name!r}: read() yielded more rows of partition {range_.id.partition} than the "
                    f"positions from {range_.start} to {range_.stop} have; nothing of the batch was applied"
                )
            offsets = np.arange(position, position + len(some), dtype=np.int64)
            is_there = np.array([row is not None for row in some], dtype=bool)
            kept = offsets[is_there]
            tally.add(kept, np.full(len(kept), -1, dtype=np.int64), ())
            yield self._batch([row for row in some if row is not None], edge, kept)
            position += len(some)
        # short of the range it is no end: the attempt fails, and nothing is skipped
        yield control_batch(self.schema, [tally.manifest(position)])

    def _batch(self, rows: Sequence[object], edge: Edge, offsets: npt.NDArray[np.int64]) -> pa.RecordBatch:
        hidden = (ORDER, CONTROL)
        names = [name for name in self.schema.names if name not in hidden]
        try:
            columns = columns_of(rows, [self.schema.field(name) for name in names], self.types)
        except UnfitRowError as error:
            raise self._unfit(edge, str(error)) from error
        if ORDER in self.schema.names:
            columns.append(order_of(edge.range.id.topic, edge.range.id.partition, offsets))
        columns.append(pa.nulls(len(rows), pa.string()))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _unfit(self, edge: Edge, why: str) -> UncomputableError:
        return UncomputableError(
            f"stream {self.name!r}: read() yielded a row of partition {edge.range.id.partition} that does not fit the "
            f"schema: {why}; nothing of the batch was applied"
        )
