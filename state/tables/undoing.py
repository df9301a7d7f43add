"""Bringing a table back to the txid before: rows that the txid made go, all others take their previous values.

A row that was brought back is of txid - 1, and its `previous_txid` says the same: what was before it is lost.
"""

from __future__ import annotations

from sqlalchemy import Connection, text

from trident.base.identity import BatchId
from trident.state.positions import check_kind, check_undone
from trident.state.tables.names import quote
from trident.state.tables.shape import PREVIOUS, PREVIOUS_TXID, TXID, TableShape
from trident.state.target import AppliedUpdates, CannotUndoError, StagedUpdates


def check_rows(
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


def undo_rows(connection: Connection, shape: TableShape, txid: int) -> None:
    """Bring every row of the txid back to what it was before."""
    if not shape.has_previous:
        return
    values = {"txid": txid}
    made = f"DELETE FROM {shape.quoted} WHERE {TXID} = :txid AND {PREVIOUS_TXID} IS NULL"
    connection.execute(text(made), values)
    changes = [f"{quote(column.name)} = {quote(PREVIOUS + column.name)}" for column in shape.values]
    changes += [f"{TXID} = :txid - 1", f"{PREVIOUS_TXID} = :txid - 1"]
    connection.execute(text(f"UPDATE {shape.quoted} SET {', '.join(changes)} WHERE {TXID} = :txid"), values)
