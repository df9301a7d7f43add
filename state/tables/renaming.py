"""A table whose state has another name: the table, its rows and its staging stay, the row of its position changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, text

from trident.base.errors import FencedError, MismatchError
from trident.base.identity import Epoch, Owner
from trident.base.looking import rolled_back
from trident.state.databases.base import SqlTransaction
from trident.state.positions import stands
from trident.state.renaming import not_free, there_already
from trident.state.tables.place import SqlPlace
from trident.state.tables.versions import META_TABLES
from trident.state.target import Target


@dataclass(frozen=True, slots=True)
class TableRenaming:
    """See `Renames`: a table is found by its own name, which the state's description says, so that it stays."""

    place: SqlPlace
    opened_under: Callable[[str], Target]

    def under(self, name: str) -> Target:
        """Return the table as it is known by another name."""
        return self.opened_under(name)

    def lies_under(self, topology: str, name: str) -> bool:
        """Tell whether this table's position bears that name."""
        return name in self.names(topology)

    def names(self, topology: str) -> tuple[str, ...]:
        """Return the names that this table's position bears."""
        place = self.place

        def found(transaction: SqlTransaction) -> tuple[str, ...]:
            connection = transaction.connection
            if not META_TABLES.version_of(connection):
                return ()
            return tuple(sorted(state for other, state in place.applied.holders(connection) if other == topology))

        return rolled_back(place.database.transaction(), found)

    def check_free(self, topology: str) -> None:
        """Raise MismatchError where any table's position bears its own name."""
        place = self.place
        if self.lies_under(topology, place.name):
            raise there_already(place.name, topology, place.table)

        def is_taken(transaction: SqlTransaction) -> bool:
            connection = transaction.connection
            return bool(META_TABLES.version_of(connection)) and _is_there(connection, topology, place.name)

        if rolled_back(place.database.transaction(), is_taken):
            raise not_free(place.name, topology)

    def follow(self, owner: Owner, epoch: Epoch, former: str) -> None:
        """Change the name of the position, under the fence and where no newer epoch has been."""
        place = self.place
        with place.working(owner, epoch) as transaction:
            connection = transaction.connection
            place.check_fence(connection, owner, epoch)
            place.database.schema_terms.lock(connection)  # who registers a table takes it, too
            if (owner.topology, former) in place.applied.holders(connection):
                self._move(connection, owner, epoch, former)
                return
            row = place.owned(connection, owner, epoch)
            if row is not None and row.position.owner != owner:
                raise MismatchError(f"state {place.name!r} {stands(row.position)}; nothing was changed")

    def _move(self, connection: Connection, owner: Owner, epoch: Epoch, former: str) -> None:
        place = self.place
        if _is_there(connection, owner.topology, place.name):
            raise not_free(place.name, owner.topology)
        values = {"former": former, "state": place.name, "epoch": epoch.number, "token": epoch.token}
        values |= {"topology": owner.topology, "incarnation": owner.incarnation, "table": place.table}
        statement = (
            "UPDATE trident_applied SET state = :state, epoch = :epoch, token = :token WHERE topology = :topology "
            f"AND state = :former AND incarnation = :incarnation AND epoch <= :epoch AND ({place.dialect.same_table})"
        )
        if connection.execute(text(statement), values).rowcount == 1:
            return
        asked = {"topology": owner.topology, "state": former}
        where = "FROM trident_applied WHERE topology = :topology AND state = :state"
        stored, incarnation = connection.execute(text(f"SELECT epoch, incarnation {where}"), asked).one()
        if stored > epoch.number:
            raise FencedError(f"epoch {stored} wrote state {former!r} after {epoch.number}; nothing done", stored)
        raise MismatchError(
            f"state {former!r} belongs to incarnation {incarnation} of {owner.topology!r}; nothing was changed"
        )


def _is_there(connection: Connection, topology: str, name: str) -> bool:
    statement = text("SELECT 1 FROM trident_applied WHERE topology = :topology AND state = :state")
    return connection.execute(statement, {"topology": topology, "state": name}).first() is not None
