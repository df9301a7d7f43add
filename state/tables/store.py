"""A state in a SQL database: the steps of every call, written once; dialects give types, locks and texts."""

from __future__ import annotations

import uuid
import zlib

import pyarrow as pa
from sqlalchemy import Connection, text

from trident.base.advice import RESET_KEEPING_ROWS
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import FencedError, MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.writes import WriteManifest
from trident.state.databases.base import SqlDatabase, SqlTransaction
from trident.state.layout import StateLayout
from trident.state.positions import before_attempt, is_in, stands
from trident.state.rows import conform
from trident.state.tables.dialect import Dialect
from trident.state.tables.meta import Applied, AppliedRow, check_fence, raise_fence
from trident.state.tables.names import helper_table, quote_table
from trident.state.tables.shape import TXID, TableShape
from trident.state.tables.staged import StagedTable
from trident.state.tables.staging import TXID as STAGING_TXID
from trident.state.tables.staging import Writes, staging_rows
from trident.state.tables.tables import prepare_tables
from trident.state.tables.undoing import check_rows, undo_rows
from trident.state.target import (
    AppliedUpdates,
    HeldUpdates,
    Position,
    StagedUpdates,
    StagingWriter,
    Transaction,
    WrittenUpdates,
)


class SqlStateStore:
    """An opened SQL state; see `StateStore` for what holds of every method."""

    def __init__(self, database: SqlDatabase, dialect: Dialect, name: str, shape: TableShape, shared: bool) -> None:
        self._database = database
        self._dialect = dialect
        self._name = name
        self._shape = shape
        self._shared = shared
        self._apart = not shared
        self._applied = Applied(dialect, name, shape.table)
        self._staging = helper_table("trident_staging_", shape.table)
        columns = repr([(column.name, str(column.type)) for column in shape.staged])
        self._staged = StagedTable(
            dialect, shape, helper_table(f"trident_copy_{zlib.crc32(columns.encode()):08x}_", shape.table)
        )

    @property
    def name(self) -> str:
        """The state's name."""
        return self._name

    @property
    def layout(self) -> StateLayout:
        """The columns that the aggregation needs."""
        return self._shape.layout

    @property
    def beside_ledger(self) -> bool:
        """Whether it uses the ledger's own database object."""
        return self._shared

    def prepare(self, beside: bool) -> None:
        """Make the tables or check those that are there; away from the ledger it stages durably and has a fence."""
        self._apart = not (self._shared and beside)
        with self._database.transaction() as transaction:
            prepare_tables(transaction.connection, self._dialect, self._shape, self._staging, self._apart)

    def raise_fence(self, owner: Owner, epoch: Epoch) -> None:
        """Refuse every older epoch from now on; the ledger's own fence serves a state beside it."""
        if self._apart:
            with self._database.transaction() as transaction:
                raise_fence(transaction.connection, owner.topology, epoch)

    def position(self, topology: str) -> Position | None:
        """Return where the state stands, None when it has never been registered."""
        with self._database.transaction() as transaction:
            row = self._applied.read(transaction.connection, topology)
        return row.position if row else None

    def register(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Record a new state's owner and birth txid; refuses a table that already has rows."""
        with self._database.transaction() as transaction:
            connection = transaction.connection
            row = self._owned(connection, owner, epoch)
            if row is None:
                if connection.execute(text(f"SELECT 1 FROM {self._shape.quoted} LIMIT 1")).first():
                    raise MismatchError(
                        f"table {self._shape.table!r} has rows but no owner; nothing was changed: "
                        f"empty it, or {RESET_KEEPING_ROWS}"
                    )
                self._applied.insert(connection, owner, epoch, birth_txid)
            elif row.position.owner != owner:
                raise MismatchError(f"state {self._name!r} {stands(row.position)}; nothing was changed")

    def stage(self, batch: BatchId, updates: HeldUpdates) -> StagedUpdates:
        """Check the rows and, away from the ledger, commit them to the staging table under a fresh write id."""
        rows = conform(updates.rows, self.layout.schema())
        self._dialect.check_rows(rows)
        if not self._apart:
            return HeldUpdates(rows)
        if rows.num_rows == 0:
            return WrittenUpdates(())
        write_id = uuid.uuid4().hex
        marked, digest = staging_rows(batch, write_id, rows, 0)
        with self._database.transaction() as transaction:
            self._dialect.insert_rows(transaction.connection, self._staging, marked)
        return WrittenUpdates((WriteManifest(self._name, write_id, digest),))

    def writer(self, batch: BatchId) -> StagingWriter | None:
        """Return None: only the driver can hold this batch's updates."""
        return None

    def apply(self, batch: BatchId, updates: StagedUpdates) -> None:
        """Apply a pinned batch in a transaction of its own, once; the fence is held last and for a moment."""
        with self._database.transaction() as transaction:
            self.copy_in(transaction, batch, updates)
            try:
                self.apply_in(transaction, batch, updates)
            except MismatchError:
                self._check_fence(transaction.connection, batch.owner, batch.epoch)
                raise
            self._check_fence(transaction.connection, batch.owner, batch.epoch)
            reached(CrashPoint.IN_APPLY, batch.txid)

    def copy_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Bring held updates into a table that only this transaction sees."""
        if isinstance(updates, HeldUpdates):
            self._staged.create(_connection(transaction))
            self._staged.copy(_connection(transaction), conform(updates.rows, self.layout.schema()))

    def apply_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Move the position from txid - 1 to txid, then merge; a batch that is in is skipped whole."""
        connection = _connection(transaction)
        if not self._applied.move(connection, batch):
            self._check_already_in(connection, batch)
            return
        expected = updates.count
        no_nulls = False
        if isinstance(updates, HeldUpdates):
            no_nulls = all(updates.rows.column(key.name).null_count == 0 for key in self._shape.keys)
        elif updates.writes:
            self._staged.create(connection)
            self._staged.load(connection, Writes(self._staging, batch, updates.writes))
        changed = self._staged.merge(connection, batch.txid, expected, no_nulls) if expected else 0
        if changed != expected:
            raise MismatchError(
                f"{batch}: merging {expected} staged rows changed {changed} rows of {self._shape.table!r} (a key that "
                "was staged twice, or a stored row of a later txid); rolled back, the stored state is unchanged"
            )

    def staged_rows(self, batch: BatchId, updates: StagedUpdates) -> pa.Table:
        """Return all staged rows of a batch."""
        if isinstance(updates, HeldUpdates):
            return updates.rows
        if not updates.writes:
            return self.layout.schema().empty_table()
        with self._database.transaction() as transaction:
            writes = Writes(self._staging, batch, updates.writes)
            return writes.read(transaction.connection, self._shape, self._dialect)

    def check_undo(self, batch: BatchId, updates: StagedUpdates | AppliedUpdates) -> None:
        """Check that the table knows what was before the batch, if it has it."""
        with self._database.transaction() as transaction:
            row = self._owned(transaction.connection, batch.owner, batch.epoch)
            if is_in(row.position if row else None, batch, self._name):
                check_rows(transaction.connection, self._shape, self._name, batch, updates)

    def undo(self, batch: BatchId, before: int, updates: StagedUpdates | AppliedUpdates) -> None:
        """Bring back what was before the batch, rows and position in one transaction."""
        with self._database.transaction() as transaction:
            connection = transaction.connection
            row = self._owned(connection, batch.owner, batch.epoch)
            if row is None or not is_in(row.position, batch, self._name):
                return
            check_rows(connection, self._shape, self._name, batch, updates)
            undo_rows(connection, self._shape, batch.txid)
            if not self._applied.move_back(connection, batch, before_attempt(row.position, batch, before)):
                raise MismatchError(f"{batch}: state {self._name!r} moved while it was read; nothing was undone")
            reached(CrashPoint.IN_UNDO, batch.txid)

    def clean_up(self, owner: Owner, epoch: Epoch, done: int) -> None:
        """Delete staged rows of txids up to `done`, never beyond what is applied."""
        with self._database.transaction() as transaction:
            row = self._owned(transaction.connection, owner, epoch)
            if row is None or row.position.owner != owner:
                raise MismatchError(f"state {self._name!r} is not of {owner.topology!r}; nothing was deleted")
            statement = text(f"DELETE FROM {quote_table(self._staging)} WHERE {STAGING_TXID} <= :done")
            transaction.connection.execute(statement, {"done": min(done, row.position.txid)})

    def clear(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Delete all rows and start at the birth txid under a new owner."""
        with self._database.transaction() as transaction:
            connection = transaction.connection
            if not self._is_of(connection, owner, epoch):
                connection.execute(text(f"DELETE FROM {self._shape.quoted}"))
                connection.execute(text(f"DELETE FROM {quote_table(self._staging)}"))
                self._rebind(connection, owner, epoch, birth_txid)

    def adopt(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Keep all rows and bind them to the new owner; refuses rows of a txid above the birth txid."""
        with self._database.transaction() as transaction:
            connection = transaction.connection
            if not self._is_of(connection, owner, epoch):
                if self._shape.has_txid:
                    newest = connection.execute(text(f"SELECT max({TXID}) FROM {self._shape.quoted}")).scalar()
                    if newest is not None and newest > birth_txid:
                        raise MismatchError(
                            f"table {self._shape.table!r} holds rows of txid {newest}, the new life starts after "
                            f"{birth_txid}; nothing was changed"
                        )
                self._rebind(connection, owner, epoch, birth_txid)

    def close(self) -> None:
        """Let go of a database of its own; the ledger closes a shared one."""
        if not self._shared:
            self._database.close()

    def _owned(self, connection: Connection, owner: Owner, epoch: Epoch) -> AppliedRow | None:
        """Return the locked row after checking that no newer epoch holds the topology."""
        if self._apart:
            self._check_fence(connection, owner, epoch)
        row = self._applied.read(connection, owner.topology)
        if row is not None and row.epoch.number > epoch.number:
            raise FencedError(f"epoch {row.epoch.number} wrote state {self._name!r} after {epoch.number}; nothing done")
        return row

    def _is_of(self, connection: Connection, owner: Owner, epoch: Epoch) -> bool:
        row = self._owned(connection, owner, epoch)
        return row is not None and row.position.owner == owner

    def _rebind(self, connection: Connection, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        if self._applied.read(connection, owner.topology) is None:
            self._applied.insert(connection, owner, epoch, birth_txid)
        else:
            self._applied.rebirth(connection, owner, epoch, birth_txid)

    def _check_fence(self, connection: Connection, owner: Owner, epoch: Epoch) -> None:
        if self._apart:
            check_fence(connection, self._dialect, owner.topology, epoch)

    def _check_already_in(self, connection: Connection, batch: BatchId) -> None:
        row = self._applied.read(connection, batch.owner.topology)
        position = row.position if row else None
        if not is_in(position, batch, self._name):
            raise MismatchError(f"{batch}: state {self._name!r} moved while it was read; nothing was applied")


def _connection(transaction: Transaction) -> Connection:
    if not isinstance(transaction, SqlTransaction):
        raise TypeError(f"a SQL state needs a SQL transaction, not {type(transaction).__name__}")
    return transaction.connection
