"""A state in a table of a SQLite file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from trident.base.checks import check_path, refused
from trident.base.errors import ConfigurationError
from trident.base.names import check_given_name, check_table_name
from trident.base.policies import policy_of
from trident.base.timeouts import DEFAULT_TIMEOUTS, Timeouts
from trident.state.layout import StateKind, StateLayout
from trident.state.places import Places
from trident.state.sqlite.database import SqliteDatabase
from trident.state.sqlite.dialect import SqliteDialect
from trident.state.tables.shape import table_shape
from trident.state.tables.target import TableTarget
from trident.state.target import LedgerDatabase


@dataclass(frozen=True, slots=True)
class SqliteState:
    """Results in a table of a SQLite file, one row per key; decimals are exact, kept as text.

    Without a `path` it lives in the ledger's own file, and each batch commits there in one
    transaction with the ledger's record of it; with one, in a file of its own.
    """

    name: str
    path: str | Path | None = field(default=None, kw_only=True)
    kind: StateKind = field(default=StateKind.OPAQUE, kw_only=True)
    table: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Check what can be checked without a file."""
        check_given_name("a state's name", self.name)
        object.__setattr__(self, "kind", policy_of(StateKind, self.kind, "a state's kind"))
        table = check_table_name("a state's table", self.name if self.table is None else self.table)
        if "." in table or table.lower().startswith("sqlite_"):
            raise refused(
                "a state's table", "a name without a dot (a file has no schemas) or 'sqlite_' before it", table
            )
        if self.path is not None:
            check_path("path", self.path)

    def description(self) -> dict[str, str]:
        """Return what must stay the same over restarts."""
        database = "ledger" if self.path is None else "own"
        return {"store": "sqlite", "kind": str(self.kind), "table": self.table or self.name, "database": database}

    def places(self) -> Places:
        """Return its table; SQLite takes ASCII letters of both cases for the same."""
        table = self.name if self.table is None else self.table
        file = None if self.path is None else Path(self.path).resolve()
        folded = "".join(letter.lower() if letter.isascii() else letter for letter in table)
        where = "the ledger's file" if file is None else f"file {str(file)!r}"
        return {("sqlite", file, folded): f"table {table!r} of {where}"}

    def open(
        self, layout: StateLayout, ledger_database: LedgerDatabase, timeouts: Timeouts = DEFAULT_TIMEOUTS
    ) -> TableTarget:
        """Share the ledger's file, or use the own one; nothing is opened yet."""
        dialect = SqliteDialect()
        shape = table_shape(self.name, self.table or self.name, self.kind, layout)
        if self.path is not None:
            return TableTarget(SqliteDatabase(self.path), dialect, self.name, shape, False, timeouts)
        if isinstance(ledger_database, SqliteDatabase):
            return TableTarget(ledger_database, dialect, self.name, shape, True, timeouts)
        raise ConfigurationError(
            f"state {self.name!r} has no path and the ledger is not in SQLite, so there is no file to keep it in: "
            "give SqliteState a path, or use a SqliteLedger"
        )
