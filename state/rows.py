"""Staged rows: brought to the layout's schema and checked, the same for every store."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from trident.base.arrays import AnyArray, AnyChunks, is_text, settled_array, unheld
from trident.base.conversions import converted
from trident.base.errors import ConfigurationError, RefusedError
from trident.base.exact import InexactError, exact_array
from trident.state.comparing import NAN

_AT_ONCE: Final = 4096
"""No other thread of the process runs while Arrow makes Python objects, nor the one that keeps the lease."""


def python_values(column: AnyChunks) -> list[object]:
    """Return a column that stores can hold as Python values, each in its one form: see `state.comparing`."""
    if pa.types.is_timestamp(column.type) and column.type.tz:
        column = column.cast(pa.timestamp(column.type.unit, "UTC"))
    values = [value for first in range(0, len(column), _AT_ONCE) for value in _values(column.slice(first, _AT_ONCE))]
    if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
        return [NAN if isinstance(value, float) and math.isnan(value) else value for value in values]
    return values


def _values(some: AnyChunks) -> Iterable[object]:
    values: Iterable[object] = some.to_pylist()  # type: ignore[misc]  # the stubs know it for single types only
    return values


def json_rows(rows: pa.Table) -> tuple[str, ...]:
    """Return each row as a JSON object; numbers are exact: decimals are strings, as are NaN and infinities.

    Bytes are base64, moments and days ISO 8601. What no store can hold is an object of one field: a text that is
    not UTF-8 `{"base64": …}`, a moment or day outside of the years 1 to 9999 `{"us": …}` or `{"days": …}` since 1970.
    """
    columns = [[_plain(value) for value in _shown(column)] for column in rows.columns]
    return tuple(
        json.dumps(dict(zip(rows.column_names, row, strict=True)), ensure_ascii=False, allow_nan=False)
        for row in zip(*columns, strict=True)
    )


def blocks_of(batches: Iterable[pa.RecordBatch], rows: int, size: int) -> Iterator[pa.Table]:
    """Gather batches until there are so many rows, or bytes; a usual task has one block."""
    held: list[pa.RecordBatch] = []
    held_rows = held_size = 0
    for batch in batches:
        held.append(batch)
        held_rows, held_size = held_rows + batch.num_rows, held_size + batch.nbytes
        if held_rows >= rows or held_size >= size:
            yield pa.Table.from_batches(held)
            held, held_rows, held_size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)


def _shown(column: AnyChunks) -> list[object]:
    """Return a column's values, those too that a store has refused because Python can't hold them."""
    type_ = column.type
    if unheld(column) is None or pa.types.is_decimal(type_):
        return python_values(column)
    return [_unheld_value(column.slice(number, 1)) for number in range(len(column))]


def _unheld_value(single: AnyChunks) -> object:
    if unheld(single) is None:
        return python_values(single)[0]
    type_ = single.type
    if is_text(type_):
        return {"base64": _plain(python_values(single.cast(pa.binary()))[0])}
    if pa.types.is_timestamp(type_):
        return {type_.unit: python_values(single.cast(pa.int64()))[0]}
    return {"days": python_values(single.cast(pa.int32()))[0]}


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return value


def conform(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the rows with exactly the schema's columns and types; raises RefusedError for values that don't fit."""
    missing = [name for name in schema.names if name not in rows.column_names]
    if missing:
        raise ConfigurationError(f"staged updates lack column {missing[0]!r}; nothing was staged")
    columns = [_conformed(rows.column(field.name), field) for field in schema]
    return pa.table(columns, schema=schema)


def distinct(keys: pa.Table) -> pa.Table:
    """Return each row once, in no order."""
    if not keys.num_columns:
        return keys
    grouped = keys.group_by(keys.column_names).aggregate([])
    return grouped.select(keys.column_names)


def refuse_nul(rows: pa.Table) -> None:
    """Raise RefusedError naming the first text column that holds a NUL character, which no SQL text can."""
    for field, column in zip(rows.schema, rows.columns, strict=True):
        if is_text(field.type) and pc.any(pc.match_substring(column, "\0")).as_py():
            raise refused(field.name, "a text with a NUL character")


def refused(column: str, what: str) -> RefusedError:
    """Return the error for a staged value that can't be stored; the value itself is never shown."""
    return RefusedError(f"column {column!r} of the staged updates holds {what}; nothing was staged")


def array_of(values: Sequence[object], column: str, type_: pa.DataType) -> AnyArray:
    """Return Python values as an Arrow array; raises RefusedError naming the column when one is not held exactly."""
    try:
        return exact_array(values, type_)
    except InexactError:
        raise refused(column, f"a value that does not fit into {type_}") from None


def _conformed(column: AnyChunks, field: pa.Field[pa.DataType]) -> AnyChunks:
    try:
        cast = column if column.type == field.type else _converted(column, field.type)
    except (InexactError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise refused(field.name, f"a value that does not fit into {field.type}") from None
    if cast.null_count and not field.nullable:
        raise refused(field.name, "a null, where it needs a value")
    what = unheld(cast)
    if what is not None:
        raise refused(field.name, what)
    return settled_array(cast)


def _converted(column: AnyChunks, type_: pa.DataType) -> AnyChunks:
    """Arrow's own cast lets values become others: decimals go round at 128 bits, moments lose their time of day."""
    chunks = [converted(chunk, type_) for chunk in column.chunks]
    return pa.chunked_array(chunks, type_)  # type: ignore[call-overload, no-any-return]
