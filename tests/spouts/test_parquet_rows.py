"""Columns of Parquet files: a float is never read as a narrower one."""

from __future__ import annotations

import io
import json
from decimal import Decimal

import pyarrow as pa
import pytest
from pyarrow import parquet

from trident.base.errors import FatalError
from trident.spouts.decoders.declared import lacking
from trident.spouts.files.catalogue import ListedFile
from trident.spouts.files.parquet_rows import lacking_values, rows_of, text_of
from trident.spouts.files.places import FileSlice


def read(found: pa.DataType, wanted: pa.DataType, value: object) -> list[object]:
    file = io.BytesIO()
    parquet.write_table(pa.table({"x": pa.array([value], found)}), file)
    part = FileSlice(ListedFile("f", 1, 0, 1), 0, 0, 1)
    return [item for batch in rows_of(file, part, pa.schema([("x", wanted)])) for item in batch.column(0).to_pylist()]


@pytest.mark.parametrize("value", [0.1, 1e300, 16777217.0, -1e-300, 0.5])
def test_a_double_is_not_read_as_a_float(value: float) -> None:
    with pytest.raises(FatalError, match="the file 'f' has the field 'x' as double, which is not read as float"):
        read(pa.float64(), pa.float32(), value)
    with pytest.raises(FatalError, match=r"'x' as list.*double.*not read as list.*float"):
        read(pa.list_(pa.float64()), pa.list_(pa.float32()), [value])


def test_a_float_is_read_as_itself_and_as_a_wider_one() -> None:
    assert read(pa.float32(), pa.float64(), 0.5) == [0.5]
    assert read(pa.float32(), pa.float32(), 0.5) == [0.5]
    assert read(pa.float64(), pa.float64(), 0.1) == [0.1]


@pytest.mark.parametrize("is_inside", [False, True])
def test_a_decimal_that_another_one_has_no_room_for_is_refused(*, is_inside: bool) -> None:
    """Arrow makes 4705790657.9… of it, since it goes round at 2**128."""
    found, wanted, value = pa.decimal128(17, 0), pa.decimal128(38, 28), Decimal(753326997884)
    with pytest.raises(FatalError, match=r"that .*decimal128\(38, 28\).* does not hold exactly"):
        read(pa.list_(found), pa.list_(wanted), [value]) if is_inside else read(found, wanted, value)
    assert read(found, pa.decimal128(38, 26), value) == [value]


def test_lists_of_one_length_are_read_as_lists() -> None:
    """As polars writes its Array."""
    pairs = pa.list_(pa.int32(), 2)
    assert read(pairs, pa.list_(pa.int32()), [1, None]) == [[1, None]]
    assert read(pairs, pa.list_(pa.int64()), None) == [None]
    with pytest.raises(FatalError, match=r"'x' as fixed_size_list.*Declare it as 'x array<int>'"):
        read(pairs, pa.list_(pa.string()), [1, 2])


def test_what_is_required_inside_is_there_and_keys_are_there_once() -> None:
    """A structure that is null has no fields that must be there."""
    found, wanted = (pa.struct([pa.field("a", pa.int32(), nullable=optional)]) for optional in (True, False))
    assert read(wanted, found, None) == read(found, wanted, None) == [None]
    with pytest.raises(FatalError, match="does not hold exactly"):
        read(found, wanted, {"a": None})
    maps = pa.map_(pa.string(), pa.int32())
    with pytest.raises(FatalError, match=r"that map<string, int32.*> does not hold exactly"):
        read(maps, maps, [("a", 1), ("a", 2)])


def test_rows_without_a_value_that_may_not_be_null_are_told() -> None:
    rows = pa.RecordBatch.from_arrays(
        [pa.array([1, None, 3, None]), pa.array(["x", None, None, "y"])], names=["a", "b"]
    )
    assert lacking_values(rows, ()) == {}
    assert lacking_values(rows, ("b",)) == {1: lacking("b"), 2: lacking("b")}
    assert lacking_values(rows, ("a", "b")) == {1: lacking("a"), 2: lacking("b"), 3: lacking("a")}


def test_a_row_that_python_does_not_hold_is_kept_as_texts() -> None:
    """A dead letter is for who looks for what was wrong: no value may stop what goes there."""
    days = pa.array([2932897, 1], pa.int32()).cast(pa.date32())
    moments = pa.array([253402300800000000, 0], pa.int64()).cast(pa.timestamp("us", "UTC"))
    nested = pa.StructArray.from_arrays([days], ["day"])
    rows = pa.RecordBatch.from_arrays(
        [pa.array([None, None], pa.int64()), days, moments, nested], names=["n", "day", "at", "in"]
    )
    assert json.loads(text_of(rows, 0)) == {
        "n": None,
        "day": "10000-01-01",
        "at": "10000-01-01 00:00:00.000000Z",
        "in": "a value of struct<day: date32[day]>",
    }
    assert json.loads(text_of(rows, 1)) == {
        "n": None,
        "day": "1970-01-02",
        "at": "1970-01-01 00:00:00+00:00",
        "in": {"day": "1970-01-02"},
    }
