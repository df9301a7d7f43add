"""What a decision would do to a table, tried in a transaction that is rolled back, with the other tables around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection

from trident.base.identity import BatchId, Epoch
from trident.base.looking import rolled_back
from trident.state.capabilities import CannotUndoError, Transaction
from trident.state.databases.base import KnowsItsHome, SqlTransaction
from trident.state.positions import is_in
from trident.state.staged import AppliedUpdates, StagedUpdates
from trident.state.tables.counting import count_rows
from trident.state.tables.place import TablePlace, connection_of
from trident.state.tables.resetting import delete_rows, require_empty
from trident.state.tables.tables import prepare_tables
from trident.state.tables.undoing import go_back


@dataclass(frozen=True, slots=True)
class TableTrying:
    """See `TriesTogether`."""

    place: TablePlace

    def home(self) -> str:
        """Ask the database; one that does not tell is like no other object."""
        database = self.place.database
        if not isinstance(database, KnowsItsHome):
            return f"database {id(database)}"
        with database.transaction() as transaction:
            return database.home(transaction.connection)

    def refers_to(self) -> frozenset[str]:
        """Ask for foreign keys."""
        place = self.place
        with place.database.transaction() as transaction:
            return place.dialect.refers_to(transaction.connection, place.shape.table)

    def try_in(self, action: Callable[[Transaction], None]) -> None:
        """Run it on a connection of this one's database."""
        rolled_back(self.place.database.transaction(), action)

    def resists(self, transaction: Transaction) -> bool:
        """Ask for triggers, keys and rights; staged rows go with a reset."""
        connection, place = connection_of(transaction), self.place
        return any(place.dialect.guards_rows(connection, table) for table in (place.shape.table, place.staging))

    def try_clear(self, transaction: Transaction, topology: str, epoch: Epoch) -> Callable[[], None]:
        """Delete the rows; they must still be gone once the others' are."""
        connection, place = connection_of(transaction), self.place
        assert isinstance(transaction, SqlTransaction)
        transaction.work_for(topology, epoch)  # before the fences too, when its own database knows of none
        if not _are_there(connection, place):
            prepare_tables(connection, place)
        delete_rows(connection, place, topology)
        return partial(require_empty, connection, place)

    def try_undo(
        self, transaction: Transaction, batch: BatchId, before: int, updates: StagedUpdates | AppliedUpdates
    ) -> Callable[[], None]:
        """Go back; the table must have as many rows as belong to the position once the others have gone back."""
        connection, place = connection_of(transaction), self.place
        assert isinstance(transaction, SqlTransaction)
        transaction.work_for(batch.owner.topology, batch.epoch)
        row = place.owned(connection, batch.owner, batch.epoch)
        if row is not None and is_in(row.position, batch, place.name):
            go_back(connection, place, row.position, batch, before, updates)
        return partial(_require_counted, connection, place, batch)


def _are_there(connection: Connection, place: TablePlace) -> bool:
    """Whether no table is to be made for the trial: that takes a lock which keeps others from starting."""
    tables = ("trident_applied", place.shape.table, place.staging)
    return all(place.dialect.find_columns(connection, table) is not None for table in tables)


def _require_counted(connection: Connection, place: TablePlace, batch: BatchId) -> None:
    """Raise CannotUndoError unless the rows are still those that belong to the position."""
    row = place.applied.read(connection, batch.owner.topology)
    if row is None or row.row_count is None:
        return
    found = count_rows(connection, place.shape, row.row_count + 1)
    if found != row.row_count:
        raise CannotUndoError(
            f"{batch}: once every state has gone back, table {place.shape.table!r} would not have the {row.row_count} "
            "rows that belong to the txid before: a trigger or foreign key of another table changes them, or somebody "
            "else has"
        )
