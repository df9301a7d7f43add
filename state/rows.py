"""Staged rows: brought to the layout's schema and checked, the same for every store."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from trident.base.errors import ConfigurationError, RefusedError

AnyArray: TypeAlias = "pa.Array[pa.Scalar[pa.DataType]]"
AnyChunks: TypeAlias = "pa.ChunkedArray[pa.Scalar[pa.DataType]]"


def python_values(column: AnyChunks) -> list[object]:
    """Return a column as Python values."""
    values: Iterable[object] = column.to_pylist()  # type: ignore[misc]  # the stubs know it for single types only
    return list(values)


def json_rows(rows: pa.Table) -> tuple[str, ...]:
    """Return each row as a JSON object; numbers are exact: decimals are strings, as are NaN and infinities.

    Bytes are base64, moments and days ISO 8601.
    """
    columns = [[_plain(value) for value in python_values(column)] for column in rows.columns]
    return tuple(
        json.dumps(dict(zip(rows.column_names, row, strict=True)), ensure_ascii=False, allow_nan=False)
        for row in zip(*columns, strict=True)
    )


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def conform(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the rows with exactly the schema's columns and types; raises RefusedError for values that don't fit."""
    missing = [name for name in schema.names if name not in rows.column_names]
    if missing:
        raise ConfigurationError(f"staged updates lack column {missing[0]!r}; nothing was staged")
    columns = [_cast(rows.column(field.name), field) for field in schema]
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
        is_text = pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        if is_text and pc.any(pc.match_substring(column, "\0")).as_py():
            raise refused(field.name, "a text with a NUL character")


def refused(column: str, what: str) -> RefusedError:
    """Return the error for a staged value that can't be stored; the value itself is never shown."""
    return RefusedError(f"column {column!r} of the staged updates holds {what}; nothing was staged")


def array_of(values: list[object], column: str, type_: pa.DataType) -> AnyArray:
    """Return Python values as an Arrow array; raises RefusedError naming the column when one does not fit."""
    try:
        array = pa.array(values, type_)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        raise refused(column, f"a value that does not fit into {type_}") from None
    return array


def _cast(column: AnyChunks, field: pa.Field[pa.DataType]) -> AnyChunks:
    try:
        cast = column if column.type == field.type else column.cast(field.type)
        if pa.types.is_decimal(field.type):
            cast.validate(full=True)
    except pa.ArrowInvalid:
        raise refused(field.name, f"a value that does not fit into {field.type}") from None
    return cast
