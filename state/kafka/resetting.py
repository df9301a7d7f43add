"""A sink in a new incarnation: what was sent stays in its topics, whatever becomes of the states."""

from __future__ import annotations

from dataclasses import dataclass

from trident.base.identity import Epoch, Owner
from trident.state.kafka.moves import beginning_anew
from trident.state.kafka.sender import KafkaSender


@dataclass(frozen=True, slots=True)
class KafkaResetting:
    """See `Resettable`."""

    sender: KafkaSender

    def check_clear(self, topology: str) -> None:
        """Nothing stands in the way: no record is deleted, the next ones follow them."""

    def clear(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Start at the birth txid under a new owner; what was sent stays, and readers see the new records after it."""
        self._begin(owner, epoch, birth_txid)

    def check_adopt(self, topology: str) -> int | None:
        """Return the txid that was sent last, in part too."""
        position, bulk = self.sender.position(topology), self.sender.bulk
        if position is None:
            return None
        return position.txid if bulk is None else max(position.txid, bulk.newest_txid(topology))

    def adopt(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Bind what was sent to the new owner at the birth txid."""
        self._begin(owner, epoch, birth_txid)

    def _begin(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        begin, bulk = beginning_anew(owner, epoch, birth_txid, self.sender.name), self.sender.bulk
        if bulk is None:
            self.sender.markers.change(owner.topology, begin)
            return
        stood = self.sender.position(owner.topology)
        bulk.begin_anew(owner, epoch, birth_txid)
        self.sender.markers.change(owner.topology, begin)
        if stood is not None and stood.owner != owner:
            bulk.files.forget_life(stood.owner)
