"""How far exact numbers are spread around their mean."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType

from trident.base.errors import ConfigurationError
from trident.base.policies import policy_of
from trident.operations.aggregators.base import StoredColumn
from trident.operations.aggregators.sums import Sum, require_exact
from trident.operations.base import UNHELD, Fields, check_field, field
from trident.state.layout import Merge

_DIGITS: Final = 18
_BEHIND_POINT: Final = 3
_WHOLE: Final = "decimal(38,0)"
_VALUE: Final = "decimal(20,0)"


class StdDevOf(StrEnum):
    """What the values are: all that there are, or a sample of more."""

    SAMPLE = "sample"
    POPULATION = "population"


@dataclass(frozen=True, slots=True)
class StdDev:
    """The standard deviation of an integer or decimal field, nulls left out, as a double; null of no values.

    Of a sample (the default) it is null of a single value too; of a whole population (`of="population"`) it is 0
    there. A state keeps the exact sum, the exact sum of the squares and the count, as `…_sum`, `…_squares` and
    `…_count`, so the result does not depend on how records were spread over batches. In SQL, of a population:
    `sqrt((x_squares - x_sum * x_sum / x_count) / x_count)`. A state refuses a batch in which one of them is out of
    range, with nothing applied.
    """

    field: str
    of: StdDevOf | str = StdDevOf.SAMPLE

    def __post_init__(self) -> None:
        """Check what was given."""
        check_field("StdDev", self.field)
        object.__setattr__(self, "of", policy_of(StdDevOf, self.of, "StdDev: of"))

    def check(self, name: str, fields: Fields) -> None:
        """Exact numbers whose squares Spark makes exactly."""
        require_exact("StdDev", self.field, name, fields)
        type_ = fields.schema[self.field].dataType
        if isinstance(type_, DecimalType) and _digits(type_) > _DIGITS and type_.scale > _BEHIND_POINT:
            raise ConfigurationError(
                f"StdDev for {name!r} needs decimals of at most {_DIGITS} digits (one before the point at least), or "
                f"{_BEHIND_POINT} behind it, but the field {self.field!r} is {type_.simpleString()}, whose squares no "
                f"decimal holds exactly; cast it first, say to decimal({_DIGITS},{min(type_.scale, _DIGITS - 1)})"
            )

    def columns(self) -> tuple[StoredColumn, ...]:
        """Return sum, sum of squares and count."""
        (total,) = Sum(self.field).columns()
        value = _as_decimal(field(self.field))
        square = F.try_multiply(value, value)
        squares = F.try_sum(square)
        overflows = F.raise_error(
            F.lit(f"{UNHELD}the sum of the squares of the field {self.field!r} over a group is out of range")
        )
        is_lost = squares.isNull() & (F.count(square) > 0)  # a single square of such a number is always held
        return (
            StoredColumn("_sum", total.expression, Merge.ADD, checked=total.checked, lenient=total.lenient),
            StoredColumn(
                "_squares",
                F.sum(value * value),
                Merge.ADD,
                checked=F.when(is_lost, overflows).otherwise(squares),
                lenient=F.when(~is_lost, squares),
            ),
            StoredColumn("_count", F.count(field(self.field)), Merge.ADD),
        )

    def shown(self, *stored: Column) -> Column:
        """Return the root of the mean square of what lies between the values and their mean.

        The mean of the squares less the square of the mean would lose all digits that the two share. So a whole
        number next to the mean is taken from each value first, which the sums allow, and exactly: what is left of the
        mean is at most a half then, and only that is computed in doubles. All is in units of the last digit.
        """
        total, squares, count = _units(stored[0]), _units(stored[1]), stored[2]
        near = F.round(total / count, 0).cast(_VALUE)
        rest = (total - near * count).cast(_WHOLE)
        around = (squares - near * (total + rest)).cast(_WHOLE).cast("double")
        number, left = count.cast("double"), rest.cast("double")
        spread = F.greatest(around - left * left / number, F.lit(0.0))
        divisor = number if self.of is StdDevOf.POPULATION else number - 1.0
        least = 1 if self.of is StdDevOf.POPULATION else 2
        return F.when(count >= least, F.sqrt(spread / divisor) / _units_of_one(stored[0]))


def _digits(type_: DecimalType) -> int:
    """Return how many digits a value has in `_as_decimal`, which has one before the point always."""
    return max(type_.precision - type_.scale, 1) + type_.scale


def _as_decimal(value: Column) -> Column:
    """Return an integer as a decimal, and a decimal as it is: Spark gives both ways of a choice one type."""
    return F.when(value.isNotNull(), value).otherwise(F.lit(None).cast("decimal(1,0)"))


def _units(number: Column) -> Column:
    """Return a number in units of its last digit: 1.50 is 150. It has all digits of its type as a text."""
    return F.replace(number.cast("string"), F.lit("."), F.lit("")).cast(_WHOLE)


def _units_of_one(number: Column) -> Column:
    """Return how many units of the last digit one is, as a double."""
    digits = F.length(F.split_part(number.cast("string"), F.lit("."), F.lit(2)))
    powers = F.array(*(F.lit(float(10**power)) for power in range(39)))
    return F.element_at(powers, digits + 1)
