"""Spark's types as Arrow types: a table of our own, because pyspark's function for it is no interface.

From Spark 4.2 on that function wants a time zone for timestamps, by a name that 4.0 does not know, and
ends in a bare assertion without one. What Arrow batches of this project hold is the same on every
version: timestamps are instants, in UTC.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
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
    StructType,
    TimestampNTZType,
    TimestampType,
    UserDefinedType,
)

_PLAIN: Final[dict[type[DataType], pa.DataType]] = {
    NullType: pa.null(),
    BooleanType: pa.bool_(),
    ByteType: pa.int8(),
    ShortType: pa.int16(),
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
    StringType: pa.string(),
    BinaryType: pa.binary(),
    DateType: pa.date32(),
    TimestampType: pa.timestamp("us", tz="UTC"),
    TimestampNTZType: pa.timestamp("us"),
    DayTimeIntervalType: pa.duration("us"),
}


def arrow_type(given: DataType) -> pa.DataType:
    """Return the Arrow form of a Spark type, the same on every version of Spark.

    Raises pyspark's `PySparkTypeError` for a type that has none.
    """
    plain = _PLAIN.get(type(given))
    if plain is not None:
        return plain
    match given:
        case DecimalType():
            return pa.decimal128(given.precision, given.scale)
        case ArrayType():
            return pa.list_(_field("element", given.elementType, given.containsNull))
        case MapType():
            value = _field("value", given.valueType, given.valueContainsNull)
            return pa.map_(arrow_type(given.keyType), value)  # type: ignore[call-overload, no-any-return]
        case StructType():
            return pa.struct(_fields(given))
        case UserDefinedType():
            return arrow_type(given.sqlType())
        case _:
            # rare or newer than the oldest Spark (variants, times of day): none of them holds another type
            return to_arrow_type(given)


def arrow_schema(given: StructType) -> pa.Schema:
    """Return the Arrow form of Spark fields, as `mapInArrow` wants it."""
    return pa.schema(_fields(given))


def _fields(given: StructType) -> list[pa.Field[pa.DataType]]:
    return [_field(field.name, field.dataType, field.nullable) for field in given.fields]


def _field(name: str, given: DataType, nullable: bool) -> pa.Field[pa.DataType]:
    return pa.field(name, arrow_type(given), nullable=nullable)
