"""What can be made of the records of a group: each aggregator says how Spark computes it and how a state merges it.

Results are the same in every re-run of a batch, whatever the order of its records and however they are spread.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    IntegralType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from trident.base.errors import ConfigurationError
from trident.operations.base import Fields, field, guarded
from trident.state.layout import Merge, Value

V = TypeVar("V")

_ORDERED = (NumericType, StringType, DateType, TimestampType, TimestampNTZType, BooleanType)


class Aggregator(Protocol):
    """Immutable; shared by all batches and threads."""

    @property
    def merge(self) -> Merge:
        """How a state joins a batch's result with the stored one."""

    def check(self, name: str, fields: Fields) -> None:
        """Raise `FieldError` or `ConfigurationError` when the fields do not suit; `name` is the result's."""

    def expression(self) -> Column:
        """Return Spark's aggregate expression; a `Combiner`'s collects the values that its Python code folds."""


@dataclass(frozen=True, slots=True)
class Count:
    """The number of records, as a bigint."""

    @property
    def merge(self) -> Merge:
        """Counts add up."""
        return Merge.ADD

    def check(self, name: str, fields: Fields) -> None:
        """Any fields will do."""

    def expression(self) -> Column:
        """Count rows, nulls included."""
        return F.count(F.lit(1))


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of an integer or decimal field: a bigint, or a decimal ten digits wider; nulls are left out.

    An overflow stops the topology with nothing of the batch applied; it never wraps. A sum of floats depends
    on the order of the records and is refused: cast them to a decimal first.
    """

    field: str

    @property
    def merge(self) -> Merge:
        """Sums add up."""
        return Merge.ADD

    def check(self, name: str, fields: Fields) -> None:
        """The field must be there and hold exact numbers."""
        fields.require(self.field, f"Sum for {name!r}")
        type_ = fields.schema[self.field].dataType
        if not isinstance(type_, IntegralType | DecimalType):
            raise ConfigurationError(
                f"Sum for {name!r} needs integers or decimals, but the field {self.field!r} is {_ddl(type_)}; cast it "
                "first, say to decimal(38,2) (a sum of floats would depend on the order of the records)"
            )

    def expression(self) -> Column:
        """Spark's sum, which raises on overflow."""
        return F.sum(field(self.field))


@dataclass(frozen=True, slots=True)
class Min:
    """The least value of a field, nulls left out; strings are compared by their UTF-8 bytes."""

    field: str

    @property
    def merge(self) -> Merge:
        """The lesser one stays."""
        return Merge.LEAST

    def check(self, name: str, fields: Fields) -> None:
        """The field must be there and have an order."""
        _check_ordered("Min", self.field, name, fields)

    def expression(self) -> Column:
        """Spark's min."""
        return F.min(field(self.field))


@dataclass(frozen=True, slots=True)
class Max:
    """The greatest value of a field, nulls left out; strings are compared by their UTF-8 bytes."""

    field: str

    @property
    def merge(self) -> Merge:
        """The greater one stays."""
        return Merge.GREATEST

    def check(self, name: str, fields: Fields) -> None:
        """The field must be there and have an order."""
        _check_ordered("Max", self.field, name, fields)

    def expression(self) -> Column:
        """Spark's max."""
        return F.max(field(self.field))


class Combiner(ABC, Generic[V]):
    """Base of a user's own aggregator, in Python: `class Longest(Combiner[str])`, used as `Longest("name")`.

    `combine` must be associative and commutative: records come in any order and are combined in any grouping,
    within a batch by a Spark task and with the stored value by the coordinator. Both methods must depend on
    their arguments only. None means "no value": such results of `init` are left out. The class must be
    importable by Spark's Python workers or be defined in the main script. An exception fails the attempt,
    with nothing applied.
    """

    result_type: ClassVar[str]
    """The Spark type of a value V, such as "bigint" or "decimal(20,2)"; a subclass must set it."""

    def __init__(self, *fields: str) -> None:
        self.fields = fields

    @abstractmethod
    def init(self, *values: object) -> V | None:
        """Return the value of a single record, given the values of the fields."""

    @abstractmethod
    def combine(self, left: V, right: V) -> V:
        """Return the value of all records that `left` and `right` stand for."""

    @property
    def merge(self) -> Merge:
        """By `combine`, on the coordinator."""
        return Merge.COMBINE

    def check(self, name: str, fields: Fields) -> None:
        """Every field must be there, and the class must name its type."""
        verb = type(self).__name__
        if not isinstance(getattr(type(self), "result_type", None), str):
            raise ConfigurationError(f"{verb} for {name!r} must set result_type to a Spark type such as 'bigint'")
        for wanted in self.fields:
            fields.require(wanted, f"{verb} for {name!r}")

    def expression(self) -> Column:
        """Collect the fields' values; the fold itself follows in a Python task."""
        values = [field(name).alias(f"f{number}") for number, name in enumerate(self.fields)]
        return F.collect_list(guarded(F.struct(*values, F.lit(True).alias("row"))))

    def combine_values(self, left: Value, right: Value) -> Value:
        """Combine two values that came out of this combiner."""
        return self.combine(left, right)  # type: ignore[arg-type]  # both were made by init or combine


def _check_ordered(verb: str, wanted: str, name: str, fields: Fields) -> None:
    fields.require(wanted, f"{verb} for {name!r}")
    type_ = fields.schema[wanted].dataType
    if not isinstance(type_, _ORDERED):
        raise ConfigurationError(
            f"{verb} for {name!r} needs a field with an order, but the field {wanted!r} is {_ddl(type_)}"
        )


def _ddl(type_: DataType) -> str:
    return type_.simpleString()
