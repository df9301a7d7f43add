"""A table that follows its topology into a new incarnation."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection, text

from trident.base.advice import RESET_KEEPING_ROWS
from trident.base.errors import MismatchError, RefusedError, RetryableError
from trident.base.identity import Epoch, Owner
from trident.base.looking import rolled_back
from trident.state.databases.base import SqlTransaction
from trident.state.tables.counting import count_rows, note_rows, refuse_emptied
from trident.state.tables.names import quote_table
from trident.state.tables.place import TablePlace
from trident.state.tables.shape import TXID
from trident.state.tables.tables import prepare_tables


@dataclass(frozen=True, slots=True)
class TableResetting:
    """See `Resettable`: rows and position change in one transaction."""

    place: TablePlace

    def check_clear(self, topology: str, states: Collection[str]) -> None:
        """Try it and roll back, where anything may keep rows from being deleted.

        Tried again with those of the states emptied whose rows refer to these: `clear` comes to them before.
        """
        refused: RefusedError | None = None
        for others in ((), states):
            try:
                rolled_back(self.place.database.transaction(), partial(self._try_to_clear, topology, others))
            except RefusedError as error:
                refused = error
            except RetryableError:
                return  # a stopped owner may hold rows: the fences end it, and then they are deleted
            else:
                return
        raise MismatchError(
            f"state {self.place.name!r} can't be emptied: {refused}. Nothing was changed: let its rows be deleted, or "
            f"{RESET_KEEPING_ROWS}."
        ) from refused

    def _try_to_clear(self, topology: str, others: Collection[str], transaction: SqlTransaction) -> None:
        connection, place = transaction.connection, self.place
        prepare_tables(connection, place)
        if not place.dialect.guards_rows(connection, place.shape.table):
            return
        if others:
            for table in place.dialect.referring_states(connection, place.shape.table, topology, others):
                connection.exec_driver_sql("DELETE FROM " + table.replace("%", "%%"))
        self._delete_rows(connection)

    def clear(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Delete the rows, staged ones too."""
        with self._rebound(owner, epoch, birth_txid) as connection:
            if connection is not None:
                self._delete_rows(connection)
                connection.execute(text(f"DELETE FROM {quote_table(self.place.staging)}"))

    def check_adopt(self, topology: str) -> int | None:
        """Return the newest txid of any row; raises MismatchError for a table that has lost all of its rows."""
        place, shape = self.place, self.place.shape

        def newest(transaction: SqlTransaction) -> int | None:
            connection = transaction.connection
            prepare_tables(connection, place)
            refuse_emptied(connection, place, topology)
            if not shape.has_txid:
                return 0 if count_rows(connection, shape, 1) else None
            found = connection.execute(text(f"SELECT max({TXID}) FROM {shape.quoted}")).scalar()
            return None if found is None else int(found)

        return rolled_back(place.database.transaction(), newest)

    def adopt(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Keep the rows; refuses those of a txid above the birth txid, and a table that has lost all of its rows."""
        shape = self.place.shape
        with self._rebound(owner, epoch, birth_txid) as connection:
            if connection is not None:
                refuse_emptied(connection, self.place, owner.topology)
            if connection is not None and shape.has_txid:
                newest = connection.execute(text(f"SELECT max({TXID}) FROM {shape.quoted}")).scalar()
                if newest is not None and newest > birth_txid:
                    raise MismatchError(
                        f"table {shape.table!r} holds rows of txid {newest}, the new life starts after "
                        f"{birth_txid}; nothing was changed"
                    )

    def _delete_rows(self, connection: Connection) -> None:
        """Delete all rows; raises RefusedError unless they are gone."""
        place = self.place
        connection.execute(text(f"DELETE FROM {place.shape.quoted}"))
        place.dialect.run_deferred(connection)
        if count_rows(connection, place.shape, 1):
            raise RefusedError(
                f"rows of table {place.shape.table!r} are still there after they were deleted: a trigger, rule or "
                "policy of the table keeps them"
            )

    @contextmanager
    def _rebound(self, owner: Owner, epoch: Epoch, birth_txid: int) -> Iterator[Connection | None]:
        """Give the connection of the transaction in which the owner changes after the block; None when it has."""
        place = self.place
        with place.working(owner, epoch) as transaction:
            connection = transaction.connection
            row = place.owned(connection, owner, epoch)
            if row is not None and row.position.owner == owner:
                yield None
                return
            yield connection
            if row is None:
                place.applied.insert(connection, owner, epoch, birth_txid)
            else:
                place.applied.rebirth(connection, owner, epoch, birth_txid)
            note_rows(connection, place, owner.topology)
