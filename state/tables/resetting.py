"""A table that follows its topology into a new incarnation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, text

from trident.base.errors import MismatchError, RefusedError
from trident.base.identity import Epoch, Owner
from trident.base.looking import rolled_back
from trident.state.databases.base import SqlTransaction
from trident.state.tables.counting import count_rows, note_rows, refuse_emptied, refuse_owned
from trident.state.tables.names import quote_table
from trident.state.tables.place import TablePlace
from trident.state.tables.shape import TXID
from trident.state.tables.tables import prepare_tables


@dataclass(frozen=True, slots=True)
class TableResetting:
    """See `Resettable`: rows and position change in one transaction."""

    place: TablePlace

    def check_clear(self, topology: str) -> None:
        """Do nothing: whether its tables fit is looked at before, and what else is in the way is found by trying."""

    def clear(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Delete the rows, staged ones too."""
        with self._rebound(owner, epoch, birth_txid) as connection:
            if connection is not None:
                delete_rows(connection, self.place, owner.topology)

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
            if row is None:
                place.database.schema_terms.lock(connection)  # what a weaker level begins in takes it, too
                refuse_owned(connection, place)
            yield connection
            if row is None:
                place.applied.insert(connection, owner, epoch, birth_txid)
            else:
                place.applied.rebirth(connection, owner, epoch, birth_txid)
            note_rows(connection, place, owner.topology)


def delete_rows(connection: Connection, place: TablePlace, topology: str) -> None:
    """Delete all rows, staged ones too; raises RefusedError unless they are gone.

    And MismatchError where rows of another topology have changed with them.
    """
    before = place.dialect.changed(connection)
    connection.execute(text(f"DELETE FROM {place.shape.quoted}"))
    place.dialect.run_deferred(connection)
    require_empty(connection, place)
    connection.execute(text(f"DELETE FROM {quote_table(place.staging)}"))
    taken = place.dialect.taken_along(connection, before, place.table, topology)
    if taken is not None:
        raise MismatchError(
            f"a foreign key, trigger or rule would change or delete rows of {taken} with its rows: drop it first"
        )


def require_empty(connection: Connection, place: TablePlace) -> None:
    """Raise RefusedError while there is any row."""
    if count_rows(connection, place.shape, 1):
        raise RefusedError(
            f"rows of table {place.shape.table!r} are still there after they were deleted: a trigger, rule or "
            "policy of the table keeps them"
        )
