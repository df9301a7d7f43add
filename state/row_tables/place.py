"""One row sink's place in a SQL database."""

from __future__ import annotations

from sqlalchemy import Connection, text

from trident.base.errors import RefusedError
from trident.state.databases.base import SqlDatabase
from trident.state.row_tables.dialect import RowDialect
from trident.state.row_tables.shape import RowShape, RowWrite
from trident.state.row_tables.statements import RowStatements
from trident.state.row_tables.tables import Fit, RowTable
from trident.state.tables.dialect import Dialect, ReadyRows, run_all
from trident.state.tables.names import quote
from trident.state.tables.place import SqlPlace
from trident.state.tables.shape import ColumnSpec
from trident.state.tables.staging import Writes
from trident.state.tables.tables import prepare_place, prepare_staging

_LARGE = 5_000
"""Rows from which telling the planner about them costs less than it saves."""


class RowPlace(SqlPlace):
    """What the parts of a row sink share; every method runs inside the caller's transaction."""

    def __init__(
        self, database: SqlDatabase, dialect: Dialect, rows: RowDialect, name: str, shape: RowShape, apart: bool
    ) -> None:
        super().__init__(database, dialect, name, shape.table, shape.staged, apart)
        self.shape = shape
        self.rows = RowTable(shape, dialect, rows)
        self._fit: Fit | None = None

    def prepare(self, connection: Connection) -> None:
        """Make what is missing, check the rest."""
        prepare_place(connection, self)
        self.was_missing = self.rows.is_missing(connection)
        if self.was_missing:
            self.rows.make(connection)
        self._fit = self.rows.fit(connection)
        prepare_staging(connection, self)

    def create_copy(self, connection: Connection) -> None:
        """Make the table with a batch's rows that only this transaction sees, or find it empty."""
        specs = [ColumnSpec(field.name, self.dialect.column_type(field.type), True) for field in self.schema]
        run_all(connection, self.dialect.create_temporary(self.copy, specs))

    def copy_rows(self, connection: Connection, rows: ReadyRows) -> None:
        """Bring held rows in."""
        self.dialect.insert_rows(connection, self.copy, rows)

    def load(self, connection: Connection, writes: Writes) -> None:
        """Bring the verified rows of the staging table in."""
        writes.load(connection, self.schema.names, self.copy)

    def write(self, connection: Connection, expected: int) -> None:
        """Write the rows that were brought in; raises RefusedError for what the table can't hold or leaves out."""
        if expected >= _LARGE:
            self.dialect.analyse(connection, self.copy)
        self._refuse_cut(connection)
        statements = self._statements(connection)
        unordered = statements.unordered()
        if unordered is not None and connection.execute(text(unordered)).first():
            raise RefusedError(
                f"two rows for table {self.table!r} have one key, and nothing says which one came last: aggregate them "
                "to one, or write the records before they are grouped; nothing was written"
            )
        changed = [connection.execute(text(each)).rowcount for each in statements.writes()]
        self._require_stored(connection, statements, expected, changed[0])

    def _statements(self, connection: Connection) -> RowStatements:
        return RowStatements(self.shape, quote(self.copy), self._fitting(connection).converted)

    def _fitting(self, connection: Connection) -> Fit:
        if self._fit is None:
            self._fit = self.rows.fit(connection)
        return self._fit

    def _refuse_cut(self, connection: Connection) -> None:
        for name, most in self._fitting(connection).longest.items():
            longer = f"SELECT 1 FROM {quote(self.copy)} WHERE char_length({quote(name)}) > :most LIMIT 1"
            if connection.execute(text(longer), {"most": most}).first():
                raise RefusedError(
                    f"column {name!r} of table {self.table!r} takes {most} characters, and a row has more; nothing was "
                    "written"
                )

    def _require_stored(self, connection: Connection, statements: RowStatements, expected: int, inserted: int) -> None:
        """Raise RefusedError for rows that the table's own triggers or rules have kept from being written."""
        left = expected - inserted if self.shape.write is RowWrite.APPEND else 0
        query = statements.left_out()
        if query is not None and self.dialect.acts_by_itself(connection, self.table):
            left = int(connection.execute(text(query)).scalar_one())
        if left:
            raise RefusedError(
                f"{left} of {expected} rows were not written to {self.table!r}: a trigger or rule of the table kept "
                "them out; nothing was written"
            )
