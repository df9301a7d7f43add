"""A state in memory, beside a memory ledger or in a database of its own: for tests, examples and simulations."""

from __future__ import annotations

from dataclasses import dataclass, field

from trident.base.checks import check_instance
from trident.base.errors import ConfigurationError
from trident.base.names import check_given_name
from trident.base.policies import policy_of
from trident.base.timeouts import DEFAULT_TIMEOUTS, Timeouts
from trident.state.evolving import widened
from trident.state.folding import current
from trident.state.layout import StateKind, StateLayout, Value
from trident.state.memory.database import MemoryDatabase
from trident.state.memory.place import LAYOUTS, key_of, rows_table, stored_row
from trident.state.memory.plain import PlainMemory
from trident.state.memory.target import MemoryTarget
from trident.state.plainly import check_merges
from trident.state.tables.shape import table_shape
from trident.state.target import LedgerDatabase


@dataclass(frozen=True, slots=True)
class MemoryState:
    """Results in memory, in the database object of a memory ledger; they end with the process.

    With a `database` of its own the state has its own fence and staging, as one in another server has.
    """

    name: str
    kind: StateKind = field(default=StateKind.OPAQUE, kw_only=True)
    database: MemoryDatabase | None = field(default=None, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_given_name("a state's name", self.name)
        object.__setattr__(self, "kind", policy_of(StateKind, self.kind, "a state's kind"))
        if self.database is not None:
            check_instance("database", self.database, MemoryDatabase, allowed="a MemoryDatabase, or None")

    def description(self) -> dict[str, str]:
        """Return what must stay the same over restarts of a topology inside one process."""
        return {"store": "memory", "kind": str(self.kind)}

    def open(
        self, layout: StateLayout, ledger_database: LedgerDatabase, timeouts: Timeouts = DEFAULT_TIMEOUTS
    ) -> MemoryTarget:
        """Share the ledger's memory, or open the state's own."""
        if not isinstance(ledger_database, MemoryDatabase):
            raise ConfigurationError(
                f"state {self.name!r} lives in memory and the ledger does not: after a restart the ledger would know "
                "batches that the state has lost; use MemoryLedger with it"
            )
        table_shape(self.name, self.name, self.kind, layout)
        if self.database is None or self.database is ledger_database:
            return MemoryTarget(ledger_database, self.name, self.kind, layout)
        return MemoryTarget(self.database, self.name, self.kind, layout, beside_ledger=False)

    def check_plain(self, layout: StateLayout) -> None:
        """See `PlainState`."""
        check_merges(self.name, layout)

    def open_plain(
        self, layout: StateLayout, ledger_database: LedgerDatabase, timeouts: Timeouts = DEFAULT_TIMEOUTS
    ) -> PlainMemory:
        """See `PlainState`."""
        self.check_plain(layout)
        opened = self.open(layout, ledger_database, timeouts)
        return PlainMemory(opened.database, self.name, layout, beside=self.database is None)

    def rows(self, ledger_database: LedgerDatabase) -> list[dict[str, Value]]:
        """Return the current rows, key columns and value columns by name, in no order."""
        database = self.database if self.database is not None else ledger_database
        check_instance("ledger_database", database, MemoryDatabase, allowed="the database of a MemoryLedger")
        assert isinstance(database, MemoryDatabase)
        with database.transaction() as transaction:
            layout = transaction.table(LAYOUTS).get(self.name)
            if not isinstance(layout, StateLayout):
                return []
            names = layout.schema().names
            stored = transaction.table(rows_table(self.name)).items()
            width = len(layout.values)
            found = [(key_of(key), widened(current(stored_row(row)), width)) for key, row in stored]
            return [dict(zip(names, (*key, *row[:width]), strict=True)) for key, row in found]
