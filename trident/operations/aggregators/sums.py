"""Sums of exact numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType, IntegralType

from trident.operations.aggregators.base import OneColumn, StoredColumn, require_type
from trident.operations.base import UNHELD, Fields, check_field, field
from trident.state.layout import Merge


@dataclass(frozen=True, slots=True)
class Sum(OneColumn):
    """The sum of an integer or decimal field: a bigint, or a decimal ten digits wider; nulls are left out.

    It never wraps: the state refuses a batch in which it overflows, with nothing applied, and the batch can be diverted
    (the rows that are kept then have null for that sum). A sum of floats depends on the order of the records and is
    refused: cast them to a decimal first.
    """

    field: str

    merge: ClassVar[Merge] = Merge.ADD

    def __post_init__(self) -> None:
        check_field("Sum", self.field)

    def check(self, name: str, fields: Fields) -> None:
        """The field must be there and hold exact numbers."""
        require_exact("Sum", self.field, name, fields)

    def columns(self) -> tuple[StoredColumn, ...]:
        """Return the one column; an overflow on its way into a state is told apart from any expression of a user's."""
        total, values = F.try_sum(field(self.field)), F.count(field(self.field))
        overflows = F.raise_error(F.lit(f"{UNHELD}the sum of the field {self.field!r} over a group is out of range"))
        checked = F.when(total.isNull() & (values > 0), overflows).otherwise(total)
        return (StoredColumn("", self.expression(), self.merge, checked=checked, lenient=total),)

    def expression(self) -> Column:
        """Spark's sum, which raises on overflow."""
        return F.sum(field(self.field))


def require_exact(verb: str, wanted: str, name: str, fields: Fields) -> None:
    """Refuse a field that is not there or whose sum would depend on the order of the records."""
    advice = "; cast it first, say to decimal(38,2) (a sum of floats would depend on the order of the records)"
    require_type(verb, wanted, name, fields, (IntegralType, DecimalType), "integers or decimals", advice)
