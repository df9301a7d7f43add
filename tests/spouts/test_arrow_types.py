"""The table of Arrow types beside pyspark's own, for every type that it knows, on the installed version."""

from __future__ import annotations

import inspect
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkTypeError
from pyspark.sql import types as spark_types
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    UserDefinedType,
    VariantType,
    YearMonthIntervalType,
)

from trident.spouts.arrow_types import arrow_schema, arrow_type

LEAVES: tuple[DataType, ...] = (
    BooleanType(),
    ByteType(),
    ShortType(),
    IntegerType(),
    LongType(),
    FloatType(),
    DoubleType(),
    DecimalType(20, 2),
    DecimalType(38, 0),
    StringType(),
    BinaryType(),
    DateType(),
    TimestampType(),
    TimestampNTZType(),
    DayTimeIntervalType(),
    NullType(),
    VariantType(),
)
NESTED: tuple[DataType, ...] = (
    ArrayType(TimestampType()),
    ArrayType(StringType(), containsNull=False),
    MapType(StringType(), TimestampType()),
    MapType(TimestampType(), LongType(), valueContainsNull=False),
    StructType().add("at", TimestampType()).add("inner", StructType().add("n", LongType(), nullable=False)),
    ArrayType(MapType(StringType(), StructType().add("day", DateType()).add("at", ArrayType(TimestampType())))),
)


def pysparks(schema: StructType) -> pa.Schema:
    """What pyspark makes of it; newer ones must be told the zone that the older ones took for granted."""
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(schema, **zone)


@pytest.mark.parametrize("given", [*LEAVES, *NESTED], ids=lambda given: str(given.simpleString()))
def test_same_as_pysparks(given: DataType) -> None:
    schema = StructType([StructField("it", given)])
    if given != NullType():
        schema.add("must", given, nullable=False)
    found = arrow_schema(schema)
    assert found.equals(pysparks(schema))
    assert found.field("it").type == arrow_type(given)


def test_no_type_that_pyspark_has_is_left_out() -> None:
    """What a later Spark brings must be looked at: does it hold a timestamp, or want a zone?"""
    known = {type(given).__name__ for given in (*LEAVES, *NESTED)} | {"UserDefinedType"}
    without_arrow = {"StructField", "YearMonthIntervalType", "CalendarIntervalType", "CharType", "VarcharType"}
    left_to_pyspark = {"TimeType", "GeometryType", "GeographyType"}
    there = {
        name
        for name, item in vars(spark_types).items()
        if inspect.isclass(item)
        and issubclass(item, DataType)
        and not name.startswith("_")
        and not item.__subclasses__()
    }
    assert there - known - without_arrow - left_to_pyspark == set()


class Instant(UserDefinedType):
    @classmethod
    def sqlType(cls) -> DataType:
        return TimestampType()


def test_a_users_type_is_what_it_is_stored_as() -> None:
    assert arrow_type(Instant()) == pa.timestamp("us", tz="UTC")


def test_a_type_without_an_arrow_form_is_refused() -> None:
    with pytest.raises(PySparkTypeError):
        arrow_type(YearMonthIntervalType())
