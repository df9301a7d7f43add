"""Whose a plain table is: what tells a table that was exchanged, emptied or lost from its own.

Not up to where its rows are. The newest txid is noted with its rows all the same: it tells a ledger that was put back.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, text

from trident.base.errors import MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.state.databases.base import SchemaTerms
from trident.state.databases.versions import NumberedTables, step
from trident.state.plainly import PlainMark
from trident.state.tables.dialect import Dialect
from trident.state.tables.meta import Applied

POSITIONS = "trident_applied"
_MARKS = "trident_plain"
_VERSION_1 = (
    """
    CREATE TABLE trident_plain (
        topology text NOT NULL, state text NOT NULL, table_name text NOT NULL, incarnation text NOT NULL,
        epoch bigint NOT NULL, token text NOT NULL, had_rows boolean NOT NULL, newest_txid bigint NOT NULL,
        PRIMARY KEY (topology, state))""",
)
PLAIN_TABLES = NumberedTables(
    "the table in which states of the weaker levels keep whose they are (trident_plain)",
    "trident_plain_schema",
    (step(_VERSION_1),),
)
_FIND = text(
    "SELECT incarnation, epoch, token, had_rows, newest_txid FROM trident_plain "
    "WHERE topology = :topology AND state = :state"
)
_PUT = text("""
    INSERT INTO trident_plain (topology, state, table_name, incarnation, epoch, token, had_rows, newest_txid)
    VALUES (:topology, :state, :table_name, :incarnation, :epoch, :token, :had_rows, 0)
    ON CONFLICT (topology, state) DO UPDATE
    SET table_name = excluded.table_name, incarnation = excluded.incarnation, epoch = excluded.epoch,
        token = excluded.token, had_rows = excluded.had_rows,
        newest_txid = CASE WHEN trident_plain.incarnation = excluded.incarnation THEN trident_plain.newest_txid
                           ELSE 0 END
    WHERE trident_plain.epoch <= excluded.epoch""")
_NOTE_ROWS = text("""
    UPDATE trident_plain
    SET had_rows = TRUE, newest_txid = CASE WHEN newest_txid < :txid THEN :txid ELSE newest_txid END
    WHERE topology = :topology AND state = :state AND incarnation = :incarnation
          AND (NOT had_rows OR newest_txid < :txid)""")


@dataclass(frozen=True, slots=True)
class PlainMarks:
    """The note of one plain table; every method runs inside the caller's transaction."""

    dialect: Dialect
    name: str
    table: str
    shared: bool = False
    """Whether others may write there too, as to a table that rows are appended to."""

    def prepare(self, connection: Connection, terms: SchemaTerms) -> None:
        """Make the table of the notes."""
        PLAIN_TABLES.migrate(connection, terms)

    def find(self, connection: Connection, topology: str) -> PlainMark | None:
        """Return the note; raises MismatchError for a table that is another one's."""
        if self.dialect.find_columns(connection, _MARKS) is None:
            return None
        self._refuse_others(connection, topology)
        row = connection.execute(_FIND, {"topology": topology, "state": self.name}).one_or_none()
        if row is None:
            return None
        incarnation, epoch, token, had_rows, newest = row
        return PlainMark(Owner(topology, incarnation), Epoch(epoch, token), bool(had_rows), newest)

    def put(self, connection: Connection, owner: Owner, epoch: Epoch, *, had_rows: bool) -> None:
        """Note whose it is; raises MismatchError for a table that is another one's."""
        self._refuse_others(connection, owner.topology)
        named = {"topology": owner.topology, "state": self.name, "table_name": self.table, "had_rows": had_rows}
        known = {"incarnation": owner.incarnation, "epoch": epoch.number, "token": epoch.token}
        connection.execute(_PUT, {**named, **known})

    def note_rows(self, connection: Connection, batch: BatchId, *, by_task: bool) -> None:
        """Note that there are rows, and of which txid unless many tasks write it: they would wait for one another.

        The last write of its transaction: whoever writes beside this one waits for the fence and its COMMIT alone.
        """
        owner, txid = batch.owner, 0 if by_task else batch.txid
        named = {"topology": owner.topology, "state": self.name, "incarnation": owner.incarnation, "txid": txid}
        connection.execute(_NOTE_ROWS, named)

    def _refuse_others(self, connection: Connection, topology: str) -> None:
        if self.shared:
            return
        statement = text(f"SELECT topology, state FROM trident_plain WHERE {self.dialect.same_table}")
        for other, state in connection.execute(statement, {"table": self.table}):
            if (other, state) != (topology, self.name):
                raise MismatchError(
                    f"table {self.table!r} belongs to state {state!r} of topology {other!r}, not to state "
                    f"{self.name!r} of topology {topology!r}; nothing was changed: use another table"
                )


def refuse_placed(connection: Connection, dialect: Dialect, name: str, table: str) -> None:
    """Raise MismatchError for a table whose rows stand at a txid of some topology."""
    if dialect.find_columns(connection, POSITIONS) is None:
        return
    for topology, other in Applied(dialect, name, table).holders(connection):
        raise MismatchError(
            f"table {table!r} is {other!r} of topology {topology!r}, which knows up to which txid its rows are: what "
            f"is written by {name!r} without one can't be mixed with it. Nothing was changed: use another table"
        )
