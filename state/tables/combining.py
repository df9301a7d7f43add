"""Columns that a user's Python function folds: the stored values are fetched and folded before a batch's transaction.

User code may take as long as it likes there: no lock is held, nothing is open. The transaction then only has to
see that the state still stands where it was read, which nobody but a successor can have changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from sqlalchemy import Connection, text

from trident.base.arrays import AnyArray
from trident.base.identity import BatchId
from trident.base.user_code import Calls
from trident.state.folding import combined
from trident.state.layout import KeyColumn, ValueColumn
from trident.state.positions import Position
from trident.state.rows import array_of
from trident.state.staged import HeldUpdates, StagedUpdates
from trident.state.tables.dialect import ReadyRows, fetched, run_all
from trident.state.tables.merge import NullPattern, all_of, matches, stored_statement
from trident.state.tables.names import COPY, quote
from trident.state.tables.place import TablePlace
from trident.state.tables.ready import Folded
from trident.state.tables.shape import ColumnSpec, TableShape
from trident.state.tables.staging import Writes


@dataclass(frozen=True, slots=True)
class _Pairs:
    position: Position
    rows: list[tuple[object, ...]]
    patterns: tuple[NullPattern, ...]


def fold(place: TablePlace, batch: BatchId, updates: StagedUpdates, ready: ReadyRows | None) -> Folded | None:
    """Fold a batch's updates with what is stored; None when the state does not stand right before the batch."""
    pairs = _read_pairs(place, batch, updates, ready)
    if pairs is None:
        return None
    rows = place.users_code.run(f"a combiner of state {place.name!r}", partial(_folded, place, pairs.rows))
    place.dialect.check_rows(rows)
    return Folded(pairs.position, place.dialect.ready_rows(rows), pairs.patterns)


def is_where_it_was_read(connection: Connection, place: TablePlace, batch: BatchId, folded: Folded | None) -> bool:
    """Lock the position and tell whether the state still stands where its values were read; False: the batch is in.

    Raises `MismatchError` for anything else.
    """
    row = place.applied.read(connection, batch.owner.topology)
    if folded is not None and row is not None and row.position == folded.position:
        return True
    place.check_already_in(connection, batch)
    return False


def copy_folded(connection: Connection, place: TablePlace, folded: Folded) -> None:
    """Bring folded values into a table that only this transaction sees; before any lock is taken."""
    shape, dialect = place.shape, place.dialect
    columns: list[KeyColumn | ValueColumn] = [*shape.keys, *shape.combined]
    specs = [ColumnSpec(column.name, dialect.column_type(column.type), True) for column in columns]
    run_all(connection, dialect.create_temporary(_table(place), specs))
    dialect.insert_rows(connection, _table(place), folded.rows)


def use_folded(connection: Connection, place: TablePlace, folded: Folded) -> None:
    """Replace staged values by folded ones."""
    for pattern in folded.patterns:
        connection.execute(text(_replace_statement(place.shape, place.staged.table, _table(place), pattern)))


def _table(place: TablePlace) -> str:
    return place.staged.table.replace(COPY, "trident_fold_", 1)  # as long as the name that fits


def _replace_statement(shape: TableShape, staged: str, folded: str, pattern: NullPattern) -> str:
    changes = ", ".join(f"{quote(column.name)} = t.{quote(column.name)}" for column in shape.combined)
    return (
        f"UPDATE {quote(staged)} AS s SET {changes} FROM {quote(folded)} AS t WHERE {all_of(matches(shape, pattern))}"
    )


def _read_pairs(place: TablePlace, batch: BatchId, updates: StagedUpdates, ready: ReadyRows | None) -> _Pairs | None:
    """Return the keys that are stored, each with its stored and its staged values, as of one position."""
    rows: list[tuple[object, ...]] = []
    found: list[NullPattern] = []
    with place.working(batch.owner, batch.epoch) as transaction:
        connection = transaction.connection
        row = place.applied.read(connection, batch.owner.topology)
        if row is None or row.position.owner != batch.owner or row.position.txid != batch.txid - 1:
            return None
        place.staged.create(connection)
        if isinstance(updates, HeldUpdates):
            assert ready is not None
            place.staged.copy(connection, ready)
        elif updates.writes:
            place.staged.load(connection, Writes(place.staging, batch, updates.writes))
        for pattern in place.staged.patterns(connection, no_null_keys=False):
            statement = stored_statement(place.shape, quote(place.staged.table), pattern)
            pairs = fetched(connection, text(statement), {})
            rows += pairs
            found += [pattern] if pairs else []
    return _Pairs(row.position, rows, tuple(found))


def _folded(place: TablePlace, pairs: Sequence[tuple[object, ...]], calls: Calls) -> pa.Table:
    """Run the users' functions; raises RefusedError for a result that its column can't hold."""
    shape, from_stored = place.shape, place.dialect.from_stored
    width = len(shape.keys)
    columns: dict[str, AnyArray] = {}
    for index, key in enumerate(shape.keys):
        columns[key.name] = array_of([from_stored(key.type, pair[index]) for pair in pairs], key.name, key.type)
    for index, column in enumerate(shape.combined):
        values: list[object] = []
        for pair in pairs:
            calls.begin()
            first = width + 2 * index
            stored, staged = (from_stored(column.type, pair[first + i]) for i in (0, 1))
            both = stored is not None and staged is not None
            values.append(combined(column, stored, staged) if both else staged if stored is None else stored)
        columns[column.name] = array_of(values, column.name, column.type)
    return pa.table(columns)
