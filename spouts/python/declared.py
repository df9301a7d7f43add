"""The fields that a user's spout declares."""

from __future__ import annotations

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from trident.base.errors import ConfigurationError


def declared_schema(spark: SparkSession, stream: str, spout: object) -> StructType:
    """Parse the spout's schema; raises `ConfigurationError` when it has none that is valid."""
    declared = getattr(spout, "schema", None)
    if not isinstance(declared, str):
        raise ConfigurationError(f"stream {stream!r}: the spout must set schema to fields as in 'name type, …'")
    try:
        return spark.createDataFrame([], declared).schema
    except PySparkException as error:
        raise ConfigurationError(f"stream {stream!r}: the schema {declared!r} is not valid") from error
