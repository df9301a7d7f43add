"""What every target in a SQL database does: takes its place, stages rows, applies a batch in one transaction."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

import pyarrow as pa
from sqlalchemy import Connection, text

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.looking import rolled_back
from trident.base.writes import WriteManifest
from trident.state.capabilities import Capabilities, Transaction
from trident.state.databases.base import EndsSessions, SqlTransaction
from trident.state.positions import Position, is_held, put_back, stands
from trident.state.rows import conform
from trident.state.staged import HeldUpdates, StagedUpdates, WrittenUpdates
from trident.state.tables.counting import refuse_owned
from trident.state.tables.meta import AppliedRow, raise_fence
from trident.state.tables.names import quote_table
from trident.state.tables.place import SqlPlace, connection_of
from trident.state.tables.staging import TXID as STAGING_TXID
from trident.state.tables.staging import Writes, staging_rows

_ANY_TXID: Final = 2**63 - 1


class SqlTarget(ABC):
    """An opened target in a SQL database; see `Target` for what holds of every method.

    `let_write` grants tasks what they need to stage rows, once the tables are there.
    """

    def __init__(self, place: SqlPlace, let_write: Callable[[Connection], None]) -> None:
        self._at = place
        self._let_write = let_write

    @property
    def name(self) -> str:
        """The name of the state or sink."""
        return self._at.name

    @property
    def place(self) -> SqlPlace:
        """Where it is, for who looks at it."""
        return self._at

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What it can do beside this."""

    @abstractmethod
    def ready(self, batch: BatchId, updates: StagedUpdates) -> StagedUpdates:
        """See `SharesTransaction`."""

    @abstractmethod
    def copy_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """See `SharesTransaction`."""

    @abstractmethod
    def apply_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> bool:
        """See `SharesTransaction`."""

    @abstractmethod
    def check_stored_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """See `SharesTransaction`."""

    @abstractmethod
    def _make(self, connection: Connection) -> None:
        """Make its tables or check those that are there."""

    @abstractmethod
    def _refuse_unowned(self, connection: Connection) -> None:
        """Raise MismatchError for a table that a new target can't begin with."""

    @abstractmethod
    def _note(self, connection: Connection, topology: str) -> None:
        """Record what belongs to the position of a target that was registered just now."""

    @abstractmethod
    def _check(self, rows: pa.Table) -> None:
        """Raise RefusedError for rows that the table can't hold, as far as that can be told here."""

    def prepare(self) -> None:
        """Make the tables or check those that are there; away from the ledger it stages durably and has a fence."""
        place = self._at
        with place.database.transaction() as transaction:
            self._make(transaction.connection)
            self._let_write(transaction.connection)
        place.was_made = place.was_missing

    def look(self, topology: str, registers: bool = False) -> Position | None:
        """Return where it stands; what is missing is made for that, and rolled back.

        A writer that was stopped and holds the row is not waited for: nobody has ended it yet.
        """
        place = self._at

        def found(transaction: SqlTransaction) -> AppliedRow | None:
            self._make(transaction.connection)
            self._let_write(transaction.connection)
            row = place.applied.read(transaction.connection, topology, locked=False)
            if row is None and registers:
                self._refuse_unowned(transaction.connection)
            elif row is None:
                refuse_owned(transaction.connection, place)
            return row

        if place.apart and isinstance(place.database, EndsSessions):
            place.database.end_stuck()  # whoever stopped while it made tables would be waited for
        row = rolled_back(place.database.transaction(), found)
        return row.position if row else None

    def raise_fence(self, owner: Owner, epoch: Epoch) -> None:
        """Refuse every older epoch from now on.

        The ledger's own fence serves what is applied with a pin; the epoch beside the position serves `apply`, by which
        a pin of an older version is rolled forward beside the ledger too.
        """
        place = self._at
        with place.working(owner, epoch) as transaction:
            if place.apart:
                raise_fence(transaction.connection, owner.topology, epoch)
            else:
                place.applied.stamp(transaction.connection, owner, epoch)

    def position(self, topology: str) -> Position | None:
        """Return where it stands, None when it has never been registered."""
        with self._at.database.transaction() as transaction:
            transaction.work_on(topology)
            row = self._at.applied.read(transaction.connection, topology)
        return row.position if row else None

    def register(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Record the owner and birth txid of a new one."""
        place = self._at
        with place.working(owner, epoch) as transaction:
            connection = transaction.connection
            row = place.owned(connection, owner, epoch)
            if row is None:
                place.database.schema_terms.lock(connection)  # what a weaker level begins in takes it, too
                self._refuse_unowned(connection)
                place.applied.insert(connection, owner, epoch, birth_txid)
                self._note(connection, owner.topology)
            elif row.position.owner != owner:
                raise MismatchError(f"state {self.name!r} {stands(row.position)}; nothing was changed")

    def stage(self, batch: BatchId, updates: HeldUpdates) -> StagedUpdates:
        """Check the rows and, away from the ledger, commit them to the staging table under a fresh write id."""
        place = self._at
        rows = conform(updates.rows, place.schema)
        self._check(rows)
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
        place = self._at
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

    def run_deferred_in(self, transaction: Transaction, *, of_all: bool) -> bool:
        """Let the table's deferred constraints and triggers run."""
        place = self._at
        return place.dialect.run_deferred(connection_of(transaction), None if of_all else place.table)

    def staged_rows(self, batch: BatchId, updates: StagedUpdates) -> pa.Table:
        """Return all staged rows of a batch."""
        if isinstance(updates, HeldUpdates):
            return updates.rows
        place = self._at
        if not updates.writes:
            return place.schema.empty_table()
        with place.working(batch.owner, batch.epoch) as transaction:
            writes = Writes(place.staging, batch, updates.writes)
            found = writes.read(transaction.connection, place.schema, place.dialect)
        return place.dialect.unpacked(place.schema, found)

    def clean_up(self, owner: Owner, epoch: Epoch, done: int) -> None:
        """Delete staged rows of txids up to `done`, never beyond what is applied."""
        self._delete_staged(owner, epoch, lambda applied: min(done, applied))

    def forget_staging(self, owner: Owner, epoch: Epoch) -> None:
        """Delete all staged rows."""
        if not self._delete_staged(owner, epoch, lambda _: _ANY_TXID):
            raise put_back(self.name)

    def _delete_staged(self, owner: Owner, epoch: Epoch, upto: Callable[[int], int]) -> bool:
        """Delete staged rows of txids up to one; returns whether this epoch stands there, else nothing is deleted."""
        place = self._at
        with place.working(owner, epoch) as transaction:
            row = place.owned(transaction.connection, owner, epoch)
            if row is None or row.position.owner != owner:
                raise MismatchError(f"state {self.name!r} is not of {owner.topology!r}; nothing was deleted")
            # elsewhere the fence was held, which knows its epoch by its token
            if not place.apart and not is_held(row.epoch, epoch, self.name):
                return False
            statement = text(f"DELETE FROM {quote_table(place.staging)} WHERE {STAGING_TXID} <= :newest")
            transaction.connection.execute(statement, {"newest": upto(row.position.txid)})
        return True

    def close(self) -> None:
        """Let go of a database of its own; the ledger closes a shared one."""
        if self._at.apart:
            self._at.database.close()
