"""The columns of a state, and how each changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

import pyarrow as pa

Value = object

"""A stored value of any of the supported column types; never inspected by the core."""


class StateKind(StrEnum):
    """What is stored beside a value, and so what a replay may change."""

    TRANSACTIONAL = "transactional"
    OPAQUE = "opaque"
    NON_TRANSACTIONAL = "non_transactional"


class Merge(StrEnum):
    """How a staged value and the stored one become the new one; a missing one leaves the other, but for `REPLACE`."""

    ADD = "add"
    LEAST = "least"
    GREATEST = "greatest"
    LEAST_BY = "least_by"
    """With the column `by`, a `LEAST`: the value of whichever has less there; of equal ones the smaller, null first."""
    GREATEST_BY = "greatest_by"
    """With the column `by`, a `GREATEST`: of equal ones the greater value, null last."""
    REPLACE = "replace"
    """The staged value, also a missing one: whoever stages it has seen the stored one. A key is removed by a row of
    nulls, which stays in its place: what was before it must be there for a batch that is undone or comes again."""
    COMBINE = "combine"
    """By the column's own Python function, on the coordinator."""


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column that rows are found by; null is a key like any other."""

    name: str
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class ValueColumn:
    """A column that each batch changes; `combine(stored, staged)` is given for `Merge.COMBINE` only."""

    name: str
    type: pa.DataType
    merge: Merge
    combine: Callable[[Value, Value], Value] | None = field(default=None, compare=False, repr=False)
    by: str = ""
    """For `Merge.LEAST_BY` and `GREATEST_BY`: the value column that decides which value is kept."""
    text_of: pa.DataType | None = None
    """Of a column of texts whose values are arrays, structures or maps: what they are; stores need not know."""
    part_of: str = field(default="", compare=False)
    """The result that is made of this column and others, which hold the same records or none; "" for one of its own."""


@dataclass(frozen=True, slots=True)
class StateLayout:
    """The columns that an aggregation needs; without key columns the state has a single row."""

    keys: tuple[KeyColumn, ...]
    values: tuple[ValueColumn, ...]

    def texts(self) -> dict[str, pa.DataType]:
        """Return the columns of texts whose values are something else, and what they are."""
        return {column.name: column.text_of for column in self.values if column.text_of is not None}

    def key_schema(self) -> pa.Schema:
        """Return the schema of the key columns alone."""
        return pa.schema([pa.field(column.name, column.type) for column in self.keys])

    def schema(self) -> pa.Schema:
        """Return the schema of staged updates: key columns, then value columns, one row per key."""
        columns: list[KeyColumn | ValueColumn] = [*self.keys, *self.values]
        return pa.schema([pa.field(column.name, column.type) for column in columns])
