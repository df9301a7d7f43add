"""Staging by Spark tasks: each run commits its rows under a write id of its own, block by block.

What a task reads is made by user code while it is read, so nothing is open meanwhile: rows are gathered, turned into
the driver's values, and sent in a transaction that does nothing else.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import psycopg
import pyarrow as pa
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import Connection, text

from trident.base.control import encode
from trident.base.crash_points import CrashPoint, reached
from trident.base.digest import Digest
from trident.base.errors import ConfigurationError, FatalError
from trident.base.identity import BatchId
from trident.base.secrets import Secret, keep_secret
from trident.base.writes import WriteManifest
from trident.state.databases.base import Work
from trident.state.postgres.copy import copy_rows, ready_rows
from trident.state.postgres.database import PostgresDatabase, connect
from trident.state.postgres.errors import classify
from trident.state.postgres.paths import SearchPath, found_path, pin_path
from trident.state.rows import blocks_of, conform, refuse_nul
from trident.state.tables.names import quote, quote_table
from trident.state.tables.staging import staging_rows

_ROWS = 50_000
_BYTES = 16 * 1024 * 1024
"""From how many rows or bytes on a block is sent; bounds what a task holds and what one transaction writes."""


@dataclass(frozen=True, slots=True)
class PostgresWriter:
    """Writes a task's rows to a staging table; can be pickled; neither that nor its repr shows the address.

    Each call takes a fresh write id, so a run that dies before its manifest is returned leaves rows that nothing
    ever reads, however many of its blocks were committed.
    """

    address: Secret
    lease_seconds: float
    state: str
    staging: str
    batch: BatchId
    schema: pa.Schema = field(repr=False)
    path: SearchPath | None
    """The coordinator's, known since it made the tables: the tasks' own role may have another one."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[str]:
        """Commit all rows, then yield the manifest; nothing is yielded for a task without rows."""
        write_id = uuid.uuid4().hex
        try:
            digest = self._write(write_id, batches)
        except psycopg.Error as error:
            # The driver's text quotes rows, and a task's error ends in logs.
            found = classify(error)
            if isinstance(error, psycopg.OperationalError) and type(found) is FatalError:
                which = "its tasks_dsn, or without one its dsn"
                raise FatalError(f"a task that stages for state {self.state!r} ({which}): {found}") from None
            raise found from None
        reached(CrashPoint.AFTER_COPY, self.batch.txid)
        if digest.count:
            yield encode(WriteManifest(self.state, write_id, digest))

    def _pin(self, connection: psycopg.Connection) -> None:
        pin_path(connection, self.path or found_path(connection))

    def _write(self, write_id: str, batches: Iterator[pa.RecordBatch]) -> Digest:
        digest = Digest()
        for block in blocks_of(batches, _ROWS, _BYTES):
            rows = conform(block, self.schema)
            refuse_nul(rows)
            marked, more = staging_rows(self.batch, write_id, rows, digest.count)
            ready = ready_rows(marked)
            work = Work(self.batch.owner.topology, self.batch.epoch)
            with connect(self.address.text, self.lease_seconds, work, self._pin) as connection:
                copy_rows(connection, quote_table(self.staging), ready)
            digest += more
        return digest


_SCHEMA = """
    SELECT n.nspname, has_schema_privilege(:role, n.oid, 'USAGE'),
           has_schema_privilege(n.oid, 'USAGE WITH GRANT OPTION')
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(:table)"""


@dataclass(frozen=True, slots=True)
class PostgresWriting:
    """See `WritableByTasks`: tasks reach the state's database, as the coordinator's role or as one of their own."""

    database: PostgresDatabase
    state: str
    staging: str
    schema: pa.Schema = field(repr=False)
    tasks_dsn: str | None = field(default=None, repr=False)
    """The address with another role, which can do nothing but write to staging."""

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """The address that tasks connect to."""
        return (keep_secret(self.database.dsn if self.tasks_dsn is None else self.tasks_dsn),)

    def let_write(self, connection: Connection) -> None:
        """Let the tasks' own role, where there is one, write to the staging table; the least that COPY needs."""
        role = conninfo_to_dict(self.tasks_dsn).get("user") if self.tasks_dsn is not None else None
        if role is None:
            return
        if not connection.execute(text("SELECT 1 FROM pg_roles WHERE rolname = :role"), {"role": str(role)}).first():
            raise ConfigurationError(
                f"tasks_dsn of state {self.state!r} names the role {str(role)!r}, which is not there. Nothing was "
                f"changed: CREATE ROLE {quote(str(role))} LOGIN PASSWORD '…'; the coordinator grants it the rest"
            )
        table = quote_table(self.staging)
        self._let_find(connection, str(role), table)
        may = "SELECT has_table_privilege(:role, :table, 'INSERT')"
        if not connection.execute(text(may), {"role": str(role), "table": table}).scalar():
            connection.execute(text(f"GRANT INSERT ON {table} TO {quote(str(role))}"))

    def _let_find(self, connection: Connection, role: str, table: str) -> None:
        """Let the role use the schema of the staging table, which another than `public` does not let everybody."""
        schema, is_let, may_let = connection.execute(text(_SCHEMA), {"role": role, "table": table}).one()
        if is_let:
            return
        grant = f"GRANT USAGE ON SCHEMA {quote(schema)} TO {quote(role)}"
        if not may_let:
            raise ConfigurationError(
                f"the role {role!r} of tasks_dsn of state {self.state!r} may not use schema {schema!r}, where its "
                f"staging table is. Nothing was changed: {grant}"
            )
        connection.execute(text(grant))

    def writer(self, batch: BatchId) -> PostgresWriter:
        """Return a writer to the state's staging table."""
        return PostgresWriter(
            address=self.secrets[0],
            lease_seconds=self.database.lease_seconds,
            state=self.state,
            staging=self.staging,
            batch=batch,
            schema=self.schema,
            path=self.database.path,
        )

    def check_written(self, batch: BatchId, writes: Sequence[WriteManifest]) -> None:
        """Ask nothing: they lie in the database that tells of them when they are applied."""
