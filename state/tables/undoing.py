"""Bringing a table back to the txid before: rows that the txid made go, all others take their previous values.

A row that was brought back is of txid - 1, and its `previous_txid` says the same: what was before it is lost.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, text

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError
from trident.base.identity import BatchId
from trident.state.capabilities import CannotUndoError
from trident.state.positions import before_attempt, is_in
from trident.state.staged import AppliedUpdates, StagedUpdates
from trident.state.tables.names import quote
from trident.state.tables.place import TablePlace
from trident.state.tables.shape import PREVIOUS, PREVIOUS_TXID, TXID, TableShape
from trident.state.undoing import check_kind, check_undone


@dataclass(frozen=True, slots=True)
class TableUndoing:
    """See `Undoable`: rows and position go back in one transaction."""

    place: TablePlace

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
            if row is None or not is_in(row.position, batch, place.name):
                return
            _check_rows(connection, place.shape, place.name, batch, updates)
            gone = _undo_rows(connection, place.shape, batch.txid)
            place.dialect.run_deferred(connection)
            _check_undone(connection, place.shape, batch.txid)
            place.applied.count(connection, batch.owner.topology, -gone)
            if not place.applied.move_back(connection, batch, before_attempt(row.position, batch, before)):
                raise MismatchError(f"{batch}: state {place.name!r} moved while it was read; nothing was undone")
            reached(CrashPoint.IN_UNDO, batch.txid)


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
    if lost:
        raise CannotUndoError(
            f"{batch}: {lost} rows of table {shape.table!r} have lost what was before this txid, as it was undone "
            "before. Nothing was changed"
        )
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


def _check_undone(connection: Connection, shape: TableShape, txid: int) -> None:
    """Raise CannotUndoError unless no row is of the txid any more, and all that were hold what was before it."""
    if not shape.has_previous:
        return
    left = connection.execute(text(_left_statement(shape)), {"txid": txid}).scalar_one()
    if left:
        raise CannotUndoError(
            f"{left} rows of table {shape.table!r} could not be brought back from txid {txid}: a trigger or rule of "
            "the table changed what was written. Nothing of this table was changed; mend it, and the next start goes on"
        )


def _left_statement(shape: TableShape) -> str:
    """Return the SELECT of how many rows are still of the txid, or were brought back and hold something else."""
    differ = []
    for column in shape.values:
        now, before = quote(column.name), quote(PREVIOUS + column.name)
        differ.append(f"{now} <> {before} OR ({now} IS NULL) <> ({before} IS NULL)")
    undone = f"{TXID} = :txid - 1 AND {PREVIOUS_TXID} = :txid - 1"
    return f"SELECT count(*) FROM {shape.quoted} WHERE {TXID} = :txid OR ({undone} AND ({' OR '.join(differ)}))"
