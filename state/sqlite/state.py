"""A state in a table of a SQLite file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from trident.base.policies import policy_of
from trident.base.timeouts import DEFAULT_TIMEOUTS, Timeouts
from trident.state.layout import StateKind, StateLayout
from trident.state.places import Places
from trident.state.plainly import check_merges
from trident.state.sqlite.described import DescribedTable
from trident.state.sqlite.dialect import SqliteDialect
from trident.state.tables.plain import PlainTable
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
        object.__setattr__(self, "kind", policy_of(StateKind, self.kind, "a state's kind"))
        self._described.check()

    def description(self) -> dict[str, str]:
        """Return what must stay the same over restarts."""
        described = self._described
        return {"store": "sqlite", "kind": str(self.kind), "table": described.table, "database": described.database}

    def places(self) -> Places:
        """See `HasPlaces`."""
        return self._described.places()

    def open(
        self, layout: StateLayout, ledger_database: LedgerDatabase, timeouts: Timeouts = DEFAULT_TIMEOUTS
    ) -> TableTarget:
        """Share the ledger's file, or use the own one; nothing is opened yet."""
        described = self._described
        shape = table_shape(self.name, described.table, self.kind, layout)
        database = described.open_database(ledger_database)
        return TableTarget(database, SqliteDialect(), self.name, shape, self.path is None, timeouts)

    def check_plain(self, layout: StateLayout) -> None:
        """See `PlainState`."""
        check_merges(self.name, layout)

    def open_plain(
        self, layout: StateLayout, ledger_database: LedgerDatabase, timeouts: Timeouts = DEFAULT_TIMEOUTS
    ) -> PlainTable:
        """See `PlainState`."""
        self.check_plain(layout)
        shape = table_shape(self.name, self._described.table, StateKind.NON_TRANSACTIONAL, layout)
        database = self._described.open_database(ledger_database)
        return PlainTable(database, SqliteDialect(), self.name, shape, shared=self.path is None)

    @property
    def _described(self) -> DescribedTable:
        return DescribedTable("state", self.name, self.table, self.path)
