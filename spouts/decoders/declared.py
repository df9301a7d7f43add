"""The fields that a user declares for a record, in Spark's DDL."""

from __future__ import annotations

from typing import Final

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from trident.base.errors import ConfigurationError

_RESERVED: Final = "__trident"


def declared_fields(spark: SparkSession, ddl: str) -> StructType:
    """Return the fields, each of which may be null, as the session's own parser has them.

    Raises `ConfigurationError` for a text that is no schema, and for names that can't be.
    """
    try:
        parsed = spark.createDataFrame([], ddl).schema
    except (ParseException, AnalysisException, PySparkException) as error:
        raise ConfigurationError(f"the schema {ddl!r} is not valid: {error.getMessage()}") from error
    if parsed.names == ["value"] and "value" not in ddl.lower():
        raise ConfigurationError(f"the schema {ddl!r} is a single type; name the fields, say 'amount bigint'")
    _check_names(ddl, parsed)
    return _nullable(parsed)


def _nullable(schema: StructType) -> StructType:
    """`from_json` makes every field nullable; a decoder that promised otherwise would lie."""
    return StructType([StructField(field.name, field.dataType, True) for field in schema.fields])


def _check_names(ddl: str, schema: StructType) -> None:
    lowered = [name.lower() for name in schema.names]
    twice = sorted({name for name in lowered if lowered.count(name) > 1})
    if twice:
        raise ConfigurationError(f"the schema {ddl!r} names a field twice (Spark ignores case): {', '.join(twice)}")
    reserved = [name for name in lowered if name.startswith(_RESERVED)]
    if reserved:
        raise ConfigurationError(f"field names that begin with {_RESERVED!r} are taken: {', '.join(reserved)}")
