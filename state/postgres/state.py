"""A state in a PostgreSQL table that users query with SQL."""

from __future__ import annotations

from dataclasses import dataclass, field

from trident.base.checks import check_text
from trident.base.errors import ConfigurationError
from trident.base.names import check_given_name, check_table_name
from trident.base.policies import policy_of
from trident.base.secrets import Secret, keep_secret
from trident.base.timeouts import DEFAULT_TIMEOUTS, Timeouts
from trident.state.layout import StateKind, StateLayout
from trident.state.places import Places
from trident.state.postgres.addresses import database_of, masked, normal_dsn, path_of
from trident.state.postgres.database import PostgresDatabase
from trident.state.postgres.dialect import PostgresDialect
from trident.state.postgres.writer import PostgresWriting
from trident.state.tables.names import STAGING, helper_table
from trident.state.tables.shape import TableShape, table_shape
from trident.state.tables.target import TableTarget
from trident.state.target import LedgerDatabase

_DEFAULT_SCHEMA = "public"


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
        check_given_name("a state's name", self.name)
        object.__setattr__(self, "kind", policy_of(StateKind, self.kind, "a state's kind"))
        check_table_name("a state's table", self.name if self.table is None else self.table)
        for what, dsn in (("dsn", self.dsn), ("tasks_dsn", self.tasks_dsn)):
            if dsn is not None:
                normal_dsn(check_text(what, dsn, allowed="the address of a database, or None", secret=True))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it without its addresses: a function that holds a state by mistake must not take them along."""
        hidden = [keep_secret(dsn) if dsn is not None else None for dsn in (self.dsn, self.tasks_dsn)]
        return _restored, (self.name, str(self.kind), self.table, *hidden)

    def description(self) -> dict[str, str]:
        """Return what must stay the same over restarts."""
        database = "ledger" if self.dsn is None else "own"
        return {"store": "postgres", "kind": str(self.kind), "table": self.table or self.name, "database": database}

    def places(self) -> Places:
        """Return its table and its staging table; without a schema they are in the one that is the default.

        Unless the address says where else: then only the server knows.
        """
        table = self.name if self.table is None else self.table
        where = "the ledger's database" if self.dsn is None else masked(normal_dsn(self.dsn))
        database = () if self.dsn is None else database_of(self.dsn)
        path = path_of(self.dsn) if self.dsn is not None else ""
        whole = table if "." in table or path else f"{_DEFAULT_SCHEMA}.{table}"
        staging = helper_table(STAGING, table)
        return {
            ("postgres", database, "" if "." in table else path, whole): f"table {whole!r} of {where}",
            ("postgres staging", database, path, staging): f"the staging table of {table!r} in {where}",
        }

    def open(
        self, layout: StateLayout, ledger_database: LedgerDatabase, timeouts: Timeouts = DEFAULT_TIMEOUTS
    ) -> TableTarget:
        """Share the ledger's database, or make one for the own dsn; nothing is sent to it yet."""
        shape = table_shape(self.name, self.table or self.name, self.kind, layout)
        if self.dsn is not None:
            database = PostgresDatabase(self.dsn, lease=timeouts.lease, whose=f"state {self.name!r}")
            return self._opened(database, shape, timeouts, shared=False)
        if isinstance(ledger_database, PostgresDatabase):
            return self._opened(ledger_database, shape, timeouts, shared=True)
        raise ConfigurationError(
            f"state {self.name!r} has no dsn and the ledger is not in Postgres, so there is no database to keep it in: "
            "give PostgresState a dsn, or use a PostgresLedger"
        )

    def _opened(
        self, database: PostgresDatabase, shape: TableShape, timeouts: Timeouts, *, shared: bool
    ) -> TableTarget:
        staging = helper_table(STAGING, shape.table)
        tasks_dsn = normal_dsn(self.tasks_dsn) if self.tasks_dsn is not None else None
        writing = PostgresWriting(database, self.name, staging, shape.layout.schema(), tasks_dsn)
        dialect = PostgresDialect()
        return TableTarget(database, dialect, self.name, shape, shared, timeouts, writing, writing.let_write)


def _restored(name: str, kind: str, table: str | None, dsn: Secret | None, tasks_dsn: Secret | None) -> PostgresState:
    addresses = [secret.text if secret is not None else None for secret in (dsn, tasks_dsn)]
    return PostgresState(name, dsn=addresses[0], kind=StateKind(kind), table=table, tasks_dsn=addresses[1])
