"""A source whose rows lie in the coordinator's process until they are done: how they are read, whoever gave them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from trident.base.errors import UncomputableError
from trident.base.logs import LogCut
from trident.base.python_rows import UnfitRowError, columns_of
from trident.base.ranges import Edge, OffsetRange, PartitionBounds, PartitionId
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.base import SmallBatch
from trident.spouts.python.declared import declared_schema
from trident.spouts.slices import frame_of_rows, read_schema, small_batch_of_rows


class Declares(Protocol):
    """What is asked of a user's spout here."""

    schema: ClassVar[str]


@dataclass(frozen=True, slots=True)
class _Later:
    """Rows that are read when their source has let go of them, and how users know them."""

    rows: Sequence[object] = field(repr=False)
    names: Sequence[str]


class HeldRowsSource(ABC):
    """The part of `Source`, `KnowsOrder` and `ReadsSmallBatches` that is the same for all of them."""

    def __init__(self, name: str, declares: Declares, giver: str) -> None:
        """`giver` is the user's method that gives rows, for errors."""
        self._name = name
        self._declares = declares
        self._giver = giver
        self._schema: StructType | None = None
        self._for_later: dict[OffsetRange, _Later] = {}
        """What is done and not read yet, by range; a range is put in and taken out as a whole."""

    @abstractmethod
    def standing(self, range_: OffsetRange) -> Sequence[object]:
        """Return the rows of a range that is not done; raises OffsetsLostError when they are let go of. Any thread."""

    @abstractmethod
    def bounds(self) -> tuple[PartitionBounds, ...]:
        """Return what is held."""

    def hold(self, ranges: Sequence[OffsetRange]) -> None:
        """See `HoldsForLater`."""
        for item in ranges:
            self._for_later[item] = _Later(self.standing(item), self.names(item))

    def let_go(self, ranges: Sequence[OffsetRange]) -> None:
        """See `HoldsForLater`."""
        for item in ranges:
            self._for_later.pop(item, None)

    def rows(self, range_: OffsetRange) -> Sequence[object]:
        """Return the rows of a range that is not done, or held for later; raises as `standing`. Any thread."""
        found = self._later(range_)
        return self.standing(range_) if found is None else found.rows

    def names(self, range_: OffsetRange) -> Sequence[str]:
        """Return how users know the rows of a range that is not done; nothing where they have no names."""
        return ()

    def _named(self, range_: OffsetRange, place: int) -> str:
        found = self._later(range_)
        names = self.names(range_) if found is None else found.names
        return names[place] if names else f"a row of partition {range_.id.partition}"

    def _later(self, range_: OffsetRange) -> _Later | None:
        for held, later in tuple(self._for_later.items()):
            if held.id == range_.id and held.start <= range_.start and range_.stop <= held.stop:
                part = slice(range_.start - held.start, range_.stop - held.start)
                return _Later(later.rows[part], later.names[part])
        return None

    def schema(self, spark: SparkSession) -> StructType:
        """Parse the spout's schema; raises `ConfigurationError` when it has none that is valid."""
        if self._schema is None:
            self._schema = declared_schema(spark, self._name, self._declares)
        return self._schema

    def ends(self, ids: Sequence[PartitionId]) -> dict[PartitionId, int]:
        """Return where the partitions end: nothing is ever open."""
        return {bound.id: bound.stop for bound in self.bounds() if bound.id in ids}

    def read(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        """Return the frame of the ranges; the rows travel inside the job."""
        schema = read_schema(self.schema(spark), in_order=False)
        return frame_of_rows(spark, schema, edges, tasks, partial(self._table, spark))

    def read_in_order(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        """Return the same with the rows' places."""
        schema = read_schema(self.schema(spark), in_order=True)
        return frame_of_rows(spark, schema, edges, tasks, partial(self._table, spark))

    def read_small(self, spark: SparkSession, edges: Sequence[Edge], *, in_order: bool) -> SmallBatch:
        """Return the rows of the ranges and their words: they are here, and no task has to fetch them."""
        schema = read_schema(self.schema(spark), in_order=in_order)
        return small_batch_of_rows(schema, edges, partial(self._table, spark))

    def verify(self, ranges: Sequence[OffsetRange]) -> None:
        """Check that what was read is held still: an attempt that nobody wants any more may come back late."""
        for item in ranges:
            self.rows(item)

    def recognize(self, known: Sequence[OffsetRange]) -> tuple[LogCut, ...]:
        """Return nothing: there are no epochs."""
        return ()

    def _table(self, spark: SparkSession, range_: OffsetRange) -> pa.Table:
        fields = self.schema(spark)
        schema = arrow_schema(fields)
        types = [each.dataType.simpleString() for each in fields.fields]
        rows = self.rows(range_)
        try:
            columns = columns_of(rows, list(schema), types)
        except UnfitRowError as error:
            first = next(place for place, row in enumerate(rows) if not _fits(row, list(schema), types))
            named = self._named(range_, first)
            raise UncomputableError(
                f"stream {self._name!r}: {self._giver} gave {named} that does not fit the schema: {error}; nothing of "
                "the batch was applied"
            ) from error
        return pa.Table.from_arrays(columns, schema=schema)


def _fits(row: object, fields: Sequence[pa.Field[pa.DataType]], types: Sequence[str]) -> bool:
    try:
        columns_of([row], fields, types)
    except UnfitRowError:
        return False
    return True
