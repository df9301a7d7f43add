"""The merges of whole columns by Arrow's kernels: value for value what `state.folding` makes of single rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from trident.base.arrays import AnyArray, is_text
from trident.state.folding import Row, merged_with
from trident.state.layout import Merge, StateLayout, ValueColumn
from trident.state.rows import array_of, python_values, refused

Columns: TypeAlias = Mapping[str, AnyArray]

_MOST_DIGITS = 38
"""Of a decimal of 128 bits: the sum of two such has one more."""


def folded_columns(layout: StateLayout, stored: Sequence[AnyArray], staged: Sequence[AnyArray]) -> list[AnyArray]:
    """Return the value columns after the merge; both sides have a row per key, the stored one nulls for a new one.

    What no kernel does exactly (a combiner of a user's, a type without an order) goes row by row.
    Raises RefusedError naming the column where a merged value does not fit into it.
    """
    names = [column.name for column in layout.values]
    before, changes = dict(zip(names, stored, strict=True)), dict(zip(names, staged, strict=True))
    types = {column.name: column.type for column in layout.values}
    by_rows = [column for column in layout.values if not _has_kernel(column, types)]
    rows = _folded_rows(layout, stored, staged) if by_rows else []
    return [
        array_of([row[place] for row in rows], column.name, column.type)
        if column in by_rows
        else _folded(column, before, changes)
        for place, column in enumerate(layout.values)
    ]


def _has_kernel(column: ValueColumn, types: Mapping[str, pa.DataType]) -> bool:
    match column.merge:
        case Merge.ADD:
            return pa.types.is_signed_integer(column.type) or pa.types.is_decimal128(column.type)
        case Merge.LEAST | Merge.GREATEST:
            return _is_ordered(column.type)
        case Merge.LEAST_BY | Merge.GREATEST_BY:
            return _is_ordered(column.type) and _is_ordered(types[column.by])
        case Merge.REPLACE:
            return True
        case Merge.COMBINE:
            return False


def _is_ordered(type_: pa.DataType) -> bool:
    """Tell whether Arrow orders values of a type as `state.comparing` does, NaN aside."""
    types = pa.types
    numbers = (types.is_boolean, types.is_signed_integer, types.is_decimal128, types.is_date32, types.is_timestamp)
    others = (types.is_float32, types.is_float64, types.is_binary, types.is_large_binary)
    return is_text(type_) or any(check(type_) for check in (*numbers, *others))


def _folded(column: ValueColumn, before: Columns, changes: Columns) -> AnyArray:
    stored, staged = before[column.name], changes[column.name]
    match column.merge:
        case Merge.ADD:
            return pc.coalesce(_sum(column, stored, staged), stored, staged)
        case Merge.LEAST | Merge.GREATEST:
            return _picked(stored, staged, is_least=column.merge is Merge.LEAST)
        case Merge.REPLACE:
            return staged
        case _:
            is_least = column.merge is Merge.LEAST_BY
            return _kept_by(before[column.by], stored, changes[column.by], staged, is_least=is_least)


def _sum(column: ValueColumn, stored: AnyArray, staged: AnyArray) -> AnyArray:
    """Return exact sums, null where a side is."""
    type_ = wide = column.type
    if isinstance(type_, pa.Decimal128Type) and type_.precision == _MOST_DIGITS:
        wide = pa.decimal256(type_.precision, type_.scale)
    try:
        return pc.add_checked(stored.cast(wide), staged.cast(wide)).cast(type_)
    except pa.ArrowInvalid:
        raise refused(column.name, f"a value that does not fit into {type_}") from None


def _picked(stored: AnyArray, staged: AnyArray, *, is_least: bool) -> AnyArray:
    """Return the smaller or the greater values; one that is missing leaves the other."""
    wins = _stands_first(staged, stored, is_least=is_least)
    picked: AnyArray = pc.if_else(pc.or_(wins, pc.is_null(stored)), staged, stored)
    return picked


def _kept_by(
    stored_by: AnyArray, stored: AnyArray, staged_by: AnyArray, staged: AnyArray, *, is_least: bool
) -> AnyArray:
    """Return the values of whichever stand first by another column; what has nothing there says nothing."""
    new = pc.or_(pc.is_null(stored_by), _stands_first(staged_by, stored_by, is_least=is_least))
    old = pc.or_(pc.is_null(staged_by), _stands_first(stored_by, staged_by, is_least=is_least))
    tie = _picked(stored, staged, is_least=is_least)
    if is_least:  # of equal ones null is first
        either = pc.or_(pc.is_null(stored), pc.is_null(staged))
        tie = pc.if_else(either, pa.scalar(None, tie.type), tie)
    kept: AnyArray = pc.if_else(new, staged, pc.if_else(old, stored, tie))
    return kept


def _stands_first(left: AnyArray, right: AnyArray, *, is_least: bool) -> pa.BooleanArray:
    """Tell where the left value is the smaller (or the greater) one; false where one is missing."""
    less, more = (left, right) if is_least else (right, left)
    found: pa.BooleanArray = pc.less(less, more)
    if pa.types.is_floating(left.type):  # Arrow takes NaN for neither less nor more than anything
        found = pc.or_(found, pc.and_not(pc.is_nan(more), pc.is_nan(less)))
    return found.fill_null(False)  # type: ignore[return-value]  # the stubs know its values only


def _folded_rows(layout: StateLayout, stored: Sequence[AnyArray], staged: Sequence[AnyArray]) -> list[Row]:
    before, changes = (_rows(columns) for columns in (stored, staged))
    return [merged_with(layout, new)(old) for old, new in zip(before, changes, strict=True)]


def _rows(columns: Sequence[AnyArray]) -> list[Row]:
    return list(zip(*(python_values(pa.chunked_array([column])) for column in columns), strict=True))
