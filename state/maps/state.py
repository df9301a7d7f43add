"""A state in a user's own key-value store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import pyarrow as pa

from trident.base.advice import RESET_KEEPING_ROWS
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import ConfigurationError, FencedError, MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.state.folding import Row, StoredRow, check_fit, keyed_rows, merged_with, undone, updated
from trident.state.layout import StateKind, StateLayout
from trident.state.maps.blobs import BlobStore, open_blobs
from trident.state.maps.maps import (
    BackingKey,
    BackingMap,
    BackingPosition,
    BackingValue,
    ClearableBackingMap,
    ConditionalBackingMap,
    RemovableBackingMap,
)
from trident.state.positions import before_attempt, check_epoch, check_kind, is_in, stands
from trident.state.rows import conform
from trident.state.tables.shape import table_shape
from trident.state.target import (
    AppliedUpdates,
    CannotUndoError,
    HeldUpdates,
    LedgerDatabase,
    Position,
    StagedUpdates,
    StagingWriter,
    Transaction,
    WrittenUpdates,
)
from trident.state.values import TransactionalValue

Item = TypeVar("Item")

_ROUNDS = 5
"""How often a key is read again after somebody else changed it between our read and our conditional put."""


@dataclass(frozen=True, slots=True)
class BackingMapState:
    """Results in a store that a user brings, `chunk_rows` keys at a time; readers can see half a batch.

    Applied by the coordinator only, from updates that lie in the ledger's database until then. With a
    `ConditionalBackingMap` every key is exactly once whatever dies; without one, a coordinator that was
    stopped in the middle of a put and wakes after its successor took over can write old values.
    """

    name: str
    backing_map: BackingMap = field(repr=False)
    kind: StateKind = field(default=StateKind.OPAQUE, kw_only=True)
    chunk_rows: int = field(default=1_000, kw_only=True)

    def __post_init__(self) -> None:
        """Check what can be checked without a store."""
        if not self.name:
            raise ConfigurationError("a state needs a name")
        if self.chunk_rows < 1:
            raise ConfigurationError(f"chunk_rows must be at least 1, not {self.chunk_rows}")

    def description(self) -> dict[str, str]:
        """Return what must stay the same over restarts."""
        return {"store": "backing map", "kind": str(self.kind), "map": type(self.backing_map).__qualname__}

    def open(self, layout: StateLayout, ledger_database: LedgerDatabase) -> BackingMapStore:
        """Use the map as it is; staged updates go to the ledger's database."""
        table_shape(self.name, self.name, self.kind, layout)
        return BackingMapStore(self, layout, open_blobs(self.name, ledger_database))


class BackingMapStore:
    """An opened backing map; see `StateStore` for what holds of every method."""

    def __init__(self, state: BackingMapState, layout: StateLayout, blobs: BlobStore) -> None:
        self._state = state
        self._map = state.backing_map
        self._layout = layout
        self._blobs = blobs
        self._reserved: BackingKey = ("trident position of", *[state.name] * len(layout.keys))

    @property
    def name(self) -> str:
        """The state's name."""
        return self._state.name

    @property
    def beside_ledger(self) -> bool:
        """Never: the map takes no part in the ledger's transactions."""
        return False

    def prepare(self, beside: bool) -> None:
        """Make the table for staged updates in the ledger's database."""
        self._blobs.prepare()

    def raise_fence(self, owner: Owner, epoch: Epoch) -> None:
        """Put the epoch under the reserved key; a put of a stopped owner may still come after it."""
        found = self._read(owner.topology)
        check_epoch(_epoch(found), epoch, self.name)
        position = _position(found)
        raised = _stored(position, epoch) if position else _fence_only(owner, epoch)
        self._put_reserved(found, raised)

    def position(self, topology: str) -> Position | None:
        """Return where the state stands, None when it has never been registered."""
        return _position(self._read(topology))

    def register(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Record a new state's owner and birth txid; whether the map has rows can't be seen."""
        found = self._owned(owner, epoch)
        position = _position(found)
        if position is None:
            self._put_reserved(found, _stored(Position(owner, birth_txid, 0, birth_txid), epoch))
        elif position.owner != owner:
            raise MismatchError(f"state {self.name!r} {stands(position)}; nothing was changed")

    def stage(self, batch: BatchId, updates: HeldUpdates) -> StagedUpdates:
        """Check the rows and commit them to the ledger's database."""
        rows = conform(updates.rows, self._layout.schema())
        return WrittenUpdates((self._blobs.put(batch, rows),) if rows.num_rows else ())

    def writer(self, batch: BatchId) -> StagingWriter | None:
        """Return None: tasks may run twice or late, so they never reach the map."""
        return None

    def apply(self, batch: BatchId, updates: StagedUpdates) -> None:
        """Put the batch chunk by chunk, then the position; repeated after a crash, in-keys stay as they are."""
        found = self._owned(batch.owner, batch.epoch)
        position = _position(found)
        if is_in(position, batch, self.name):
            return
        assert position is not None
        keyed = keyed_rows(self._layout, self._rows_of(batch, updates))
        for chunk in _chunks(list(keyed.items()), self._state.chunk_rows):
            self._apply_chunk(batch, dict(chunk))
            reached(CrashPoint.BETWEEN_CHUNKS, batch.txid)
        reached(CrashPoint.BEFORE_POSITION, batch.txid)
        moved = Position(batch.owner, batch.txid, batch.attempt, position.birth_txid)
        self._put_reserved(found, _stored(moved, batch.epoch))

    def copy_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Never called: the map takes no part in the ledger's transactions."""
        raise TypeError("a backing map takes no part in the ledger's transaction")

    def apply_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Never called: the map takes no part in the ledger's transactions."""
        raise TypeError("a backing map takes no part in the ledger's transaction")

    def staged_rows(self, batch: BatchId, updates: StagedUpdates) -> pa.Table:
        """Return all staged rows of a batch."""
        return updates.rows if isinstance(updates, HeldUpdates) else self._rows_of(batch, updates)

    def check_undo(self, batch: BatchId, updates: StagedUpdates | AppliedUpdates) -> None:
        """Check that each key of the batch knows what was before it; a batch cut off in the middle counts too."""
        holds = is_in(_position(self._owned(batch.owner, batch.epoch)), batch, self.name)
        if self._state.kind is not StateKind.OPAQUE:
            if holds or self._may_have_part_of(batch, updates):
                check_kind(self._state.kind, batch, updates, self.name)
            return
        stored = [value for keys in self._keys_of(batch, updates) for value in self._map.multi_get(keys)]
        made = [value for value in stored if value is not None and undone(value, batch.txid) is None]
        if made and not isinstance(self._map, RemovableBackingMap):
            raise CannotUndoError(
                f"{batch}: it made {len(made)} keys of state {self.name!r}, and the map has no multi_remove_if() to "
                "take them away again. Nothing was changed"
            )

    def undo(self, batch: BatchId, before: int, updates: StagedUpdates | AppliedUpdates) -> None:
        """Bring the batch's keys back chunk by chunk, then the position; repeated after a crash, the rest follows.

        A coordinator that was stopped in the middle of a put and wakes after this can still put keys of the
        undone batch, also with a conditional put: nothing in the map tells them from new ones.
        """
        self.check_undo(batch, updates)
        found = self._owned(batch.owner, batch.epoch)
        position = _position(found)
        assert position is not None
        if self._state.kind is StateKind.OPAQUE:
            for keys in self._keys_of(batch, updates):
                self._undo_chunk(batch, keys)
                reached(CrashPoint.BETWEEN_UNDONE_CHUNKS, batch.txid)
        if is_in(position, batch, self.name):
            attempt = before_attempt(position, batch, before)
            moved = Position(batch.owner, batch.txid - 1, attempt, position.birth_txid)
            self._put_reserved(found, _stored(moved, batch.epoch))

    def clean_up(self, owner: Owner, epoch: Epoch, done: int) -> None:
        """Delete staged updates of txids up to `done`, never beyond what is applied."""
        position = _position(self._owned(owner, epoch))
        if position is None or position.owner != owner:
            raise MismatchError(f"state {self.name!r} is not of {owner.topology!r}; nothing was deleted")
        self._blobs.forget(owner.topology, min(done, position.txid))

    def clear(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Empty the map, if it can be, and start at the birth txid under a new owner."""
        found = self._owned(owner, epoch)
        position = _position(found)
        if position is not None and position.owner == owner:
            return
        if not isinstance(self._map, ClearableBackingMap):
            raise ConfigurationError(
                f"the map of state {self.name!r} has no clear(), so a reset can't empty it; nothing was changed: "
                f"add clear(), or {RESET_KEEPING_ROWS}"
            )
        self._map.clear()
        self._map.multi_put([(self._reserved, _stored(Position(owner, birth_txid, 0, birth_txid), epoch))])

    def adopt(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Keep all rows and bind them to the new owner at the birth txid."""
        found = self._owned(owner, epoch)
        position = _position(found)
        if position is None or position.owner != owner:
            self._put_reserved(found, _stored(Position(owner, birth_txid, 0, birth_txid), epoch))

    def close(self) -> None:
        """Do nothing: the map is the user's."""

    def _apply_chunk(self, batch: BatchId, staged: dict[BackingKey, Row]) -> None:
        left = dict(staged)
        for _ in range(_ROUNDS):
            keys = list(left)
            before = dict(zip(keys, self._map.multi_get(keys), strict=True))
            after: dict[Row, StoredRow] = {
                key: updated(self._state.kind, before[key], batch.txid, merged_with(self._layout, row))
                for key, row in left.items()
            }
            check_fit(self._layout, after)
            changed = [key for key in keys if before[key] != after[key]]
            refused = self._put([(key, before[key], after[key]) for key in changed])
            if not refused:
                return
            self._owned(batch.owner, batch.epoch)
            left = {key: staged[key] for key in refused}
        raise MismatchError(
            f"{batch}: somebody else keeps changing {len(left)} keys of state {self.name!r}; the batch is partly "
            "applied and will be completed when it is applied again: stop the other writer"
        )

    def _keys_of(self, batch: BatchId, updates: StagedUpdates | AppliedUpdates) -> Iterator[list[BackingKey]]:
        yield from _chunks(list(keyed_rows(self._layout, self._rows_of(batch, updates))), self._state.chunk_rows)

    def _may_have_part_of(self, batch: BatchId, updates: StagedUpdates | AppliedUpdates) -> bool:
        """Tell whether keys of a batch may be in although the position says no: it was cut off between two chunks."""
        if self._state.kind is StateKind.NON_TRANSACTIONAL:
            return True
        stored = [value for keys in self._keys_of(batch, updates) for value in self._map.multi_get(keys)]
        return any(isinstance(value, TransactionalValue) and value.txid == batch.txid for value in stored)

    def _undo_chunk(self, batch: BatchId, keys: list[BackingKey]) -> None:
        left = keys
        for _ in range(_ROUNDS):
            stored = dict(zip(left, self._map.multi_get(left), strict=True))
            back = {key: undone(value, batch.txid) for key, value in stored.items() if value is not None}
            changes = [(key, stored[key], new) for key, new in back.items() if new is not None and new != stored[key]]
            left = self._put(list(changes)) + self._remove([(key, stored[key]) for key in back if back[key] is None])
            if not left:
                return
            self._owned(batch.owner, batch.epoch)
        raise MismatchError(
            f"{batch}: somebody else keeps changing {len(left)} keys of state {self.name!r}; the batch is partly "
            "undone and the rest follows when the topology is started again: stop the other writer"
        )

    def _remove(self, items: list[tuple[BackingKey, BackingValue | None]]) -> list[BackingKey]:
        """Remove all keys; returns those that held something else than expected."""
        held = [(key, value) for key, value in items if value is not None]
        if not held:
            return []
        assert isinstance(self._map, RemovableBackingMap)  # checked before anything was changed
        removed = self._map.multi_remove_if(held)
        return [item[0] for item, done in zip(held, removed, strict=True) if not done]

    def _put(self, changes: list[tuple[BackingKey, BackingValue | None, BackingValue]]) -> list[BackingKey]:
        """Put all changes; returns the keys that held something else than expected."""
        if not changes:
            return []
        if isinstance(self._map, ConditionalBackingMap):
            stored = self._map.multi_put_if(changes)
            return [change[0] for change, done in zip(changes, stored, strict=True) if not done]
        self._map.multi_put([(key, new) for key, _, new in changes])
        return []

    def _put_reserved(self, expected: BackingPosition | None, new: BackingPosition) -> None:
        if expected != new and self._put([(self._reserved, expected, new)]):
            raise FencedError(f"another coordinator wrote the position of state {self.name!r}; this one stops")

    def _read(self, topology: str) -> BackingPosition | None:
        (found,) = self._map.multi_get([self._reserved])
        if found is None:
            return None
        if not isinstance(found, BackingPosition):
            raise MismatchError(f"the reserved key of state {self.name!r} holds a {type(found).__name__}")
        if found.topology != topology:
            raise MismatchError(f"state {self.name!r} belongs to topology {found.topology!r}, not to {topology!r}")
        return found

    def _owned(self, owner: Owner, epoch: Epoch) -> BackingPosition | None:
        found = self._read(owner.topology)
        check_epoch(_epoch(found), epoch, self.name)
        return found

    def _rows_of(self, batch: BatchId, updates: StagedUpdates | AppliedUpdates) -> pa.Table:
        if isinstance(updates, AppliedUpdates):
            raise MismatchError(
                f"{batch}: the ledger says that {updates.count} rows of state {self.name!r} were applied with the pin, "
                "which a map never is; nothing was changed"
            )
        if isinstance(updates, HeldUpdates):
            return conform(updates.rows, self._layout.schema())
        tables = [self._blobs.get(batch, write) for write in updates.writes]
        return pa.concat_tables(tables) if tables else self._layout.schema().empty_table()


def _chunks(items: list[Item], size: int) -> Iterator[list[Item]]:
    for first in range(0, len(items), size):
        yield items[first : first + size]


def _epoch(found: BackingPosition | None) -> Epoch | None:
    return Epoch(found.epoch, found.token) if found else None


def _position(found: BackingPosition | None) -> Position | None:
    if found is None or found.txid is None or found.attempt is None or found.birth_txid is None:
        return None
    return Position(Owner(found.topology, found.incarnation), found.txid, found.attempt, found.birth_txid)


def _stored(position: Position, epoch: Epoch) -> BackingPosition:
    return BackingPosition(
        topology=position.owner.topology,
        incarnation=position.owner.incarnation,
        epoch=epoch.number,
        token=epoch.token,
        txid=position.txid,
        attempt=position.attempt,
        birth_txid=position.birth_txid,
    )


def _fence_only(owner: Owner, epoch: Epoch) -> BackingPosition:
    return BackingPosition(owner.topology, owner.incarnation, epoch.number, epoch.token, None, None, None)
