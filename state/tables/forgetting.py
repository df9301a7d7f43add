"""A table that its topology lets go of: the position goes, the fence stays, the rows as a person has said."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, text

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import FencedError, MismatchError
from trident.base.identity import Epoch, Owner
from trident.base.looking import rolled_back
from trident.state.databases.base import SqlTransaction
from trident.state.positions import stands
from trident.state.tables.letting_go import note_let_go, was_let_go
from trident.state.tables.meta import AppliedRow, raise_fence, require_line, require_no_other_line
from trident.state.tables.names import KEY_INDEX, helper_table, quote_table
from trident.state.tables.owning import number_of
from trident.state.tables.place import SqlPlace, TablePlace
from trident.state.tables.versions import META_TABLES


@dataclass(frozen=True, slots=True)
class TableForgetting:
    """See `Forgettable`: position, staging table and, if it is dropped, the table go in one transaction.

    The fence is raised in it, also beside the ledger, whose own serves there otherwise: it is what is left of the
    topology here, and refuses an old owner that is on its way to record itself (`Applied.insert`).
    """

    place: SqlPlace
    keeps_rows: bool = False
    """Whether its rows are nobody's, so that it never drops its table."""

    def check_forget(self, owner: Owner, epoch: Epoch, drops: bool) -> None:
        """Do it, and roll it back: what depends on the table, and a right that is missing, are found by that."""

        def try_it(transaction: SqlTransaction) -> None:
            META_TABLES.migrate(transaction.connection, self.place.database.schema_terms)
            if not self.place.apart:
                require_no_other_line(transaction.connection, owner.topology, epoch)
                raise_fence(transaction.connection, owner.topology, epoch)
            self._let_go(transaction.connection, owner, epoch, drops)

        rolled_back(self.place.database.transaction(), try_it)

    def forget(self, owner: Owner, epoch: Epoch, drops: bool) -> None:
        """Leave nothing of it there but the fence, and the rows unless they are dropped."""
        with self.place.working(owner, epoch) as transaction:
            if self.place.apart:
                require_line(transaction.connection, self.place.dialect, owner.topology, epoch)
            else:
                require_no_other_line(transaction.connection, owner.topology, epoch)
            raise_fence(transaction.connection, owner.topology, epoch)
            self._let_go(transaction.connection, owner, epoch, drops)
            reached(CrashPoint.IN_FORGETTING)

    def is_let_go(self, owner: Owner) -> bool:
        """Ask what its transaction has left beside the fence."""

        def asked(transaction: SqlTransaction) -> bool:
            connection = transaction.connection
            has_fences = self.place.dialect.find_columns(connection, "trident_state_fence") is not None
            return has_fences and was_let_go(connection, owner, self.place.name)

        return rolled_back(self.place.database.transaction(), asked)

    def _let_go(self, connection: Connection, owner: Owner, epoch: Epoch, drops: bool) -> None:
        place = self.place
        place.database.schema_terms.lock(connection)  # whoever takes a table takes it, too
        row = place.applied.own(connection, owner.topology)
        if row is None:
            return
        if row.epoch.number > epoch.number:
            raise FencedError(f"epoch {row.epoch.number} wrote state {place.name!r} after {epoch.number}; nothing done")
        if row.position.owner != owner:
            raise MismatchError(f"{place.name!r} {stands(row.position)}; nothing was changed")
        drops_table = drops and not self.keeps_rows
        if drops_table:
            self._require_own(connection, owner.topology, row)
        place.applied.delete(connection, owner.topology)
        note_let_go(connection, owner, place.name, epoch)
        connection.execute(text(f"DROP TABLE IF EXISTS {quote_table(place.staging)}"))
        if drops_table:
            connection.execute(text(f"DROP TABLE IF EXISTS {quote_table(place.table)}"))

    def _require_own(self, connection: Connection, topology: str, row: AppliedRow) -> None:
        """Raise MismatchError unless the table is what this state has written to, and nobody else's."""
        place = self.place
        for claim in place.ownership.claims(connection):
            if (claim.topology, claim.state, claim.schema) != (topology, place.name, None) or not claim.is_placed:
                raise MismatchError(
                    f"table {place.table!r} is not dropped: it belongs to {claim}, too. Nothing was changed: let go of "
                    "the topology with its tables kept (--tables keep)"
                )
        found, noted = place.dialect.relation(connection, place.table), row.relation
        if found is not None and noted is not None and number_of(found) != number_of(noted):
            what = f"it is another one than state {place.name!r} has written to, made anew, exchanged or restored"
            raise _not_dropped(place.table, what)
        columns = place.dialect.find_columns(connection, place.table)
        if columns is not None:
            self._require_made_by_us(connection, {column.name for column in columns})

    def _require_made_by_us(self, connection: Connection, columns: set[str]) -> None:
        """Raise MismatchError for a table that a person has made, or has put something of their own into.

        Each that was made here has an index of a name that is kept for that, and it goes with its table.
        """
        place, index = self.place, helper_table(KEY_INDEX, self.place.table)
        holder = place.dialect.index_holder(connection, place.table, index)
        if holder is None or holder.casefold() != place.table.rpartition(".")[2].casefold():
            what = f"this library has not made it, as its index {index!r} would show: made by hand, or exchanged"
            raise _not_dropped(place.table, what)
        if isinstance(place, TablePlace):
            known = {spec.name for spec in place.shape.columns(place.dialect.column_type)}
            for column in sorted(columns - known - place.empty):
                raise _not_dropped(place.table, f"column {column!r} is none of its state's, and would go with it")


def _not_dropped(table: str, why: str) -> MismatchError:
    return MismatchError(
        f"table {table!r} is not dropped: {why}. Nothing was changed: let go of the topology with its tables kept "
        "(--tables keep), and drop that one by hand if nobody needs it"
    )
