"""Which Spark types a state can hold, and their Arrow form."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DateType,
    NumericType,
    StringType,
    StructField,
    TimestampNTZType,
    TimestampType,
)

from trident.base.errors import ConfigurationError
from trident.operations.base import check_comparable
from trident.spouts.arrow_types import arrow_type

_HELD = (BooleanType, NumericType, StringType, BinaryType, DateType, TimestampType, TimestampNTZType)


def column_type(field: StructField, name: str, what: str = "state") -> pa.DataType:
    """Return the Arrow type of a state's or sink's column; refuses arrays, maps, structs and the like."""
    check_comparable(field, f"the {what} {name!r}")
    if not isinstance(field.dataType, _HELD):
        raise ConfigurationError(
            f"the {what} {name!r} can't hold the field {field.name!r} of type {field.dataType.simpleString()}: "
            "columns are booleans, numbers, strings, binaries, dates and timestamps"
        )
    return arrow_type(field.dataType)
