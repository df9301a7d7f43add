"""A state in a PostgreSQL table that users query with SQL."""

from __future__ import annotations

from dataclasses import dataclass, field

from trident.base.errors import ConfigurationError
from trident.base.policies import policy_of
from trident.base.timeouts import DEFAULT_TIMEOUTS, Timeouts
from trident.state.layout import StateKind, StateLayout
from trident.state.postgres.database import PostgresDatabase, normal_dsn
from trident.state.postgres.dialect import PostgresDialect
from trident.state.postgres.writer import PostgresWriting
from trident.state.tables.names import helper_table
from trident.state.tables.place import STAGING
from trident.state.tables.shape import TableShape, table_shape
from trident.state.tables.target import TableTarget
from trident.state.target import LedgerDatabase


@dataclass(frozen=True, slots=True)
class PostgresState:
    """Results in a PostgreSQL table, one row per key: `SELECT account, n, total FROM balances`.

    Without a `dsn` it lives in the ledger's own database, and each batch commits there in one
    transaction with the ledger's record of it; with one, in a database of its own. `table` is the
    state's name unless given, `schema.table` is allowed. The table is made when it is missing.
    """

    name: str
    dsn: str | None = field(default=None, kw_only=True, repr=False)
    kind: StateKind = field(default=StateKind.OPAQUE, kw_only=True)
    table: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Check what can be checked without a connection."""
        if not self.name:
            raise ConfigurationError("a state needs a name")
        object.__setattr__(self, "kind", policy_of(StateKind, self.kind, "a state's kind"))
        if self.dsn is not None:
            normal_dsn(self.dsn)

    def description(self) -> dict[str, str]:
        """Return what must stay the same over restarts."""
        database = "ledger" if self.dsn is None else "own"
        return {"store": "postgres", "kind": str(self.kind), "table": self.table or self.name, "database": database}

    def open(
        self, layout: StateLayout, ledger_database: LedgerDatabase, timeouts: Timeouts = DEFAULT_TIMEOUTS
    ) -> TableTarget:
        """Share the ledger's database, or make one for the own dsn; nothing is sent to it yet."""
        shape = table_shape(self.name, self.table or self.name, self.kind, layout)
        if self.dsn is not None:
            return _opened(PostgresDatabase(self.dsn, lease=timeouts.lease), self.name, shape, shared=False)
        if isinstance(ledger_database, PostgresDatabase):
            return _opened(ledger_database, self.name, shape, shared=True)
        raise ConfigurationError(
            f"state {self.name!r} has no dsn and the ledger is not in Postgres, so there is no database to keep it in: "
            "give PostgresState a dsn, or use a PostgresLedger"
        )


def _opened(database: PostgresDatabase, name: str, shape: TableShape, *, shared: bool) -> TableTarget:
    writing = PostgresWriting(database, name, helper_table(STAGING, shape.table), shape.layout.schema())
    return TableTarget(database, PostgresDialect(), name, shape, shared, writing)
