"""An opened sink whose records wait beside the ledger: laid down by the pin's own transaction, sent afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError, RefusedError
from trident.base.identity import BatchId, Epoch, Owner
from trident.state.capabilities import Capabilities, Transaction
from trident.state.kafka.bulk.writing import listed
from trident.state.kafka.forgetting import OutboxForgetting
from trident.state.kafka.outbox.keeping import OutboxChecking, OutboxResetting, OutboxUndoing
from trident.state.kafka.outbox.relaying import OutboxRelay
from trident.state.kafka.outbox.store import OutboxStore, ask, owned_in
from trident.state.kafka.records import ROWS, in_order, shown
from trident.state.kafka.resetting import KafkaResetting
from trident.state.kafka.sender import KafkaSender
from trident.state.packing import pack
from trident.state.positions import Position, is_held, put_back, stands
from trident.state.rows import conform
from trident.state.staged import HeldUpdates, StagedUpdates, WrittenUpdates, up_to

_LARGEST: Final = 512 << 20
"""How large one entry may be: a value of PostgreSQL has at most a gigabyte, on its way too."""


@dataclass(frozen=True, slots=True)
class ReadyRecords(HeldUpdates):
    """Held rows as they are laid down."""

    payload: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ReadyWrites(WrittenUpdates):
    """Staged files as they are laid down."""

    payload: bytes = field(repr=False)


class OutboxTarget:
    """See `Target` for what holds of every method. Where it stands the database says; what was sent, the marker."""

    def __init__(self, sender: KafkaSender, outbox: OutboxStore) -> None:
        self._sender = sender
        self._outbox = outbox
        relay = OutboxRelay(sender, outbox)
        self._capabilities = Capabilities(
            beside=self,
            undoing=OutboxUndoing(sender, outbox),
            resetting=OutboxResetting(outbox, relay, KafkaResetting(sender)),
            diverting=self,
            counting=OutboxChecking(sender, outbox),
            relaying=relay,
            forgetting=OutboxForgetting(sender, outbox),
            writing=sender.writing,
            tasking=sender.bulk,
            keeps_what_left=True,
        )

    @property
    def name(self) -> str:
        """The sink's name."""
        return self._sender.name

    @property
    def capabilities(self) -> Capabilities:
        """It is applied with the pin, and sends later."""
        return self._capabilities

    def look(self, topology: str, registers: bool = False) -> Position | None:
        """Return where it stands; tables that are missing are made for that, and rolled back."""
        sent = self._sender.look(topology)
        row = self._outbox.look(topology)
        return row.position if row else sent  # what was sent is somebody's, though this database knows of nothing

    def prepare(self) -> None:
        """Make the tables and the marker topic, or check them."""
        self._outbox.prepare()
        self._sender.prepare()

    def raise_fence(self, owner: Owner, epoch: Epoch) -> None:
        """Refuse every older epoch in both places."""
        with self._outbox.work_for(owner.topology, epoch) as transaction:
            self._outbox.stamp(transaction, owner, epoch)
        self._sender.raise_fence(owner, epoch)
        self._finish_birth(owner, epoch)

    def position(self, topology: str) -> Position | None:
        """Return where it stands; whether the marker does, too, is asked by `CountsRows`."""
        with self._outbox.work_on(topology) as transaction:
            row = self._outbox.read(transaction, topology)
        return row.position if row else None

    def register(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Record a new sink, first in its marker topic."""
        row = ask(self._outbox, owner, epoch)
        if row is not None and row.position.owner != owner:
            raise MismatchError(f"sink {self.name!r} {stands(row.position)}; nothing was changed")
        self._sender.register(owner, epoch, birth_txid)
        reached(CrashPoint.BETWEEN_BIRTHS)
        self._finish_birth(owner, epoch)

    def stage(self, batch: BatchId, updates: HeldUpdates) -> StagedUpdates:
        """Check the rows, as far as that can be told before they are sent."""
        rows = in_order(conform(updates.rows, ROWS))
        if rows.num_rows:
            self._sender.limits.check(rows, batch)
        return HeldUpdates(rows)

    def apply(self, batch: BatchId, updates: StagedUpdates) -> None:
        """Lay a pinned batch's records down in a transaction of its own, once."""
        ready = self.ready(batch, updates)
        with self._outbox.work_for(batch.owner.topology, batch.epoch) as transaction:
            owned_in(self._outbox, transaction, batch.owner, batch.epoch)
            self.copy_in(transaction, batch, ready)
            self.apply_in(transaction, batch, ready)
            reached(CrashPoint.IN_APPLY, batch.txid)

    def ready(self, batch: BatchId, updates: StagedUpdates) -> StagedUpdates:
        """Turn the rows into what is laid down."""
        if isinstance(updates, WrittenUpdates):  # the rows are files, and only their names wait here
            return ReadyWrites(updates.writes, pack(listed(updates.writes)) if updates.writes else b"")
        rows = in_order(conform(updates.rows, ROWS))
        payload = pack(rows, "lz4") if rows.num_rows else b""
        if len(payload) > _LARGEST:
            raise RefusedError(
                f"the records of {batch} for sink {self.name!r} take {len(payload) >> 20} MiB where they would wait, "
                f"and at most {_LARGEST >> 20} can: give the spout smaller batches (max_records_per_batch)"
            )
        return ReadyRecords(rows, payload)

    def copy_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Lay the records down; what is there of the batch already stays."""
        assert isinstance(updates, ReadyRecords | ReadyWrites)
        if updates.count:
            self._outbox.put(transaction, batch, updates.count, updates.payload)

    def apply_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> bool:
        """Move the position from txid - 1 to txid; a batch that is in is skipped."""
        return self._outbox.move(transaction, batch, has_records=updates.count > 0)

    def run_deferred_in(self, transaction: Transaction, *, of_all: bool) -> bool:
        """Do nothing: the tables are this library's own."""
        return False

    def check_stored_in(self, transaction: Transaction, batch: BatchId, updates: StagedUpdates) -> None:
        """Do nothing: nobody else's triggers know of them."""

    def staged_rows(self, batch: BatchId, updates: StagedUpdates) -> pa.Table:
        """Return all staged rows of a batch for a person, in the order in which they would have been sent."""
        if isinstance(updates, HeldUpdates):
            return shown(updates.rows)
        return shown(self._sender.staged_rows(batch, updates.writes))

    def clean_up(self, owner: Owner, epoch: Epoch, done: int) -> None:
        """Delete files of txids that were sent: rows are deleted as soon as they were, and what was not stays."""
        files = self._sender.files_to_clean(owner)
        if (sent := self._sent(owner, epoch)) is not None:
            self._sender.clean_files(owner, up_to(min(done, sent), files))

    def forget_staging(self, owner: Owner, epoch: Epoch) -> None:
        """Delete all files; rows in the outbox are deleted as soon as they were sent."""
        files = self._sender.files_at_drop(owner)
        if self._sent(owner, epoch) is None:
            raise put_back(self.name)
        self._sender.delete_at_drop(owner, files)

    def _sent(self, owner: Owner, epoch: Epoch) -> int | None:
        """Return the txid up to which the sink has sent all as this owner, 0 for none; None in another epoch."""
        with self._outbox.work_for(owner.topology, epoch) as transaction:
            row = owned_in(self._outbox, transaction, owner, epoch)
            if row is None or row.position.owner != owner:
                return 0
            if not is_held(row.epoch, epoch, self.name):
                return None
            return self._outbox.sent_before(transaction, owner.topology, row)

    def close(self) -> None:
        """Let go of connections; the ledger closes its own."""
        self._sender.close()

    def _finish_birth(self, owner: Owner, epoch: Epoch) -> None:
        """Record here what the marker says of a sink that was born and has sent nothing; one that is known stays."""
        if ask(self._outbox, owner, epoch) is not None:
            return
        born = self._sender.position(owner.topology)
        if born is None or born.owner != owner or born.txid != born.birth_txid:
            return
        with self._outbox.work_for(owner.topology, epoch) as transaction:
            self._outbox.bear(transaction, owner, epoch, born.birth_txid)
