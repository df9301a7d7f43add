"""Updates of a state by a user's own code: what is there before, the records of a partition, and what becomes of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, cast

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, BooleanType, MapType, StringType, StructField, StructType

from trident.base.errors import ConfigurationError
from trident.base.order import ORDER, numbered
from trident.operations import base
from trident.operations.aggregators.nested import texts_of
from trident.operations.arrow import AnyArray, as_type
from trident.operations.asking import FOUND, Key, StoredRows, frozen, keys_of, stored_rows
from trident.operations.base import BatchContext, hidden, nullable
from trident.operations.given import in_order, rows_of
from trident.operations.partitioning import source_partition
from trident.operations.row_functions import Row, as_row, columns_of
from trident.operations.several import fields_without_order, order_or_none
from trident.operations.tasks import in_python
from trident.operations.user_objects import ready
from trident.spouts.arrow_types import arrow_schema

VERB: Final = "partition_persist"
_WRITTEN: Final = "__trident_written"
_OF: Final = "__trident_of"
_ROW: Final = "__trident_row"
_ROWS: Final = "__trident_rows"
_APPLIED: Final = "nothing of the batch was applied"


@dataclass(frozen=True)
class EmittedRow:
    """A row that an updater emits of one of its records, whose place in the order of records it takes."""

    record: Row
    """The very object that `update` was given, not a copy of it."""
    row: object
    """A tuple, or a dict by names; of a single field its bare value."""


@dataclass(frozen=True)
class StateChanges:
    """What a `StateUpdater` makes of a partition's records."""

    writes: Mapping[Any, object] = field(default_factory=dict)
    """For each key that changes its new values, as a dict by their names or a tuple in their order; None removes it."""
    rows: Iterable[object] = ()
    """The rows that it emits, of the fields of its `schema`, each as it is or as an `EmittedRow` that names its record.

    Where order counts (a topic, the last row of a key, what goes on record by record), a row that names its record
    stands where that does. Of a state with a key the others are rows of no record, as those of an aggregation are: of
    what two partitions emit nothing says which came first. Without a key they are in the order in which they are given.
    """


class StateUpdater(ABC):
    """Base of a user's own way to keep a state: it is told what was there, and says what is to be there.

    It never writes: what it returns is staged, and applied with the batch's txid. It is made once on the driver,
    pickled, and called in a task, once for each partition that has records; it may be called again for the same ones
    before the batch is pinned, and never after. It must depend on its arguments only, and may have
    `prepare(context)` and `cleanup()`, called once per task.
    """

    values: ClassVar[str]
    """The columns that the state keeps for a key, as "name type, …"; a subclass must set it."""
    schema: ClassVar[str] = ""
    """The fields of the rows that it emits, as "name type, …"; empty where it emits none."""

    @abstractmethod
    def update(self, stored: StoredRows, rows: Sequence[Row]) -> StateChanges:
        """Return what the records make of the state; `stored` has what the txid before has left for their keys.

        All records of a key are among `rows`, in the order of topic, partition and offset. Only keys that they name may
        be written.
        """


@dataclass(frozen=True)
class UpdatePartitions:
    """See `RecordOperation`: the writes and the emitted rows of each partition, in one frame.

    Its records have what the state says of their keys in the column `FOUND`.
    """

    updater: StateUpdater
    keys: tuple[str, ...]
    kept: tuple[StructField, ...]
    """The key columns and the value columns of the state."""
    emitted: tuple[StructField, ...]
    partitions: int
    verb: str = VERB

    wants_order = True
    runs_user_code = True

    def result(self, schemas: Sequence[StructType]) -> StructType:
        """Return what `TakeUpdates` takes apart."""
        stored = [*self.kept[: len(self.keys)], *as_stored(self.kept[len(self.keys) :])]
        flat = [StructField(_place("kept", number), each.dataType) for number, each in enumerate(stored)]
        flat += [StructField(_place("emitted", number), each.dataType) for number, each in enumerate(self.emitted)]
        return nullable([StructField(_WRITTEN, BooleanType()), *flat])

    def told(self) -> str:
        """Return who updates."""
        return self.updater.told() if isinstance(self.updater, base.Told) else type(self.updater).__name__

    def lower(self, frames: Sequence[DataFrame], batch: BatchContext) -> DataFrame:
        """See `RecordOperation.lower`."""
        (frame,) = frames
        row = F.struct(*(base.field(name) for name in fields_without_order(frame)))
        together = F.collect_list(F.struct(order_or_none(frame).alias(ORDER), row.alias(_ROW)))
        of = source_partition(frame, self.partitions).alias(_OF)
        grouped = frame.select(of, *(base.field(name) for name in frame.columns)).groupBy(base.field(_OF))
        made = nullable([*self.result([]).fields, StructField(ORDER, BinaryType())])
        kept, emitted = arrow_schema(nullable(self.kept)), arrow_schema(nullable(self.emitted))
        work = UpdateGroups(self.updater, self.keys, kept, emitted, arrow_schema(made), self.verb)
        rows = in_python(grouped.agg(together.alias(_ROWS)), work, made, batch, by_group=True)
        return rows if ORDER in frame.columns else rows.drop(ORDER)


@dataclass(frozen=True)
class UpdateGroups:
    """Runs in a Python task: asks the updater about each of its partitions."""

    updater: StateUpdater
    keys: tuple[str, ...]
    kept: pa.Schema
    emitted: pa.Schema
    schema: pa.Schema
    verb: str = VERB

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's partitions."""
        with ready(self.updater, self.verb):
            for batch in batches:
                lists = batch.column(batch.schema.get_field_index(_ROWS))
                assert isinstance(lists, pa.ListArray)
                for place in range(batch.num_rows):
                    yield self._updated(cast("pa.StructArray", lists.slice(place, 1).flatten()))

    def _updated(self, group: pa.StructArray) -> pa.RecordBatch:
        """Return the writes and the emitted rows of one partition."""
        orders = group.field(ORDER).to_pylist()
        records = pa.RecordBatch.from_struct_array(cast("pa.StructArray", group.field(_ROW)))
        given = rows_of(records.drop_columns([FOUND]), "state updater")
        keys = keys_of(records, self.keys)
        stored = stored_rows(records, keys)
        changes = self.updater.update(stored, in_order(orders, given))
        if not isinstance(changes, StateChanges):
            raise self._wrong(f"returned {type(changes).__name__}, not StateChanges(writes, rows) (a missing return?)")
        writes = list(self._writes(changes.writes, {frozen(key): key for key in keys}, stored))
        places = {id(row): order for row, order in zip(given, orders, strict=True)}
        rows = self._emitted_rows(changes.rows)
        alone = None if self.keys else min(orders, key=lambda order: order or b"")
        return self._assembled(
            writes, [row for _, row in rows], [self._place_of(each, places, alone) for each, _ in rows]
        )

    def _writes(self, writes: object, known: Mapping[Key, Key], stored: StoredRows) -> Iterator[Sequence[object]]:
        """Yield the state's row of each write; one of nulls for a key that is removed, none for one that never was."""
        if not isinstance(writes, Mapping):
            raise self._wrong(f"returned writes that are {type(writes).__name__}, not a dict from keys to new values")
        values = pa.schema(list(self.kept)[len(self.keys) :])
        seen: set[Key] = set()
        for key, value in writes.items():
            name = frozen(key)
            if name not in known:
                raise self._wrong(
                    "writes a key that none of its records names (a key is a tuple of the values of its fields); what "
                    "is there is known of their keys only"
                )
            if name in seen:
                raise self._wrong("writes a key twice")
            seen.add(name)
            if value is None and stored.get(key) is None:
                continue
            row = [None] * len(values) if value is None else as_row(value, values, self.verb, self._giver)
            if value is not None and all(each is None for each in row):
                raise self._wrong("writes a row of nulls only, which a key that is removed has; say None to remove it")
            yield [*known[name], *row]

    def _place_of(self, record: Row | None, places: Mapping[int, bytes | None], alone: bytes | None) -> bytes | None:
        if record is None:
            return alone
        if id(record) not in places:
            raise self._wrong("emits a row of what is none of the records that it was given (a copy of one?)")
        return places[id(record)]

    def _emitted_rows(self, rows: object) -> list[tuple[Row | None, Sequence[object]]]:
        """Return the rows, each with the record that it names."""
        if not isinstance(rows, Iterable) or isinstance(rows, str | bytes | Mapping):
            raise self._wrong(f"returned rows that are {type(rows).__name__}, not a list of rows")
        found = list(rows)
        if found and not len(self.emitted):
            raise self._wrong('emits rows, but has no schema of them ("name type, …")')
        named = [(each.record, each.row) if isinstance(each, EmittedRow) else (None, each) for each in found]
        return [(record, as_row(row, self.emitted, self.verb, self._giver)) for record, row in named]

    def _assembled(
        self, writes: Sequence[Sequence[object]], rows: Sequence[Sequence[object]], orders: Sequence[bytes | None]
    ) -> pa.RecordBatch:
        values = columns_of(writes, self.kept, self.verb, self._giver)
        emitted = columns_of(rows, self.emitted, self.verb, self._giver)
        written = [_as_stored(each) for each in values]
        count = len(writes) + len(rows)
        columns: list[AnyArray] = [pa.array([place < len(writes) for place in range(count)], pa.bool_())]
        columns += [_padded(each, 0, len(rows)) for each in written]
        columns += [_padded(each, len(writes), 0) for each in emitted]
        columns.append(pa.array([*([None] * len(writes)), *numbered(orders)], pa.binary()))
        columns = [as_type(column, wanted.type) for column, wanted in zip(columns, self.schema, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    @property
    def _giver(self) -> str:
        return f"{self.verb}: {type(self.updater).__name__}.update"

    def _wrong(self, what: str) -> ConfigurationError:
        return ConfigurationError(f"{self._giver} {what}; {_APPLIED}")


@dataclass(frozen=True)
class TakeUpdates:
    """Takes the writes, or the emitted rows, out of what `UpdatePartitions` makes."""

    fields: tuple[StructField, ...]
    is_written: bool
    verb: str = VERB

    makes_groups = False
    runs_user_code = False

    def told(self) -> str:
        """Return which of the two."""
        return "of what is written" if self.is_written else "of the rows that are emitted"

    def check(self, fields: base.Fields) -> None:
        """Nothing: it follows `UpdatePartitions`."""

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        mine = frame.filter(base.control().isNotNull() | (base.field(_WRITTEN) == F.lit(self.is_written)))
        kind = "kept" if self.is_written else "emitted"
        columns = [base.field(_place(kind, number)).alias(each.name) for number, each in enumerate(self.fields)]
        return mine.select(*columns, *hidden(frame))


def as_stored(fields: Sequence[StructField]) -> list[StructField]:
    """Return the columns as a state has them: arrays, structures and maps are texts there."""
    nested = (ArrayType, StructType, MapType)
    return [StructField(each.name, StringType()) if isinstance(each.dataType, nested) else each for each in fields]


def _as_stored(values: AnyArray) -> AnyArray:
    listed = cast("list[object]", values.to_pylist()) if pa.types.is_nested(values.type) else None  # type: ignore[misc]
    return values if listed is None else texts_of(listed, values.type)


def _place(kind: str, number: int) -> str:
    return f"__trident_{kind}{number}"


def _padded(column: AnyArray, before: int, behind: int) -> AnyArray:
    nulls = [pa.array([None] * count, column.type) for count in (before, behind)]
    return pa.concat_arrays([nulls[0], column, nulls[1]])
