"""An opened sink: what a batch brings to Kafka, once."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from trident.base.digest import Digest
from trident.base.errors import MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.state.capabilities import Capabilities
from trident.state.kafka.bulk.writing import is_bulk
from trident.state.kafka.forgetting import KafkaForgetting
from trident.state.kafka.marker import Marker, Sent
from trident.state.kafka.markers import Change, owned
from trident.state.kafka.records import ROWS, in_order, records_of, shown
from trident.state.kafka.resetting import KafkaResetting
from trident.state.kafka.sender import KafkaSender
from trident.state.kafka.undoing import KafkaUndoing
from trident.state.maps.blobs import BlobStore
from trident.state.positions import Position, is_held, is_in, put_back
from trident.state.rows import conform
from trident.state.staged import HeldUpdates, StagedUpdates, WrittenUpdates, up_to


class KafkaTarget:
    """See `Target` for what holds of every method."""

    def __init__(self, sender: KafkaSender, blobs: BlobStore) -> None:
        self._sender = sender
        self._blobs = blobs
        self._capabilities = Capabilities(
            undoing=KafkaUndoing(sender),
            resetting=KafkaResetting(sender),
            diverting=self,
            writing=sender.writing,
            tasking=sender.bulk,
            counting=self if sender.bulk is not None else None,
            forgetting=KafkaForgetting(sender, blobs),
            keeps_what_left=True,
        )

    @property
    def name(self) -> str:
        """The sink's name."""
        return self._sender.name

    @property
    def capabilities(self) -> Capabilities:
        """Its rows leave the ledger's reach with their own transaction."""
        return self._capabilities

    def look(self, topology: str, registers: bool = False) -> Position | None:
        """Return where the newest marker says that it stands; what an owner left open is ended if it has to be."""
        return self._sender.look(topology)

    def prepare(self) -> None:
        """Make the table for staged rows and the marker topic, or check them."""
        self._blobs.prepare()
        self._sender.prepare()

    def raise_fence(self, owner: Owner, epoch: Epoch) -> None:
        """Begin a session, which ends every other one, and leave a marker of this epoch."""
        self._sender.raise_fence(owner, epoch)

    def position(self, topology: str) -> Position | None:
        """Return where the newest marker says that it stands, None when it has never been registered."""
        return self._sender.position(topology)

    def register(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Write the first marker with a position."""
        self._sender.register(owner, epoch, birth_txid)

    def check_rows(self, owner: Owner, epoch: Epoch, pinned: int | None = None) -> None:
        """Raise MismatchError unless each producer of bulk rows stands where it may: ahead only of a pinned txid."""
        position = self.position(owner.topology)
        if position is not None and position.owner == owner:
            self._sender.check_producers(owner, max(position.txid, pinned or 0))

    def stage(self, batch: BatchId, updates: HeldUpdates) -> StagedUpdates:
        """Check the rows and commit them to the ledger's database."""
        rows = in_order(conform(updates.rows, ROWS))
        if not rows.num_rows:
            return WrittenUpdates(())
        self._sender.limits.check(rows, batch)
        return WrittenUpdates((self._blobs.put(batch, rows),))

    def apply(self, batch: BatchId, updates: StagedUpdates) -> None:
        """Send the rows and the marker of the txid in one transaction, unless the newest marker is this batch's.

        Rows that tasks have staged are sent by several producers first, each in a transaction of its own.
        """
        if isinstance(updates, WrittenUpdates) and is_bulk(updates.writes):
            self._apply_bulk(batch, updates)
            return
        try:
            rows = self._rows_of(batch, updates)
        except MismatchError:
            if self._is_in(batch):
                return  # what was sent has been cleaned up
            raise
        self._send(batch, updates, rows)

    def staged_rows(self, batch: BatchId, updates: StagedUpdates) -> pa.Table:
        """Return all staged rows of a batch for a person, in the order in which they would have been sent."""
        return shown(updates.rows if isinstance(updates, HeldUpdates) else self._rows_of(batch, updates))

    def _rows_of(self, batch: BatchId, updates: StagedUpdates) -> pa.Table:
        if isinstance(updates, HeldUpdates):
            return in_order(conform(updates.rows, ROWS))
        if is_bulk(updates.writes):
            return self._sender.staged_rows(batch, updates.writes)
        tables = [self._blobs.get(batch, write) for write in updates.writes]
        return in_order(pa.concat_tables(tables)) if tables else ROWS.empty_table()

    def clean_up(self, owner: Owner, epoch: Epoch, done: int) -> None:
        """Delete staged rows of txids up to `done`, never beyond what was sent."""
        lying, files = self._blobs.lying(owner.topology), self._sender.files_to_clean(owner)
        if (position := self._held_position(owner, epoch)) is not None:
            txid = min(done, position.txid)
            self._blobs.delete(owner.topology, up_to(txid, lying))
            self._sender.clean_files(owner, up_to(txid, files))

    def forget_staging(self, owner: Owner, epoch: Epoch) -> None:
        """Delete all staged rows."""
        lying, files = self._blobs.lying(owner.topology), self._sender.files_at_drop(owner)
        if self._held_position(owner, epoch) is None:
            raise put_back(self.name)
        self._blobs.delete(owner.topology, lying)
        self._sender.delete_at_drop(owner, files)

    def _held_position(self, owner: Owner, epoch: Epoch) -> Position | None:
        """Return where it stands, None where another epoch than this one, an older one, stands beside it."""
        marker = self._sender.marker(owner.topology, epoch)
        position = marker.position
        if position is None or position.owner != owner:
            raise MismatchError(f"sink {self.name!r} is not of {owner.topology!r}; nothing was deleted")
        return position if is_held(marker.epoch, epoch, self.name) else None

    def close(self) -> None:
        """Let go of connections."""
        self._sender.close()

    def _apply_bulk(self, batch: BatchId, updates: WrittenUpdates) -> None:
        if self._sender.send_staged(batch, updates.writes, partial(self._has, batch)):
            self._send(batch, updates, ROWS.empty_table())
        self._sender.forget_soon(batch.owner, batch.txid)

    def _send(self, batch: BatchId, updates: StagedUpdates, rows: pa.Table) -> None:
        def send(found: Marker | None, _: str) -> Change | None:
            mine = owned(found, batch.epoch, self.name)
            if is_in(mine.position, batch, self.name):
                return None
            assert mine.position is not None
            position = Position(batch.owner, batch.txid, batch.attempt, mine.position.birth_txid)
            marker = mine.moved(position, batch.epoch, Sent(updates.count, _digest(updates)))
            return Change(marker, records_of(rows, batch, lineage=self._sender.lineage))

        self._sender.send(batch.owner.topology, send, [rows], batch.txid)

    def _is_in(self, batch: BatchId) -> bool:
        found = self._sender.markers.read(batch.owner.topology)
        return found is not None and self._has(batch, found)

    def _has(self, batch: BatchId, found: Marker | None) -> bool:
        return is_in(owned(found, batch.epoch, self.name).position, batch, self.name)


def _digest(updates: StagedUpdates) -> Digest:
    writes = updates.writes if isinstance(updates, WrittenUpdates) else ()
    return sum((write.digest for write in writes), Digest())
