"""An opened memory state."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from trident.base.errors import MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.looking import rolled_back
from trident.base.writes import WriteManifest
from trident.state.capabilities import Capabilities, Transaction
from trident.state.evolving import HeldColumns, coming_columns, held_layout
from trident.state.folding import Row, StoredRow, merged_with, updated
from trident.state.layout import StateKind, StateLayout
from trident.state.memory.database import MemoryDatabase, MemoryTransaction
from trident.state.memory.forgetting import MemoryForgetting
from trident.state.memory.parts import MemoryQuerying, MemoryResetting, MemoryUndoing
from trident.state.memory.place import LAYOUTS, MemoryPlace, refuse_noted
from trident.state.memory.renaming import MemoryRenaming
from trident.state.memory.sifting import MemorySifting
from trident.state.memory.staged import ArrowRows, StagedWrite
from trident.state.positions import Position, Standing, check_epoch, is_held, is_in, put_back, stands
from trident.state.staged import HeldUpdates, StagedUpdates, StagingLostError, WrittenUpdates


class MemoryTarget:
    """See `Target` for what holds of every method.

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
        self._place = place = MemoryPlace(database, name, kind)
        self._opened_with = self._layout = layout
        self._empty: frozenset[str] = frozenset()
        self._rows = rows or ArrowRows(layout)
        self._draw_id = draw_id
        self._apart = not beside_ledger

        def under(other: str) -> MemoryTarget:
            return MemoryTarget(database, other, kind, layout, beside_ledger=beside_ledger, rows=rows, draw_id=draw_id)

        sifting = None if rows is not None else MemorySifting(database, self, self._conform, lambda: self._layout)
        self._capabilities = Capabilities(
            beside=self if beside_ledger else None,
            undoing=MemoryUndoing(place),
            resetting=MemoryResetting(place),
            diverting=self,
            sifting=sifting,
            putting_back=sifting,
            querying=MemoryQuerying(place, lambda: self._layout),
            evolving=self,
            forgetting=MemoryForgetting(place),
            renaming=MemoryRenaming(place, under),
        )

    @property
    def name(self) -> str:
        """The state's name."""
        return self._place.name

    @property
    def database(self) -> MemoryDatabase:
        """Where its rows are."""
        return self._place.database

    @property
    def capabilities(self) -> Capabilities:
        """All but writing by tasks: those of other processes can't reach this memory."""
        return self._capabilities

    def keep(self, columns: HeldColumns) -> None:
        """Read and write rows in the order in which they lie there; what they are too short for is not there."""
        coming_columns(self._opened_with, columns)
        self._layout, self._empty = held_layout(self._opened_with, columns), columns.empty
        self._rows = replace(self._rows, layout=self._layout, empty=self._empty)

    def look(self, topology: str, registers: bool = False) -> Position | None:
        """Raise what `prepare` would raise, and return where the state stands; changes nothing."""

        def found(transaction: MemoryTransaction) -> Position | None:
            self._prepare(transaction)
            position = self._place.position(transaction, topology)
            if position is None and registers and self._place.rows(transaction):
                raise MismatchError(f"state {self.name!r} has rows but no owner; nothing was changed")
            return position

        return rolled_back(self._place.database.transaction(), found)

    def prepare(self) -> None:
        """Remember the layout; raises MismatchError when rows of another one are there."""
        with self._place.database.transaction() as transaction:
            self._prepare(transaction)

    def raise_fence(self, owner: Owner, epoch: Epoch) -> None:
        """Refuse every older epoch from now on."""
        with self._place.database.transaction() as transaction:
            standing = self._place.standing(transaction, owner.topology)
            check_epoch(standing.epoch if standing else None, epoch, self.name)
            raised = Standing(standing.position if standing else None, epoch)
            self._place.put(transaction, owner.topology, raised)

    def position(self, topology: str) -> Position | None:
        """Return where the state stands, None when it has never been registered."""
        with self._place.database.transaction() as transaction:
            return self._place.position(transaction, topology)

    def register(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Record a new state's owner and birth txid; refuses a table that already has rows."""
        with self._place.database.transaction() as transaction:
            position = self._place.owned(transaction, owner, epoch)
            if position is None:
                if self._place.rows(transaction):
                    raise MismatchError(f"state {self.name!r} has rows but no owner; nothing was changed")
                self._place.bind(transaction, owner, epoch, birth_txid)
            elif position.owner != owner:
                raise MismatchError(f"state {self.name!r} {stands(position)}; nothing was changed")

    def stage(self, batch: BatchId, updates: HeldUpdates) -> StagedUpdates:
        """Check the rows; away from the ledger keep them until they are applied."""
        rows = self._rows.conform(updates.rows)
        if not self._apart:
            return HeldUpdates(rows)
        write_id = self._draw_id()
        with self._place.database.transaction() as transaction:
            self._place.staging(transaction)[write_id] = StagedWrite(batch.txid, batch.attempt, rows)
        return WrittenUpdates((WriteManifest(self.name, write_id, self._rows.digest(write_id, rows)),))

    def apply(self, batch: BatchId, updates: StagedUpdates) -> None:
        """Apply a pinned batch once."""
        with self._place.database.transaction() as transaction:
            self._place.owned(transaction, batch.owner, batch.epoch)
            self.apply_in(transaction, batch, updates)

    def ready(self, batch: BatchId, updates: StagedUpdates) -> StagedUpdates:
        """Return the updates as they are: a transaction of this process is waited for without a limit."""
        return updates

    def copy_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Do nothing: held updates are already in this process."""

    def apply_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> bool:
        """Merge the rows and move the position, unless the batch is in."""
        assert isinstance(transaction, MemoryTransaction)
        place = self._place
        position = place.position(transaction, batch.owner.topology)
        if is_in(position, batch, self.name):
            return False
        assert position is not None
        rows = self._rows_of(transaction, batch, updates)
        stored = place.rows(transaction)
        changed: dict[Row, StoredRow] = {
            key: updated(place.kind, stored.get(key), batch.txid, merged_with(self._layout, staged))
            for key, staged in rows.items()
        }
        self._rows.check_fit(changed)
        for key, row in changed.items():
            stored[key] = row
        moved = Position(batch.owner, batch.txid, batch.attempt, position.birth_txid)
        place.put(transaction, batch.owner.topology, Standing(moved, batch.epoch))
        return True

    def run_deferred_in(self, transaction: Transaction, *, of_all: bool) -> bool:
        """Do nothing: memory leaves nothing for later."""
        return False

    def check_stored_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Do nothing: nobody else changes it."""

    def staged_rows(self, batch: BatchId, updates: StagedUpdates) -> pa.Table:
        """Return all staged rows of a batch."""
        if isinstance(updates, HeldUpdates):
            return updates.rows
        with self._place.database.transaction() as transaction:
            return self._rows.joined(self._written(transaction, batch, updates))

    def clean_up(self, owner: Owner, epoch: Epoch, done: int) -> None:
        """Forget staged rows of txids up to `done`."""
        self._forget(owner, epoch, lambda staged: staged.txid <= done)

    def forget_staging(self, owner: Owner, epoch: Epoch) -> None:
        """Forget all staged rows."""
        if not self._forget(owner, epoch, lambda _: True):
            raise put_back(self.name)

    def _conform(self, rows: pa.Table) -> pa.Table:
        return self._rows.conform(rows)

    def _forget(self, owner: Owner, epoch: Epoch, is_old: Callable[[StagedWrite], bool]) -> bool:
        with self._place.database.transaction() as transaction:
            standing = self._place.standing(transaction, owner.topology)
            if not is_held(standing.epoch if standing else None, epoch, self.name):
                return False
            staging = self._place.staging(transaction)
            for write_id, staged in list(staging.items()):
                if isinstance(staged, StagedWrite) and is_old(staged):
                    del staging[write_id]
        return True

    def _prepare(self, transaction: MemoryTransaction) -> None:
        refuse_noted(transaction, self.name)
        layouts = transaction.table(LAYOUTS)
        found = layouts.setdefault(self.name, self._layout)
        assert isinstance(found, StateLayout)
        if self._without_empty(found) != self._without_empty(self._layout) and self._place.rows(transaction):
            raise MismatchError(f"state {self.name!r} holds rows of other columns; nothing was changed")
        layouts[self.name] = self._layout

    def _without_empty(self, layout: StateLayout) -> StateLayout:
        return replace(layout, values=tuple(column for column in layout.values if column.name not in self._empty))

    def close(self) -> None:
        """Do nothing: the memory is the ledger's."""

    def _rows_of(self, transaction: MemoryTransaction, batch: BatchId, updates: StagedUpdates) -> dict[Row, Row]:
        """Return the staged rows by key; raises StagingLostError unless they are those that were accepted."""
        if isinstance(updates, HeldUpdates):
            return self._rows.keyed([self._rows.conform(updates.rows)])
        return self._rows.keyed(self._written(transaction, batch, updates))

    def _written(self, transaction: MemoryTransaction, batch: BatchId, updates: WrittenUpdates) -> list[pa.Table]:
        staging = self._place.staging(transaction)
        tables = []
        for write in updates.writes:
            staged = staging.get(write.write_id)
            if not isinstance(staged, StagedWrite) or not self._is_accepted(staged, batch, write):
                raise StagingLostError(f"{batch}: write {write.write_id} is not what was accepted; nothing was applied")
            tables.append(staged.rows)
        return tables

    def _is_accepted(self, staged: StagedWrite, batch: BatchId, write: WriteManifest) -> bool:
        same_batch = (staged.txid, staged.attempt) == (batch.txid, batch.attempt)
        return same_batch and self._rows.digest(write.write_id, staged.rows) == write.digest
