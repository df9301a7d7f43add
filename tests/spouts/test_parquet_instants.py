"""INT96 in Parquet files, as Spark writes timestamps by default: instants, exactly or not at all."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyarrow import parquet

from trident.base.errors import FatalError
from trident.spouts.files.catalogue import ListedFile
from trident.spouts.files.parquet_rows import rows_of
from trident.spouts.files.places import FileSlice

BARE, INSTANT = pa.timestamp("us"), pa.timestamp("us", "UTC")
HERE = [
    datetime(2026, 1, 1, 0, 0, 0, 1, UTC),
    None,
    datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC),
    datetime(1500, 1, 1, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
]
BARE_ONES = [moment and moment.replace(tzinfo=None) for moment in HERE]
"""As pyarrow writes them without a zone: in UTC."""


def written(table: pa.Table) -> io.BytesIO:
    file = io.BytesIO()
    parquet.write_table(table, file, use_deprecated_int96_timestamps=True, row_group_size=4)
    return file


def read(file: io.BytesIO, schema: pa.Schema, count: int) -> dict[str, list[object]]:
    part = FileSlice(ListedFile("f", 1, 0, count), 0, 0, count)
    return pa.Table.from_batches(rows_of(file, part, schema)).to_pydict()


def nested(values: Sequence[datetime | None], type_: pa.DataType) -> dict[str, pa.Array[pa.Scalar[pa.DataType]]]:
    return {
        "list": pa.array([[None, value] for value in values], pa.list_(type_)),
        "n": pa.array(range(len(values))),
        "struct": pa.array([{"x": 1, "y": value} for value in values], pa.struct([("x", pa.int8()), ("y", type_)])),
        "map": pa.array([[("k", value)] for value in values], pa.map_(pa.string(), type_)),
        "ts": pa.array(values, type_),
    }


def test_an_instant_is_read_as_the_microsecond_that_it_is() -> None:
    wanted = pa.table(nested(HERE, INSTANT)).select(["ts", "struct", "list", "map", "n"])
    found = read(written(pa.table(nested(BARE_ONES, BARE))), wanted.schema, len(HERE))
    assert found == wanted.to_pydict()


@pytest.mark.parametrize("field", ["ts", "struct", "list", "map"])
def test_what_is_less_than_a_microsecond_is_refused(field: str) -> None:
    wanted = pa.table(nested([], INSTANT)).select([field]).schema
    exact = pa.table(nested([datetime(2026, 1, 1, tzinfo=UTC)], pa.timestamp("ns"))).select([field])
    assert read(written(exact), wanted, 1)
    text = f"'f' has a moment for the field '{field}' that is not one of whole microseconds.*Nothing of the batch"
    with pytest.raises(FatalError, match=text):
        read(written(_later(exact)), wanted, 1)


def _later(table: pa.Table) -> pa.Table:
    """Return the table with a nanosecond more, whatever it is in."""
    type_ = table.schema.field(0).type
    moment = 1_767_225_600_000_000_001
    value: object = moment
    if isinstance(type_, pa.StructType):
        value = {"x": 1, "y": moment}
    if isinstance(type_, pa.MapType):
        value = [("k", moment)]
    elif isinstance(type_, pa.ListType):
        value = [moment]
    return pa.table({table.schema.names[0]: pa.array([value], type_)})


def test_a_type_that_spark_does_not_have_is_said_to_be_none() -> None:
    file = written(pa.table({"x": pa.array([1], pa.time32("ms"))}))
    with pytest.raises(FatalError, match="Spark has no such type: write the file anew"):
        read(file, pa.schema([("x", pa.string())]), 1)


def test_nothing_is_advised_for_nanoseconds_that_does_not_help() -> None:
    file = io.BytesIO()
    parquet.write_table(pa.table({"x": pa.array([1], pa.timestamp("ns"))}), file)
    with pytest.raises(FatalError, match="No type holds less than a microsecond"):
        read(file, pa.schema([("x", BARE)]), 1)
