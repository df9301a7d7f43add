"""What a Kafka sink is given: each record's topic, key, value and headers, made of a stream's fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DataType, StringType, StructField, StructType

from trident.base.errors import ConfigurationError
from trident.operations.accounting import Account
from trident.operations.arrow import BatchFunction
from trident.operations.base import (
    BUILD_CONTEXT,
    BatchContext,
    Fields,
    field,
    guarded,
    hidden,
    uses_batch_time,
    with_batch_time,
)
from trident.operations.functions import EachFunction
from trident.state.kafka.records import HEADERS, KEY, TOPIC, VALUE

Part = str | Column | BatchFunction | None
"""The name of a field, a Spark column, or a function over Arrow batches that returns an array; None: null."""

_MADE: Final = "__trident_{}"


@dataclass(frozen=True, slots=True)
class RecordParts:
    """What a user said of the records."""

    topic: str | Column
    key: Part
    value: Part
    headers: Mapping[str, str | Column]

    @property
    def named(self) -> tuple[tuple[str, str], ...]:
        """The fields that are given by their names, each with what asks for it."""
        parts = {"the key": self.key, "the value": self.value}
        parts |= {f"header {name!r} (F.lit for a text of its own)": part for name, part in self.headers.items()}
        return tuple((f"to_kafka: {what}", part) for what, part in parts.items() if isinstance(part, str))


class KafkaRecords:
    """Replaces all fields by those of a record; text becomes UTF-8, null stays null."""

    verb = "to_kafka"
    makes_groups = False
    account = Account.KEEPS

    def __init__(self, parts: RecordParts) -> None:
        functions = ((name, _function(part)) for name, part in ((KEY, parts.key), (VALUE, parts.value)))
        self._steps = [_adding(name, function) for name, function in functions if function is not None]
        self.runs_user_code = bool(self._steps)
        self._topic = F.lit(parts.topic) if isinstance(parts.topic, str) else parts.topic
        self._key = _column(parts.key, KEY)
        self._value = _column(parts.value, VALUE)
        self._headers = {name: _column(part, name) for name, part in parts.headers.items()}
        self._names = parts.named
        everything = [self._topic, self._key, self._value, *self._headers.values()]
        self._uses_time = uses_batch_time(self.verb, everything)

    def check(self, fields: Fields) -> None:
        """Every field that is named must be there."""
        for asked_by, name in self._names:
            fields.require(name, asked_by)

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        for step in self._steps:
            frame = step.lower(frame, batch)
        source = with_batch_time(frame, batch) if self._uses_time else frame
        if batch is BUILD_CONTEXT:
            self._check_types(source)
        made = {TOPIC: self._topic, KEY: self._key.cast("binary"), VALUE: self._value.cast("binary")}
        columns = [guarded(column).alias(name) for name, column in made.items()]
        return source.select(*columns, guarded(self._all_headers()).alias(HEADERS), *hidden(frame))

    def _all_headers(self) -> Column:
        each = [
            F.struct(F.lit(name).alias("key"), column.cast("binary").alias("value"))
            for name, column in self._headers.items()
        ]
        return F.array(*each) if each else F.lit(None).cast("array<struct<key:string,value:binary>>")

    def _check_types(self, frame: DataFrame) -> None:
        """Refuse what has no one form as bytes; a number as Kafka's own clients write it is four or eight of them."""
        asked = {"topic": self._topic, "key": self._key, "value": self._value}
        asked |= {f"header {name!r}": column for name, column in self._headers.items()}
        schema = frame.select(*(column.alias(what) for what, column in asked.items())).schema
        for what, found in zip(asked, schema.fields, strict=True):
            allowed: tuple[type[DataType], ...] = (StringType,) if what == "topic" else (StringType, BinaryType)
            is_null = found.dataType.typeName() == "void"
            if not isinstance(found.dataType, allowed) and not (is_null and what != "topic"):
                raise ConfigurationError(
                    f"to_kafka: the {what} is {found.dataType.simpleString()}, and a record has texts or bytes: "
                    f"cast it, say F.col(…).cast('string'), or use F.to_json(F.struct(…)) for several fields"
                )


def _function(part: Part) -> BatchFunction | None:
    return None if part is None or isinstance(part, str | Column) else part


def _adding(name: str, function: BatchFunction) -> EachFunction:
    return EachFunction(function, StructType([StructField(_MADE.format(name), BinaryType())]))


def _column(part: Part, name: str) -> Column:
    if part is None:
        return F.lit(None).cast("binary")
    if isinstance(part, str):
        return field(part)
    return part if isinstance(part, Column) else field(_MADE.format(name))
