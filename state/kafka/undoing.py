"""Undo of a sink: what it has not sent need not be taken back, what it has sent can't be."""

from __future__ import annotations

from dataclasses import dataclass

from trident.base.identity import BatchId
from trident.state.capabilities import CannotUndoError
from trident.state.kafka.marker import Marker
from trident.state.kafka.markers import Change, owned
from trident.state.kafka.sender import KafkaSender
from trident.state.positions import Position, before_attempt, is_in
from trident.state.staged import AppliedUpdates, StagedUpdates


@dataclass(frozen=True, slots=True)
class KafkaUndoing:
    """See `Undoable`."""

    sender: KafkaSender

    def check_undo(self, batch: BatchId, updates: StagedUpdates | AppliedUpdates) -> None:
        """Raise CannotUndoError when records of the batch were sent."""
        self._require_unsent(self.sender.marker(batch.owner.topology, batch.epoch), batch)

    def undo(self, batch: BatchId, before: int, updates: StagedUpdates | AppliedUpdates) -> None:
        """Move the marker of a batch that had no records back; one that was not sent needs nothing."""

        def go_back(found: Marker | None, _: str) -> Change | None:
            mine = owned(found, batch.epoch, self.sender.name)
            if not self._require_unsent(mine, batch):
                return None
            assert mine.position is not None
            stood = Position(
                batch.owner, batch.txid - 1, before_attempt(mine.position, batch, before), mine.position.birth_txid
            )
            return Change(mine.moved(stood, batch.epoch))

        self.sender.markers.change(batch.owner.topology, go_back, txid=batch.txid)

    def _require_unsent(self, found: Marker, batch: BatchId) -> bool:
        """Tell whether the batch is in; raises CannotUndoError if it brought anything."""
        is_there = is_in(found.position, batch, self.sender.name)
        if is_there and found.sent.count:
            raise CannotUndoError(
                f"{batch}: {self.sender} has sent it, {found.sent.count} records: what Kafka has committed can't "
                "be taken back. Send records that compensate for them, or let its readers begin behind them"
            )
        if not is_there and (count := self.sender.sent_of(batch)):
            raise CannotUndoError(
                f"{batch}: some producers of {self.sender} have sent their share of it, {count} records: what "
                "Kafka has committed can't be taken back. Mend what keeps the others from it and start the topology "
                "again, which sends the rest"
            )
        return is_there
