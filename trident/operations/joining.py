"""Joins of streams inside one batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from trident.base.errors import ConfigurationError
from trident.base.order import ORDER
from trident.base.trees import ROOTS
from trident.operations.base import BatchContext, Fields, field, order
from trident.operations.roots import has_roots
from trident.operations.several import aliased, behind_the_record, check_same_key, fields_without_order, named


class JoinSide(StrEnum):
    """Whether a stream must have a key (`inner`), or may lack it (`outer`) and has null fields then."""

    INNER = "inner"
    OUTER = "outer"


class JoinOutput(StrEnum):
    """Which fields a joined stream has.

    `compact`: the join fields once, under the names of the first stream, then the other fields of each. `preserve`: all
    fields of all streams; where one lacks the key its fields are null, the join fields too.
    """

    COMPACT = "compact"
    PRESERVE = "preserve"


_OF_NO_RECORD: Final = b""
"""Stands for the order of a row that has none, so that it is told from a row that is missing."""
_KINDS: Final = {(True, True): "inner", (True, False): "left", (False, True): "right", (False, False): "full"}
"""Spark's join by whether what is on the left and on the right must have the key."""


@dataclass(frozen=True)
class Join:
    """Rows of several streams that have equal keys, in all combinations.

    Keys are equal as in `group_by`: null equals null and NaN equals NaN, which SQL's joins do not say.
    """

    on: tuple[tuple[str, ...], ...]
    """The join fields of each stream, as many of each."""
    sides: tuple[JoinSide, ...]
    output: JoinOutput
    names: tuple[str, ...] | None = None
    """The names of the joined stream's fields; without them they keep their own."""

    verb = "join"
    wants_order = False
    runs_user_code = False

    def result(self, schemas: Sequence[StructType]) -> StructType:
        """Return the fields of the joined stream; refuses keys that are not there or of different types."""
        for number, (keys, schema) in enumerate(zip(self.on, schemas, strict=True), 1):
            for key, first in zip(keys, self.on[0], strict=True):
                Fields(schema).require(key, f"join, of stream {number},")
                check_same_key("join", schema[key], f"of stream {number}", schemas[0][first], "of the first one")
        kept = [self._kept(number, schema.names) for number, schema in enumerate(schemas)]
        fields = [schema[name] for names, schema in zip(kept, schemas, strict=True) for name in names]
        names = self.names or tuple(each.name for each in fields)
        if self.names is None and len({name.lower() for name in names}) < len(names):
            twice = next(name for place, name in enumerate(names) if name.lower() in map(str.lower, names[:place]))
            raise ConfigurationError(
                f"join: two streams have a field {twice!r}; rename one, or name all fields of the result with "
                f"fields=[…]: {', '.join(names)}"
            )
        return named(StructType(fields), names, self.verb)

    def told(self) -> str:
        """Return the keys of the streams, and which of them must have one."""
        keys = [", ".join(names) for names in self.on]
        return f"on {' = '.join(dict.fromkeys(keys))}, {' and '.join(self.sides)}"

    def _kept(self, number: int, names: Sequence[str]) -> list[str]:
        if self.output is JoinOutput.PRESERVE:
            return list(names)
        keys = self.on[number]
        others = [name for name in names if name not in keys]
        return others if number else [*keys, *others]

    def lower(self, frames: Sequence[DataFrame], batch: BatchContext) -> DataFrame:
        """See `RecordOperation.lower`."""
        is_ordered = all(ORDER in frame.columns for frame in frames)
        if is_ordered:
            frames = [frame.withColumn(ORDER, self._part(number)) for number, frame in enumerate(frames)]
        sides = [aliased(frame, f"{number}.") for number, frame in enumerate(frames)]
        joined, needed = sides[0], self.sides[0] is JoinSide.INNER
        for number, side in enumerate(sides[1:], 1):
            is_needed = self.sides[number] is JoinSide.INNER
            joined = joined.join(side, self._condition(number), _KINDS[needed, is_needed])
            needed = needed or is_needed
        orders = [_orders(len(frames))] if is_ordered else []
        return joined.select(*self._columns(frames), *orders, *_roots(frames))

    def _part(self, number: int) -> Column:
        """Return what the order of a joined row has of a stream's own.

        Where the first stream may be missing, a record that comes by two streams, as in a join of a stream with itself,
        could be the first of two rows: each stream's number then says which comes first. Else what the first stream has
        tells joined rows apart: it has one key, so the same streams have a row for it.
        """
        part = order() if self.sides[0] is JoinSide.INNER else behind_the_record(order(), number)
        return F.coalesce(part, F.lit(_OF_NO_RECORD))

    def _condition(self, number: int) -> Column:
        """Return when a row of this stream belongs to what is joined of those before it."""
        pairs = []
        for place, own in enumerate(self.on[number]):
            pairs.append(self._key(place, number).eqNullSafe(_field(number, own)))
        return reduce(Column.__and__, pairs)

    def _key(self, place: int, before: int) -> Column:
        """Return the key of what is joined of the streams before one."""
        return F.coalesce(*(_field(number, self.on[number][place]) for number in range(before)))

    def _columns(self, frames: Sequence[DataFrame]) -> list[Column]:
        columns: list[tuple[str, Column]] = []
        for number, frame in enumerate(frames):
            for name in self._kept(number, fields_without_order(frame)):
                is_key = self.output is JoinOutput.COMPACT and name in self.on[0] and number == 0
                column = self._key(self.on[0].index(name), len(frames)) if is_key else _field(number, name)
                columns.append((name, column))
        names = self.names or tuple(name for name, _ in columns)
        return [column.alias(name) for name, (_, column) in zip(names, columns, strict=True)]


def _field(number: int, name: str) -> Column:
    return field(f"{number}.{name}")


def _orders(count: int) -> Column:
    """Return the order of a row: those of the records that it is made of, one behind the other.

    There is none where it is made of a row without one: two that differ in that row alone would be one place.
    """
    orders = [_field(number, ORDER) for number in range(count)]
    parts = [F.coalesce(each, F.lit(b"")) for each in orders]
    of_records = F.least(*orders) != F.lit(_OF_NO_RECORD)
    return F.when(of_records, F.concat(*parts)).alias(ORDER)


def _roots(frames: Sequence[DataFrame]) -> list[Column]:
    """Return the messages that a row is of: those of all records that it is made of."""
    having = [number for number, frame in enumerate(frames) if has_roots(frame)]
    none = F.array().cast("array<bigint>")
    parts = [F.coalesce(_field(number, ROOTS), none) for number in having]
    return [F.array_distinct(F.concat(*parts)).alias(ROOTS)] if parts else []
