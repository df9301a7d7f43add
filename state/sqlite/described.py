"""What a table in a SQLite file is described with, be it a state's or a sink's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trident.base.checks import check_path, refused
from trident.base.errors import ConfigurationError
from trident.base.names import check_given_name, check_table_name
from trident.state.places import Places
from trident.state.sqlite.database import SqliteDatabase
from trident.state.target import LedgerDatabase


@dataclass(frozen=True, slots=True)
class DescribedTable:
    """A table of a state or sink; `what` is which of them, for error texts."""

    what: str
    name: str
    given_table: str | None
    path: str | Path | None

    def check(self) -> None:
        """Raise ConfigurationError for what can be told to be wrong without a file."""
        check_given_name(f"a {self.what}'s name", self.name)
        table = check_table_name(f"a {self.what}'s table", self.table)
        if "." in table or table.lower().startswith("sqlite_"):
            wanted = "a name without a dot (a file has no schemas) or 'sqlite_' before it"
            raise refused(f"a {self.what}'s table", wanted, table)
        if self.path is not None:
            check_path("path", self.path)

    @property
    def table(self) -> str:
        """The table's name, which is its own unless another one was given."""
        return self.name if self.given_table is None else self.given_table

    @property
    def database(self) -> str:
        """Whose file it is in, as the ledger keeps it."""
        return "ledger" if self.path is None else "own"

    def places(self) -> Places:
        """Return its table; SQLite takes ASCII letters of both cases for the same."""
        file = None if self.path is None else Path(self.path).resolve()
        folded = "".join(letter.lower() if letter.isascii() else letter for letter in self.table)
        where = "the ledger's file" if file is None else f"file {str(file)!r}"
        return {("sqlite", file, folded): f"table {self.table!r} of {where}"}

    def open_database(self, ledger_database: LedgerDatabase) -> SqliteDatabase:
        """Return the own file's database, or the ledger's; nothing is opened yet."""
        if self.path is not None:
            return SqliteDatabase(self.path)
        if isinstance(ledger_database, SqliteDatabase):
            return ledger_database
        raise ConfigurationError(
            f"{self.what} {self.name!r} has no path and the ledger is not in SQLite, so there is no file to keep it "
            "in: give it a path, or use a SqliteLedger"
        )
