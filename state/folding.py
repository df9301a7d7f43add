"""How stores that hold rows as Python values update one: the merges of its columns, by the rule of its kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar

import pyarrow as pa

from trident.base.errors import MismatchError, RefusedError, TridentError
from trident.base.user_code import type_and_place
from trident.state.comparing import NAN, added, are_equal, greatest, least
from trident.state.evolving import widened
from trident.state.layout import Merge, StateKind, StateLayout, Value, ValueColumn
from trident.state.rows import array_of, conform, distinct, python_values
from trident.state.values import OpaqueValue, TransactionalValue, Update

Row = tuple[Value, ...]
"""The value columns of one key, in the layout's order."""

StoredRow: TypeAlias = "TransactionalValue[Row] | OpaqueValue[Row] | Row"
"""A row with what its kind keeps beside it."""

V = TypeVar("V")


def updated(kind: StateKind, stored: object, txid: int, update: Update[Row]) -> StoredRow:
    """Return what is to be stored after a txid's update of one key; `stored` is None for a new key."""
    match kind:
        case StateKind.TRANSACTIONAL:
            before = _expect(stored, TransactionalValue)
            return before.update(txid, update) if before else TransactionalValue.first(txid, update)
        case StateKind.OPAQUE:
            value = _expect(stored, OpaqueValue)
            return value.update(txid, update) if value else OpaqueValue.first(txid, update)
        case StateKind.NON_TRANSACTIONAL:
            return update(_expect(stored, tuple))


def undone(stored: object, txid: int) -> OpaqueValue[Row] | None:
    """Return what is to be stored once a txid is undone, None for a key that is to go."""
    value = _expect(stored, OpaqueValue)
    return None if value is None else value.undo(txid)


def current(stored: StoredRow) -> Row:
    """Return the values that a reader sees."""
    if isinstance(stored, TransactionalValue):
        return stored.value
    return stored.current if isinstance(stored, OpaqueValue) else stored


def merged_with(layout: StateLayout, staged: Row) -> Update[Row]:
    """Return the function that merges one staged row into the stored one."""
    places = {column.name: place for place, column in enumerate(layout.values)}
    folds = [_row_fold(column, place, places.get(column.by, place)) for place, column in enumerate(layout.values)]

    def update(stored: Row | None) -> Row:
        if stored is None:
            return staged
        before = widened(stored, len(folds))
        return tuple(fold(before, staged) for fold in folds)

    return update


def keyed_rows(layout: StateLayout, rows: pa.Table) -> dict[Row, Row]:
    """Return staged rows by key; raises MismatchError for a key that was staged twice."""
    columns = [python_values(column) for column in rows.columns]
    width = len(layout.keys)
    keyed = {row[:width]: row[width:] for row in zip(*columns, strict=True)}
    if len(keyed) != rows.num_rows:
        raise MismatchError(f"{rows.num_rows - len(keyed)} keys were staged twice in one batch; nothing was applied")
    return keyed


def key_rows(layout: StateLayout, keys: pa.Table) -> list[Row]:
    """Return keys that are asked for, each once; the one row's empty key where there are no key columns."""
    if not layout.keys:
        return [()]
    columns = [python_values(column) for column in distinct(conform(keys, layout.key_schema())).columns]
    return list(zip(*columns, strict=True))


def table_of(layout: StateLayout, rows: Mapping[Row, Row]) -> pa.Table:
    """Return rows by key as a table in the layout's schema."""
    flat = [(*key, *widened(values, len(layout.values))) for key, values in rows.items()]
    columns = [
        array_of([row[index] for row in flat], field.name, field.type) for index, field in enumerate(layout.schema())
    ]
    return pa.table(columns, schema=layout.schema())


def check_fit(layout: StateLayout, changed: Mapping[Row, StoredRow]) -> None:
    """Raise RefusedError naming the column when a merged value does not fit into its type."""
    rows = [current(stored) for stored in changed.values()]
    for index, column in enumerate(layout.values):
        try:
            array_of([row[index] for row in rows], column.name, column.type)
        except RefusedError:
            raise _does_not_fit(column) from None


def combined(column: ValueColumn, stored: Value, staged: Value) -> Value:
    """Return what the column's own Python function makes of two values; nothing of it may leave this function.

    Raises RefusedError, which names no value, when it raises: the same values would fail again.
    """
    assert column.combine is not None  # checked when the state is opened
    try:
        return column.combine(stored, staged)
    except (TridentError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever a user's function raises, the batch is refused and recorded
        raise RefusedError(
            f"column {column.name!r}: its combine function raised {type_and_place(error)}; "
            "what it was to make was not written"
        ) from None


def settled_row(row: Row) -> Row:
    """Return a row that a store gave back, with the one NaN in place of any other."""
    if any(type(value) is float and math.isnan(value) for value in row):
        return tuple(NAN if isinstance(value, float) and math.isnan(value) else value for value in row)
    return row


def _row_fold(column: ValueColumn, place: int, by: int) -> Callable[[Row, Row], Value]:
    """Return what makes a column's value of a stored and a staged row."""
    if column.merge is Merge.LEAST_BY or column.merge is Merge.GREATEST_BY:
        is_least = column.merge is Merge.LEAST_BY
        return lambda stored, staged: _kept_by(stored[by], stored[place], staged[by], staged[place], is_least=is_least)
    if column.merge is Merge.REPLACE:
        return lambda stored, staged: staged[place]
    fold = _fold(column)
    return lambda stored, staged: _keep(fold, stored[place], staged[place])


def _kept_by(stored_by: Value, stored: Value, staged_by: Value, staged: Value, *, is_least: bool) -> Value:
    """Return the value of whichever stands first by another column; a row that has nothing there says nothing."""
    if stored_by is None or staged_by is None:
        return staged if stored_by is None else stored
    if are_equal(stored_by, staged_by):
        if stored is None or staged is None:
            return None if is_least else _keep(greatest, stored, staged)
        return least(stored, staged) if is_least else greatest(stored, staged)
    first = least(stored_by, staged_by) if is_least else greatest(stored_by, staged_by)
    return stored if first is stored_by else staged


def _fold(column: ValueColumn) -> Callable[[Value, Value], Value]:
    match column.merge:
        case Merge.ADD:
            return added
        case Merge.LEAST:
            return least
        case Merge.GREATEST:
            return greatest
        case Merge.LEAST_BY | Merge.GREATEST_BY | Merge.REPLACE:
            raise AssertionError("such a column is not folded with its own stored value")
        case Merge.COMBINE:
            return lambda stored, staged: _held(column, combined(column, stored, staged))


def _held(column: ValueColumn, value: Value) -> Value:
    """Return a value as the column gives it back: its own scale, precision and time zone."""
    try:
        (held,) = python_values(pa.chunked_array([array_of([value], column.name, column.type)]))
    except RefusedError:
        raise _does_not_fit(column) from None
    return held


def _does_not_fit(column: ValueColumn) -> RefusedError:
    return RefusedError(
        f"column {column.name!r}: a key's merged value does not fit into {column.type}; it was not written"
    )


def _keep(fold: Callable[[Value, Value], Value], stored: Value, staged: Value) -> Value:
    if stored is None or staged is None:
        return staged if stored is None else stored
    return fold(stored, staged)


def _expect(stored: object, kind: type[V]) -> V | None:
    if stored is None or isinstance(stored, kind):
        return stored
    raise MismatchError(
        f"found a {type(stored).__name__} where a {kind.__name__} was expected: the state was written as another kind, "
        "or the store returns other objects than it was given; nothing was changed"
    )
