"""Staging by Spark tasks: each run commits its rows under a write id of its own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field

import psycopg
import pyarrow as pa

from trident.base.control import encode
from trident.base.crash_points import CrashPoint, reached
from trident.base.digest import Digest
from trident.base.identity import BatchId
from trident.base.writes import WriteManifest
from trident.state.postgres.copy import copy_rows
from trident.state.postgres.database import PostgresDatabase, connect
from trident.state.postgres.errors import classify
from trident.state.rows import conform, refuse_nul
from trident.state.tables.names import quote_table
from trident.state.tables.staging import staging_rows


@dataclass(frozen=True, slots=True)
class PostgresWriter:
    """Writes a task's rows to a staging table; can be pickled, its repr shows no DSN.

    Each call takes a fresh write id and commits once, so a run that dies before its manifest is
    returned leaves rows that nothing ever reads.
    """

    dsn: str = field(repr=False)
    lease_seconds: float
    state: str
    staging: str
    batch: BatchId
    schema: pa.Schema = field(repr=False)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[str]:
        """Commit all rows, then yield the manifest; nothing is yielded for a task without rows."""
        write_id = uuid.uuid4().hex
        try:
            digest = self._write(write_id, batches)
        except psycopg.Error as error:
            # The driver's text quotes rows, and a task's error ends in logs.
            raise classify(error) from None
        reached(CrashPoint.AFTER_COPY, self.batch.txid)
        if digest.count:
            yield encode(WriteManifest(self.state, write_id, digest))

    def _write(self, write_id: str, batches: Iterator[pa.RecordBatch]) -> Digest:
        digest = Digest()
        with connect(self.dsn, self.lease_seconds) as connection:
            for batch in batches:
                rows = conform(pa.Table.from_batches([batch]), self.schema)
                refuse_nul(rows)
                marked, more = staging_rows(self.batch, write_id, rows, digest.count)
                copy_rows(connection, quote_table(self.staging), marked)
                digest += more
        return digest


@dataclass(frozen=True, slots=True)
class PostgresWriting:
    """See `WritableByTasks`: every task may reach the state's database."""

    database: PostgresDatabase
    state: str
    staging: str
    schema: pa.Schema = field(repr=False)

    def writer(self, batch: BatchId) -> PostgresWriter:
        """Return a writer to the state's staging table."""
        return PostgresWriter(
            dsn=self.database.dsn,
            lease_seconds=self.database.lease_seconds,
            state=self.state,
            staging=self.staging,
            batch=batch,
            schema=self.schema,
        )
