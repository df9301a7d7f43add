"""A state in memory, beside a memory ledger or in a database of its own: for tests, examples and simulations."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from trident.base.errors import ConfigurationError, MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.writes import WriteManifest
from trident.state.databases.memory import MemoryDatabase, MemoryTransaction
from trident.state.folding import Row, StoredRow, current, merged_with, undone, updated
from trident.state.layout import StateKind, StateLayout, Value
from trident.state.memory.staged import ArrowRows, StagedWrite
from trident.state.positions import Standing, before_attempt, check_epoch, check_kind, check_undone, is_in, stands
from trident.state.tables.shape import table_shape
from trident.state.target import (
    AppliedUpdates,
    HeldUpdates,
    LedgerDatabase,
    Position,
    StagedUpdates,
    StagingLostError,
    StagingWriter,
    Transaction,
    WrittenUpdates,
)
from trident.state.values import OpaqueValue, TransactionalValue


@dataclass(frozen=True, slots=True)
class MemoryState:
    """Results in memory, in the database object of a memory ledger; they end with the process.

    With a `database` of its own the state has its own fence and staging, as one in another server has.
    """

    name: str
    kind: StateKind = field(default=StateKind.OPAQUE, kw_only=True)
    database: MemoryDatabase | None = field(default=None, kw_only=True, compare=False, repr=False)

    def description(self) -> dict[str, str]:
        """Return what must stay the same over restarts of a topology inside one process."""
        return {"store": "memory", "kind": str(self.kind)}

    def open(self, layout: StateLayout, ledger_database: LedgerDatabase) -> MemoryStore:
        """Share the ledger's memory, or open the state's own."""
        if not isinstance(ledger_database, MemoryDatabase):
            raise ConfigurationError(
                f"state {self.name!r} lives in memory and the ledger does not: after a restart the ledger would know "
                "batches that the state has lost; use MemoryLedger with it"
            )
        table_shape(self.name, self.name, self.kind, layout)
        if self.database is None or self.database is ledger_database:
            return MemoryStore(ledger_database, self.name, self.kind, layout)
        return MemoryStore(self.database, self.name, self.kind, layout, beside_ledger=False)

    def rows(self, ledger_database: LedgerDatabase) -> list[dict[str, Value]]:
        """Return the current rows, key columns and value columns by name, in no order."""
        database = self.database or ledger_database
        assert isinstance(database, MemoryDatabase)
        with database.transaction() as transaction:
            layout = transaction.table(_LAYOUTS).get(self.name)
            if not isinstance(layout, StateLayout):
                return []
            names = layout.schema().names
            stored = transaction.table(_rows_table(self.name)).items()
            return [dict(zip(names, (*_row(key), *current(_stored(row))), strict=True)) for key, row in stored]


class MemoryStore:
    """An opened memory state; see `StateStore` for what holds of every method.

    `rows` is what it does with Arrow; a simulation, which has none, gives another one.
    """

    def __init__(
        self,
        database: MemoryDatabase,
        name: str,
        kind: StateKind,
        layout: StateLayout,
        *,
        beside_ledger: bool = True,
        rows: ArrowRows | None = None,
        draw_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self._database = database
        self._name = name
        self._kind = kind
        self._layout = layout
        self._rows = rows or ArrowRows(layout)
        self._draw_id = draw_id
        self._beside_ledger = beside_ledger
        self._apart = not beside_ledger

    @property
    def name(self) -> str:
        """The state's name."""
        return self._name

    @property
    def beside_ledger(self) -> bool:
        """Whether it uses the ledger's own database object."""
        return self._beside_ledger

    def prepare(self, beside: bool) -> None:
        """Remember the layout; raises MismatchError when rows of another one are there."""
        self._apart = not beside
        with self._database.transaction() as transaction:
            layouts = transaction.table(_LAYOUTS)
            found = layouts.setdefault(self._name, self._layout)
            if found != self._layout and transaction.table(_rows_table(self._name)):
                raise MismatchError(f"state {self._name!r} holds rows of other columns; nothing was changed")
            layouts[self._name] = self._layout

    def raise_fence(self, owner: Owner, epoch: Epoch) -> None:
        """Refuse every older epoch from now on."""
        with self._database.transaction() as transaction:
            standing = self._standing(transaction, owner.topology)
            check_epoch(standing.epoch if standing else None, epoch, self._name)
            self._put(transaction, owner.topology, Standing(standing.position if standing else None, epoch))

    def position(self, topology: str) -> Position | None:
        """Return where the state stands, None when it has never been registered."""
        with self._database.transaction() as transaction:
            standing = self._standing(transaction, topology)
        return standing.position if standing else None

    def register(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Record a new state's owner and birth txid; refuses a table that already has rows."""
        with self._database.transaction() as transaction:
            position = self._owned(transaction, owner, epoch)
            if position is None:
                if transaction.table(_rows_table(self._name)):
                    raise MismatchError(f"state {self._name!r} has rows but no owner; nothing was changed")
                self._bind(transaction, owner, epoch, birth_txid)
            elif position.owner != owner:
                raise MismatchError(f"state {self._name!r} {stands(position)}; nothing was changed")

    def stage(self, batch: BatchId, updates: HeldUpdates) -> StagedUpdates:
        """Check the rows; away from the ledger keep them until they are applied."""
        rows = self._rows.conform(updates.rows)
        if not self._apart:
            return HeldUpdates(rows)
        write_id = self._draw_id()
        with self._database.transaction() as transaction:
            transaction.table(_staging_table(self._name))[write_id] = StagedWrite(batch.txid, batch.attempt, rows)
        return WrittenUpdates((WriteManifest(self._name, write_id, self._rows.digest(write_id, rows)),))

    def writer(self, batch: BatchId) -> StagingWriter | None:
        """Return None: tasks of other processes can't reach this memory."""
        return None

    def apply(self, batch: BatchId, updates: StagedUpdates) -> None:
        """Apply a pinned batch once."""
        with self._database.transaction() as transaction:
            self._owned(transaction, batch.owner, batch.epoch)
            self.apply_in(transaction, batch, updates)

    def copy_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Do nothing: held updates are already in this process."""

    def apply_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Merge the rows and move the position, unless the batch is in."""
        assert isinstance(transaction, MemoryTransaction)
        standing = self._standing(transaction, batch.owner.topology)
        position = standing.position if standing else None
        if is_in(position, batch, self._name):
            return
        assert position is not None
        rows = self._rows_of(transaction, batch, updates)
        stored = transaction.table(_rows_table(self._name))
        changed: dict[Row, StoredRow] = {
            key: updated(self._kind, stored.get(key), batch.txid, merged_with(self._layout, staged))
            for key, staged in rows.items()
        }
        self._rows.check_fit(changed)
        for key, row in changed.items():
            stored[key] = row
        moved = Position(batch.owner, batch.txid, batch.attempt, position.birth_txid)
        self._put(transaction, batch.owner.topology, Standing(moved, batch.epoch))

    def staged_rows(self, batch: BatchId, updates: StagedUpdates) -> pa.Table:
        """Return all staged rows of a batch."""
        if isinstance(updates, HeldUpdates):
            return updates.rows
        with self._database.transaction() as transaction:
            return self._rows.joined(self._written(transaction, batch, updates))

    def check_undo(self, batch: BatchId, updates: StagedUpdates | AppliedUpdates) -> None:
        """Check that the state is opaque, or has nothing of the batch."""
        with self._database.transaction() as transaction:
            position = self._owned(transaction, batch.owner, batch.epoch)
            if is_in(position, batch, self._name):
                check_kind(self._kind, batch, updates, self._name)
                check_undone(batch, updates, len(self._of_txid(transaction, batch.txid)), self._name)

    def undo(self, batch: BatchId, before: int, updates: StagedUpdates | AppliedUpdates) -> None:
        """Bring back what was before the batch, all of it at once."""
        with self._database.transaction() as transaction:
            position = self._owned(transaction, batch.owner, batch.epoch)
            if not is_in(position, batch, self._name):
                return
            assert position is not None
            check_kind(self._kind, batch, updates, self._name)
            keys = self._of_txid(transaction, batch.txid)
            check_undone(batch, updates, len(keys), self._name)
            stored = transaction.table(_rows_table(self._name))
            for key in keys:
                row = undone(stored.pop(key), batch.txid)
                if row is not None:
                    stored[key] = row
            attempt = before_attempt(position, batch, before)
            moved = Position(batch.owner, batch.txid - 1, attempt, position.birth_txid)
            self._put(transaction, batch.owner.topology, Standing(moved, batch.epoch))

    def clean_up(self, owner: Owner, epoch: Epoch, done: int) -> None:
        """Forget staged rows of txids up to `done`."""
        with self._database.transaction() as transaction:
            self._owned(transaction, owner, epoch)
            staging = transaction.table(_staging_table(self._name))
            for write_id, staged in list(staging.items()):
                if isinstance(staged, StagedWrite) and staged.txid <= done:
                    del staging[write_id]

    def clear(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Delete all rows and start at the birth txid under a new owner."""
        with self._database.transaction() as transaction:
            position = self._owned(transaction, owner, epoch)
            if position is None or position.owner != owner:
                transaction.table(_rows_table(self._name)).clear()
                self._bind(transaction, owner, epoch, birth_txid)

    def adopt(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Keep all rows and bind them to the new owner at the birth txid."""
        with self._database.transaction() as transaction:
            position = self._owned(transaction, owner, epoch)
            if position is None or position.owner != owner:
                self._bind(transaction, owner, epoch, birth_txid)

    def close(self) -> None:
        """Do nothing: the memory is the ledger's."""

    def _rows_of(self, transaction: MemoryTransaction, batch: BatchId, updates: StagedUpdates) -> dict[Row, Row]:
        """Return the staged rows by key; raises StagingLostError unless they are those that were accepted."""
        if isinstance(updates, HeldUpdates):
            return self._rows.keyed([self._rows.conform(updates.rows)])
        return self._rows.keyed(self._written(transaction, batch, updates))

    def _written(self, transaction: MemoryTransaction, batch: BatchId, updates: WrittenUpdates) -> list[pa.Table]:
        staging = transaction.table(_staging_table(self._name))
        tables = []
        for write in updates.writes:
            staged = staging.get(write.write_id)
            if not isinstance(staged, StagedWrite) or not self._is_accepted(staged, batch, write):
                raise StagingLostError(f"{batch}: write {write.write_id} is not what was accepted; nothing was applied")
            tables.append(staged.rows)
        return tables

    def _of_txid(self, transaction: MemoryTransaction, txid: int) -> list[object]:
        rows = transaction.table(_rows_table(self._name)).items()
        return [key for key, row in rows if isinstance(row, OpaqueValue) and row.txid == txid]

    def _is_accepted(self, staged: StagedWrite, batch: BatchId, write: WriteManifest) -> bool:
        same_batch = (staged.txid, staged.attempt) == (batch.txid, batch.attempt)
        return same_batch and self._rows.digest(write.write_id, staged.rows) == write.digest

    def _owned(self, transaction: MemoryTransaction, owner: Owner, epoch: Epoch) -> Position | None:
        standing = self._standing(transaction, owner.topology)
        check_epoch(standing.epoch if standing else None, epoch, self._name)
        return standing.position if standing else None

    def _bind(self, transaction: MemoryTransaction, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        self._put(transaction, owner.topology, Standing(Position(owner, birth_txid, 0, birth_txid), epoch))

    def _standing(self, transaction: MemoryTransaction, topology: str) -> Standing | None:
        applied = transaction.table(_APPLIED)
        others = [key for key in applied if isinstance(key, tuple) and key[1] == self._name and key[0] != topology]
        if others:
            raise MismatchError(f"state {self._name!r} belongs to another topology; nothing was changed")
        found = applied.get((topology, self._name))
        assert found is None or isinstance(found, Standing)
        return found

    def _put(self, transaction: MemoryTransaction, topology: str, standing: Standing) -> None:
        transaction.table(_APPLIED)[topology, self._name] = standing


_APPLIED = "state positions"
_LAYOUTS = "state layouts"


def _rows_table(name: str) -> str:
    return f"state {name} rows"


def _staging_table(name: str) -> str:
    return f"state {name} staging"


def _row(key: object) -> Row:
    assert isinstance(key, tuple)
    return key


def _stored(row: object) -> StoredRow:
    assert isinstance(row, (TransactionalValue, OpaqueValue, tuple))
    return row
