"""The fields that a user declares for a record, in Spark's DDL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from trident.base.errors import ConfigurationError

_RESERVED: Final = "__trident"


@dataclass(frozen=True, slots=True)
class Declared:
    """What a user declares of a record."""

    fields: StructType
    """Each of which may be null in a frame: rows with a word have no values."""
    required: tuple[str, ...] = ()
    """The fields that are NOT NULL: a record without a value there is a bad one."""


def lacking(name: str) -> str:
    """Return why a record is bad that has no value in a field that is NOT NULL."""
    return f"it has no value for the field {name!r}, which is declared NOT NULL"


def declared(spark: SparkSession, ddl: str) -> Declared:
    """Return the fields as the session's own parser has them.

    Raises `ConfigurationError` for a text that is no schema, for names that can't be, and for NOT NULL inside of a
    field, which no decoder looks at.
    """
    try:
        parsed = spark.createDataFrame([], ddl).schema
    except (ParseException, AnalysisException, PySparkException) as error:
        raise ConfigurationError(f"the schema {ddl!r} is not valid: {error.getMessage()}") from error
    if parsed.names == ["value"] and "value" not in ddl.lower():
        raise ConfigurationError(f"the schema {ddl!r} is a single type; name the fields, say 'amount bigint'")
    _check_names(ddl, parsed)
    inside = [field.name for field in parsed.fields if _requires(field.dataType)]
    if inside:
        raise ConfigurationError(
            f"the schema {ddl!r} says NOT NULL inside of {', '.join(inside)}, where no value is looked at; say it of "
            "whole fields only"
        )
    return Declared(_nullable(parsed), tuple(field.name for field in parsed.fields if not field.nullable))


def _nullable(schema: StructType) -> StructType:
    return StructType([StructField(field.name, field.dataType, True) for field in schema.fields])


def _requires(type_: DataType) -> bool:
    match type_:
        case StructType():
            return any(not field.nullable or _requires(field.dataType) for field in type_.fields)
        case ArrayType():
            return not type_.containsNull or _requires(type_.elementType)
        case MapType():
            return not type_.valueContainsNull or _requires(type_.valueType)
        case _:
            return False


def _check_names(ddl: str, schema: StructType) -> None:
    lowered = [name.lower() for name in schema.names]
    twice = sorted({name for name in lowered if lowered.count(name) > 1})
    if twice:
        raise ConfigurationError(f"the schema {ddl!r} names a field twice (Spark ignores case): {', '.join(twice)}")
    reserved = [name for name in lowered if name.startswith(_RESERVED)]
    if reserved:
        raise ConfigurationError(f"field names that begin with {_RESERVED!r} are taken: {', '.join(reserved)}")
