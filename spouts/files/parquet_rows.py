"""Rows of Parquet files: positions are the rows, and columns are held exactly or refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_type

from trident.base.conversions import widened
from trident.base.errors import FatalError, UncomputableError
from trident.base.exact import InexactError
from trident.base.inside import is_list
from trident.spouts.decoders.declared import lacking
from trident.spouts.files.errors import WAY_TO_CORRECT
from trident.spouts.files.folder import BEING_WRITTEN
from trident.spouts.files.instants import WithInstants
from trident.spouts.files.places import FileSlice


def rows_in(file: BinaryIO, shown: str) -> int:
    """Return how many rows a file has; raises `FatalError` for one that is none of Parquet's."""
    try:
        return int(parquet.read_metadata(file).num_rows)
    except pa.ArrowException as error:
        raise FatalError(
            f"the file {shown!r} is no whole Parquet file ({type(error).__name__}); nothing was planned, what is done "
            "stays. Take it away, or put a whole one in its place; while one is written its name ends with "
            f"{BEING_WRITTEN}"
        ) from None


def rows_of(file: BinaryIO, part: FileSlice, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a part of a file as the schema's fields, in their order."""
    name = part.file.name
    opened = WithInstants(file, name)
    _require_types(opened.schema, schema, name)
    first = 0
    for group, count in enumerate(opened.groups):
        behind = first + count
        if behind > part.start and first < part.stop:
            yield from _of_group(opened, group, first, part, schema)
        first = behind


def lacking_values(rows: pa.RecordBatch, required: Sequence[str]) -> dict[int, str]:
    """Return which rows have no value in a field that is NOT NULL, and why that makes them bad ones."""
    reasons: dict[int, str] = {}
    for name in required:
        column = rows.column(name)
        if column.null_count:
            for row in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)).tolist():
                reasons.setdefault(row, lacking(name))
    return dict(sorted(reasons.items()))


def text_of(rows: pa.RecordBatch, row: int) -> bytes:
    """Return a row as the dead letters keep it: there are no bytes of its own."""
    single = rows.slice(row, 1)
    return json.dumps({name: _shown(single, name) for name in single.schema.names}, default=str).encode()


def _shown(single: pa.RecordBatch, name: str) -> object:
    """Return the value of a field, as a text where Python holds none such, and as its type where there is no text."""
    unheld = (ValueError, OverflowError, pa.ArrowException)
    with suppress(*unheld):
        return single.select([name]).to_pylist()[0][name]
    with suppress(*unheld):
        return single.column(name).cast(pa.string()).to_pylist()[0]
    return f"a value of {single.schema.field(name).type}"


def _of_group(
    opened: WithInstants, group: int, first: int, part: FileSlice, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    for batch in opened.batches(group, schema.names):
        behind = first + batch.num_rows
        start, stop = max(part.start, first), min(part.stop, behind)
        if start < stop:
            yield _exact(batch.slice(start - first, stop - start), schema, part.file.name, start)
        first = behind


def _exact(batch: pa.RecordBatch, schema: pa.Schema, name: str, first: int) -> pa.RecordBatch:
    columns = []
    for field in schema:
        try:
            columns.append(widened(batch.column(field.name), field.type))
        except (InexactError, pa.ArrowException):
            raise UncomputableError(
                f"the file {name!r} has a value for the field {field.name!r} in one of the rows {first} to "
                f"{first + batch.num_rows} (counted from 0) that {field.type} does not hold exactly. Nothing of the "
                f"batch was applied. {_way_to_hold(field.name, batch.schema.field(field.name).type)}; or "
                f"{WAY_TO_CORRECT}"
            ) from None
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _require_types(found: pa.Schema, schema: pa.Schema, name: str) -> None:
    for field in schema:
        numbers = found.get_all_field_indices(field.name)
        if len(numbers) != 1:
            raise UncomputableError(
                f"the file {name!r} has {len(numbers)} columns {field.name!r}, where one is wanted. Nothing of the "
                f"batch was applied. Correct the schema; or {WAY_TO_CORRECT}"
            )
        type_ = found.field(numbers[0]).type
        if not _fits(type_, field.type):
            raise UncomputableError(
                f"the file {name!r} has the field {field.name!r} as {type_}, which is not read as {field.type}. "
                f"Nothing of the batch was applied. {_way_to_fit(field.name, type_)}; or {WAY_TO_CORRECT}"
            )


def _way_to_hold(name: str, found: pa.DataType) -> str:
    if isinstance(found, pa.TimestampType):
        return "No type holds less than a microsecond: write the file anew in whole ones"
    return _way_to_fit(name, found)


def _way_to_fit(name: str, found: pa.DataType) -> str:
    """Return what to declare, in Spark's words where it has some."""
    words = _in_words(found)
    if words is None:
        return "Spark has no such type: write the file anew with another one"
    return f"Declare it as {f'{name} {words}'!r}, and change it behind the spout"


def _in_words(found: pa.DataType) -> str | None:
    if isinstance(found, pa.DictionaryType):
        return _in_words(found.value_type)
    if pa.types.is_unsigned_integer(found):
        return "decimal(20,0)"
    if pa.types.is_float16(found):
        return "float"
    try:
        return from_arrow_type(found).simpleString()
    except PySparkException:
        return None


def _fits(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Tell whether all values of one type that the other holds mean the same there."""
    if isinstance(found, pa.DictionaryType):
        return _fits(found.value_type, wanted)
    if isinstance(wanted, pa.StructType):
        return isinstance(found, pa.StructType) and _fit_inside(found, wanted)
    if isinstance(wanted, pa.MapType):
        return (
            isinstance(found, pa.MapType)
            and _fits(found.key_type, wanted.key_type)
            and _fits(found.item_type, wanted.item_type)
        )
    if isinstance(wanted, pa.ListType):
        return is_list(found) and _fits(found.value_type, wanted.value_type)  # type: ignore[attr-defined]
    if isinstance(wanted, pa.TimestampType):
        return isinstance(found, pa.TimestampType) and (found.tz is None) == (wanted.tz is None)
    if pa.types.is_floating(wanted):
        # A cast to a narrower one rounds and overflows silently.
        return pa.types.is_floating(found) and found.bit_width <= wanted.bit_width
    kinds = (_is_number, _is_text, _is_bytes)
    return found.equals(wanted) or any(kind(found) and kind(wanted) for kind in kinds)


def _fit_inside(found: pa.StructType, wanted: pa.StructType) -> bool:
    names = [field.name for field in found.fields]
    return names == [field.name for field in wanted.fields] and all(
        _fits(one.type, other.type) for one, other in zip(found.fields, wanted.fields, strict=True)
    )


def _is_number(type_: pa.DataType) -> bool:
    return pa.types.is_integer(type_) or pa.types.is_decimal(type_)


def _is_text(type_: pa.DataType) -> bool:
    return pa.types.is_string(type_) or pa.types.is_large_string(type_)


def _is_bytes(type_: pa.DataType) -> bool:
    return pa.types.is_binary(type_) or pa.types.is_large_binary(type_) or pa.types.is_fixed_size_binary(type_)
