"""Whether all records say yes, or one of them does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType

from trident.operations.aggregators.base import OneColumn, require_type
from trident.operations.base import Fields, check_field, field
from trident.state.layout import Merge


@dataclass(frozen=True, slots=True)
class _Truth(OneColumn):
    field: str

    def __post_init__(self) -> None:
        check_field(type(self).__name__, self.field)

    def check(self, name: str, fields: Fields) -> None:
        """The field must be a boolean."""
        require_type(type(self).__name__, self.field, name, fields, (BooleanType,), "a boolean")


@dataclass(frozen=True, slots=True)
class BoolAnd(_Truth):
    """True where a boolean field is true in all records, nulls left out; null of no values."""

    merge: ClassVar[Merge] = Merge.LEAST

    def expression(self) -> Column:
        """False is less than true."""
        return F.min(field(self.field))


@dataclass(frozen=True, slots=True)
class BoolOr(_Truth):
    """True where a boolean field is true in any record, nulls left out; null of no values."""

    merge: ClassVar[Merge] = Merge.GREATEST

    def expression(self) -> Column:
        """False is less than true."""
        return F.max(field(self.field))
