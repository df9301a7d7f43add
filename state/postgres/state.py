"""A state in a PostgreSQL table that users query with SQL."""

from __future__ import annotations

from dataclasses import dataclass, field

from trident.base.policies import policy_of
from trident.base.secrets import Secret
from trident.base.timeouts import DEFAULT_TIMEOUTS, Timeouts
from trident.state.layout import StateKind, StateLayout
from trident.state.places import Places
from trident.state.plainly import check_merges
from trident.state.postgres.described import DescribedTable
from trident.state.postgres.dialect import PostgresDialect
from trident.state.postgres.plain import plain_table, refuse_tasks_dsn
from trident.state.postgres.writer import PostgresWriting
from trident.state.tables.plain import PlainTable
from trident.state.tables.shape import table_shape
from trident.state.tables.target import TableTarget
from trident.state.target import LedgerDatabase


@dataclass(frozen=True, slots=True)
class PostgresState:
    """Results in a PostgreSQL table, one row per key: `SELECT account, n, total FROM balances`.

    Without a `dsn` it lives in the ledger's own database, and each batch commits there in one
    transaction with the ledger's record of it; with one, in a database of its own. `table` is the
    state's name unless given, `schema.table` is allowed. The table is made when it is missing.

    `tasks_dsn` is the same database with another role, for Spark tasks that stage large batches: it needs no right
    but CONNECT (and USAGE on a schema of your own); the coordinator grants it INSERT on the staging table, and that
    is all it can do. Without one tasks use the coordinator's address. No closure, plan or log holds either: tasks get
    it as a file of the Spark session.
    """

    name: str
    dsn: str | None = field(default=None, kw_only=True, repr=False)
    kind: StateKind = field(default=StateKind.OPAQUE, kw_only=True)
    table: str | None = field(default=None, kw_only=True)
    tasks_dsn: str | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        """Check what can be checked without a connection."""
        object.__setattr__(self, "kind", policy_of(StateKind, self.kind, "a state's kind"))
        self._described.check()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it without its addresses: a function that holds a state by mistake must not take them along."""
        return _restored, (self.name, str(self.kind), self.table, *self._described.hidden())

    def description(self) -> dict[str, str]:
        """Return what must stay the same over restarts."""
        described = self._described
        return {"store": "postgres", "kind": str(self.kind), "table": described.table, "database": described.database}

    def places(self) -> Places:
        """See `HasPlaces`."""
        return self._described.places()

    def open(
        self, layout: StateLayout, ledger_database: LedgerDatabase, timeouts: Timeouts = DEFAULT_TIMEOUTS
    ) -> TableTarget:
        """Share the ledger's database, or make one for the own dsn; nothing is sent to it yet."""
        described = self._described
        shape = table_shape(self.name, described.table, self.kind, layout)
        database = described.open_database(ledger_database, timeouts)
        writing = PostgresWriting(
            database, self.name, described.staging, shape.layout.schema(), described.tasks_address
        )
        return TableTarget(
            database, PostgresDialect(), self.name, shape, self.dsn is None, timeouts, writing, writing.let_write
        )

    def check_plain(self, layout: StateLayout) -> None:
        """See `PlainState`."""
        check_merges(self.name, layout)
        refuse_tasks_dsn(f"state {self.name!r}", self.tasks_dsn)

    def open_plain(
        self, layout: StateLayout, ledger_database: LedgerDatabase, timeouts: Timeouts = DEFAULT_TIMEOUTS
    ) -> PlainTable:
        """See `PlainState`."""
        self.check_plain(layout)
        shape = table_shape(self.name, self._described.table, StateKind.NON_TRANSACTIONAL, layout)
        database = self._described.open_database(ledger_database, timeouts)
        return plain_table(database, self.name, shape, shared=self.dsn is None)

    @property
    def _described(self) -> DescribedTable:
        return DescribedTable("state", self.name, self.table, self.dsn, self.tasks_dsn)


def _restored(name: str, kind: str, table: str | None, dsn: Secret | None, tasks_dsn: Secret | None) -> PostgresState:
    addresses = [secret.text if secret is not None else None for secret in (dsn, tasks_dsn)]
    return PostgresState(name, dsn=addresses[0], kind=StateKind(kind), table=table, tasks_dsn=addresses[1])
