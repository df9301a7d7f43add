"""The value of the record that is first or last by another field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F

from trident.operations.aggregators.base import StoredColumn, require_ordered
from trident.operations.base import Fields, check_field, field
from trident.state.layout import Merge


@dataclass(frozen=True, slots=True)
class _By:
    """Keeps a value under the result's name, and beside it, as `…_by`, what it was chosen by."""

    field: str
    by: str

    is_least: ClassVar[bool]

    def __post_init__(self) -> None:
        check_field(type(self).__name__, self.field)
        check_field(type(self).__name__, self.by)

    def check(self, name: str, fields: Fields) -> None:
        """Both fields must be there and have an order: of equal ones the value decides."""
        for wanted in (self.field, self.by):
            require_ordered(type(self).__name__, wanted, name, fields)

    def columns(self) -> tuple[StoredColumn, ...]:
        """Return the value, and what decides."""
        by, value = field(self.by), field(self.field)
        choose = F.min if self.is_least else F.max
        chosen = choose(F.when(by.isNotNull(), F.struct(by.alias("by"), value.alias("value"))))
        joint, alone = (Merge.LEAST_BY, Merge.LEAST) if self.is_least else (Merge.GREATEST_BY, Merge.GREATEST)
        return StoredColumn("", chosen["value"], joint, by="_by"), StoredColumn("_by", choose(by), alone)

    def shown(self, *stored: Column) -> Column:
        """Return the value."""
        return stored[0]


@dataclass(frozen=True, slots=True)
class MinBy(_By):
    """The value of a field in the record that is least by another one; records in which that is null don't count.

    Of records that are equal by it the one with the smallest value is taken (null before all), so that the result does
    not depend on the order in which records come.
    """

    is_least: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class MaxBy(_By):
    """The value of a field in the record that is greatest by another one; records in which that is null don't count.

    Of records that are equal by it the one with the greatest value is taken (null after all).
    """

    is_least: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class First(MinBy):
    """`MinBy` under the name that fits where the other field is a time or a number of records."""


@dataclass(frozen=True, slots=True)
class Last(MaxBy):
    """`MaxBy` under the name that fits where the other field is a time or a number of records."""
