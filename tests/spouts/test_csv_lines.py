"""Values between delimiters: exactly what the types say, or a bad record, alone."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pytest
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from trident.base.control import CONTROL, BadRecordWord, decode
from trident.base.errors import ConfigurationError, UncomputableError
from trident.base.order import ORDER, origin_of
from trident.base.ranges import Edge, OffsetRange, PartitionId
from trident.spouts.decoders.declared import lacking
from trident.spouts.files.csv_lines import CsvTaskDecoder, check_types
from trident.spouts.files.lines import LineRecords

Bad = list[tuple[int, str]]


def decoded(
    fields: dict[str, DataType],
    *lines: bytes,
    header: bytes | None = None,
    delimiter: str = ",",
    required: tuple[str, ...] = (),
) -> tuple[list[tuple[object, ...]], Bad]:
    schema = StructType([StructField(name, type_) for name, type_ in fields.items()])
    decoder = CsvTaskDecoder(schema, delimiter, required=required).ordered()
    edge = Edge(7, OffsetRange(PartitionId("s", 0), "id", 0, 1000))
    records = LineRecords(edge, np.arange(100, 100 + len(lines), dtype=np.int64), list(lines), header)
    rows, bad, places = [], [], []
    for batch in decoder.decode(records):
        for row in batch.to_pylist():
            word = row.pop(CONTROL)
            order = row.pop(ORDER)
            if word is None:
                rows.append(tuple(row.values()))
                places.append(origin_of(order).offset)
            else:
                said = decode(word)
                assert isinstance(said, BadRecordWord)
                assert said.record.value == lines[said.record.offset - 100]
                bad.append((said.record.offset, said.record.reason))
    assert sorted([*places, *(offset for offset, _ in bad)]) == list(range(100, 100 + len(lines)))
    return rows, bad


TEXTS: dict[str, DataType] = {"a": StringType(), "b": StringType()}


def test_quotes_commas_and_nothing() -> None:
    rows, bad = decoded(TEXTS, b'x,"a, ""b"""', b',""', b" y , z ", "ä,€".encode())
    assert rows == [("x", 'a, "b"'), (None, ""), (" y ", " z "), ("ä", "€")]
    assert bad == []


def test_a_line_without_a_value_that_may_not_be_null_is_bad_alone() -> None:
    """The empty text is a value; what a line lacks is named in the order of the fields."""
    given = (b"x,y", b",y", b'"",y', b"x,", b",")
    rows, bad = decoded(TEXTS, *given, required=("a", "b"))
    assert rows == [("x", "y"), ("", "y")]
    assert bad == [(101, lacking("a")), (103, lacking("b")), (104, lacking("a"))]
    assert decoded(TEXTS, *given, required=("b",))[1] == [(103, lacking("b")), (104, lacking("b"))]
    assert decoded(TEXTS, *given)[1] == []


def test_a_header_names_the_columns_in_whatever_order() -> None:
    rows, _ = decoded(TEXTS, b"1;2", header=b'"b";a', delimiter=";")
    assert rows == [("2", "1")]
    schema = StructType([StructField(name, type_) for name, type_ in TEXTS.items()])
    for header in (b"a", b"a;c", b"a;b;c", b"a;a", b'a;"b'):
        with pytest.raises(UncomputableError, match=r"does not hold the 2 names a, b.*Nothing of the batch"):
            CsvTaskDecoder(schema, ";").check_header(header, "a.csv")


def test_a_decimal_that_its_type_has_no_room_for_is_a_bad_record() -> None:
    """Arrow makes 46641783803.9… of the first one, since it goes round at 2**128."""
    lines = (b"68046951309355927875.5673424", b"+1.5", b"0.5", b"1" * 50, b"0." + b"0" * 40 + b"1")
    rows, bad = decoded({"x": DecimalType(38, 27)}, *lines)
    assert rows == [(Decimal("1.5"),), (Decimal("0.5"),)]
    assert [offset for offset, _ in bad] == [100, 103, 104]


@pytest.mark.parametrize(
    "line", [b"a", b"a,b,c", b'"a,b', b'a"b,c', b'"a"b,c', b'x"y,"z', b'a,"b', b"\xff,b", b"a\rb,c", b'"a\rb,c']
)
def test_a_line_that_is_no_record_is_bad_alone(line: bytes) -> None:
    rows, bad = decoded(TEXTS, b"1,2", line, b'3,"4"', b"5,6")
    assert rows == [("1", "2"), ("3", "4"), ("5", "6")]
    assert [offset for offset, _ in bad] == [101]


GOOD: list[tuple[DataType, str, object]] = [
    (LongType(), "-9223372036854775808", -(2**63)),
    (LongType(), "007", 7),
    (ByteType(), "127", 127),
    (DecimalType(5, 2), "-1.5", Decimal("-1.50")),
    (DecimalType(5, 2), "+123", Decimal("123.00")),
    (DoubleType(), "1e3", 1000.0),
    (DoubleType(), ".5", 0.5),
    (DoubleType(), "0.0e5", 0.0),
    (DoubleType(), "5e-324", 5e-324),
    (FloatType(), "16777217", 16777216.0),
    (DoubleType(), "-Infinity", float("-inf")),
    (BooleanType(), "true", True),
    (DateType(), "2026-02-28", date(2026, 2, 28)),
    (TimestampType(), "2026-01-01T01:00:00+02:00", datetime(2025, 12, 31, 23, tzinfo=UTC)),
    (TimestampType(), "2026-01-01 01:00:00.5", datetime(2026, 1, 1, 1, 0, 0, 500_000, tzinfo=UTC)),
    (TimestampNTZType(), "2026-01-01T01:00:00", datetime(2026, 1, 1, 1)),  # noqa: DTZ001 - it has none
    (StringType(), "NaN", "NaN"),
]


@pytest.mark.parametrize(("type_", "text", "value"), GOOD)
def test_a_value_is_read_exactly(type_: DataType, text: str, value: object) -> None:
    rows, bad = decoded({"n": LongType(), "v": type_}, b"1," + text.encode(), b"2,")
    assert rows == [(1, value), (2, None)]
    assert bad == []


def test_signs_of_floats_are_kept() -> None:
    rows, _ = decoded({"v": DoubleType()}, b"-0.0", b"NaN")
    assert str(rows) == "[(-0.0,), (nan,)]"


BAD: list[tuple[DataType, str]] = [
    (LongType(), "9223372036854775808"),
    (LongType(), "0x1f"),
    (LongType(), "1.0"),
    (LongType(), " 1"),
    (LongType(), "+1"),
    (LongType(), '""'),
    (ByteType(), "128"),
    (DecimalType(5, 2), "1.005"),
    (DecimalType(5, 2), "1234"),
    (DecimalType(5, 2), "1e1"),
    (DoubleType(), "1e999"),
    (DoubleType(), "-0.01e-400"),
    (FloatType(), "1e39"),
    (FloatType(), "1e-50"),
    (DoubleType(), "inf"),
    (DoubleType(), "one"),
    (BooleanType(), "1"),
    (BooleanType(), "yes"),
    (DateType(), "2026-02-30"),
    (DateType(), "2026-2-3"),
    (TimestampType(), "2026-01-01"),
    (TimestampType(), "2026-01-01T25:00:00Z"),
    (TimestampType(), "2026-01-01T00:00:00.1234567Z"),
    (TimestampNTZType(), "2026-01-01T00:00:00Z"),
]


@pytest.mark.parametrize(("type_", "text"), BAD)
def test_what_a_type_does_not_hold_is_bad_and_not_shown(type_: DataType, text: str) -> None:
    rows, bad = decoded({"n": LongType(), "v": type_}, b"1,", b"2," + text.encode(), b"3,")
    assert rows == [(1, None), (3, None)]
    ((offset, reason),) = bad
    assert offset == 101
    assert "'v'" in reason
    assert text not in reason


def test_types_that_have_no_values_between_commas_are_refused() -> None:
    check_types(StructType([StructField("a", StringType()), StructField("b", DateType())]), "s")
    with pytest.raises(ConfigurationError, match="stream 's': the field 'b'"):
        check_types(StructType([StructField("b", ArrayType(LongType()))]), "s")


@pytest.mark.parametrize("place", [0, 1])
def test_a_byte_order_mark_in_a_line_is_a_character_wherever_it_is_cut(place: int) -> None:
    """Arrow takes one that begins a buffer for no part of the text; only the file's own is none (`LineRecords`)."""
    lines = [b"x,y", b"x,y"]
    lines[place] = "\ufeffx,y".encode()
    rows, bad = decoded(TEXTS, *lines)
    assert (rows[place], rows[1 - place], bad) == (("\ufeffx", "y"), ("x", "y"), [])
    _, bad = decoded({"n": LongType()}, *(line.replace(b"x,y", b"1") for line in lines))
    assert [offset for offset, _ in bad] == [100 + place]
