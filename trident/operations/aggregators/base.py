"""What an aggregator is: it says what Spark computes, what a state keeps and how it merges it, and what is shown.

Results are the same in every re-run of a batch, whatever the order of its records and however they are spread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from pyspark.sql import Column
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from trident.base.errors import ConfigurationError
from trident.operations.base import Fields, check_comparable
from trident.state.layout import Merge, Value

_ORDERED = (NumericType, StringType, DateType, TimestampType, TimestampNTZType, BooleanType)


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """One column that an aggregator keeps: its name is the result's with the suffix behind it."""

    suffix: str
    expression: Column
    """Spark's aggregate over a group's records; a `Combiner`'s collects the values that its Python code folds."""
    merge: Merge | None
    """How a state joins a batch's value with the stored one; None where that can't be told from the two."""
    combine: Callable[[Value, Value], Value] | None = None
    """For `Merge.COMBINE` only."""
    checked: Column | None = None
    """The same for a state: refuses what it can't hold in this library's own words, as the state itself would."""
    by: str | None = None
    """For `Merge.LEAST_BY` and `GREATEST_BY`: the suffix of the column that decides."""
    lenient: Column | None = None
    """The same for rows that are only kept for a person: null for what can't be held."""


class Aggregation(Protocol):
    """Immutable; shared by all batches and threads."""

    def check(self, name: str, fields: Fields) -> None:
        """Raise `FieldError` or `ConfigurationError` when the fields do not suit; `name` is the result's."""

    def columns(self) -> tuple[StoredColumn, ...]:
        """Return the columns that it keeps, at least one; the same ones at every call."""

    def shown(self, *stored: Column) -> Column:
        """Return the result, given the columns that are kept, in their order; it may be null for null ones."""


class OneColumn(ABC):
    """Base of an aggregator that keeps its result and nothing else."""

    __slots__ = ()

    merge: ClassVar[Merge]
    """How a state joins a batch's result with the stored one."""

    @abstractmethod
    def expression(self) -> Column:
        """Return Spark's aggregate expression."""

    def columns(self) -> tuple[StoredColumn, ...]:
        """Return the one column, under the result's own name."""
        return (StoredColumn("", self.expression(), self.merge),)

    def shown(self, *stored: Column) -> Column:
        """Return what is stored."""
        (column,) = stored
        return column


def require_ordered(verb: str, wanted: str, name: str, fields: Fields) -> None:
    """Refuse a field that is not there or whose values have no order."""
    fields.require(wanted, f"{verb} for {name!r}")
    check_comparable(fields.schema[wanted], f"{verb} for {name!r}")
    require_type(verb, wanted, name, fields, _ORDERED, "a field with an order")


def require_type(
    verb: str,
    wanted: str,
    name: str,
    fields: Fields,
    types: tuple[type[DataType], ...],
    needs: str,
    advice: str = "",
) -> None:
    """Refuse a field that is not there or is of none of these types."""
    fields.require(wanted, f"{verb} for {name!r}")
    type_ = fields.schema[wanted].dataType
    if not isinstance(type_, types):
        raise ConfigurationError(
            f"{verb} for {name!r} needs {needs}, but the field {wanted!r} is {type_.simpleString()}{advice}"
        )
