"""A sink in a new incarnation: what was sent stays in its topics, whatever becomes of the states."""

from __future__ import annotations

from dataclasses import dataclass

from trident.base.identity import Epoch, Owner
from trident.state.kafka.marker import Marker
from trident.state.kafka.markers import Change, Markers, owned
from trident.state.positions import Position


@dataclass(frozen=True, slots=True)
class KafkaResetting:
    """See `Resettable`."""

    name: str
    markers: Markers

    def check_clear(self, topology: str) -> None:
        """Nothing stands in the way: no record is deleted, the next ones follow them."""

    def clear(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Start at the birth txid under a new owner; what was sent stays, and readers see the new records after it."""
        self._begin(owner, epoch, birth_txid)

    def check_adopt(self, topology: str) -> int | None:
        """Return the txid that was sent last."""
        found = self.markers.read(topology)
        position = found.position if found is not None else None
        return None if position is None else position.txid

    def adopt(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Bind what was sent to the new owner at the birth txid."""
        self._begin(owner, epoch, birth_txid)

    def _begin(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        def begin(found: Marker | None, _: str) -> Change | None:
            mine = owned(found, epoch, self.name)
            if mine.position is not None and mine.position.owner == owner:
                return None
            return Change(mine.moved(Position(owner, birth_txid, 0, birth_txid), epoch))

        self.markers.change(owner.topology, begin)
