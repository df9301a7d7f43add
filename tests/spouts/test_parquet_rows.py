"""Columns of Parquet files: a float is never read as a narrower one."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from pyarrow import parquet

from trident.base.errors import FatalError
from trident.spouts.decoders.declared import lacking
from trident.spouts.files.catalogue import ListedFile
from trident.spouts.files.parquet_rows import lacking_values, rows_of
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


def test_rows_without_a_value_that_may_not_be_null_are_told() -> None:
    rows = pa.RecordBatch.from_arrays(
        [pa.array([1, None, 3, None]), pa.array(["x", None, None, "y"])], names=["a", "b"]
    )
    assert lacking_values(rows, ()) == {}
    assert lacking_values(rows, ("b",)) == {1: lacking("b"), 2: lacking("b")}
    assert lacking_values(rows, ("a", "b")) == {1: lacking("a"), 2: lacking("b"), 3: lacking("a")}
