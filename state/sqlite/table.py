"""A sink in a table of a SQLite file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from trident.base.timeouts import DEFAULT_TIMEOUTS, Timeouts
from trident.state.places import Places
from trident.state.row_tables.place import RowPlace
from trident.state.row_tables.plain import PlainRows, check_appends
from trident.state.row_tables.shape import RowShape
from trident.state.row_tables.target import RowTarget
from trident.state.sqlite.described import DescribedTable
from trident.state.sqlite.dialect import SqliteDialect
from trident.state.sqlite.rows import SqliteRows
from trident.state.target import LedgerDatabase


@dataclass(frozen=True, slots=True)
class SqliteTable:
    """A table of a SQLite file that records are written to: `stream.to_table(SqliteTable("transfers"))`.

    Without a `path` it lies in the ledger's own file, and rows appear there in the transaction that records their
    batch; with one, in a file of its own. A table that is missing is made.
    """

    name: str
    path: str | Path | None = field(default=None, kw_only=True)
    table: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Check what can be checked without a file."""
        self._described.check()

    def description(self) -> dict[str, str]:
        """See `RowStore`."""
        described = self._described
        return {"store": "sqlite table", "table": described.table, "database": described.database}

    def places(self) -> Places:
        """See `HasPlaces`."""
        return self._described.places()

    def open(
        self, shape: RowShape, ledger_database: LedgerDatabase, timeouts: Timeouts = DEFAULT_TIMEOUTS
    ) -> RowTarget:
        """Share the ledger's file, or use the own one; nothing is opened yet."""
        database = self._described.open_database(ledger_database)
        return RowTarget(RowPlace(database, SqliteDialect(), SqliteRows(), self.name, shape, self.path is not None))

    def check_plain(self, shape: RowShape) -> None:
        """See `PlainRowStore`."""
        check_appends(self.name, shape)

    def open_plain(
        self, shape: RowShape, ledger_database: LedgerDatabase, timeouts: Timeouts = DEFAULT_TIMEOUTS
    ) -> PlainRows:
        """See `PlainRowStore`."""
        self.check_plain(shape)
        database = self._described.open_database(ledger_database)
        return PlainRows(RowPlace(database, SqliteDialect(), SqliteRows(), self.name, shape, self.path is not None))

    @property
    def _described(self) -> DescribedTable:
        return DescribedTable("sink", self.name, self.table, self.path)
