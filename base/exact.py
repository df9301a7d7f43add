"""Python values as Arrow arrays, exactly or not at all: Arrow itself cuts 2.5 to 2 and a moment to its day."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from numbers import Integral

import numpy as np
import pyarrow as pa

from trident.base.arrays import AnyArray, settled_array, unheld


class InexactError(ValueError):
    """A Python value can't be held by a column of this type as it is; the text names no value."""


def exact_array(values: Sequence[object], type_: pa.DataType) -> AnyArray:
    """Return the values as an array of the type in its one form; raises InexactError unless each is held exactly.

    Floats may be rounded to the precision of a float column, but not to 0 or an infinity; nothing else is.
    """
    if pa.types.is_nested(type_):
        values = _exact_inside(values, type_)
    kinds = {type(value) for value in values if value is not None}
    if any(not _suits(kind, type_) for kind in kinds) or not _fit(values, kinds, type_):
        raise InexactError
    try:
        array: AnyArray = pa.array(values, type_)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        raise InexactError from None
    if pa.types.is_floating(type_) and (_became_infinite(values, array) or _vanished(values, array)):
        raise InexactError
    if unheld(array) is not None:
        raise InexactError
    if pa.types.is_nested(type_):
        return array
    settled: AnyArray = settled_array(pa.chunked_array([array])).combine_chunks()
    return settled


def _exact_inside(values: Sequence[object], type_: pa.DataType) -> Sequence[object]:
    """Return lists, structures and maps as Arrow takes them; raises InexactError unless all inside is held exactly."""
    present = [value for value in values if value is not None]
    if isinstance(type_, pa.MapType):
        pairs = [None if value is None else _items(value) for value in values]
        inside = [pair for several in pairs if several is not None for pair in several]
        keys: list[object] = exact_array([key for key, _ in inside], type_.key_type).to_pylist()  # type: ignore[assignment, misc, unused-ignore]
        _require([item for _, item in inside], type_.item_field)
        exact_array([item for _, item in inside], type_.item_type)
        ends = itertools.accumulate(len(several) for several in pairs if several is not None)
        # as they are held: two numbers may be rounded to one
        if any(has_one_twice(keys[start:end]) for start, end in itertools.pairwise((0, *ends))):
            raise InexactError  # which of the two is meant?
        return pairs
    if isinstance(type_, pa.StructType):
        names = {field.name for field in type_.fields}
        if not all(isinstance(value, Mapping) and set(value) <= names for value in present):
            raise InexactError
        for field in type_.fields:
            _require([value.get(field.name) for value in present], field)  # type: ignore[attr-defined]
            exact_array([value.get(field.name) for value in present], field.type)  # type: ignore[attr-defined]
        return values
    if not all(isinstance(value, list | tuple) for value in present):
        raise InexactError
    elements = [each for value in present for each in value]  # type: ignore[attr-defined]
    _require(elements, type_.value_field)  # type: ignore[attr-defined]
    exact_array(elements, type_.value_type)  # type: ignore[attr-defined]
    return values


def _require(values: Sequence[object], field: pa.Field[pa.DataType]) -> None:
    """Refuse a missing value where none may be: it would be read as whatever lies there."""
    if not field.nullable and any(value is None for value in values):
        raise InexactError


def _items(value: object) -> list[tuple[object, object]]:
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, list) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
        return value
    raise InexactError


def has_one_twice(keys: Sequence[object]) -> bool:
    """Tell whether two keys of a map are equal as keys, values as an array gives them; a NaN is equal to any other."""
    if sum(key != key for key in keys) > 1:
        return True
    try:
        return len(set(keys)) < len(keys)
    except TypeError:  # of lists or structures
        return any(key in keys[:place] for place, key in enumerate(keys))


def _suits(kind: type, type_: pa.DataType) -> bool:
    """Tell whether values of a Python type may be in a column; Arrow itself is asked about the rest."""
    if pa.types.is_integer(type_):
        return kind is not bool and issubclass(kind, Integral | float | np.floating)
    if pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return not issubclass(kind, bool | np.bool_)
    if pa.types.is_timestamp(type_):
        return issubclass(kind, datetime)
    if pa.types.is_duration(type_):
        return issubclass(kind, timedelta)
    if pa.types.is_date(type_):
        return issubclass(kind, date) and not issubclass(kind, datetime)
    return issubclass(kind, time) if pa.types.is_time(type_) else True


def _fit(values: Sequence[object], kinds: set[type], type_: pa.DataType) -> bool:
    """Tell whether all values have what Arrow would cut off: a fraction, microseconds, a zone where one is needed."""
    check: Callable[[object], bool] | None = None
    if pa.types.is_integer(type_) and any(issubclass(kind, float | np.floating) for kind in kinds):
        check = _is_whole
    if pa.types.is_timestamp(type_):
        unit = {"s": 1_000_000, "ms": 1_000}.get(type_.unit, 1)

        def check(value: object) -> bool:
            assert isinstance(value, datetime)
            if value != value or getattr(value, "nanosecond", None):
                return False
            offset = value.utcoffset()
            if offset is not None and offset.microseconds:  # Arrow leaves them out
                return False
            return (offset is None) == (type_.tz is None) and value.microsecond % unit == 0

    if pa.types.is_duration(type_):

        def check(value: object) -> bool:
            return not getattr(value, "nanoseconds", 0)  # of pandas' own

    if pa.types.is_time(type_):

        def check(value: object) -> bool:
            return getattr(value, "tzinfo", None) is None  # Arrow leaves it out

    return check is None or all(check(value) for value in values if value is not None)


def _is_whole(value: object) -> bool:
    return not isinstance(value, float | np.floating) or value.is_integer()  # a longer one is no float of Python's


def _became_infinite(values: Sequence[object], array: AnyArray) -> bool:
    found = array.to_numpy(zero_copy_only=False)
    if not np.isinf(found).any():
        return False
    return int(np.isinf(found).sum()) != sum(map(_is_infinite, values))


def _is_infinite(value: object) -> bool:
    if value is None:
        return False
    # a longer float may be finite and infinite in Python's
    return bool(np.isinf(value)) if isinstance(value, np.floating) else math.isinf(value)  # type: ignore[arg-type]


def _vanished(values: Sequence[object], array: AnyArray) -> bool:
    """Tell whether a number became 0 that is none, which no rounding of numbers of that size is."""
    found = array.to_numpy(zero_copy_only=False)
    zeros = np.flatnonzero(found == 0)
    return len(zeros) > 0 and any(values[place] != 0 for place in zeros.tolist())
