"""One equality and one order of keys and values, and exact arithmetic: what every store keeps to, as Spark does.

| values | rule |
|---|---|
| null | a key like any other, equal to itself; as a value it is "nothing yet" |
| floats | NaN equals NaN and is greater than all else, infinity too; -0.0 is 0.0 |
| texts | by their UTF-8 bytes: upper and lower case, accents, normal forms and trailing spaces tell them apart |
| bytes | by each byte, unsigned |
| decimals | one scale per column; sums are exact or refused, whatever the process's decimal context says |
| moments | instants, in UTC, of the years 1 to 9999; without a zone by their digits |
| booleans | false is less than true |

Python's own `min`, `max`, `==` and `+` keep to none of that for NaN, nor for moments of one zone in an hour that
comes twice, nor for decimals of more than 28 digits.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal, Inexact
from typing import TypeVar

V = TypeVar("V")

_EXACT = Context(prec=100, rounding=ROUND_HALF_EVEN, traps=[Inexact])
"""Of its own: the process's may round, or trap what is no error."""


class _NotANumber(float):
    """NaN as a key: equal to every NaN, and the same object again after it was pickled."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and math.isnan(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(_NotANumber)

    def __reduce__(self) -> str:
        return "NAN"


NAN = _NotANumber("nan")
"""The one NaN that is a key or a value; a store that compares with `==` finds it again."""


def settled(value: object) -> object:
    """Return the one form of a value: one NaN, no negative zero, moments with a zone in UTC."""
    if isinstance(value, float):
        return NAN if math.isnan(value) else value + 0.0
    if isinstance(value, datetime) and value.tzinfo is not None and value.tzinfo is not UTC:
        return value.astimezone(UTC)
    return value


def least(left: V, right: V) -> V:
    """Return the smaller of two values of one column; the left one if they are equal."""
    return right if _is_less(right, left) else left


def greatest(left: V, right: V) -> V:
    """Return the greater of two values of one column; the left one if they are equal."""
    return right if _is_less(left, right) else left


def are_equal(left: object, right: object) -> bool:
    """Tell whether two values of one column are one."""
    return not _is_less(left, right) and not _is_less(right, left)


def added(left: object, right: object) -> object:
    """Return the exact sum of two integers or decimals; integers may leave the range of their column."""
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        return _EXACT.add(left, right)
    return left + right  # type: ignore[operator]  # values of a column that may be added are numbers


def _is_less(left: object, right: object) -> bool:
    left, right = settled(left), settled(right)
    if left is NAN or right is NAN:
        return right is NAN and left is not NAN
    return bool(left < right)  # type: ignore[operator]  # values of one column are comparable
