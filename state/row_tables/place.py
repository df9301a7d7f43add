"""One row sink's place in a SQL database."""

from __future__ import annotations

from sqlalchemy import Connection, text

from trident.base.errors import MismatchError, RefusedError
from trident.state.databases.base import SqlDatabase
from trident.state.row_tables.dialect import RowDialect
from trident.state.row_tables.shape import RowShape, RowWrite
from trident.state.row_tables.statements import RowStatements
from trident.state.row_tables.tables import Fit, RowTable
from trident.state.tables.dialect import Dialect, ReadyRows, run_all
from trident.state.tables.meta import AppliedRow
from trident.state.tables.names import quote
from trident.state.tables.place import SqlPlace
from trident.state.tables.shape import ColumnSpec
from trident.state.tables.staging import Writes
from trident.state.tables.tables import prepare_place, prepare_staging

_POSITIONS = "trident_applied"
_LARGE = 5_000
"""Rows from which telling the planner about them costs less than it saves."""


class RowPlace(SqlPlace):
    """What the parts of a row sink share; every method runs inside the caller's transaction."""

    def __init__(
        self, database: SqlDatabase, dialect: Dialect, rows: RowDialect, name: str, shape: RowShape, apart: bool
    ) -> None:
        super().__init__(database, dialect, name, shape.table, shape.staged, apart, is_sink=True)
        self.shape = shape
        self.rows = RowTable(shape, dialect, rows)

    def prepare(self, connection: Connection) -> None:
        """Make what is missing, check the rest; a table that a sink has written to is not made anew."""
        prepare_place(connection, self)
        self.was_missing = self.rows.is_missing(connection)
        if not self.was_missing or not self.applied.holders(connection):
            self.make(connection)
        prepare_staging(connection, self)

    def make(self, connection: Connection) -> None:
        """Make the table if it is missing, and check that the rows fit into it."""
        if self.rows.is_missing(connection):
            self.rows.make(connection)
        self.rows.fit(connection)

    def is_another(self, connection: Connection, row: AppliedRow) -> bool:
        """Tell whether the table has another number, and the one with its position has not: both were not restored."""
        if row.relation is None:
            return False
        stored, _, beside = row.relation.partition("@")
        return _number(self.dialect.relation(connection, self.table)) != _number(stored) and (
            _number(self.dialect.relation(connection, _POSITIONS)) == beside
        )

    def note(self, connection: Connection, topology: str) -> None:
        """Record which table it is, and beside which positions: that of the sink, be it one that was made just now."""
        self.was_missing = False
        table = self.dialect.relation(connection, self.table)
        known = None if table is None else f"{table}@{_number(self.dialect.relation(connection, _POSITIONS))}"
        self.applied.counted(connection, topology, None, known)

    def create_copy(self, connection: Connection) -> None:
        """Make the table with a batch's rows that only this transaction sees, or find it empty."""
        specs = [ColumnSpec(field.name, self.dialect.column_type(field.type), True) for field in self.schema]
        run_all(connection, self.rows.rows.create_copy(self.copy, specs))

    def copy_rows(self, connection: Connection, rows: ReadyRows) -> None:
        """Bring held rows in."""
        self.dialect.insert_rows(connection, self.copy, rows)

    def load(self, connection: Connection, writes: Writes) -> None:
        """Bring the verified rows of the staging table in."""
        writes.load(connection, self.schema.names, self.copy)

    def write(self, connection: Connection, topology: str, expected: int) -> None:
        """Write the rows that were brought in; raises RefusedError for what the table can't hold or leaves out."""
        row = self.applied.read(connection, topology)
        if row is not None and self.is_another(connection, row):
            raise MismatchError(
                f"table {self.table!r} of sink {self.name!r} was exchanged for another one while the topology ran; "
                "nothing was written: bring the one back that it has written to"
            )
        self.write_rows(connection, expected)

    def write_rows(self, connection: Connection, expected: int) -> None:
        """Write the same, whichever table it is."""
        if expected >= _LARGE:
            self.dialect.analyse(connection, self.copy)
        fit = self.rows.fit(connection)  # each time: somebody may have changed the table
        self._refuse_cut(connection, fit)
        statements = RowStatements(self.shape, quote(self.copy), fit.converted, fit.told_apart)
        unordered = statements.unordered()
        if unordered is not None and connection.execute(text(unordered)).first():
            raise RefusedError(
                f"two rows for table {self.table!r} have one key, and nothing says which one came last: aggregate them "
                "to one, or write the records before they are grouped; nothing was written"
            )
        acts = self.dialect.acts_by_itself(connection, self.table)
        asked = statements.expected() if acts else None
        if asked is not None:
            expected = int(connection.execute(text(asked)).scalar_one())
        written = [connection.execute(text(each)).rowcount for each in statements.writes()][-1]
        is_counted = asked is not None or self.shape.write is RowWrite.APPEND
        left = expected - written if is_counted else 0
        query = statements.left_out() if acts and not left else None
        if query is not None:
            left = int(connection.execute(text(query)).scalar_one())
        if left:
            raise RefusedError(
                f"{left} rows were not written to {self.table!r} as they are: a trigger or rule of the table kept them "
                "out, or left what it should have changed; nothing was written"
            )

    def _refuse_cut(self, connection: Connection, fit: Fit) -> None:
        for name, most in fit.longest.items():
            longer = f"SELECT 1 FROM {quote(self.copy)} WHERE char_length({quote(name)}) > :most LIMIT 1"
            if connection.execute(text(longer), {"most": most}).first():
                raise RefusedError(
                    f"column {name!r} of table {self.table!r} takes {most} characters, and a row has more; nothing was "
                    "written"
                )


def _number(relation: str | None) -> str | None:
    """Return the table's number, without that of its file, which maintenance changes."""
    return None if relation is None else relation.partition(":")[0]
