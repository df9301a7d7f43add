"""One state's place in a SQL database: its tables, and who may write them."""

from __future__ import annotations

import zlib

from sqlalchemy import Connection

from trident.base.errors import FencedError, MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.state.databases.base import SqlDatabase
from trident.state.positions import is_in
from trident.state.tables.dialect import Dialect
from trident.state.tables.meta import Applied, AppliedRow, check_fence
from trident.state.tables.names import helper_table
from trident.state.tables.shape import TableShape
from trident.state.tables.staged import StagedTable

STAGING = "trident_staging_"
"""How the name of a state's staging table begins."""


class TablePlace:
    """What the parts of a table target share; every method runs inside the caller's transaction."""

    def __init__(self, database: SqlDatabase, dialect: Dialect, name: str, shape: TableShape, apart: bool) -> None:
        self.database = database
        self.dialect = dialect
        self.name = name
        self.shape = shape
        self.apart = apart
        """Whether it has a fence of its own and stages durably, as a state not beside the ledger must."""
        self.applied = Applied(dialect, name, shape.table)
        self.staging = helper_table(STAGING, shape.table)
        columns = repr([(column.name, str(column.type)) for column in shape.staged])
        self.staged = StagedTable(
            dialect, shape, helper_table(f"trident_copy_{zlib.crc32(columns.encode()):08x}_", shape.table)
        )

    def owned(self, connection: Connection, owner: Owner, epoch: Epoch) -> AppliedRow | None:
        """Return the locked row after checking that no newer epoch holds the topology."""
        self.check_fence(connection, owner, epoch)
        row = self.applied.read(connection, owner.topology)
        if row is not None and row.epoch.number > epoch.number:
            raise FencedError(f"epoch {row.epoch.number} wrote state {self.name!r} after {epoch.number}; nothing done")
        return row

    def check_fence(self, connection: Connection, owner: Owner, epoch: Epoch) -> None:
        """Hold the fence; the ledger's own serves a state beside it."""
        if self.apart:
            check_fence(connection, self.dialect, owner.topology, epoch)

    def check_already_in(self, connection: Connection, batch: BatchId) -> None:
        """Raise MismatchError unless the position could not move because the batch is in."""
        row = self.applied.read(connection, batch.owner.topology)
        if not is_in(row.position if row else None, batch, self.name):
            raise MismatchError(f"{batch}: state {self.name!r} moved while it was read; nothing was applied")
