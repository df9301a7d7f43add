"""What a person may do with what waits in an outbox: take it away before it is done, or begin a new life behind it."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from trident.base.advice import RESET_CLEARING
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError, RefusedError
from trident.base.identity import BatchId, Epoch, Owner
from trident.state.capabilities import CannotUndoError, Transaction
from trident.state.kafka.markers import no_marker
from trident.state.kafka.outbox.relaying import OutboxRelay
from trident.state.kafka.outbox.store import OutboxRow, OutboxStore, ask, owned_in
from trident.state.kafka.resetting import KafkaResetting
from trident.state.kafka.sender import KafkaSender
from trident.state.positions import is_in
from trident.state.staged import AppliedUpdates, StagedUpdates

_log = logging.getLogger("trident.kafka")


@dataclass(frozen=True, slots=True)
class OutboxUndoing:
    """See `Undoable`: what waits is taken away; nothing of a txid that is not done has been sent."""

    sender: KafkaSender
    outbox: OutboxStore

    def check_undo(self, batch: BatchId, updates: StagedUpdates | AppliedUpdates) -> None:
        """Raise CannotUndoError when records of the batch were sent."""
        position = self.sender.position(batch.owner.topology)
        with self.outbox.work_for(batch.owner.topology, batch.epoch) as transaction:
            self._found(transaction, batch)
        if position is not None and position.owner == batch.owner and position.txid >= batch.txid:
            raise CannotUndoError(
                f"{batch}: {self.sender} has sent it: what Kafka has committed can't be taken back. "
                "Send records that compensate for them, or let its readers begin behind them"
            )

    def undo(self, batch: BatchId, before: int, updates: StagedUpdates | AppliedUpdates) -> None:
        """Take the batch's records away, if it has laid any down."""
        self.check_undo(batch, updates)
        with self.outbox.work_for(batch.owner.topology, batch.epoch) as transaction:
            row = self._found(transaction, batch)
            if row is not None:
                self.outbox.move_back(transaction, batch, row, before)
                reached(CrashPoint.IN_UNDO, batch.txid)

    def _found(self, transaction: Transaction, batch: BatchId) -> OutboxRow | None:
        row = owned_in(self.outbox, transaction, batch.owner, batch.epoch)
        return row if row is not None and is_in(row.position, batch, self.sender.name) else None


@dataclass(frozen=True, slots=True)
class OutboxResetting:
    """See `Resettable`: what is done was sent before the reset was recorded; then both places begin a new life."""

    outbox: OutboxStore
    relay: OutboxRelay
    marker: KafkaResetting

    def check_clear(self, topology: str) -> None:
        """Nothing stands in the way: no record is deleted, the next ones follow them."""

    def clear(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Start at the birth txid under a new owner, behind what was sent; what is left is of no txid that is done."""
        self._begin(owner, epoch, birth_txid)

    def check_adopt(self, topology: str) -> int | None:
        """Return the newest txid of which anything was laid down or sent; the database may be of an earlier moment."""
        row, sent = self.outbox.look(topology), self.marker.check_adopt(topology)
        return sent if row is None else max(row.position.txid, sent or 0)

    def adopt(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Bind what was sent to the new owner at the birth txid; what is left is sent first, as far as it can be.

        The reset is recorded: what stood in the way before that was passed over, and must not do so now.
        """
        row = ask(self.outbox, owner, epoch)
        if row is not None and row.position.owner != owner:
            try:
                while self.relay.relay(row.position.owner, epoch, row.newest_txid) < row.newest_txid:
                    pass  # the oldest part of it at a time
            except (MismatchError, RefusedError) as error:
                _log.warning("what is left in %s is not sent; the reset deletes it: %s", self.relay.sender, error)
        self._begin(owner, epoch, birth_txid)

    def _begin(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        row = ask(self.outbox, owner, epoch)
        if row is not None and row.position.owner == owner:
            return
        self.marker.adopt(owner, epoch, birth_txid)
        with self.outbox.work_for(owner.topology, epoch) as transaction:
            owned_in(self.outbox, transaction, owner, epoch)
            self.outbox.trim(transaction, owner.topology, birth_txid)
            self.outbox.bear(transaction, owner, epoch, birth_txid)


@dataclass(frozen=True, slots=True)
class OutboxChecking:
    """See `CountsRows`: the marker stands where the outbox was left; a reset that clears needs it not to."""

    sender: KafkaSender
    outbox: OutboxStore

    def check_rows(self, owner: Owner, epoch: Epoch, pinned: int | None = None) -> None:
        """Raise MismatchError unless the marker stands where the outbox says, or at what waits and was sent."""
        position = self.sender.position(owner.topology)
        with self.outbox.work_for(owner.topology, epoch) as transaction:
            row = owned_in(self.outbox, transaction, owner, epoch)
            if row is None:
                return
            sent = self.outbox.sent_before(transaction, owner.topology, row)
            if position is None:
                raise MismatchError(f"{no_marker(str(self.sender))}; or {RESET_CLEARING}.")
            at = self.outbox.entry(transaction, owner.topology, position.txid)
        is_other = at is not None and at.attempt != position.attempt
        if position.owner != row.position.owner or is_other or not sent <= position.txid <= row.newest_txid:
            raise MismatchError(
                f"{self.sender} has sent txid {position.txid} attempt {position.attempt} of incarnation "
                f"{position.owner.incarnation} last, as its marker says; its outbox says txid {sent} of "
                f"{row.position.owner.incarnation} (what waits ends with {row.newest_txid}): the marker topic or the "
                "ledger's database was put back to another moment. Nothing was sent: restore both to one moment, or "
                f"{RESET_CLEARING}."
            )
        self.sender.check_producers(owner, row.newest_txid)
