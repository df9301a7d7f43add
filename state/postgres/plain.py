"""PostgreSQL at one of the weaker levels: tables that drivers write to, and tasks where batches are large."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

import pyarrow as pa
from sqlalchemy import Connection, text

from trident.base.control import encode
from trident.base.crash_points import CrashPoint, reached
from trident.base.identity import BatchId
from trident.base.secrets import Secret, keep_secret
from trident.base.writes import WriteManifest, digest_of
from trident.state.plainly import PlainTarget, no_plain_form
from trident.state.postgres.database import PostgresDatabase
from trident.state.postgres.dialect import PostgresDialect
from trident.state.postgres.rows import PostgresRows
from trident.state.row_tables.place import RowPlace
from trident.state.row_tables.plain import PlainRows
from trident.state.row_tables.shape import RowShape
from trident.state.rows import blocks_of
from trident.state.tables.plain import PlainTable
from trident.state.tables.shape import TableShape

_ROWS = 50_000
_BYTES = 16 * 1024 * 1024
"""From how many rows or bytes on a task writes a block, in a transaction of its own."""
_LOCK = text("SELECT pg_advisory_xact_lock(hashtextextended('trident plain ' || to_regclass(:table)::oid, 0))")


def plain_table(database: PostgresDatabase, name: str, shape: TableShape, *, shared: bool) -> PlainTable:
    """Return a state's table, which tasks may write to as well."""
    writing = PlainWriting(database, name, partial(_table_of_task, name, shape))
    return PlainTable(database, PostgresDialect(), name, shape, shared=shared, lock=one_at_a_time, writing=writing)


def plain_rows(database: PostgresDatabase, name: str, shape: RowShape, *, apart: bool) -> PlainRows:
    """Return a sink's table, which tasks may write to as well."""
    writing = PlainWriting(database, name, partial(_rows_of_task, name, shape))
    return PlainRows(RowPlace(database, PostgresDialect(), PostgresRows(), name, shape, apart), writing)


def one_at_a_time(connection: Connection, table: str) -> None:
    """Wait for who else merges into this table; readers and vacuums are not in the way, as a lock of it would be."""
    connection.execute(_LOCK, {"table": table})


def refuse_tasks_dsn(what: str, tasks_dsn: str | None) -> None:
    """Raise ConfigurationError for a role that may only stage: here nothing is staged."""
    if tasks_dsn is not None:
        raise no_plain_form(
            f"{what}: tasks_dsn, a role that may write to a staging table only,",
            "leave it out, and give as dsn a role that tasks may have",
        )


@dataclass(frozen=True, slots=True)
class PlainWriting:
    """See `WritableByTasks`: tasks write to the table itself, as the coordinator's role."""

    database: PostgresDatabase
    name: str
    opens: Callable[[PostgresDatabase], PlainTarget] = field(repr=False)

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """The address that tasks connect to."""
        return (keep_secret(self.database.dsn),)

    def writer(self, batch: BatchId) -> PlainWriter:
        """Return a writer to the table."""
        return PlainWriter(self.secrets[0], self.database.lease_seconds, self.name, batch, self.opens)

    def check_written(self, batch: BatchId, writes: Sequence[WriteManifest]) -> None:
        """Ask nothing: what was written is where it belongs."""


@dataclass(frozen=True, slots=True)
class PlainWriter:
    """Writes a task's rows, block by block, each committed when it is sent; can be pickled.

    A task that Spark runs again writes again: that is what at least once means.
    """

    address: Secret
    lease_seconds: float
    name: str
    batch: BatchId
    opens: Callable[[PostgresDatabase], PlainTarget] = field(repr=False)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[str]:
        """Write all rows, then yield a manifest that says how many; nothing for a task without rows."""
        count = 0
        lease = timedelta(seconds=self.lease_seconds)
        database = PostgresDatabase(self.address.text, pool_size=1, lease=lease, whose=f"tasks of {self.name!r}")
        try:
            target = self.opens(database)
            for block in blocks_of(batches, _ROWS, _BYTES):
                target.write(self.batch, block)
                count += block.num_rows
        finally:
            database.close()
        reached(CrashPoint.AFTER_COPY, self.batch.txid)
        if count:
            write_id = uuid.uuid4().hex
            yield encode(WriteManifest(self.name, write_id, digest_of(write_id, count)))


def _table_of_task(name: str, shape: TableShape, database: PostgresDatabase) -> PlainTable:
    return PlainTable(database, PostgresDialect(), name, shape, shared=True, lock=one_at_a_time, by_task=True)


def _rows_of_task(name: str, shape: RowShape, database: PostgresDatabase) -> PlainRows:
    return PlainRows(RowPlace(database, PostgresDialect(), PostgresRows(), name, shape, apart=False), by_task=True)
