"""A state in a SQL database: the steps of every call, written once; dialects give types, locks and texts."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pyarrow as pa
from sqlalchemy import Connection, text

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.looking import rolled_back
from trident.base.timeouts import Timeouts
from trident.base.user_code import UsersCode
from trident.base.writes import WriteManifest
from trident.state.capabilities import Capabilities, Transaction, WritableByTasks
from trident.state.databases.base import EndsSessions, HasSchemas, SqlDatabase, SqlTransaction
from trident.state.layout import StateLayout
from trident.state.positions import Position, stands
from trident.state.rows import conform
from trident.state.staged import HeldUpdates, StagedUpdates, WrittenUpdates
from trident.state.tables.combining import copy_folded, fold, is_where_it_was_read, use_folded
from trident.state.tables.counting import (
    TableCounting,
    check_merged,
    check_still_stored,
    note_rows,
    refuse_owned_elsewhere,
    refuse_unowned,
)
from trident.state.tables.dialect import Dialect
from trident.state.tables.meta import AppliedRow, raise_fence
from trident.state.tables.names import quote_table
from trident.state.tables.place import TablePlace, TablePlacing, connection_of
from trident.state.tables.querying import TableQuerying, arrow_rows
from trident.state.tables.ready import ReadyHeld, ReadyWritten, unready
from trident.state.tables.resetting import TableResetting
from trident.state.tables.shape import TableShape
from trident.state.tables.staged import Merged
from trident.state.tables.staging import TXID as STAGING_TXID
from trident.state.tables.staging import Writes, staging_rows
from trident.state.tables.tables import prepare_tables
from trident.state.tables.trying import TableTrying
from trident.state.tables.undoing import TableUndoing


class TableTarget:
    """An opened SQL state; see `Target` for what holds of every method.

    `writing` is what lets tasks stage to it, `let_write` grants them what that needs once the tables are there;
    `shared` says that the database is the ledger's.
    """

    def __init__(
        self,
        database: SqlDatabase,
        dialect: Dialect,
        name: str,
        shape: TableShape,
        shared: bool,
        timeouts: Timeouts,
        writing: WritableByTasks | None = None,
        let_write: Callable[[Connection], None] = lambda _: None,
    ) -> None:
        self._let_write = let_write
        # Known here rather than at the first batch: a type without a column is the topology's mistake.
        shape.columns(dialect.column_type)
        self._place = place = TablePlace(database, dialect, name, shape, not shared, UsersCode(timeouts))
        self._capabilities = Capabilities(
            beside=self if shared else None,
            undoing=TableUndoing(place),
            resetting=TableResetting(place),
            trying=TableTrying(place),
            writing=writing,
            diverting=self,
            querying=TableQuerying(place),
            counting=TableCounting(place),
            ending=database if not shared and isinstance(database, EndsSessions) else None,
            placing=TablePlacing(place, database) if isinstance(database, HasSchemas) else None,
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
            self._let_write(transaction.connection)
        place.was_made = place.was_missing

    def look(self, topology: str, registers: bool = False) -> Position | None:
        """Return where the state stands; what is missing is made for that, and rolled back.

        A writer that was stopped and holds the row is not waited for: nobody has ended it yet.
        """
        place = self._place

        def found(transaction: SqlTransaction) -> AppliedRow | None:
            prepare_tables(transaction.connection, place)
            self._let_write(transaction.connection)
            row = place.applied.read(transaction.connection, topology, locked=False)
            if row is None:
                refuse = refuse_unowned if registers else refuse_owned_elsewhere
                refuse(transaction.connection, place)
            return row

        row = rolled_back(place.database.transaction(), found)
        return row.position if row else None

    def raise_fence(self, owner: Owner, epoch: Epoch) -> None:
        """Refuse every older epoch from now on.

        The ledger's own fence serves what is applied with a pin; the epoch beside the position serves `apply`, by which
        a pin of an older version is rolled forward in a state beside the ledger too.
        """
        place = self._place
        with place.working(owner, epoch) as transaction:
            if place.apart:
                raise_fence(transaction.connection, owner.topology, epoch)
            else:
                place.applied.stamp(transaction.connection, owner, epoch)

    def position(self, topology: str) -> Position | None:
        """Return where the state stands, None when it has never been registered."""
        with self._place.database.transaction() as transaction:
            transaction.work_on(topology)
            row = self._place.applied.read(transaction.connection, topology)
        return row.position if row else None

    def register(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Record a new state's owner and birth txid; refuses a table that already has rows."""
        place = self._place
        with place.working(owner, epoch) as transaction:
            connection = transaction.connection
            row = place.owned(connection, owner, epoch)
            if row is None:
                refuse_unowned(connection, place)
                place.applied.insert(connection, owner, epoch, birth_txid)
                note_rows(connection, place, owner.topology)
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
        ready = place.dialect.ready_rows(marked)
        with place.working(batch.owner, batch.epoch) as transaction:
            place.dialect.insert_rows(transaction.connection, place.staging, ready)
        return WrittenUpdates((WriteManifest(self.name, write_id, digest),))

    def apply(self, batch: BatchId, updates: StagedUpdates) -> None:
        """Apply a pinned batch in a transaction of its own, once; the fence is held last and for a moment."""
        place = self._place
        updates = self.ready(batch, updates)
        with place.working(batch.owner, batch.epoch) as transaction:
            self.copy_in(transaction, batch, updates)
            if not place.apart:  # the fence is the ledger's: here the row's own epoch refuses a late writer
                place.owned(transaction.connection, batch.owner, batch.epoch)
            try:
                if self.apply_in(transaction, batch, updates) and self.run_deferred_in(transaction, of_all=False):
                    self.run_deferred_in(transaction, of_all=True)
                    self.check_stored_in(transaction, batch, updates)
            except MismatchError:
                place.check_fence(transaction.connection, batch.owner, batch.epoch)
                raise
            place.check_fence(transaction.connection, batch.owner, batch.epoch)
            reached(CrashPoint.IN_APPLY, batch.txid)

    def ready(self, batch: BatchId, updates: StagedUpdates) -> StagedUpdates:
        """Turn held rows into the driver's values, and run the users' functions over what is stored."""
        place = self._place
        rows = None
        if isinstance(updates, HeldUpdates):
            updates = HeldUpdates(conform(updates.rows, self.layout.schema()))
            rows = place.dialect.ready_rows(updates.rows)
        folded = fold(place, batch, updates, rows) if place.shape.combined and updates.count else None
        if isinstance(updates, HeldUpdates):
            assert rows is not None
            return ReadyHeld(updates.rows, rows, folded)
        return ReadyWritten(updates.writes, folded)

    def copy_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Bring held updates into a table that only this transaction sees."""
        if not isinstance(updates, ReadyHeld | ReadyWritten):
            raise unready(self.name)
        connection, place = connection_of(transaction), self._place
        if isinstance(updates, ReadyHeld):
            place.staged.create(connection)
            place.staged.copy(connection, updates.ready)
        if updates.folded is not None:
            copy_folded(connection, place, updates.folded)

    def apply_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> bool:
        """Move the position from txid - 1 to txid, then merge; a batch that is in is skipped whole."""
        if not isinstance(updates, ReadyHeld | ReadyWritten):
            raise unready(self.name)
        connection, place = connection_of(transaction), self._place
        expected = updates.count
        if place.shape.combined and expected and not is_where_it_was_read(connection, place, batch, updates.folded):
            return False
        if not place.applied.move(connection, batch):
            place.check_already_in(connection, batch)
            return False
        no_nulls = False
        if isinstance(updates, ReadyHeld):
            no_nulls = all(updates.rows.column(key.name).null_count == 0 for key in place.shape.keys)
        elif updates.writes:
            place.staged.create(connection)
            place.staged.load(connection, Writes(place.staging, batch, updates.writes))
        if updates.folded is not None:
            use_folded(connection, place, updates.folded)
        merged = place.staged.merge(connection, batch.txid, expected, no_nulls) if expected else Merged(0, 0)
        changed = merged.changed + merged.made
        check_merged(connection, place.staged, batch, expected, changed)
        place.applied.count(connection, batch.owner.topology, merged.made)
        return True

    def run_deferred_in(self, transaction: Transaction, *, of_all: bool) -> bool:
        """Let the table's deferred constraints and triggers run."""
        place = self._place
        return place.dialect.run_deferred(connection_of(transaction), None if of_all else place.shape.table)

    def check_stored_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Look at the txids beside the values again."""
        check_still_stored(connection_of(transaction), self._place.staged, batch, updates.count)

    def staged_rows(self, batch: BatchId, updates: StagedUpdates) -> pa.Table:
        """Return all staged rows of a batch."""
        if isinstance(updates, HeldUpdates):
            return updates.rows
        if not updates.writes:
            return self.layout.schema().empty_table()
        place = self._place
        with place.working(batch.owner, batch.epoch) as transaction:
            found = Writes(place.staging, batch, updates.writes).read(transaction.connection, place.shape)
        return arrow_rows(place.shape, place.dialect, found)

    def clean_up(self, owner: Owner, epoch: Epoch, done: int) -> None:
        """Delete staged rows of txids up to `done`, never beyond what is applied."""
        place = self._place
        with place.working(owner, epoch) as transaction:
            row = place.owned(transaction.connection, owner, epoch)
            if row is None or row.position.owner != owner:
                raise MismatchError(f"state {self.name!r} is not of {owner.topology!r}; nothing was deleted")
            statement = text(f"DELETE FROM {quote_table(place.staging)} WHERE {STAGING_TXID} <= :done")
            transaction.connection.execute(statement, {"done": min(done, row.position.txid)})

    def close(self) -> None:
        """Let go of a database of its own; the ledger closes a shared one."""
        self._place.users_code.close()
        if self._place.apart:
            self._place.database.close()
