"""Queries of a state that does not change: a table that is read once, or a user's object that is asked in tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from trident.operations.accounting import Account
from trident.operations.arrow_lists import Repeat
from trident.operations.asking import FOUND, Asking, QueryFunction
from trident.operations.base import (
    HIDDEN,
    BatchContext,
    Fields,
    control,
    field,
    hidden,
    nullable,
)
from trident.operations.by_values import compared_by, is_plain
from trident.operations.columns import exploded
from trident.operations.several import check_same_key
from trident.operations.tasks import in_python
from trident.spouts.arrow_types import arrow_schema

_VERB: Final = "state_query"
_ROWS: Final = "__trident_rows"
_KEY: Final = "__trident_key"


@dataclass(frozen=True)
class TableRows:
    """A table's rows by their keys: a row for each key, with the array of what stands beside it, sorted."""

    keys: tuple[StructField, ...]
    added: tuple[StructField, ...]
    frame: DataFrame
    """The keys under names that no stream has, and the array."""
    most: int
    """How many rows the key with the most of them has."""


def rows_by_key(table: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return the frame of `TableRows`: rows of one key in the order of their values, which every process gives them."""
    added = [each for each in table.schema.fields if each.name not in keys]
    row = F.struct(*(field(each.name) for each in added))
    if all(map(is_plain, added)):
        rows = F.sort_array(F.collect_list(row))
    else:
        by = F.struct(*compared_by(added)).alias("by")
        pairs = F.array_sort(F.collect_list(F.struct(by, row.alias("row"))), _compared)
        rows = F.transform(pairs, lambda pair: pair.getField("row"))
    named = [field(name).alias(f"{_KEY}{place}") for place, name in enumerate(keys)]
    return table.groupBy(*named).agg(rows.alias(_ROWS))


def _compared(one: Column, other: Column) -> Column:
    left, right = one.getField("by"), other.getField("by")
    return F.when(left < right, F.lit(-1)).when(left > right, F.lit(1)).otherwise(F.lit(0))


def most_rows(rows: Any) -> int:
    """Return how many rows the key with the most of them has, given the table of `rows_by_key`."""
    lengths = rows.column(_ROWS).combine_chunks().value_lengths().to_pylist()
    return max(lengths, default=0)


class TableQuery:
    """Adds a table's fields to the records: those of the one row that a key has, or of each of several.

    `several` says that the record is repeated for each row, and dropped where there is none.
    """

    verb = _VERB
    makes_groups = False
    runs_user_code = False

    def __init__(self, table: TableRows, keys: tuple[str, ...], *, several: bool) -> None:
        self._table = table
        self._keys = keys
        self._several = several

    def told(self) -> str:
        """Return the keys that are asked for."""
        rows = "each row of a table" if self._several else "a table's row"
        return f"{rows} by {', '.join(self._keys)}" if self._keys else rows

    def check(self, fields: Fields) -> None:
        """The keys must be there and be of the table's types; what is added must be new."""
        for name, key in zip(self._keys, self._table.keys, strict=True):
            fields.require(name, self.verb)
            check_same_key(self.verb, fields.schema[name], "of the stream", key, "that is a key of the table")
        fields.refuse([each.name for each in self._table.added], self.verb)

    @property
    def account(self) -> Account:
        """A record is passed on once, or as a row for each of the table's."""
        return Account.MAKES if self._several else Account.KEEPS

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        # a control row has no partner, so it comes out of a left join once, as it went in
        equal = [field(name).eqNullSafe(field(f"{_KEY}{place}")) for place, name in enumerate(self._keys)]
        condition = reduce(Column.__and__, [control().isNull(), *equal])
        joined = frame.join(F.broadcast(self._table.frame), condition, "left")
        own = [name for name in frame.columns if name not in HIDDEN]
        if self._several:
            rows, row = exploded(joined, field(_ROWS), _ROWS, own), field(_ROWS)
        else:
            rows, row = joined, F.get(field(_ROWS), F.lit(0))
        added = [row.getField(each.name).alias(each.name) for each in self._table.added]
        return rows.select(*(field(name) for name in own), *added, *hidden(frame))


class FunctionQuery:
    """Adds the rows that a user's query function makes for each record's key: repeats it, or drops it for none."""

    verb = _VERB
    makes_groups = False
    runs_user_code = True
    account = Account.MAKES

    def __init__(
        self, function: QueryFunction[Any], keys: tuple[str, ...], declared: StructType, source: object = None
    ) -> None:
        self._keys = keys
        self._said = type(function).__name__
        self._declared = declared
        self._asking = Asking(function, keys, arrow_schema(nullable(declared.fields)), source)

    def told(self) -> str:
        """Return the function with the fields that it is given."""
        return f"{self._said}({', '.join(self._keys)})"

    def check(self, fields: Fields) -> None:
        """The keys must be there; what is added must be new."""
        for name in self._keys:
            fields.require(name, self.verb)
        fields.refuse(self._declared.names, self.verb)

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        schema = nullable([*self._declared.fields, *frame.schema.fields])
        repeat = Repeat(self._asking, self._asking.declared, arrow_schema(schema), self.verb, keeps=True)
        own = [name for name in frame.columns if name not in (*HIDDEN, FOUND)]
        fields = [field(name) for name in (*own, *self._declared.names)]
        return in_python(frame, repeat, schema, batch).select(*fields, *hidden(frame))
