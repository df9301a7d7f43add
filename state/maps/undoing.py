"""Taking a batch out of a map again, key by key."""

from __future__ import annotations

from dataclasses import dataclass

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError
from trident.base.identity import BatchId
from trident.state.capabilities import CannotUndoError
from trident.state.layout import StateKind
from trident.state.maps.ageing import taken_back, without_time
from trident.state.maps.maps import BackingKey, BackingValue, RemovableBackingMap
from trident.state.maps.place import ROUNDS, MapPlace, position_of, reserved_value
from trident.state.maps.raising import reading, undoing
from trident.state.positions import Position, before_attempt, is_in
from trident.state.staged import AppliedUpdates, StagedUpdates
from trident.state.undoing import check_kind
from trident.state.values import TransactionalValue


@dataclass(frozen=True, slots=True)
class MapUndoing:
    """See `Undoable`; only keys that the batch has are looked at."""

    place: MapPlace

    def check_undo(self, batch: BatchId, updates: StagedUpdates | AppliedUpdates) -> None:
        """Check that each key of the batch knows what was before it; a batch cut off in the middle counts too."""
        place = self.place
        found = place.owned(batch.owner, batch.epoch, undoing(batch).about)
        holds = is_in(position_of(found), batch, place.name)
        if place.kind is not StateKind.OPAQUE:
            if holds or self._may_have_part_of(batch, updates):
                check_kind(place.kind, batch, updates, place.name)
            return
        stored = self._stored(batch, updates)
        made = [value for value in stored if value is not None and taken_back(value, batch.txid) is None]
        if made and not isinstance(place.backing_map, RemovableBackingMap):
            raise CannotUndoError(
                f"{batch}: it made {len(made)} keys of state {place.name!r}, and the map has no multi_remove_if() to "
                "take them away again"
            )

    def undo(self, batch: BatchId, before: int, updates: StagedUpdates | AppliedUpdates) -> None:
        """Bring the batch's keys back chunk by chunk, then the position; repeated after a crash, the rest follows.

        A coordinator that was stopped in the middle of a put and wakes after this can still put keys of the
        undone batch, also with a conditional put: nothing in the map tells them from new ones.
        """
        place = self.place
        place.cache.forget()
        self.check_undo(batch, updates)
        found = place.owned(batch.owner, batch.epoch, undoing(batch).about)
        position = position_of(found)
        assert position is not None
        if place.kind is StateKind.OPAQUE:
            for keys in place.keys_of(batch, updates):
                self._undo_chunk(batch, keys)
                reached(CrashPoint.BETWEEN_UNDONE_CHUNKS, batch.txid)
        if is_in(position, batch, place.name):
            attempt = before_attempt(position, batch, before)
            moved = Position(batch.owner, batch.txid - 1, attempt, position.birth_txid)
            place.put_reserved(found, reserved_value(moved, batch.epoch))

    def _may_have_part_of(self, batch: BatchId, updates: StagedUpdates | AppliedUpdates) -> bool:
        """Tell whether keys of a batch may be in although the position says no: it was cut off between two chunks."""
        place = self.place
        if place.kind is StateKind.NON_TRANSACTIONAL:
            return True
        stored = self._stored(batch, updates)
        plain = [without_time(value) for value in stored]
        return any(isinstance(value, TransactionalValue) and value.txid == batch.txid for value in plain)

    def _stored(self, batch: BatchId, updates: StagedUpdates | AppliedUpdates) -> list[BackingValue | None]:
        place, aim = self.place, reading(undoing(batch).about)
        return [value for keys in place.keys_of(batch, updates) for value in place.calls.get(keys, aim)]

    def _undo_chunk(self, batch: BatchId, keys: list[BackingKey]) -> None:
        place, aim = self.place, undoing(batch)
        left = keys
        for _ in range(ROUNDS):
            stored = place.get(left, aim.about)
            back = {key: taken_back(value, batch.txid) for key, value in stored.items() if value is not None}
            changes = [(key, stored[key], new) for key, new in back.items() if new is not None and new != stored[key]]
            gone = [(key, stored[key]) for key in back if back[key] is None]
            left = place.put(list(changes), aim, may_be_left=False) + place.remove(gone, aim)
            if not left:
                return
            place.owned(batch.owner, batch.epoch, aim.about)
        raise MismatchError(
            f"{batch}: somebody else keeps changing {len(left)} keys of state {place.name!r}; the batch is partly "
            "undone and the rest follows when the topology is started again: stop the other writer"
        )
