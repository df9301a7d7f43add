"""A sink in a new incarnation: what was sent stays in its topics, whatever becomes of the states."""

from __future__ import annotations

from dataclasses import dataclass

from trident.base.identity import Epoch, Owner
from trident.state.kafka.bulk.sending import BulkSender
from trident.state.kafka.markers import Markers
from trident.state.kafka.moves import beginning_anew


@dataclass(frozen=True, slots=True)
class KafkaResetting:
    """See `Resettable`."""

    name: str
    markers: Markers
    bulk: BulkSender | None = None

    def check_clear(self, topology: str) -> None:
        """Nothing stands in the way: no record is deleted, the next ones follow them."""

    def clear(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Start at the birth txid under a new owner; what was sent stays, and readers see the new records after it."""
        self._begin(owner, epoch, birth_txid)

    def check_adopt(self, topology: str) -> int | None:
        """Return the txid that was sent last, in part too."""
        found = self.markers.read(topology)
        position = found.position if found is not None else None
        if position is None:
            return None
        return position.txid if self.bulk is None else max(position.txid, self.bulk.newest_txid(topology))

    def adopt(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Bind what was sent to the new owner at the birth txid."""
        self._begin(owner, epoch, birth_txid)

    def _begin(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        begin = beginning_anew(owner, epoch, birth_txid, self.name)
        if self.bulk is None:
            self.markers.change(owner.topology, begin)
            return
        found = self.markers.read(owner.topology)
        self.bulk.begin_anew(owner, epoch, birth_txid)
        self.markers.change(owner.topology, begin)
        if found is not None and found.position is not None and found.position.owner != owner:
            self.bulk.forget_life(found.position.owner)
