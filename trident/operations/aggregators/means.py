"""The mean of exact numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType

from trident.base.errors import ConfigurationError
from trident.operations.aggregators.base import StoredColumn
from trident.operations.aggregators.sums import Sum, require_exact
from trident.operations.base import Fields, check_field, field
from trident.state.layout import Merge

_BEFORE_POINT: Final = 32


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of an integer or decimal field, nulls left out: a double, or a decimal; null of no values.

    A state keeps the exact sum and the count, as `…_sum` and `…_count`: what is taken back by a record of the opposite
    sign is gone from the sum and not from the count. In SQL: `price_sum / NULLIF(price_count, 0)`.
    """

    field: str

    def __post_init__(self) -> None:
        """Check the name."""
        check_field("Mean", self.field)

    def check(self, name: str, fields: Fields) -> None:
        """As a sum's: exact numbers, of which a mean can have digits behind the point."""
        require_exact("Mean", self.field, name, fields)
        type_ = fields.schema[self.field].dataType
        if isinstance(type_, DecimalType) and type_.precision - type_.scale > _BEFORE_POINT:
            raise ConfigurationError(
                f"Mean for {name!r} needs decimals of at most {_BEFORE_POINT} digits before the point, but the field "
                f"{self.field!r} is {type_.simpleString()}: of greater values Spark can't make the mean, with its six "
                f"digits behind the point. Cast it first, say to decimal({min(_BEFORE_POINT + type_.scale, 38)},"
                f"{min(type_.scale, 38 - _BEFORE_POINT)})"
            )

    def columns(self) -> tuple[StoredColumn, ...]:
        """Return sum and count."""
        (total,) = Sum(self.field).columns()
        kept = StoredColumn("_sum", total.expression, Merge.ADD, checked=total.checked, lenient=total.lenient)
        return kept, StoredColumn("_count", F.count(field(self.field)), Merge.ADD)

    def shown(self, *stored: Column) -> Column:
        """Divide one by the other."""
        total, count = stored
        return F.when(count > 0, total / count)


Avg = Mean
"""As SQL calls it."""
