"""A state in a SQL database: the steps of every call, written once; dialects give types, locks and texts."""

from __future__ import annotations

import uuid

import pyarrow as pa
from sqlalchemy import Connection, text

from trident.base.advice import RESET_KEEPING_ROWS
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.writes import WriteManifest
from trident.state.capabilities import Capabilities, Transaction, WritableByTasks
from trident.state.databases.base import SqlDatabase, SqlTransaction
from trident.state.layout import StateLayout
from trident.state.positions import Position, stands
from trident.state.rows import conform
from trident.state.staged import HeldUpdates, StagedUpdates, WrittenUpdates
from trident.state.tables.dialect import Dialect
from trident.state.tables.meta import raise_fence
from trident.state.tables.names import quote_table
from trident.state.tables.place import TablePlace
from trident.state.tables.querying import TableQuerying
from trident.state.tables.resetting import TableResetting
from trident.state.tables.shape import TableShape
from trident.state.tables.staging import TXID as STAGING_TXID
from trident.state.tables.staging import Writes, staging_rows
from trident.state.tables.tables import prepare_tables
from trident.state.tables.undoing import TableUndoing


class TableTarget:
    """An opened SQL state; see `Target` for what holds of every method.

    `writing` is what lets tasks stage to it; `shared` says that the database is the ledger's.
    """

    def __init__(
        self,
        database: SqlDatabase,
        dialect: Dialect,
        name: str,
        shape: TableShape,
        shared: bool,
        writing: WritableByTasks | None = None,
    ) -> None:
        # Known here rather than at the first batch: a type without a column is the topology's mistake.
        shape.columns(dialect.column_type)
        self._place = place = TablePlace(database, dialect, name, shape, not shared)
        self._capabilities = Capabilities(
            beside=self if shared else None,
            undoing=TableUndoing(place),
            resetting=TableResetting(place),
            writing=writing,
            diverting=self,
            querying=TableQuerying(place),
        )

    @property
    def name(self) -> str:
        """The state's name."""
        return self._place.name

    @property
    def layout(self) -> StateLayout:
        """The columns that the aggregation needs."""
        return self._place.shape.layout

    @property
    def capabilities(self) -> Capabilities:
        """All there are; beside the ledger if it is in its database."""
        return self._capabilities

    def prepare(self) -> None:
        """Make the tables or check those that are there; away from the ledger it stages durably and has a fence."""
        place = self._place
        with place.database.transaction() as transaction:
            prepare_tables(transaction.connection, place)

    def raise_fence(self, owner: Owner, epoch: Epoch) -> None:
        """Refuse every older epoch from now on.

        The ledger's own fence serves what is applied with a pin; the epoch beside the position serves `apply`, by which
        a pin of an older version is rolled forward in a state beside the ledger too.
        """
        place = self._place
        with place.database.transaction() as transaction:
            if place.apart:
                raise_fence(transaction.connection, owner.topology, epoch)
            else:
                place.applied.stamp(transaction.connection, owner, epoch)

    def position(self, topology: str) -> Position | None:
        """Return where the state stands, None when it has never been registered."""
        with self._place.database.transaction() as transaction:
            row = self._place.applied.read(transaction.connection, topology)
        return row.position if row else None

    def register(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Record a new state's owner and birth txid; refuses a table that already has rows."""
        place = self._place
        with place.database.transaction() as transaction:
            connection = transaction.connection
            row = place.owned(connection, owner, epoch)
            if row is None:
                if connection.execute(text(f"SELECT 1 FROM {place.shape.quoted} LIMIT 1")).first():
                    raise MismatchError(
                        f"table {place.shape.table!r} has rows but no owner; nothing was changed: "
                        f"empty it, or {RESET_KEEPING_ROWS}"
                    )
                place.applied.insert(connection, owner, epoch, birth_txid)
            elif row.position.owner != owner:
                raise MismatchError(f"state {self.name!r} {stands(row.position)}; nothing was changed")

    def stage(self, batch: BatchId, updates: HeldUpdates) -> StagedUpdates:
        """Check the rows and, away from the ledger, commit them to the staging table under a fresh write id."""
        place = self._place
        rows = conform(updates.rows, self.layout.schema())
        place.dialect.check_rows(rows)
        if not place.apart:
            return HeldUpdates(rows)
        if rows.num_rows == 0:
            return WrittenUpdates(())
        write_id = uuid.uuid4().hex
        marked, digest = staging_rows(batch, write_id, rows, 0)
        with place.database.transaction() as transaction:
            place.dialect.insert_rows(transaction.connection, place.staging, marked)
        return WrittenUpdates((WriteManifest(self.name, write_id, digest),))

    def apply(self, batch: BatchId, updates: StagedUpdates) -> None:
        """Apply a pinned batch in a transaction of its own, once; the fence is held last and for a moment."""
        place = self._place
        with place.database.transaction() as transaction:
            self.copy_in(transaction, batch, updates)
            if not place.apart:  # the fence is the ledger's: here the row's own epoch refuses a late writer
                place.owned(transaction.connection, batch.owner, batch.epoch)
            try:
                self.apply_in(transaction, batch, updates)
            except MismatchError:
                place.check_fence(transaction.connection, batch.owner, batch.epoch)
                raise
            place.check_fence(transaction.connection, batch.owner, batch.epoch)
            reached(CrashPoint.IN_APPLY, batch.txid)

    def copy_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Bring held updates into a table that only this transaction sees."""
        if isinstance(updates, HeldUpdates):
            self._place.staged.create(_connection(transaction))
            self._place.staged.copy(_connection(transaction), conform(updates.rows, self.layout.schema()))

    def apply_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Move the position from txid - 1 to txid, then merge; a batch that is in is skipped whole."""
        connection, place = _connection(transaction), self._place
        if not place.applied.move(connection, batch):
            place.check_already_in(connection, batch)
            return
        expected = updates.count
        no_nulls = False
        if isinstance(updates, HeldUpdates):
            no_nulls = all(updates.rows.column(key.name).null_count == 0 for key in place.shape.keys)
        elif updates.writes:
            place.staged.create(connection)
            place.staged.load(connection, Writes(place.staging, batch, updates.writes))
        changed = place.staged.merge(connection, batch.txid, expected, no_nulls) if expected else 0
        if changed != expected:
            raise MismatchError(
                f"{batch}: merging {expected} staged rows changed {changed} rows of {place.shape.table!r} (a key that "
                "was staged twice, or a stored row of a later txid); rolled back, the stored state is unchanged"
            )

    def staged_rows(self, batch: BatchId, updates: StagedUpdates) -> pa.Table:
        """Return all staged rows of a batch."""
        if isinstance(updates, HeldUpdates):
            return updates.rows
        if not updates.writes:
            return self.layout.schema().empty_table()
        place = self._place
        with place.database.transaction() as transaction:
            writes = Writes(place.staging, batch, updates.writes)
            return writes.read(transaction.connection, place.shape, place.dialect)

    def clean_up(self, owner: Owner, epoch: Epoch, done: int) -> None:
        """Delete staged rows of txids up to `done`, never beyond what is applied."""
        place = self._place
        with place.database.transaction() as transaction:
            row = place.owned(transaction.connection, owner, epoch)
            if row is None or row.position.owner != owner:
                raise MismatchError(f"state {self.name!r} is not of {owner.topology!r}; nothing was deleted")
            statement = text(f"DELETE FROM {quote_table(place.staging)} WHERE {STAGING_TXID} <= :done")
            transaction.connection.execute(statement, {"done": min(done, row.position.txid)})

    def close(self) -> None:
        """Let go of a database of its own; the ledger closes a shared one."""
        if self._place.apart:
            self._place.database.close()


def _connection(transaction: Transaction) -> Connection:
    if not isinstance(transaction, SqlTransaction):
        raise TypeError(f"a SQL state needs a SQL transaction, not {type(transaction).__name__}")
    return transaction.connection
