"""Whose a plain table is: what tells a table that was exchanged, emptied or lost from its own.

Not up to where its rows are. The newest txid is noted with its rows all the same: it tells a ledger that was put back.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, text

from trident.base.errors import FencedError, MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.state.databases.base import SqlDatabase
from trident.state.plainly import PlainMark
from trident.state.tables.dialect import Dialect
from trident.state.tables.owning import NOTES, Ownership, number_of, refuse_others, refuse_placed
from trident.state.tables.versions import PLAIN_TABLES

_FIND = "SELECT incarnation, epoch, token, had_rows, newest_txid, {} FROM trident_plain WHERE {}"
_MINE = "topology = :topology AND state = :state"
_PUT = text("""
    INSERT INTO trident_plain (topology, state, table_name, incarnation, epoch, token, had_rows, newest_txid,
                               relation, may_share)
    VALUES (:topology, :state, :table_name, :incarnation, :epoch, :token, :had_rows, 0, :relation, :may_share)
    ON CONFLICT (topology, state) DO UPDATE
    SET table_name = excluded.table_name, incarnation = excluded.incarnation, epoch = excluded.epoch,
        token = excluded.token, had_rows = excluded.had_rows, relation = excluded.relation,
        may_share = excluded.may_share, has_left = FALSE,
        newest_txid = CASE WHEN trident_plain.incarnation = excluded.incarnation THEN trident_plain.newest_txid
                           ELSE 0 END
    WHERE trident_plain.epoch < excluded.epoch
          OR (trident_plain.epoch = excluded.epoch AND trident_plain.token = excluded.token)""")
_NOTE_ROWS = text("""
    UPDATE trident_plain
    SET had_rows = TRUE, newest_txid = CASE WHEN newest_txid < :txid THEN :txid ELSE newest_txid END
    WHERE topology = :topology AND state = :state AND incarnation = :incarnation
          AND (NOT had_rows OR newest_txid < :txid)""")
_HELD = f"SELECT incarnation, epoch, token, has_left, relation FROM trident_plain WHERE {_MINE}"
_LEAVE = text("""
    UPDATE trident_plain SET has_left = TRUE
    WHERE topology = :topology AND state = :state AND incarnation = :incarnation AND epoch <= :epoch""")


@dataclass(frozen=True, slots=True)
class PlainMarks:
    """The note of one plain table; every method runs inside the caller's transaction."""

    database: SqlDatabase
    dialect: Dialect
    name: str
    table: str
    may_share: bool = False
    """Whether others may write there too, as to a table that rows are appended to."""

    def find(self, connection: Connection, topology: str) -> PlainMark | None:
        """Return the note; raises MismatchError for a table that is another one's."""
        refuse_others(connection, self._ownership, topology, self.name, may_share=self.may_share)
        columns = {column.name for column in self.dialect.find_columns(connection, NOTES) or ()}
        if not columns:
            return None
        find = text(_FIND.format("relation" if "relation" in columns else "NULL", _MINE))
        row = connection.execute(find, {"topology": topology, "state": self.name}).one_or_none()
        if row is None:
            return None
        incarnation, epoch, token, had_rows, newest, relation = row
        is_of_another = relation is not None and self._is_another(connection, relation)
        return PlainMark(Owner(topology, incarnation), Epoch(epoch, token), bool(had_rows), newest, is_of_another)

    def prepare(self, connection: Connection) -> None:
        """Make the table of the notes; raises MismatchError for a table that stands at a txid.

        It is asked under the lock that whoever registers a position holds too: before, another one may do that.
        """
        PLAIN_TABLES.migrate(connection, self.database.schema_terms)
        refuse_placed(connection, self._ownership, self.name)

    def take(self, connection: Connection, topology: str) -> None:
        """Raise MismatchError for a table that is another one's, before it is made or changed; after `prepare`."""
        refuse_others(connection, self._ownership, topology, self.name, may_share=self.may_share)
        self._ownership.release_if_missing(connection, topology, self.name, numbered=False)

    def put(self, connection: Connection, owner: Owner, epoch: Epoch, *, had_rows: bool) -> None:
        """Note whose it is; raises FencedError, nothing noted, where a newer epoch has done that."""
        named = {"topology": owner.topology, "state": self.name, "table_name": self.table, "had_rows": had_rows}
        known = {"incarnation": owner.incarnation, "epoch": epoch.number, "token": epoch.token}
        found = {"relation": self._relation(connection), "may_share": self.may_share}
        if connection.execute(_PUT, {**named, **known, **found}).rowcount == 1:
            self._ownership.forget_who_left(connection, owner.topology, self.name)
            return
        stored = connection.execute(text(f"SELECT epoch FROM trident_plain WHERE {_MINE}"), named).scalar_one()
        raise FencedError(
            f"epoch {stored} has {self.name!r} of topology {owner.topology!r}, this is epoch {epoch.number}; nothing "
            f"was changed in table {self.table!r}",
            stored,
        )

    def note_rows(self, connection: Connection, batch: BatchId, *, by_task: bool) -> None:
        """Note that there are rows, and of which txid unless many tasks write it: they would wait for one another.

        The last write of its transaction: whoever writes beside this one waits for the fence and its COMMIT alone.
        """
        owner, txid = batch.owner, 0 if by_task else batch.txid
        named = {"topology": owner.topology, "state": self.name, "incarnation": owner.incarnation, "txid": txid}
        connection.execute(_NOTE_ROWS, named)

    def hold(self, connection: Connection, batch: BatchId) -> None:
        """Hold the note until the end of the transaction; behind its writes, before whatever it may wait for.

        Raises `FencedError` where it is not this owner's any more: one that stood still wakes up when its table may be
        another one's by now, of whatever level. Raises `MismatchError` where the table is another one than was noted.
        """
        owner, epoch = batch.owner, batch.epoch
        named = {"topology": owner.topology, "state": self.name}
        row = connection.execute(text(_HELD + self.dialect.for_share), named).one_or_none()
        if row is None or row.has_left:
            raise FencedError(
                f"table {self.table!r} is not {self.name!r} of topology {owner.topology!r} any more: it was taken out "
                f"of the topology, or the note of it is gone; nothing of {batch} was written there"
            )
        if (row.incarnation, row.epoch, row.token) != (owner.incarnation, epoch.number, epoch.token):
            raise FencedError(
                f"epoch {row.epoch} has {self.name!r} of topology {owner.topology!r}, this is epoch {epoch.number}; "
                f"nothing of {batch} was written to table {self.table!r}",
                row.epoch,
            )
        if row.relation is not None and self._is_another(connection, row.relation):
            raise MismatchError(
                f"table {self.table!r} of {self.name!r} is another one than at the start of this run: it was dropped "
                f"and made anew, or exchanged. Nothing of {batch} was written there; the next start says what goes on"
            )

    def leave(self, connection: Connection, owner: Owner, epoch: Epoch) -> None:
        """Let others have the table, whatever is in it; what was noted of it stays, for who comes back."""
        columns = {column.name for column in self.dialect.find_columns(connection, NOTES) or ()}
        if "has_left" in columns:
            named = {"topology": owner.topology, "state": self.name, "incarnation": owner.incarnation}
            connection.execute(_LEAVE, {**named, "epoch": epoch.number})

    @property
    def _ownership(self) -> Ownership:
        return Ownership(self.database, self.dialect, self.table)

    def _relation(self, connection: Connection) -> str | None:
        """Return which table it is, and beside which notes: where both were restored, both are others."""
        found = self.dialect.relation(connection, self.table)
        return None if found is None else f"{found}@{number_of(self.dialect.relation(connection, NOTES))}"

    def _is_another(self, connection: Connection, noted: str) -> bool:
        now = self.dialect.relation(connection, self.table)
        stored, _, beside = noted.partition("@")
        if now is None or number_of(self.dialect.relation(connection, NOTES)) != beside:
            return False
        return number_of(now) != number_of(stored)
