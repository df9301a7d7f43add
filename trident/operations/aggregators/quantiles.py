"""Medians and other quantiles, of how many values there are of each that is the same to some digits."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType

from trident.base.checks import check_count, is_within, refused
from trident.base.errors import RefusedError
from trident.operations.aggregators.base import StoredColumn, require_type
from trident.operations.aggregators.sketch_texts import json_of, no_sketch, parts_of
from trident.operations.base import Fields, check_field, field
from trident.state.layout import Merge, Value

_MOST_DIGITS: Final = 6
_LEAST_PERCENT: Final = 2
"""What nobody means as a share: a percent, as other libraries have them."""
_GREATEST: Final = sys.float_info.max
_NUMBER: Final = re.compile(r"-?\d(\.\d+)?e[+-]\d+|-?Infinity|NaN")
_KEPT: Final = "digits int, counts array<struct<value string, n bigint>>"


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Quantiles of a number field, nulls left out: an array of doubles in the order of `at`; null of no values.

    The quantile q of n values is the least that at least q * n of them do not exceed, rounded to so many decimal
    `digits` (of each value, so 3 are 0.5 % at most; half up, but never beyond the greatest double). NaN is greater than
    any number, infinities count. A state keeps how many values there are of each rounded one, exactly, as a JSON text
    `…_sketch` of some 30 bytes for each: at most 900 per power of ten with three digits. So no result depends on how
    records were spread over batches or on what was merged first, and a replay comes to the same. The digits can't
    change while a state lives. The numbers of one batch's group are in the memory of one task.
    """

    field: str
    at: Sequence[float] = (0.5,)
    digits: int = 3

    def __post_init__(self) -> None:
        """Check what was given."""
        check_field("Quantiles", self.field)
        object.__setattr__(self, "at", _shares(self.at))
        check_count("Quantiles: digits", self.digits, most=_MOST_DIGITS)

    def check(self, name: str, fields: Fields) -> None:
        """The field must be a number."""
        require_type("Quantiles", self.field, name, fields, (NumericType,), "numbers")

    def columns(self) -> tuple[StoredColumn, ...]:
        """Return the text of the rounded values and their counts."""
        value = field(self.field).cast("double")
        rounded = F.when(value.isNotNull(), _number(self._text(value)))
        counts = _let(F.sort_array(F.collect_list(rounded)), self._counts)
        text = F.to_json(F.struct(F.lit(self.digits).alias("digits"), counts.alias("counts")))
        return (StoredColumn("_sketch", text, Merge.COMBINE, sum_of_both),)

    def shown(self, *stored: Column) -> Column:
        """Return for each share the first value up to which there are enough."""
        counts = F.from_json(stored[0], _KEPT)["counts"]
        total = F.aggregate(counts, F.lit(0).cast("bigint"), lambda seen, each: seen + each["n"])
        found = F.array(*(_value_at(counts, F.greatest(F.ceil(total * _exact(share)), F.lit(1))) for share in self.at))
        return F.when(total > 0, found)

    def _text(self, value: Column) -> Column:
        return F.format_string(f"%.{self.digits - 1}e", value)

    def _counts(self, values: Column) -> Column:
        """Return the runs of equal values; a step looks at what is next to it only, so steps do not get longer."""
        places = F.filter(
            F.when(F.size(values) > 0, F.sequence(F.lit(1), F.size(values))).otherwise(F.array().cast("array<int>")),
            lambda place: (place == 1) | (F.get(values, place - 1) != F.get(values, place - 2)),
        )
        return _let(
            places,
            lambda begins: F.transform(
                begins,
                lambda begin, number: F.struct(
                    self._text(F.get(values, begin - 1)).alias("value"),
                    (F.coalesce(F.get(begins, number + 1), F.size(values) + 1) - begin).cast("bigint").alias("n"),
                ),
            ),
        )


def sum_of_both(stored: Value, staged: Value) -> Value:
    """Return the text of all values of two; raises RefusedError for different digits."""
    (digits, counts), (other_digits, others) = _read(stored), _read(staged)
    if digits != other_digits:
        raise RefusedError(
            f"the state keeps quantiles of {digits} digits, this version makes {other_digits}: go back to "
            f"digits={digits}, or give the result another name; the stored values are unchanged"
        )
    total = counts + others
    listed = [{"value": value, "n": total[value]} for value in sorted(total, key=_place)]
    return json_of({"digits": digits, "counts": listed})


def _read(text: Value) -> tuple[int, Counter[str]]:
    digits, listed, _ = parts_of(text, "digits", "counts")
    try:
        counts = Counter({each["value"]: each["n"] for each in listed})  # type: ignore[index]  # else a TypeError
        if digits <= _MOST_DIGITS and len(counts) == len(listed) and all(map(_is_count, counts.items())):
            return digits, counts
    except (KeyError, TypeError):
        pass
    raise no_sketch("digits", "counts")


def _is_count(said: tuple[object, object]) -> bool:
    value, count = said
    return isinstance(value, str) and _NUMBER.fullmatch(value) is not None and type(count) is int and count > 0


def _place(value: str) -> tuple[bool, float]:
    number = float(value)
    if math.isnan(number):
        return True, 0.0
    is_beyond = math.isinf(number) and not value.endswith("Infinity")
    return False, math.copysign(_GREATEST, number) if is_beyond else number


def _value_at(counts: Column, rank: Column) -> Column:
    none = F.struct(F.lit(0).cast("bigint").alias("seen"), F.lit(None).cast("string").alias("value"))

    def add(so_far: Column, each: Column) -> Column:
        seen = so_far["seen"] + each["n"]
        value = F.when(so_far["value"].isNotNull(), so_far["value"]).when(seen >= rank, each["value"])
        return F.struct(seen.alias("seen"), value.alias("value"))

    return _number(F.aggregate(counts, none, add, lambda end: end["value"]))


def _number(text: Column) -> Column:
    """Return the double that a text says; what was rounded to beyond the greatest one is that, and no infinity."""
    number = text.cast("double")
    is_beyond = (F.abs(number) == F.lit(math.inf)) & ~text.endswith("Infinity")
    return F.when(is_beyond, F.signum(number) * F.lit(_GREATEST)).otherwise(number)


def _let(value: Column, use: Callable[[Column], Column]) -> Column:
    """Return what is made of a value that is computed once; each use of a column would compute it anew."""
    return F.get(F.transform(F.array(value), use), F.lit(0))


def _exact(share: float) -> Column:
    """Return a share as it is written: 0.07 of 100 is 7, and not a little more."""
    return F.lit(Decimal(repr(float(share))))


def _shares(given: object) -> tuple[float, ...]:
    shares = list(given) if isinstance(given, list | tuple) else []
    if not shares or not all(is_within(share, 0, 1) for share in shares):
        wanted = "several numbers from 0 to 1, such as (0.5, 0.99)"
        if all(is_within(share, 0, 100) for share in shares) and any(share >= _LEAST_PERCENT for share in shares):
            in_shares = ", ".join(f"{share / 100:g}" for share in shares)
            wanted = f"several numbers from 0 to 1 (of percents their hundredths: at=({in_shares},))"
        raise refused("Quantiles: at", wanted, given)
    return tuple(float(share) for share in shares)
