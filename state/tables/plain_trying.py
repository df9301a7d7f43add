"""Emptying a plain table, and trying that in a transaction that is rolled back, with the other tables around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

from sqlalchemy import Connection, text

from trident.base.errors import MismatchError, RefusedError
from trident.base.identity import BatchId, Epoch
from trident.base.looking import rolled_back
from trident.state.capabilities import Transaction
from trident.state.databases.base import KnowsItsHome, SqlDatabase, SqlTransaction
from trident.state.staged import AppliedUpdates, StagedUpdates
from trident.state.tables.dialect import Dialect
from trident.state.tables.place import connection_of
from trident.state.tables.shape import TableShape


@dataclass(frozen=True, slots=True)
class PlainTrying:
    """See `TriesTogether`: of a table without a position only emptying it is ever tried."""

    database: SqlDatabase
    dialect: Dialect
    shape: TableShape

    def home(self) -> str:
        """Ask the database; one that does not tell is like no other object."""
        if not isinstance(self.database, KnowsItsHome):
            return f"database {id(self.database)}"
        with self.database.transaction() as transaction:
            return self.database.home(transaction.connection)

    def refers_to(self) -> frozenset[str]:
        """Ask for foreign keys."""
        with self.database.transaction() as transaction:
            return self.dialect.refers_to(transaction.connection, self.shape.table)

    def try_in(self, action: Callable[[Transaction], None]) -> None:
        """Run it on a connection of this one's database."""
        rolled_back(self.database.transaction(), action)

    def resists(self, transaction: Transaction) -> bool:
        """Ask for triggers, keys and rights; a table that is not there keeps nothing."""
        return self._is_there(transaction) and self.dialect.guards_rows(connection_of(transaction), self.shape.table)

    def try_clear(self, transaction: Transaction, topology: str, epoch: Epoch) -> Callable[[], None]:
        """Delete the rows; they must still be gone once the others' are."""
        assert isinstance(transaction, SqlTransaction)
        transaction.work_for(topology, epoch)
        if not self._is_there(transaction):
            return _nothing
        empty_table(transaction.connection, self.dialect, self.shape, topology)
        return partial(_require_empty, transaction.connection, self.shape)

    def try_undo(
        self, transaction: Transaction, batch: BatchId, before: int, updates: StagedUpdates | AppliedUpdates
    ) -> NoReturn:
        """Refuse: it stands at no txid."""
        raise TypeError(f"table {self.shape.table!r} stands at no txid, so that none can be undone there")

    def _is_there(self, transaction: Transaction) -> bool:
        return self.dialect.find_columns(connection_of(transaction), self.shape.table) is not None


def empty_table(connection: Connection, dialect: Dialect, shape: TableShape, topology: str) -> None:
    """Delete all rows; raises RefusedError unless they are gone.

    And MismatchError where rows of another topology have changed with them.
    """
    before = dialect.changed(connection)
    connection.execute(text(f"DELETE FROM {shape.quoted}"))
    dialect.run_deferred(connection)
    _require_empty(connection, shape)
    taken = dialect.taken_along(connection, before, shape.table, topology)
    if taken is not None:
        raise MismatchError(
            f"a foreign key, trigger or rule would change or delete rows of {taken} with its rows: drop it first"
        )


def _require_empty(connection: Connection, shape: TableShape) -> None:
    if connection.execute(text(f"SELECT 1 FROM {shape.quoted} LIMIT 1")).first() is not None:
        raise RefusedError(
            f"rows of table {shape.table!r} are still there after they were deleted: a trigger, rule or policy of the "
            "table keeps them"
        )


def _nothing() -> None:
    """Find nothing."""
