"""What a user's Python code is given of a batch, as Python values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TypeVar

import pyarrow as pa

from trident.base.arrays import AnyArray, unheld
from trident.base.errors import UncomputableError
from trident.state.rows import python_values

T = TypeVar("T")


def values_of(column: AnyArray, name: str, whom: str) -> list[object]:
    """Return a field as Python values, moments in UTC: Python compares those of another zone by the clock on the wall.

    Raises UncomputableError for what Python can't hold; `whom` says what would have been given it.
    """
    what = unheld(column)
    try:
        if what is None:
            if has_maps(column.type):
                return list(column.to_pylist(maps_as_pydicts="strict"))  # type: ignore[misc]  # the stubs know it for single types
            return python_values(pa.chunked_array([column]))
    except (ValueError, OverflowError, KeyError):  # inside of a list or structure
        what = "a value that Python can't hold"
    raise UncomputableError(
        f"the field {name!r} has {what}, so no {whom} can be given it; nothing of the batch was applied. Make "
        "something of it first that Python can hold (of a text Spark's make_valid_utf8, of a day or moment a text), or "
        "leave such records out (filter), and start again"
    )


def rows_of(batch: pa.RecordBatch, whom: str) -> list[dict[str, object]]:
    """Return the records as dicts by field name; raises UncomputableError as `values_of`."""
    names = batch.schema.names
    columns = [values_of(batch.column(name), name, whom) for name in names]
    if not columns:
        return [{} for _ in range(batch.num_rows)]
    # in loops of the interpreter's own: this is most of what a function over rows costs
    return list(map(dict, map(zip, itertools.repeat(names), zip(*columns, strict=True))))


def in_order(orders: Sequence[bytes | None], rows: Sequence[T]) -> list[T]:
    """Return rows in the order of their records; those that have none, or share one, in that of their values.

    So whatever can be told apart comes in the same order in every re-run.
    """
    keys = [order or b"" for order in orders]
    ranked = sorted(range(len(keys)), key=keys.__getitem__)
    if len(set(keys)) == len(keys):  # as it is of records, all but always
        return [rows[place] for place in ranked]
    found: list[T] = []
    for _, several in itertools.groupby(ranked, key=keys.__getitem__):
        alike = [rows[place] for place in several]
        found += sorted(alike, key=_rank) if len(alike) > 1 else alike
    return found


def _rank(value: object) -> tuple[object, ...]:
    """Return what a value is sorted by among others of its field: null first, NaN last, texts by their bytes."""
    match value:
        case None:
            return (0,)
        case float() if math.isnan(value):
            return (2,)
        case float():
            return (1, value, math.copysign(1, value))  # zeros of both signs are equal, and told apart
        case str():
            return (1, value.encode())
        case list() | tuple():
            return (1, tuple(map(_rank, value)))
        case dict():
            return (1, tuple(sorted((_rank(key), _rank(item)) for key, item in value.items())))
        case _:
            return (1, value)


def has_maps(type_: pa.DataType) -> bool:
    """Tell whether values of a type hold maps, which Python is given as dicts."""
    if pa.types.is_map(type_):
        return True
    return any(has_maps(type_.field(number).type) for number in range(type_.num_fields))
