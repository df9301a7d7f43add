"""A sink in a PostgreSQL table, be it one that other programs made and use."""

from __future__ import annotations

from dataclasses import dataclass, field

from trident.base.secrets import Secret
from trident.base.timeouts import DEFAULT_TIMEOUTS, Timeouts
from trident.state.places import Places
from trident.state.postgres.described import DescribedTable
from trident.state.postgres.dialect import PostgresDialect
from trident.state.postgres.plain import plain_rows, refuse_tasks_dsn
from trident.state.postgres.rows import PostgresRows
from trident.state.postgres.writer import PostgresWriting
from trident.state.row_tables.place import RowPlace
from trident.state.row_tables.plain import PlainRows, check_appends
from trident.state.row_tables.shape import RowShape
from trident.state.row_tables.target import RowTarget
from trident.state.target import LedgerDatabase


@dataclass(frozen=True, slots=True)
class PostgresTable:
    """A PostgreSQL table that records are written to: `stream.to_table(PostgresTable("transfers"))`.

    Without a `dsn` it lies in the ledger's own database, and rows appear there in the transaction that records their
    batch; with one, in a database of its own. `table` is the sink's name unless given, `schema.table` is allowed. A
    table that is missing is made; one that is there keeps its own columns, defaults, identity and generated columns,
    and other programs may write to it too. For `tasks_dsn` see `PostgresState`.
    """

    name: str
    dsn: str | None = field(default=None, kw_only=True, repr=False)
    table: str | None = field(default=None, kw_only=True)
    tasks_dsn: str | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        """Check what can be checked without a connection."""
        self._described.check()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it without its addresses: a function that holds it by mistake must not take them along."""
        return _restored, (self.name, self.table, *self._described.hidden())

    def description(self) -> dict[str, str]:
        """See `RowStore`."""
        described = self._described
        return {"store": "postgres table", "table": described.table, "database": described.database}

    def places(self) -> Places:
        """See `HasPlaces`."""
        return self._described.places()

    def open(
        self, shape: RowShape, ledger_database: LedgerDatabase, timeouts: Timeouts = DEFAULT_TIMEOUTS
    ) -> RowTarget:
        """Share the ledger's database, or make one for the own dsn; nothing is sent to it yet."""
        described = self._described
        database = described.open_database(ledger_database, timeouts)
        place = RowPlace(database, PostgresDialect(), PostgresRows(), self.name, shape, self.dsn is not None)
        writing = PostgresWriting(database, self.name, described.staging, place.schema, described.tasks_address)
        return RowTarget(place, writing, writing.let_write)

    def check_plain(self, shape: RowShape) -> None:
        """See `PlainRowStore`."""
        check_appends(self.name, shape)
        refuse_tasks_dsn(f"sink {self.name!r}", self.tasks_dsn)

    def open_plain(
        self, shape: RowShape, ledger_database: LedgerDatabase, timeouts: Timeouts = DEFAULT_TIMEOUTS
    ) -> PlainRows:
        """See `PlainRowStore`."""
        self.check_plain(shape)
        database = self._described.open_database(ledger_database, timeouts)
        return plain_rows(database, self.name, shape, apart=self.dsn is not None)

    @property
    def _described(self) -> DescribedTable:
        return DescribedTable("sink", self.name, self.table, self.dsn, self.tasks_dsn)


def _restored(name: str, table: str | None, dsn: Secret | None, tasks_dsn: Secret | None) -> PostgresTable:
    addresses = [secret.text if secret is not None else None for secret in (dsn, tasks_dsn)]
    return PostgresTable(name, dsn=addresses[0], table=table, tasks_dsn=addresses[1])
