"""Many rows on their way to Arrow without a Python object for each value: the server packs whole columns.

A column of so many rows comes as two strings of bytes: how long each value is (-1 for null), and the values one behind
the other as the server sends them. Numbers and moments are read from there at once, whole days or microseconds since
the year 2000; decimals come as texts, which Arrow reads exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trident.base.arrays import AnyArray, settled_array, unheld
from trident.state.postgres.types import sql_type
from trident.state.rows import refused

_AT_ONCE = 1_000
"""Rows of one part, at most: the server hears of us between two parts."""
_MOST_BYTES = 1 << 26
"""Of texts and bytes in one part, about: the server takes no more than a gigabyte for a string."""

_SENT = {
    "boolean": ("boolsend", "u1"),
    "smallint": ("int2send", ">i2"),
    "integer": ("int4send", ">i4"),
    "bigint": ("int8send", ">i8"),
    "real": ("float4send", ">f4"),
    "double precision": ("float8send", ">f8"),
    "date": ("date_send", ">i4"),
    "timestamp with time zone": ("timestamptz_send", ">i8"),
    "timestamp without time zone": ("timestamp_send", ">i8"),
}
_DAYS = 10_957
"""From 1970 to 2000."""
_MICROS = _DAYS * 86_400 * 10**6


def packed_select(statement: str, types: Sequence[pa.DataType]) -> str:
    """Return the SELECT that gives the rows of another one, whose columns have these types, in parts."""
    names = [f"c{place}" for place in range(len(types))]
    sent = ", ".join(f"{_as_bytes(name, sql_type(type_))} AS {name}" for name, type_ in zip(names, types, strict=True))
    both = ", ".join(
        f"string_agg(int4send(coalesce(octet_length({name}), -1)), CAST('' AS bytea)) AS l{name}, "
        f"coalesce(string_agg({name}, CAST('' AS bytea)), CAST('' AS bytea)) AS {name}"
        for name in names
    )
    given = f"({statement}) AS q ({', '.join(names)})"
    long = [
        f"coalesce(octet_length({name}), 0)" for name, type_ in zip(names, types, strict=True) if _may_be_long(type_)
    ]
    bytes_ = f"sum(CAST({' + '.join(long)} AS double precision)) OVER w" if long else "0"
    numbered = (
        f"SELECT (row_number() OVER w - 1) / {_AT_ONCE} AS part, floor({bytes_} / {_MOST_BYTES}) AS weight, {sent} "
        f"FROM {given} WINDOW w AS (ROWS UNBOUNDED PRECEDING)"
    )
    return f"SELECT {both} FROM ({numbered}) AS n GROUP BY part, weight"


def _may_be_long(type_: pa.DataType) -> bool:
    return sql_type(type_) in ("text", "bytea")


def unpacked(schema: pa.Schema, parts: Sequence[Sequence[object]]) -> pa.Table:
    """Return the rows of the parts; raises RefusedError naming the column for a value that no store holds."""
    columns = [
        pa.chunked_array([_column(field, part[2 * place], part[2 * place + 1]) for part in parts], field.type)
        for place, field in enumerate(schema)
    ]
    return pa.table(columns, schema=schema)


def _as_bytes(name: str, type_: str) -> str:
    if type_ == "bytea":
        return name
    sender, _ = _SENT.get(type_, ("", ""))
    return f"{sender}({name})" if sender else f"convert_to(CAST({name} AS text), 'UTF8')"


def _column(field: pa.Field[pa.DataType], lengths: object, values: object) -> AnyArray:
    assert isinstance(lengths, bytes)
    assert isinstance(values, bytes)
    sizes = np.frombuffer(lengths, ">i4").astype(np.int64)
    _, code = _SENT.get(sql_type(field.type), ("", ""))
    made = _numbers(field, sizes < 0, np.frombuffer(values, code)) if code else _texts(field, sizes, values)
    what = unheld(made)
    if what is not None:
        raise refused(field.name, what)
    settled: AnyArray = settled_array(pa.chunked_array([made])).combine_chunks()
    return settled


def _numbers(field: pa.Field[pa.DataType], is_null: npt.NDArray[np.bool_], found: npt.NDArray[np.generic]) -> AnyArray:
    type_ = field.type
    native = np.zeros(len(is_null), found.dtype.newbyteorder("="))
    native[~is_null] = found
    if pa.types.is_boolean(type_):
        native = native.astype(bool)
    elif pa.types.is_temporal(type_):  # what has no end wraps around, and is outside of all years either way
        native += native.dtype.type(_DAYS if pa.types.is_date(type_) else _MICROS)
    made: AnyArray = pa.array(native, mask=is_null)
    if isinstance(type_, pa.TimestampType):
        made = made.cast(pa.timestamp("us", type_.tz))
    return _cast(field, made)


def _texts(field: pa.Field[pa.DataType], sizes: npt.NDArray[np.int64], values: bytes) -> AnyArray:
    is_null, type_ = sizes < 0, field.type
    ends = np.concatenate(([0], np.cumsum(np.where(is_null, 0, sizes)))).astype(np.int32)
    plain = pa.binary() if pa.types.is_binary(type_) or pa.types.is_large_binary(type_) else pa.string()
    valid = pa.array(~is_null).buffers()[1]
    made = pa.Array.from_buffers(plain, len(sizes), [valid, pa.py_buffer(ends.tobytes()), pa.py_buffer(values)])
    what = unheld(made)  # before anything reads the bytes as text
    if what is not None:
        raise refused(field.name, what)
    return _cast(field, made)


def _cast(field: pa.Field[pa.DataType], made: AnyArray) -> AnyArray:
    try:
        cast: AnyArray = made.cast(field.type)
    except pa.ArrowInvalid:
        raise refused(field.name, f"a value that does not fit into {field.type}") from None
    return cast
