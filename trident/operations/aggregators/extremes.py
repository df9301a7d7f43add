"""The least and the greatest value of a field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F

from trident.operations.aggregators.base import OneColumn, require_ordered
from trident.operations.base import Fields, check_field, field
from trident.state.layout import Merge


@dataclass(frozen=True, slots=True)
class Min(OneColumn):
    """The least value of a field, nulls left out; strings are compared by their UTF-8 bytes."""

    field: str

    merge: ClassVar[Merge] = Merge.LEAST

    def __post_init__(self) -> None:
        check_field("Min", self.field)

    def check(self, name: str, fields: Fields) -> None:
        """The field must be there and have an order."""
        require_ordered("Min", self.field, name, fields)

    def expression(self) -> Column:
        """Spark's min."""
        return F.min(field(self.field))


@dataclass(frozen=True, slots=True)
class Max(OneColumn):
    """The greatest value of a field, nulls left out; strings are compared by their UTF-8 bytes."""

    field: str

    merge: ClassVar[Merge] = Merge.GREATEST

    def __post_init__(self) -> None:
        check_field("Max", self.field)

    def check(self, name: str, fields: Fields) -> None:
        """The field must be there and have an order."""
        require_ordered("Max", self.field, name, fields)

    def expression(self) -> Column:
        """Spark's max."""
        return F.max(field(self.field))
