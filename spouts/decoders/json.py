"""JSON records: Spark's `from_json` decides what a record means, and a faster path agrees with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, IntegerType, LongType, StringType, StructField, StructType

from trident.base.checks import check_text
from trident.base.control import CONTROL, Undecoded
from trident.base.order import ORDER, order_of
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.decoders.base import NO_TIMESTAMP, RawRecords
from trident.spouts.decoders.declared import declared, lacking
from trident.spouts.decoders.fast_json import FastJson, FastPlan, plan_of
from trident.spouts.rows import control_batch

FALLBACK = "__trident_fallback"
"""A record that the task left to Spark's own `from_json`, with where it came from; null otherwise."""
_CORRUPT = "__trident_corrupt"
_PARSED = "__trident_parsed"
_ORIGIN = StructType(
    [
        StructField("edge", LongType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", LongType()),
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
    ]
)
_REASON = "not valid JSON for the schema"


@dataclass(frozen=True, slots=True)
class Json:
    """Decode record values as JSON objects with a schema in Spark's DDL: `Json("account string, amount bigint")`.

    A value means exactly what Spark's `from_json` (PERMISSIVE) makes of it: missing and unknown
    fields, a null value (all fields null) and numbers included; decimals never pass through a
    float. A record that `from_json` calls corrupt is a bad record, alone, not its batch; so is one
    without a value in a field that is declared `NOT NULL` (missing, null, or the whole value null).
    An invalid schema raises `ConfigurationError` as soon as there is a Spark session to parse it.
    """

    schema: str

    def __post_init__(self) -> None:
        check_text("schema", self.schema, allowed="the fields of a record, say 'account string, amount bigint'")

    def describe(self) -> str:
        """Return the text that the ledger stores."""
        return f"json({self.schema})"

    def compile(self, spark: SparkSession) -> JsonTaskDecoder:
        """Parse the schema with the session's own parser."""
        found = declared(spark, self.schema)
        return JsonTaskDecoder(found.fields, plan_of(found.fields, found.required), required=found.required)


@dataclass(frozen=True, slots=True)
class JsonTaskDecoder:
    """See `TaskDecoder`: a fast path in the task for what is provably the same, Spark in the JVM for the rest."""

    schema: StructType
    plan: FastPlan | None
    is_ordered: bool = False
    required: tuple[str, ...] = ()

    @property
    def task_schema(self) -> StructType:
        """The fields (when there is a fast path for them), what is left to Spark, and the control column."""
        fields = self.schema.fields if self.plan else []
        return StructType([*fields, StructField(FALLBACK, _ORIGIN), *_last_fields(self.is_ordered)])

    @property
    def wants_headers(self) -> bool:
        """JSON records have no use for them."""
        return False

    @property
    def runs_here(self) -> bool:
        """It may not: what the JVM is left with, and which records are bad, is only known behind `finish`."""
        return False

    def decode(self, records: RawRecords) -> Iterator[pa.RecordBatch]:
        """Return one batch of what the fast path accepted and one of what it leaves to Spark."""
        schema = arrow_schema(self.task_schema)
        left: list[int] | range = range(len(records.values))
        if self.plan is not None:
            columns, left = FastJson.of(self.plan).decode(records.values)
            if columns and len(columns[0]):
                count = len(columns[0])
                fallback, words = pa.nulls(count, schema.field(FALLBACK).type), pa.nulls(count, pa.string())
                order = _orders(records, left) if self.is_ordered else []
                yield pa.RecordBatch.from_arrays([*columns, fallback, *order, words], schema=schema)
        if left:
            yield _left_to_spark(schema, records, left)

    def quick(self) -> QuickJsonTaskDecoder | JsonTaskDecoder:
        """Return the fast path alone, for schemas that it covers."""
        return self if self.plan is None else QuickJsonTaskDecoder(self.schema, self.plan, self.is_ordered)

    def ordered(self) -> JsonTaskDecoder:
        """Return the same with the records' places."""
        return replace(self, is_ordered=True)

    def finish(self, frame: DataFrame) -> DataFrame:
        """Decode what was left to Spark, and turn what it calls corrupt into control rows."""
        with_corrupt = StructType([*self.schema.fields, StructField(_CORRUPT, StringType())])
        options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
        left = F.col(FALLBACK).isNotNull()
        parsed = F.from_json(F.col(f"{FALLBACK}.value").cast("string"), with_corrupt, options)
        frame = frame.withColumn(_PARSED, F.when(left, parsed))
        reason = self._reason()
        bad = left & reason.isNotNull()
        columns = [self._field(field.name, left, bad) for field in self.schema.fields]
        control = F.when(bad, _bad_record_text(reason)).otherwise(F.col(CONTROL))
        order = [F.col(ORDER)] if self.is_ordered else []
        return frame.select(*columns, *order, control.alias(CONTROL))

    def _reason(self) -> Column:
        """Build in the JVM why a record that was left to Spark is bad, as JSON; null for one that is not."""
        reason = F.when(F.col(f"{_PARSED}.{_CORRUPT}").isNotNull(), F.lit(json.dumps(_REASON)))
        for name in self.required:
            reason = reason.when(F.col(f"{_PARSED}.{_quoted(name)}").isNull(), F.lit(json.dumps(lacking(name))))
        return reason

    def _field(self, name: str, left: Column, bad: Column) -> Column:
        quoted = _quoted(name)
        from_spark = F.when(~bad, F.col(f"{_PARSED}.{quoted}"))
        if self.plan is None:
            return from_spark.alias(name)
        return F.when(left, from_spark).otherwise(F.col(quoted)).alias(name)


@dataclass(frozen=True, slots=True)
class QuickJsonTaskDecoder:
    """See `TaskDecoder.quick`: without the step in the JVM a batch costs a fifth less, and most need none of it."""

    schema: StructType
    plan: FastPlan
    is_ordered: bool = False

    @property
    def task_schema(self) -> StructType:
        """The fields and the control column."""
        return StructType([*self.schema.fields, *_last_fields(self.is_ordered)])

    @property
    def wants_headers(self) -> bool:
        """JSON records have no use for them."""
        return False

    @property
    def runs_here(self) -> bool:
        """It may: nothing of it changes."""
        return True

    def decode(self, records: RawRecords) -> Iterator[pa.RecordBatch]:
        """Return what the fast path accepted, and a word on how many it did not."""
        schema = arrow_schema(self.task_schema)
        columns, left = FastJson.of(self.plan).decode(records.values)
        if columns and len(columns[0]):
            nulls = pa.nulls(len(columns[0]), pa.string())
            order = _orders(records, left) if self.is_ordered else []
            yield pa.RecordBatch.from_arrays([*columns, *order, nulls], schema=schema)
        if left:
            yield control_batch(schema, [Undecoded(len(left))])

    def quick(self) -> QuickJsonTaskDecoder:
        """It is."""
        return self

    def ordered(self) -> QuickJsonTaskDecoder:
        """Return the same with the records' places."""
        return replace(self, is_ordered=True)

    def finish(self, frame: DataFrame) -> DataFrame:
        """Nothing is left to do."""
        return frame


def _left_to_spark(schema: pa.Schema, records: RawRecords, rows: list[int] | range) -> pa.RecordBatch:
    count = len(rows)
    indexes = pa.array(rows, pa.int64())
    offsets = pa.array(records.offsets).take(indexes)
    stamps = pa.array(records.timestamps, mask=records.timestamps == NO_TIMESTAMP).take(indexes)
    values = pa.array([records.values[row] for row in rows], pa.binary())
    edge = pa.repeat(pa.scalar(records.edge, pa.int64()), count)
    topic = pa.repeat(pa.scalar(records.topic, pa.string()), count)
    partition = pa.repeat(pa.scalar(records.partition, pa.int32()), count)
    keys = pa.array(records.keys(rows), pa.binary())
    origin = pa.StructArray.from_arrays(
        [edge, topic, partition, offsets, stamps, keys, values], fields=list(schema.field(FALLBACK).type)
    )
    order = order_of(records.topic, records.partition, offsets.to_numpy())
    made = {FALLBACK: origin, ORDER: order}
    columns = [made.get(field.name, pa.nulls(count, field.type)) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _last_fields(is_ordered: bool) -> list[StructField]:
    order = [StructField(ORDER, BinaryType())] if is_ordered else []
    return [*order, StructField(CONTROL, StringType())]


def _orders(records: RawRecords, left: Sequence[int]) -> list[pa.BinaryArray]:
    """Return the places of the records that were not left, as one column."""
    offsets = np.delete(records.offsets, np.asarray(left, dtype=np.int64)) if left else records.offsets
    return [order_of(records.topic, records.partition, offsets)]


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _bad_record_text(reason: Column) -> Column:
    """Build in the JVM what `control.encode` makes of a BadRecordWord; topic names need no JSON escapes."""

    def part(name: str) -> Column:
        return F.col(f"{FALLBACK}.{name}")

    def number(name: str) -> Column:
        return F.coalesce(part(name).cast("string"), F.lit("null"))

    def data(name: str) -> Column:
        # Some Spark versions break base64 into lines, which JSON can't hold.
        text = F.translate(F.base64(part(name)), "\r\n", "")
        return F.coalesce(F.concat(F.lit('"'), text, F.lit('"')), F.lit("null"))

    comma = F.lit(", ")
    pieces = [
        *(F.lit('["bad", '), number("edge"), F.lit(', "'), part("topic"), F.lit('", ')),
        *(number("partition"), comma, number("offset"), comma, number("timestamp"), comma),
        *(reason, comma, data("key"), comma, data("value"), F.lit("]")),
    ]
    return F.concat(*pieces)
