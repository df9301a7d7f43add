"""The decoder that decodes nothing: records as Kafka holds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from trident.base.control import CONTROL
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.decoders.base import RawRecords

_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_FIELDS = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("headers", ArrayType(_HEADER)),
    ]
)
_TASK_FIELDS = StructType([*_FIELDS.fields, StructField(CONTROL, StringType())])


@dataclass(frozen=True, slots=True)
class Raw:
    """Take records as they are: key, value, topic, partition, offset, timestamp and headers.

    No record is ever bad; a missing key, value, timestamp or header list is null.
    """

    def describe(self) -> str:
        """Return the word that the ledger stores."""
        return "raw"

    def compile(self, spark: SparkSession) -> RawTaskDecoder:
        """Return the form that tasks run; the session is not used."""
        return RawTaskDecoder()


@dataclass(frozen=True, slots=True)
class RawTaskDecoder:
    """See `TaskDecoder`."""

    @property
    def schema(self) -> StructType:
        """Kafka's own fields."""
        return _FIELDS

    @property
    def task_schema(self) -> StructType:
        """The same with the control column."""
        return _TASK_FIELDS

    @property
    def wants_headers(self) -> bool:
        """They are one of the fields."""
        return True

    def decode(self, records: RawRecords) -> Iterator[pa.RecordBatch]:
        """Return one batch with every record."""
        count = len(records.offsets)
        rows = range(count)
        schema = arrow_schema(_TASK_FIELDS)
        headers = [
            None if item is None else [{"key": k, "value": v} for k, v in item] for item in records.headers(rows)
        ]
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(records.keys(rows), pa.binary()),
                pa.array(records.values, pa.binary()),
                pa.repeat(pa.scalar(records.topic, pa.string()), count),
                pa.array(np.full(count, records.partition, dtype=np.int32)),
                pa.array(records.offsets),
                pa.array(records.timestamps * 1000, mask=records.timestamps < 0).cast(schema.field("timestamp").type),
                pa.array(headers, schema.field("headers").type),
                pa.nulls(count, pa.string()),
            ],
            schema=schema,
        )

    def quick(self) -> RawTaskDecoder:
        """It is: every record is its own bytes."""
        return self

    def finish(self, frame: DataFrame) -> DataFrame:
        """Return the frame as it is."""
        return frame
