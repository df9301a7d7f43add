"""The decoder that decodes nothing: records as Kafka holds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
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

from trident.base.control import CONTROL, BadRecordWord
from trident.base.order import ORDER, order_of
from trident.base.ranges import BadRecordRow, PartitionId
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.decoders.base import NO_TIMESTAMP, Headers, RawRecords, UnreadableHeaders
from trident.spouts.rows import control_batch

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
_MICROSECONDS: Final = 1000
_LAST_MOMENT: Final = 253_402_300_799_999
"""The end of the year 9999, in milliseconds: no store holds a later moment, and Spark not one in nanoseconds."""
_NO_MOMENT: Final = "its timestamp is not the milliseconds of a moment from 1970 to 9999"
_TASK_FIELDS = StructType([*_FIELDS.fields, StructField(CONTROL, StringType())])
_ORDERED_FIELDS = StructType([*_FIELDS.fields, StructField(ORDER, BinaryType()), StructField(CONTROL, StringType())])


@dataclass(frozen=True, slots=True)
class Raw:
    """Take records as they are: key, value, topic, partition, offset, timestamp and headers.

    A missing key, value, timestamp or header list is null. A record is bad whose timestamp is no moment from 1970 to
    9999 in milliseconds (one in nanoseconds is not), or of whose headers `ArrowReader` can't read a name that is not
    UTF-8. A header's name ends where it has a NUL, with that reader.
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

    is_ordered: bool = False

    @property
    def schema(self) -> StructType:
        """Kafka's own fields."""
        return _FIELDS

    @property
    def task_schema(self) -> StructType:
        """The same with the control column."""
        return _ORDERED_FIELDS if self.is_ordered else _TASK_FIELDS

    @property
    def wants_headers(self) -> bool:
        """They are one of the fields."""
        return True

    @property
    def runs_here(self) -> bool:
        """It may: nothing of it changes."""
        return True

    def decode(self, records: RawRecords) -> Iterator[pa.RecordBatch]:
        """Return one batch with every record that is not bad, and one with a word on each that is."""
        whole = range(len(records.offsets))
        headers = records.headers(whole)
        bad = _reasons(records.timestamps, headers)
        good = [row for row in whole if row not in bad] if bad else whole
        if good:
            yield _batch(
                arrow_schema(self.task_schema), records, good, [headers[row] for row in good] if bad else headers
            )
        if bad:
            yield control_batch(arrow_schema(self.task_schema), _bad_records(records, bad))

    def quick(self) -> RawTaskDecoder:
        """It is: every record is its own bytes."""
        return self

    def ordered(self) -> RawTaskDecoder:
        """Return the same with the records' places as bytes."""
        return RawTaskDecoder(is_ordered=True)

    def finish(self, frame: DataFrame) -> DataFrame:
        """Return the frame as it is."""
        return frame


def _reasons(timestamps: npt.NDArray[np.int64], headers: Sequence[Headers | UnreadableHeaders]) -> dict[int, str]:
    """Return why records can't be taken as they are, by row, in the order of the rows."""
    is_none = timestamps == NO_TIMESTAMP
    is_moment = (timestamps >= 0) & (timestamps <= _LAST_MOMENT)
    reasons = dict.fromkeys(np.flatnonzero(~is_none & ~is_moment).tolist(), _NO_MOMENT)
    for row, item in enumerate(headers):
        if isinstance(item, UnreadableHeaders):
            reasons.setdefault(row, item.reason)
    return dict(sorted(reasons.items()))


def _batch(
    schema: pa.Schema, records: RawRecords, rows: Sequence[int], headers: Sequence[Headers | UnreadableHeaders]
) -> pa.RecordBatch:
    count = len(rows)
    chosen = np.asarray(rows, dtype=np.int64)
    stamps = records.timestamps[chosen]
    is_none = stamps == NO_TIMESTAMP
    named = [
        None if item is None or isinstance(item, UnreadableHeaders) else [{"key": k, "value": v} for k, v in item]
        for item in headers
    ]
    order = [order_of(records.topic, records.partition, records.offsets[chosen])] if ORDER in schema.names else []
    return pa.RecordBatch.from_arrays(
        [
            pa.array(records.keys(rows), pa.binary()),
            pa.array([records.values[row] for row in rows], pa.binary()),
            pa.repeat(pa.scalar(records.topic, pa.string()), count),
            pa.array(np.full(count, records.partition, dtype=np.int32)),
            pa.array(records.offsets[chosen]),
            pa.array(stamps * _MICROSECONDS, mask=is_none).cast(schema.field("timestamp").type),
            pa.array(named, schema.field("headers").type),
            *order,
            pa.nulls(count, pa.string()),
        ],
        schema=schema,
    )


def _bad_records(records: RawRecords, reasons: Mapping[int, str]) -> list[BadRecordWord]:
    id_ = PartitionId(records.topic, records.partition)
    keys = records.keys(list(reasons))
    return [
        BadRecordWord(
            records.edge,
            BadRecordRow(
                id_, int(records.offsets[row]), int(records.timestamps[row]), reason, key, records.values[row]
            ),
        )
        for (row, reason), key in zip(reasons.items(), keys, strict=True)
    ]
