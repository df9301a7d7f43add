"""What a memory state can do beside every target: undo, follow a reset, tell the values of given keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from trident.base.errors import MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.state.capabilities import Found
from trident.state.folding import current, key_rows, table_of, undone
from trident.state.layout import StateLayout
from trident.state.memory.database import MemoryTransaction
from trident.state.memory.place import MemoryPlace, stored_row
from trident.state.positions import Position, Standing, before_attempt, is_in
from trident.state.staged import AppliedUpdates, StagedUpdates
from trident.state.undoing import check_kind, check_known, check_undone
from trident.state.values import OpaqueValue, TransactionalValue


@dataclass(frozen=True, slots=True)
class MemoryUndoing:
    """See `Undoable`: rows and position go back at once."""

    place: MemoryPlace
    undoes_done: ClassVar[bool] = True

    def check_undo(self, batch: BatchId, updates: StagedUpdates | AppliedUpdates) -> None:
        """Check that the state is opaque, or has nothing of the batch."""
        place = self.place
        with place.database.transaction() as transaction:
            position = place.owned(transaction, batch.owner, batch.epoch)
            if is_in(position, batch, place.name):
                self._known(transaction, batch, updates)

    def undo(self, batch: BatchId, before: int, updates: StagedUpdates | AppliedUpdates) -> None:
        """Bring back what was before the batch."""
        place = self.place
        with place.database.transaction() as transaction:
            position = place.owned(transaction, batch.owner, batch.epoch)
            if not is_in(position, batch, place.name):
                return
            assert position is not None
            keys = self._known(transaction, batch, updates)
            stored, back = place.rows(transaction), place.undone(transaction)
            for key in keys:
                row = undone(stored.pop(key), batch.txid)
                if row is not None:
                    stored[key] = row
                    back[key] = batch.txid - 1
            attempt = before_attempt(position, batch, before)
            moved = Position(batch.owner, batch.txid - 1, attempt, position.birth_txid)
            place.put(transaction, batch.owner.topology, Standing(moved, batch.epoch))

    def _known(
        self, transaction: MemoryTransaction, batch: BatchId, updates: StagedUpdates | AppliedUpdates
    ) -> list[object]:
        """Return the batch's keys; raises CannotUndoError unless each of them knows what was before it."""
        place = self.place
        check_kind(place.kind, batch, updates, place.name)
        rows, back = place.rows(transaction).items(), place.undone(transaction)
        keys = [key for key, row in rows if isinstance(row, OpaqueValue) and row.txid == batch.txid]
        check_known(batch, sum(back.get(key) == batch.txid for key in keys), f"state {place.name!r}")
        check_undone(batch, updates, len(keys), place.name)
        return keys


@dataclass(frozen=True, slots=True)
class MemoryResetting:
    """See `Resettable`."""

    place: MemoryPlace

    def check_clear(self, topology: str) -> None:
        """Do nothing: memory can be emptied."""

    def clear(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Delete the rows."""
        place = self.place
        with place.database.transaction() as transaction:
            position = place.owned(transaction, owner, epoch)
            if position is None or position.owner != owner:
                place.rows(transaction).clear()
                place.bind(transaction, owner, epoch, birth_txid)

    def check_adopt(self, topology: str) -> int | None:
        """Return where the rows stand; without a position, the newest txid of any: its value is no batch's to come."""
        place = self.place
        with place.database.transaction() as transaction:
            if (position := place.position(transaction, topology)) is not None:
                return position.txid
            rows = place.rows(transaction)
            txids = (row.txid for row in rows.values() if isinstance(row, OpaqueValue | TransactionalValue))
            return max(txids, default=0) if rows else None

    def adopt(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Keep the rows."""
        place = self.place
        with place.database.transaction() as transaction:
            position = place.owned(transaction, owner, epoch)
            if position is None or position.owner != owner:
                place.bind(transaction, owner, epoch, birth_txid)


@dataclass(frozen=True, slots=True)
class MemoryQuerying:
    """See `Queryable`: one transaction sees all."""

    place: MemoryPlace
    layout_now: Callable[[], StateLayout]

    def find(self, topology: str, keys: pa.Table) -> Found:
        """Look the keys up."""
        layout = self.layout_now()
        asked = key_rows(layout, keys)
        place = self.place
        with place.database.transaction() as transaction:
            position = place.position(transaction, topology)
            stored = place.rows(transaction)
            found = {key: current(stored_row(stored[key])) for key in asked if key in stored}
        if position is None:
            raise MismatchError(f"state {place.name!r} has never been registered; nothing was read")
        return Found(position, table_of(layout, found))
