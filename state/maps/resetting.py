"""A map that follows its topology into a new incarnation."""

from __future__ import annotations

from dataclasses import dataclass

from trident.base.advice import RESET_KEEPING_ROWS
from trident.base.errors import ConfigurationError
from trident.base.identity import Epoch, Owner
from trident.state.maps.maps import ClearableBackingMap
from trident.state.maps.place import MapPlace, position_of, reserved_value
from trident.state.maps.raising import emptying
from trident.state.positions import Position


@dataclass(frozen=True, slots=True)
class MapResetting:
    """See `Resettable`."""

    place: MapPlace

    def check_clear(self, topology: str) -> None:
        """Raise ConfigurationError for a map that can't be emptied."""
        self._require_clearable()

    def _require_clearable(self) -> None:
        if not isinstance(self.place.backing_map, ClearableBackingMap):
            raise ConfigurationError(
                f"the map of state {self.place.name!r} has no clear(), so a reset can't empty it; nothing was changed: "
                f"add clear(), or {RESET_KEEPING_ROWS}"
            )
        self.place.refuse_others()

    def clear(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Empty the map, if it can be, and start at the birth txid under a new owner."""
        self.place.cache.forget()
        found = self.place.owned(owner, epoch)
        position = position_of(found)
        if position is not None and position.owner == owner:
            return
        self._require_clearable()
        aim = emptying(owner.topology)
        self.place.calls.clear(aim)
        begun = reserved_value(Position(owner, birth_txid, 0, birth_txid), epoch)
        mark = self.place.mark_of(owner.topology)
        self.place.calls.put([(self.place.claimed, mark), (self.place.reserved, begun)], aim)

    def check_adopt(self, topology: str) -> int | None:
        """Return the txid after the one where the map stands: its keys can't be listed, and some may have it already.

        Whoever died between two chunks had put keys of it; where the ledger is lost too, nobody else knows.
        """
        position = position_of(self.place.read(topology))
        return position.txid + 1 if position is not None else None

    def adopt(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Keep all rows and bind them to the new owner at the birth txid."""
        found = self.place.owned(owner, epoch)
        position = position_of(found)
        if position is None or position.owner != owner:
            self.place.put_reserved(found, reserved_value(Position(owner, birth_txid, 0, birth_txid), epoch))
