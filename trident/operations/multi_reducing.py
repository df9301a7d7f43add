"""Multi-reduce: a user's object goes through the rows of several streams of a batch, all at once or by group."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, Generic, TypeVar, cast

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from trident.base.errors import ConfigurationError
from trident.base.order import ORDER
from trident.base.partitions import PARTITION
from trident.operations.arrow import as_type
from trident.operations.base import BatchContext, Fields, check_new_names, field, nullable
from trident.operations.given import in_order, rows_of, values_of
from trident.operations.of_nothing import OfNothing
from trident.operations.row_functions import Row, as_rows, columns_of
from trident.operations.several import check_same_key, fields_without_order, order_or_none
from trident.operations.tasks import in_python
from trident.operations.user_objects import ready, told_of
from trident.spouts.arrow_types import arrow_schema

S = TypeVar("S")
_STREAM: Final = "__trident_stream"
_KEY: Final = "__trident_key"
_ROW: Final = "__trident_row"
_ROWS: Final = "__trident_rows"


class MultiReducer(ABC, Generic[S]):
    """Base of a user's own: made once on the driver, pickled, used for every batch, and for every group of one.

    Rows come stream by stream, those of a stream in the order of topic, partition and offset, the same in every re-run.
    Each method may run again, and its results must depend on its arguments only. `execute` and `complete` return rows
    as functions over rows do: None for none, a list or generator for several.
    """

    @abstractmethod
    def init(self, group: tuple[object, ...]) -> S:
        """Return what is kept while a group's rows go by; without groups `group` is empty."""

    @abstractmethod
    def execute(self, kept: S, stream: int, row: Row) -> object:
        """Take one row of the stream with this number (from 0, as the streams were given); may change what is kept."""

    def complete(self, kept: S) -> object:
        """Return what is left to be said when all rows have gone by."""
        return None


@dataclass(frozen=True)
class MultiReduce(OfNothing):
    """See `RecordOperation`. Groups are those of `group_by`: null is a key like any other."""

    reducer: MultiReducer[Any]
    declared: StructType
    keys: tuple[tuple[str, ...], ...] = ()
    """The group fields of each stream; none for one run over all."""

    verb = "multi_reduce"
    wants_order = True
    runs_user_code = True

    @property
    def makes_of_nothing(self) -> bool:
        """Without groups it runs once in every batch."""
        return not self.keys

    def result(self, schemas: Sequence[StructType]) -> StructType:
        """Return the group fields, under the first stream's names, and the declared ones."""
        groups = []
        for number, (names, schema) in enumerate(zip(self.keys, schemas, strict=bool(self.keys)), 1):
            if len(names) != len(self.keys[0]):
                raise ConfigurationError(
                    f"multi_reduce: stream {number} is grouped by {len(names)} fields, the first one by "
                    f"{len(self.keys[0])}; group all of them alike"
                )
            for name, first in zip(names, self.keys[0], strict=True):
                Fields(schema).require(name, f"multi_reduce, of stream {number},")
                check_same_key(self.verb, schema[name], f"of stream {number}", schemas[0][first], "of the first one")
        if self.keys:
            groups = [StructField(name, schemas[0][name].dataType) for name in self.keys[0]]
        made = nullable([*groups, *self.declared.fields])
        check_new_names(made.names, self.verb)
        return made

    def told(self) -> str:
        """Return whose object it is, and by which fields it is given groups."""
        groups = [f"by {' = '.join(dict.fromkeys(', '.join(names) for names in self.keys))}"] if self.keys else []
        return " ".join([type(self.reducer).__name__, *groups])

    def lower(self, frames: Sequence[DataFrame], batch: BatchContext) -> DataFrame:
        """See `RecordOperation.lower`."""
        rows = reduce(
            lambda one, other: one.unionByName(other, allowMissingColumns=True),
            [self._side(number, frame) for number, frame in enumerate(frames)],
        )
        keys = [f"{_KEY}{place}" for place in range(len(self.keys[0]) if self.keys else 0)]
        made = self.result([frame.drop(ORDER, PARTITION).schema for frame in frames])
        sides = [field(f"{_ROW}{number}") for number in range(len(frames))]
        together = F.collect_list(F.struct(field(_STREAM), field(ORDER), *sides)).alias(_ROWS)
        # without keys all rows are one group, also none of them
        grouped = rows.groupBy(*(field(key) for key in keys)).agg(together)
        work = ReduceGroups(self.reducer, len(frames), len(keys), arrow_schema(made))
        return in_python(grouped, work, made, batch, by_group=True)

    def _side(self, number: int, frame: DataFrame) -> DataFrame:
        names = self.keys[number] if self.keys else ()
        keys = [field(name).alias(f"{_KEY}{place}") for place, name in enumerate(names)]
        row: Column = F.struct(*(field(name) for name in fields_without_order(frame))).alias(f"{_ROW}{number}")
        return frame.select(*keys, F.lit(number).alias(_STREAM), order_or_none(frame).alias(ORDER), row)


@dataclass(frozen=True)
class ReduceGroups:
    """Runs in a Python task: goes through the rows of each of its groups."""

    reducer: MultiReducer[Any]
    streams: int
    keys: int
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's groups."""
        with ready(self.reducer, "multi_reduce"):
            for batch in batches:
                keys = [values_of(batch.column(n), self.schema.field(n).name, "reducer") for n in range(self.keys)]
                for place in range(batch.num_rows):
                    with told_of(self.reducer):
                        yield self._reduced(batch, place, tuple(values[place] for values in keys))

    def _reduced(self, batch: pa.RecordBatch, place: int, group: tuple[object, ...]) -> pa.RecordBatch:
        """Return the rows that one group makes."""
        lists = batch.column(self.keys).slice(place, 1)
        assert isinstance(lists, pa.ListArray)
        rows = pa.Table.from_batches([pa.RecordBatch.from_struct_array(cast("pa.StructArray", lists.flatten()))])
        declared = pa.schema(list(self.schema)[self.keys :])
        made = list(self._made(group, rows, declared))
        columns = columns_of(made, declared, "multi_reduce")
        places = pa.array([place] * len(made), pa.int64())
        groups = [as_type(batch.column(n).take(places), self.schema.field(n).type) for n in range(self.keys)]
        return pa.RecordBatch.from_arrays([*groups, *columns], schema=self.schema)

    def _made(self, group: tuple[object, ...], table: pa.Table, declared: pa.Schema) -> Iterator[Sequence[object]]:
        kept = self.reducer.init(group)
        for number in range(self.streams):
            for row in self._rows(table, number):
                yield from as_rows(self.reducer.execute(kept, number, row), declared, "multi_reduce")
        yield from as_rows(self.reducer.complete(kept), declared, "multi_reduce")

    def _rows(self, table: pa.Table, number: int) -> list[Row]:
        """Return a stream's rows in their order."""
        mine = table.filter(pc.equal(table.column(_STREAM), pa.scalar(number)))
        whole = mine.column(f"{_ROW}{number}").combine_chunks()
        rows = rows_of(pa.RecordBatch.from_struct_array(cast("pa.StructArray", whole)), "reducer")
        return in_order(mine.column(ORDER).to_pylist(), rows)
