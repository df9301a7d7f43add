"""Parquet files with INT96, which Spark, Hive and Impala write for instants: each is read exactly, or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from typing import BinaryIO, Final, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from trident.base.arrays import AnyArray
from trident.base.errors import UncomputableError
from trident.spouts.files.errors import WAY_TO_CORRECT

_INSTANT: Final = pa.timestamp("us", tz="UTC")
_OLD_CALENDAR: Final = {b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"}
"""Spark writes one of these where days before 1582, and moments before 1900, are those of the Julian calendar."""
_FIRST_DAY: Final = date(1582, 10, 15)
_FIRST_MOMENT: Final = datetime(1900, 1, 1, tzinfo=UTC)


class WithInstants:
    """An opened file; its INT96 columns are instants in microseconds, as Spark takes them."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._name = name
        self._file = parquet.ParquetFile(file, coerce_int96_timestamp_unit="us")
        leaves = [self._file.schema.column(number) for number in range(len(self._file.schema))]
        marks = [leaf.physical_type == "INT96" for leaf in leaves]
        left = iter(marks)
        found = self._file.schema_arrow
        self.schema = pa.schema([field.with_type(_instants(field.type, left)) for field in found])
        """The fields as they are to be taken."""
        self._is_of_old_calendar = not _OLD_CALENDAR.isdisjoint(self._file.metadata.metadata or {})
        self._in_nanoseconds = parquet.ParquetFile(file) if any(marks) else None

    @property
    def groups(self) -> list[int]:
        """How many rows each group of them has."""
        metadata = self._file.metadata
        return [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]

    def batches(self, group: int, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a group; raises `UncomputableError` for a moment that is not read as what it is."""
        for batch in self._batches(group, names):
            if self._is_of_old_calendar:
                self._require_recent(batch)
            yield batch

    def _require_recent(self, batch: pa.RecordBatch) -> None:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if any(map(_is_old, _moments(column))):
                raise UncomputableError(
                    f"the file {self._name!r} has days before 1582 or moments before 1900 in the field {name!r}, and "
                    "says that it was written by the Julian calendar: they would be read as others. Nothing of the "
                    "batch was applied. Let Spark read it and write it anew, with its rebase modes for writing as they "
                    f"are by default (CORRECTED). Then {WAY_TO_CORRECT}"
                )

    def _batches(self, group: int, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        found = self._file.iter_batches(row_groups=[group], columns=list(names))
        fields = [self.schema.field(name) for name in names]
        if self._in_nanoseconds is None:
            yield from (batch.select(list(names)) for batch in found)
            return
        exact = self._in_nanoseconds.iter_batches(row_groups=[group], columns=list(names))
        for batch, other in zip(found, exact, strict=True):
            columns = [self._column(batch, other, field) for field in fields]
            yield pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))

    def _column(self, batch: pa.RecordBatch, exact: pa.RecordBatch, field: pa.Field[pa.DataType]) -> AnyArray:
        column = cast("AnyArray", batch.column(field.name))
        for one, other in zip(_moments(column), _moments(exact.column(field.name)), strict=True):
            if one.type != other.type and not _is_exact(one, other):
                raise UncomputableError(
                    f"the file {self._name!r} has a moment for the field {field.name!r} that is not one of whole "
                    "microseconds. Nothing of the batch was applied. No type holds less than a microsecond: write the "
                    f"file anew in whole ones. Then {WAY_TO_CORRECT}"
                )
        return column if column.type == field.type else column.cast(field.type)


def _instants(type_: pa.DataType, marks: Iterator[bool]) -> pa.DataType:
    """Return a type with its INT96 leaves as instants; `marks` says of each leaf, in their order, whether it is one."""
    match type_:
        case pa.StructType():
            return pa.struct([field.with_type(_instants(field.type, marks)) for field in type_.fields])
        case pa.MapType():
            key = type_.key_field.with_type(_instants(type_.key_type, marks))
            item = type_.item_field.with_type(_instants(type_.item_type, marks))
            return pa.map_(key, item)  # type: ignore[call-overload, no-any-return]
        case pa.ListType():
            return pa.list_(type_.value_field.with_type(_instants(type_.value_type, marks)))
        case pa.LargeListType():
            return pa.large_list(type_.value_field.with_type(_instants(type_.value_type, marks)))
        case pa.FixedSizeListType():
            return pa.list_(type_.value_field.with_type(_instants(type_.value_type, marks)), type_.list_size)
        case _:
            return _INSTANT if next(marks) else type_


def _moments(column: AnyArray) -> Iterator[AnyArray]:
    """Yield all that is in a column and holds moments or days."""
    match column:
        case pa.StructArray():
            for part in column.flatten():
                yield from _moments(part)
        case pa.MapArray():
            yield from _moments(column.keys)
            yield from _moments(column.items)
        case pa.ListArray() | pa.LargeListArray() | pa.FixedSizeListArray():
            yield from _moments(column.flatten())
        case pa.TimestampArray() | pa.Date32Array():
            yield column


def _is_old(column: AnyArray) -> bool:
    first = _FIRST_DAY if isinstance(column, pa.Date32Array) else _FIRST_MOMENT
    return bool(pc.any(pc.less(column, pa.scalar(first, column.type)), min_count=0).as_py())


def _is_exact(found: AnyArray, exact: AnyArray) -> bool:
    """Tell whether microseconds are the whole of what was read as nanoseconds too.

    Those go round at 2**64 for years far away, and so does the product: it is the same only where nothing was cut off.
    """
    micros, nanos = (item.cast(pa.int64()).drop_null().to_numpy() for item in (found, exact))
    with np.errstate(over="ignore"):
        return bool(np.array_equal(micros * 1000, nanos))
