"""What a person may do with what waits in an outbox: take it away before it is done, or begin a new life behind it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from trident.base.crash_points import CrashPoint, reached
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.looking import rolled_back
from trident.state.capabilities import CannotUndoError
from trident.state.databases.base import SqlDatabase, SqlTransaction
from trident.state.kafka.markers import Markers
from trident.state.kafka.outbox import OUTBOX_TABLES, Outbox, OutboxRow
from trident.state.kafka.relaying import OutboxRelay
from trident.state.kafka.resetting import KafkaResetting
from trident.state.positions import is_in
from trident.state.staged import AppliedUpdates, StagedUpdates


@dataclass(frozen=True, slots=True)
class OutboxUndoing:
    """See `Undoable`: what waits is taken away; nothing of a txid that is not done has been sent."""

    name: str
    database: SqlDatabase
    outbox: Outbox
    markers: Markers

    def check_undo(self, batch: BatchId, updates: StagedUpdates | AppliedUpdates) -> None:
        """Raise CannotUndoError when records of the batch were sent."""
        marker = self.markers.read(batch.owner.topology)
        position = marker.position if marker is not None else None
        with self.database.transaction() as transaction:
            self._found(transaction.connection, batch)
        if position is not None and position.owner == batch.owner and position.txid >= batch.txid:
            raise CannotUndoError(
                f"{batch}: sink {self.name!r} has sent it: what Kafka has committed can't be taken back. Send records "
                "that compensate for them, or let its readers begin behind them"
            )

    def undo(self, batch: BatchId, before: int, updates: StagedUpdates | AppliedUpdates) -> None:
        """Take the batch's records away, if it has laid any down."""
        self.check_undo(batch, updates)
        with self.database.transaction() as transaction:
            transaction.work_for(batch.owner.topology, batch.epoch)
            row = self._found(transaction.connection, batch)
            if row is not None:
                self.outbox.move_back(transaction.connection, batch, row, before)
                reached(CrashPoint.IN_UNDO, batch.txid)

    def _found(self, connection: Connection, batch: BatchId) -> OutboxRow | None:
        row = self.outbox.owned(connection, batch.owner, batch.epoch)
        return row if row is not None and is_in(row.position, batch, self.name) else None


@dataclass(frozen=True, slots=True)
class OutboxResetting:
    """See `Resettable`: what waits is sent first, for the states have it; then both places begin a new life."""

    name: str
    database: SqlDatabase
    outbox: Outbox
    relay: OutboxRelay
    marker: KafkaResetting

    def check_clear(self, topology: str) -> None:
        """Nothing stands in the way: no record is deleted, the next ones follow them."""

    def clear(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Start at the birth txid under a new owner, behind what was sent."""
        self._begin(owner, epoch, birth_txid)

    def check_adopt(self, topology: str) -> int | None:
        """Return the txid at which it stands."""

        def found(transaction: SqlTransaction) -> OutboxRow | None:
            OUTBOX_TABLES.migrate(transaction.connection, self.database.schema_terms)
            return self.outbox.read(transaction.connection, topology, locked=False)

        row = rolled_back(self.database.transaction(), found)
        return self.marker.check_adopt(topology) if row is None else row.position.txid

    def adopt(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Bind what was sent to the new owner at the birth txid."""
        self._begin(owner, epoch, birth_txid)

    def _begin(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        row = self._row(owner, epoch)
        if row is not None and row.position.owner == owner:
            return
        while row is not None and self.relay.relay(row.position.owner, epoch, row.newest_txid) < row.newest_txid:
            pass  # the oldest part of it at a time
        self.marker.adopt(owner, epoch, birth_txid)
        with self.database.transaction() as transaction:
            transaction.work_for(owner.topology, epoch)
            self.outbox.owned(transaction.connection, owner, epoch)
            self.outbox.bear(transaction.connection, owner, epoch, birth_txid)

    def _row(self, owner: Owner, epoch: Epoch) -> OutboxRow | None:
        with self.database.transaction() as transaction:
            transaction.work_for(owner.topology, epoch)
            return self.outbox.owned(transaction.connection, owner, epoch)
