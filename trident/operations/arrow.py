"""What runs inside Spark's Python tasks: a user's function is given records only, control rows go round it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trident.base.audit import ID, made_ids
from trident.base.control import CONTROL
from trident.base.conversions import converted, widened
from trident.base.errors import ConfigurationError
from trident.base.exact import InexactError
from trident.base.order import ORDER, below, log_of
from trident.base.partitions import PARTITION
from trident.base.trees import ROOTS
from trident.operations.accounting import as_ids, id_column, marks
from trident.operations.user_objects import ready, told_of

AnyArray: TypeAlias = "pa.Array[pa.Scalar[pa.DataType]]"
AnyColumn: TypeAlias = "AnyArray | pa.ChunkedArray[pa.Scalar[pa.DataType]]"
Arrays: TypeAlias = "pa.RecordBatch | pa.Table | AnyColumn | Sequence[AnyColumn] | Mapping[str, AnyColumn]"
BatchFunction = Callable[[pa.RecordBatch], Arrays]
RowsFunction = Callable[[pa.RecordBatch], "pa.RecordBatch | pa.Table | Iterable[pa.RecordBatch]"]
MaskFunction = Callable[[pa.RecordBatch], pa.BooleanArray]


def split(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch | None]:
    """Return the records and, if there are any, the control rows."""
    words = batch.column(CONTROL)
    if words.null_count == batch.num_rows:
        return batch, None
    records = pc.is_null(words)
    return batch.filter(records), batch.filter(pc.invert(records))


def fit(arrays: Arrays, declared: pa.Schema, verb: str) -> list[AnyArray]:
    """Return what a user's function gave as arrays of the declared fields, converted without loss."""
    fitted = []
    for field, array in zip(declared, _in_order(arrays, declared, verb), strict=True):
        if not isinstance(array, pa.Array | pa.ChunkedArray):
            raise wrong_result(verb, f"{type(array).__name__} for the field {field.name!r}", declared)
        whole = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        try:
            fitted.append(converted(whole, field.type))
        except (InexactError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
            # the driver's own message would show the value
            raise ConfigurationError(
                f"the function given to {verb} returned {whole.type} for the field {field.name!r}, some value of which "
                f"the declared {field.type} does not hold as it is; nothing of the batch was applied. Convert it in "
                "the function, as it is meant (round it, cut it), or declare another type"
            ) from None
    return fitted


def _in_order(arrays: Arrays, declared: pa.Schema, verb: str) -> Sequence[AnyColumn]:
    if isinstance(arrays, pa.RecordBatch | pa.Table | Mapping):
        given = list(arrays) if isinstance(arrays, Mapping) else arrays.schema.names
        if sorted(given) != sorted(declared.names):
            raise ConfigurationError(
                f"the function given to {verb} returned the fields {', '.join(given)} "
                f"instead of the declared {', '.join(declared.names)}; nothing of the batch was applied"
            )
        return [arrays[name] for name in declared.names]
    if not isinstance(arrays, pa.Array | pa.ChunkedArray | Iterable) or isinstance(arrays, str | bytes):
        raise wrong_result(verb, type(arrays).__name__, declared)
    several = [arrays] if isinstance(arrays, pa.Array | pa.ChunkedArray) else list(arrays)
    if len(several) != len(declared):
        raise ConfigurationError(
            f"the function given to {verb} returned {len(several)} arrays for {len(declared)} declared fields; "
            "nothing of the batch was applied"
        )
    return several


def wrong_result(verb: str, found: str, declared: pa.Schema) -> ConfigurationError:
    """Return the error for a function that gave back what is no Arrow data: it would do so again at every try."""
    fields = ", ".join(f"{each.name} {each.type}" for each in declared)
    wanted = {
        "filter": "a boolean Arrow array with one value for each record",
        "flat_map": f"a record batch or table with the fields {fields}, or an iterable of them",
    }.get(verb, f"an Arrow array with one value for each record, for each of the fields {fields}")
    found = f"None (a missing {'yield or ' if verb == 'flat_map' else ''}return?)" if found == "NoneType" else found
    return ConfigurationError(
        f"the function given to {verb} returned {found}; it must return {wanted}; nothing of the batch was applied"
    )


def assemble(arrays: Sequence[AnyArray], names: Sequence[str], schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch of records in the frame's schema: control column null, zones of timestamps as declared."""
    by_name = dict(zip(names, arrays, strict=True))
    rows = len(arrays[0])
    columns = [pa.nulls(rows, f.type) if f.name == CONTROL else as_type(by_name[f.name], f.type) for f in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def as_type(column: AnyArray, type_: pa.DataType) -> AnyArray:
    """Return a column in a type that holds all that it has; raises what Arrow or `widened` says of another one."""
    if column.type == type_:
        return column  # Arrow casts no null structure whose fields are required, not even to its own type
    return widened(column, type_) if pa.types.is_nested(type_) else column.cast(type_)


def bare(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return control rows in the frame's schema: their word, and null elsewhere."""
    rows = batch.num_rows
    columns = [batch.column(CONTROL) if f.name == CONTROL else pa.nulls(rows, f.type) for f in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def check_rows(arrays: Sequence[AnyArray], rows: int, verb: str) -> None:
    """Refuse arrays that have not one value for each record."""
    for array in arrays:
        if len(array) != rows:
            raise ConfigurationError(
                f"the function given to {verb} returned {len(array)} values for {rows} records; it must return one "
                "for each; nothing of the batch was applied"
            )


def over_records(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    work: Callable[[Records], Iterable[pa.RecordBatch]],
    user: object,
    verb: str,
) -> Iterator[pa.RecordBatch]:
    """Do the work on each Arrow batch's records, without the columns that are no fields, and pass its words on.

    `user` is what the work calls, made ready for the task and cleaned up after it.
    """
    with ready(user, verb):
        for batch in batches:
            records, words = split(batch)
            if records.num_rows:
                with told_of(user):
                    yield from work(records_in(records))
            if words is not None:
                yield bare(words, schema)


@dataclass(frozen=True, slots=True)
class Records:
    """What a user's function is given, and what goes along beside it."""

    fields: pa.RecordBatch
    order: AnyArray | None
    """Which record each row is of, where that was asked for."""
    partition: AnyArray | None = None
    """Which logical partition each row is in, where that was asked for."""
    ids: AnyArray | None = None
    """Each row's id, while the topology is audited."""
    roots: AnyArray | None = None
    """The messages that each row is of, where an operation looks after acks further on."""

    @property
    def hidden(self) -> dict[str, AnyArray]:
        """The columns that go along as they are."""
        columns = {ORDER: self.order, PARTITION: self.partition, ID: self.ids, ROOTS: self.roots}
        return {name: column for name, column in columns.items() if column is not None}

    def runs(self) -> Iterator[Records]:
        """Yield the rows in parts, each of one source partition's records, and of one logical partition."""
        if self.order is None and self.partition is None:
            yield self
            return
        start, rows = 0, self.fields.num_rows
        while start < rows:
            same = np.ones(rows - start, dtype=bool)
            if self.order is not None:
                log = log_of(self.order[start].as_py())
                same &= np.asarray(pc.starts_with(self.order.slice(start), log))  # type: ignore[call-overload]  # bytes too
            if self.partition is not None:
                same &= np.asarray(pc.equal(self.partition.slice(start), self.partition[start]))
            count = len(same) if same.all() else int(same.argmin())
            yield self._part(start, count)
            start += count

    def one_by_one(self) -> Iterator[Records]:
        """Yield each row by itself."""
        return (self._part(row, 1) for row in range(self.fields.num_rows))

    def _part(self, start: int, count: int) -> Records:
        beside = (self.order, self.partition, self.ids, self.roots)
        parts = (None if each is None else each.slice(start, count) for each in beside)
        return Records(self.fields.slice(start, count), *parts)


def records_in(batch: pa.RecordBatch) -> Records:
    """Return a batch of records with what goes along beside its fields apart."""
    fields = batch.drop_columns([CONTROL])
    beside = (ORDER, PARTITION, ID, ROOTS)
    found = {name: fields.column(name) for name in beside if name in fields.schema.names}
    return Records(fields.drop_columns(list(found)), *(found.get(name) for name in beside))


@dataclass(frozen=True, slots=True)
class Keep:
    """Keeps the records for which the function's mask is true."""

    function: MaskFunction
    schema: pa.Schema
    verb: str = "filter"

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's batches."""
        return over_records(batches, self.schema, self._work, self.function, self.verb)

    def _work(self, records: Records) -> Iterator[pa.RecordBatch]:
        (found,) = fit(self.function(records.fields), pa.schema([pa.field("mask", pa.bool_())]), self.verb)
        check_rows([found], records.fields.num_rows, self.verb)
        mask = cast(pa.BooleanArray, found)
        kept = records.fields.filter(mask)
        hidden = {name: array.filter(mask) for name, array in records.hidden.items()}
        # a task's batches must agree in their schema, and records alone may come without nulls
        yield assemble([*kept.columns, *hidden.values()], [*kept.schema.names, *hidden], self.schema)
        if records.ids is not None:
            is_kept = np.asarray(mask.fill_null(False), dtype=bool)
            left_out = as_ids(records.ids)[~is_kept]
            yield marks(left_out, np.zeros(len(left_out), dtype=np.int64), self.schema)


@dataclass(frozen=True, slots=True)
class Add:
    """Adds the declared fields beside those that are there."""

    function: BatchFunction
    declared: pa.Schema
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's batches."""
        return over_records(batches, self.schema, self._work, self.function, "each")

    def _work(self, records: Records) -> Iterator[pa.RecordBatch]:
        fields, hidden = records.fields, records.hidden
        added = fit(self.function(fields), self.declared, "each")
        check_rows(added, fields.num_rows, "each")
        names = [*fields.schema.names, *self.declared.names, *hidden]
        yield assemble([*fields.columns, *added, *hidden.values()], names, self.schema)


@dataclass(frozen=True, slots=True)
class Replace:
    """Replaces all fields, row by row."""

    function: BatchFunction
    declared: pa.Schema
    schema: pa.Schema
    verb: str = "map"

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's batches."""
        return over_records(batches, self.schema, self._work, self.function, self.verb)

    def _work(self, records: Records) -> Iterator[pa.RecordBatch]:
        arrays = fit(self.function(records.fields), self.declared, self.verb)
        check_rows(arrays, records.fields.num_rows, self.verb)
        yield assemble([*arrays, *records.hidden.values()], [*self.declared.names, *records.hidden], self.schema)


@dataclass(frozen=True, slots=True)
class Expand:
    """Replaces records by any number of rows."""

    function: RowsFunction
    declared: pa.Schema
    schema: pa.Schema
    in_runs: bool
    """Whether a row may be placed by where its call began."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's batches."""
        return over_records(batches, self.schema, self._work, self.function, "flat_map")

    def _work(self, records: Records) -> Iterator[pa.RecordBatch]:
        by_one = (records.order is not None and not self.in_runs) or records.roots is not None
        for run in records.one_by_one() if by_one else records.runs():
            yield from self._expanded(run)

    def _expanded(self, records: Records) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one run; nobody knows which record a row is of, so their place in the run counts."""
        result = self.function(records.fields)
        if isinstance(result, str | bytes | Mapping) or not isinstance(result, pa.RecordBatch | pa.Table | Iterable):
            raise wrong_result("flat_map", type(result).__name__, self.declared)
        first = None if records.order is None else cast("bytes | None", records.order[0].as_py())
        count = 0
        for part in [result] if isinstance(result, pa.RecordBatch | pa.Table) else result:
            arrays = fit(part, self.declared, "flat_map")
            rows = len(arrays[0])
            hidden: dict[str, AnyArray] = {}
            if records.order is not None:  # of a merge, rows of an aggregation stand beside records and have none
                hidden[ORDER] = pa.nulls(rows, pa.binary()) if first is None else below(first, count, rows)
            if records.partition is not None:
                hidden[PARTITION] = pa.array([records.partition[0].as_py()] * rows, pa.int32())
            if records.ids is not None:
                hidden[ID] = _made_of_first(records.ids, count, rows)
            if records.roots is not None:
                hidden[ROOTS] = records.roots.take(pa.array([0] * rows, pa.int64()))
            yield assemble([*arrays, *hidden.values()], [*self.declared.names, *hidden], self.schema)
            count += len(arrays[0])
        if records.ids is not None:
            # all rows count as made of the first record
            counts = np.zeros(len(records.ids), dtype=np.int64)
            counts[0] = count
            yield marks(as_ids(records.ids), counts, self.schema)


def _made_of_first(ids: AnyArray, before: int, rows: int) -> AnyArray:
    """Return the ids of some rows of those that are made of a run's first record."""
    made = made_ids(as_ids(ids.slice(0, 1)), np.array([before + rows], dtype=np.int64))
    return id_column(made[before:])
