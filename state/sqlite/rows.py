"""What SQLite gives to sinks that write rows."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from trident.state.sqlite.dialect import SqliteDialect, definitions
from trident.state.tables.shape import ColumnSpec


class SqliteRows:
    """See `RowDialect`; stateless."""

    def conversion(self, staged: str, stored: str) -> str | None:
        """Return the value as it is, in a column of its own type: SQLite would keep whatever it is given."""
        return "{}" if staged == stored else None

    def told_apart(self, stored: str) -> str:
        """Name the collation of bytes, which numbers don't mind."""
        return "{} COLLATE BINARY"

    def longest(self, stored: str) -> int | None:
        """Return None: nothing is cut."""
        return None

    def definitions(self, specs: Sequence[ColumnSpec]) -> str:
        """Check types and ranges, which SQLite leaves to us."""
        return definitions(specs)

    def create_copy(self, table: str, specs: Sequence[ColumnSpec]) -> tuple[str, ...]:
        """Make a temporary table."""
        return SqliteDialect().create_temporary(table, specs)

    def unfit(self, connection: Connection, table: str, *, has_keys: bool) -> str | None:
        """Refuse a view."""
        return SqliteDialect().unfit(connection, table)

    def decides_conflicts(self, connection: Connection, table: str, columns: Sequence[str]) -> bool:
        """Ask for a unique index that compares texts by their bytes; SQLite checks each at once."""
        return SqliteDialect().has_unique_index(connection, table, columns)
