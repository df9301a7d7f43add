"""What runs inside Spark's Python tasks: a user's function is given records only, control rows go round it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import pyarrow as pa
import pyarrow.compute as pc

from trident.base.control import CONTROL
from trident.base.errors import ConfigurationError

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
            fitted.append(whole if whole.type == field.type else whole.cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            # the driver's own message would show the value
            raise ConfigurationError(
                f"the function given to {verb} returned {whole.type} for the field {field.name!r}, "
                f"which does not convert to the declared {field.type}; nothing of the batch was applied"
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
    found = "None (a missing return?)" if found == "NoneType" else found
    return ConfigurationError(
        f"the function given to {verb} returned {found}; it must return {wanted}; nothing of the batch was applied"
    )


def assemble(arrays: Sequence[AnyArray], names: Sequence[str], schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch of records in the frame's schema: control column null, zones of timestamps as declared."""
    by_name = dict(zip(names, arrays, strict=True))
    rows = len(arrays[0])
    columns = [pa.nulls(rows, f.type) if f.name == CONTROL else by_name[f.name].cast(f.type) for f in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def bare(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return control rows in the frame's schema: their word, and null elsewhere."""
    rows = batch.num_rows
    columns = [batch.column(CONTROL) if f.name == CONTROL else pa.nulls(rows, f.type) for f in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _check_rows(arrays: Sequence[AnyArray], rows: int, verb: str) -> None:
    for array in arrays:
        if len(array) != rows:
            raise ConfigurationError(
                f"the function given to {verb} returned {len(array)} values for {rows} records; it must return one "
                "for each; nothing of the batch was applied"
            )


def _over_records(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, work: Callable[[pa.RecordBatch], Iterable[pa.RecordBatch]]
) -> Iterator[pa.RecordBatch]:
    """Do the work on each Arrow batch's records, without their control column, and pass its words on."""
    for batch in batches:
        records, words = split(batch)
        if records.num_rows:
            yield from work(records.drop_columns([CONTROL]))
        if words is not None:
            yield bare(words, schema)


@dataclass(frozen=True, slots=True)
class Keep:
    """Keeps the records for which the function's mask is true."""

    function: MaskFunction
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's batches."""
        return _over_records(batches, self.schema, self._work)

    def _work(self, records: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        (mask,) = fit(self.function(records), pa.schema([pa.field("mask", pa.bool_())]), "filter")
        _check_rows([mask], records.num_rows, "filter")
        kept = records.filter(cast(pa.BooleanArray, mask))
        # a task's batches must agree in their schema, and records alone may come without nulls
        yield assemble(kept.columns, kept.schema.names, self.schema)


@dataclass(frozen=True, slots=True)
class Add:
    """Adds the declared fields beside those that are there."""

    function: BatchFunction
    declared: pa.Schema
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's batches."""
        return _over_records(batches, self.schema, self._work)

    def _work(self, records: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        added = fit(self.function(records), self.declared, "each")
        _check_rows(added, records.num_rows, "each")
        names = [*records.schema.names, *self.declared.names]
        yield assemble([*records.columns, *added], names, self.schema)


@dataclass(frozen=True, slots=True)
class Replace:
    """Replaces all fields, row by row."""

    function: BatchFunction
    declared: pa.Schema
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's batches."""
        return _over_records(batches, self.schema, self._work)

    def _work(self, records: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        arrays = fit(self.function(records), self.declared, "map")
        _check_rows(arrays, records.num_rows, "map")
        yield assemble(arrays, self.declared.names, self.schema)


@dataclass(frozen=True, slots=True)
class Expand:
    """Replaces records by any number of rows."""

    function: RowsFunction
    declared: pa.Schema
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's batches."""
        return _over_records(batches, self.schema, self._work)

    def _work(self, records: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        result = self.function(records)
        if isinstance(result, str | bytes | Mapping) or not isinstance(result, pa.RecordBatch | pa.Table | Iterable):
            raise wrong_result("flat_map", type(result).__name__, self.declared)
        for part in [result] if isinstance(result, pa.RecordBatch | pa.Table) else result:
            yield assemble(fit(part, self.declared, "flat_map"), self.declared.names, self.schema)
