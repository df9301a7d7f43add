"""Bringing a table back to the txid before: rows that the txid made go, all others take their previous values.

A row that was brought back is of txid - 1, and its `previous_txid` says the same: what was before it is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlalchemy import Connection, text

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError
from trident.base.identity import BatchId
from trident.state.capabilities import CannotUndoError
from trident.state.positions import Position, before_attempt, is_in
from trident.state.staged import AppliedUpdates, StagedUpdates
from trident.state.tables.names import quote
from trident.state.tables.place import TablePlace
from trident.state.tables.shape import PREVIOUS, PREVIOUS_TXID, TXID, TableShape
from trident.state.undoing import check_kind, check_known, check_undone


@dataclass(frozen=True, slots=True)
class TableUndoing:
    """See `Undoable`: rows and position go back in one transaction."""

    place: TablePlace
    undoes_done: ClassVar[bool] = True

    def check_undo(self, batch: BatchId, updates: StagedUpdates | AppliedUpdates) -> None:
        """Check that the table knows what was before the batch, if it has it."""
        place = self.place
        with place.working(batch.owner, batch.epoch) as transaction:
            row = place.owned(transaction.connection, batch.owner, batch.epoch)
            if is_in(row.position if row else None, batch, place.name):
                _check_rows(transaction.connection, place.shape, place.name, batch, updates)

    def undo(self, batch: BatchId, before: int, updates: StagedUpdates | AppliedUpdates) -> None:
        """Bring back what was before the batch."""
        place = self.place
        with place.working(batch.owner, batch.epoch) as transaction:
            connection = transaction.connection
            row = place.owned(connection, batch.owner, batch.epoch)
            if row is not None and is_in(row.position, batch, place.name):
                go_back(connection, place, row.position, batch, before, updates)
                reached(CrashPoint.IN_UNDO, batch.txid)


def go_back(
    connection: Connection,
    place: TablePlace,
    position: Position,
    batch: BatchId,
    before: int,
    updates: StagedUpdates | AppliedUpdates,
) -> None:
    """Bring rows and position back to what they were before a batch that is in.

    Raises CannotUndoError, and changes nothing, where rows of another topology would change with them.
    """
    counted = place.dialect.changed(connection)
    _check_rows(connection, place.shape, place.name, batch, updates)
    changed = _count_changed(connection, place.shape, batch.txid)
    gone = _undo_rows(connection, place.shape, batch.txid)
    place.dialect.run_deferred(connection)
    _check_undone(connection, place.shape, batch.txid, changed)
    place.applied.count(connection, batch.owner.topology, -gone)
    if not place.applied.move_back(connection, batch, before_attempt(position, batch, before)):
        raise MismatchError(f"{batch}: state {place.name!r} moved while it was read; nothing was undone")
    taken = place.dialect.taken_along(connection, counted, place.table, batch.owner.topology)
    if taken is not None:
        raise CannotUndoError(
            f"{batch}: a foreign key, trigger or rule would change or delete rows of {taken} with those of table "
            f"{place.table!r}: drop it first"
        )


def _check_rows(
    connection: Connection, shape: TableShape, name: str, batch: BatchId, updates: StagedUpdates | AppliedUpdates
) -> None:
    """Raise CannotUndoError unless the table knows what was before the batch, for each of its rows."""
    check_kind(shape.kind, batch, updates, name)
    if not shape.has_previous:
        return
    counted = text(
        f"SELECT count(*), count(CASE WHEN {PREVIOUS_TXID} >= {TXID} THEN 1 END) FROM {shape.quoted} "
        f"WHERE {TXID} = :txid"
    )
    found, lost = connection.execute(counted, {"txid": batch.txid}).one()
    check_known(batch, lost, f"table {shape.table!r}")
    check_undone(batch, updates, found, name)


def _undo_rows(connection: Connection, shape: TableShape, txid: int) -> int:
    """Bring every row of the txid back to what it was before; returns how many it had made, which are gone."""
    if not shape.has_previous:
        return 0
    values = {"txid": txid}
    made = f"DELETE FROM {shape.quoted} WHERE {TXID} = :txid AND {PREVIOUS_TXID} IS NULL"
    gone = connection.execute(text(made), values).rowcount
    changes = [f"{quote(column.name)} = {quote(PREVIOUS + column.name)}" for column in shape.values]
    changes += [f"{TXID} = :txid - 1", f"{PREVIOUS_TXID} = :txid - 1"]
    known = f"{TXID} = :txid AND {PREVIOUS_TXID} IS NOT NULL"
    connection.execute(text(f"UPDATE {shape.quoted} SET {', '.join(changes)} WHERE {known}"), values)
    return gone


def _check_undone(connection: Connection, shape: TableShape, txid: int, changed: int) -> None:
    """Raise CannotUndoError unless no row is of the txid any more, and all that were hold what was before it.

    `changed` are those that an earlier undo has brought back, and somebody has corrected since.
    """
    if not shape.has_previous:
        return
    kept = connection.execute(text(f"SELECT count(*) FROM {shape.quoted} WHERE {TXID} = :txid"), {"txid": txid})
    left = int(kept.scalar_one()) + _count_changed(connection, shape, txid) - changed
    if left:
        raise CannotUndoError(
            f"{left} rows of table {shape.table!r} could not be brought back from txid {txid}: a trigger or rule of "
            "the table changes what is written"
        )


def _count_changed(connection: Connection, shape: TableShape, txid: int) -> int:
    """Return how many rows that were brought back from this txid hold something else than what was before it."""
    if not shape.has_previous:
        return 0
    differ = []
    for column in shape.values:
        now, before = quote(column.name), quote(PREVIOUS + column.name)
        differ.append(f"{now} <> {before} OR ({now} IS NULL) <> ({before} IS NULL)")
    undone = f"{TXID} = :txid - 1 AND {PREVIOUS_TXID} = :txid - 1"
    statement = f"SELECT count(*) FROM {shape.quoted} WHERE {undone} AND ({' OR '.join(differ)})"
    return int(connection.execute(text(statement), {"txid": txid}).scalar_one())
