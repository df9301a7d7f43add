"""An opened sink: what a batch brings to Kafka, once."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from trident.base.digest import Digest
from trident.base.errors import MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.state.capabilities import Capabilities
from trident.state.kafka.bulk.sending import BulkSender, required
from trident.state.kafka.bulk.writing import is_bulk
from trident.state.kafka.cluster import Cluster
from trident.state.kafka.limits import MessageLimits
from trident.state.kafka.marker import Marker, Sent
from trident.state.kafka.markers import Change, Markers, owned
from trident.state.kafka.moves import bearing, fencing
from trident.state.kafka.records import ROWS, in_order, records_of, shown
from trident.state.kafka.resetting import KafkaResetting
from trident.state.kafka.undoing import KafkaUndoing
from trident.state.maps.blobs import BlobStore
from trident.state.positions import Position, is_in
from trident.state.rows import conform
from trident.state.staged import HeldUpdates, StagedUpdates, WrittenUpdates


class KafkaTarget:
    """See `Target` for what holds of every method."""

    def __init__(
        self,
        name: str,
        markers: Markers,
        cluster: Cluster,
        blobs: BlobStore,
        bulk: BulkSender | None = None,
        *,
        lineage: bool,
        compressed: bool,
    ) -> None:
        self._name = name
        self._markers = markers
        self._cluster = cluster
        self._limits = MessageLimits(cluster)
        self._blobs = blobs
        self._bulk = bulk
        self._lineage = lineage
        self._compressed = compressed
        self._capabilities = Capabilities(
            undoing=KafkaUndoing(name, markers, bulk),
            resetting=KafkaResetting(name, markers, bulk),
            diverting=self,
            writing=bulk.writing if bulk is not None else None,
            tasking=bulk,
            counting=self if bulk is not None else None,
            keeps_what_left=True,
        )

    @property
    def name(self) -> str:
        """The sink's name."""
        return self._name

    @property
    def capabilities(self) -> Capabilities:
        """Its rows leave the ledger's reach with their own transaction."""
        return self._capabilities

    def look(self, topology: str, registers: bool = False) -> Position | None:
        """Return where the newest marker says that it stands; what an owner left open is ended if it has to be."""
        found = self._markers.look(topology, partial(self._end_what_is_open, topology))
        return found.position if found is not None else None

    def prepare(self) -> None:
        """Make the table for staged rows and the marker topic, or check them."""
        self._blobs.prepare()
        self._markers.prepare()
        if self._bulk is not None:
            self._bulk.prepare()

    def raise_fence(self, owner: Owner, epoch: Epoch) -> None:
        """Begin a session, which ends every other one, and leave a marker of this epoch."""
        if self._bulk is not None:
            self._bulk.raise_fence(owner, epoch)
        self._markers.change(owner.topology, fencing(owner, epoch, self._name))

    def position(self, topology: str) -> Position | None:
        """Return where the newest marker says that it stands, None when it has never been registered."""
        found = self._markers.read(topology)
        return found.position if found is not None else None

    def register(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Write the first marker with a position."""
        if self._bulk is not None:
            self._bulk.register(owner, epoch, birth_txid)
        self._markers.change(owner.topology, bearing(owner, epoch, birth_txid, self._name))

    def check_rows(self, owner: Owner, epoch: Epoch) -> None:
        """Raise MismatchError unless each producer of bulk rows stands where it may: at most at the next txid."""
        position = self.position(owner.topology)
        if self._bulk is not None and position is not None and position.owner == owner:
            self._bulk.check_markers(owner, position.txid + 1)

    def stage(self, batch: BatchId, updates: HeldUpdates) -> StagedUpdates:
        """Check the rows and commit them to the ledger's database."""
        rows = in_order(conform(updates.rows, ROWS))
        if not rows.num_rows:
            return WrittenUpdates(())
        self._limits.check(rows, compressed=self._compressed)
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
            return required(self._bulk, self._name).rows_of(batch, updates.writes)
        tables = [self._blobs.get(batch, write) for write in updates.writes]
        return in_order(pa.concat_tables(tables)) if tables else ROWS.empty_table()

    def clean_up(self, owner: Owner, epoch: Epoch, done: int) -> None:
        """Delete staged rows of txids up to `done`, never beyond what was sent."""
        found = self._markers.read(owner.topology)
        position = owned(found, epoch, self._name).position
        if position is None or position.owner != owner:
            raise MismatchError(f"sink {self._name!r} is not of {owner.topology!r}; nothing was deleted")
        self._blobs.forget(owner.topology, min(done, position.txid))
        if self._bulk is not None:
            self._bulk.forget(owner, min(done, position.txid))

    def close(self) -> None:
        """Let go of connections."""
        self._cluster.close()

    def _end_what_is_open(self, topology: str) -> None:
        if self._bulk is not None:
            self._bulk.settle_all(topology)

    def _apply_bulk(self, batch: BatchId, updates: WrittenUpdates) -> None:
        bulk = required(self._bulk, self._name)
        has_it = partial(self._markers.ask, batch.owner.topology, partial(self._has, batch), txid=batch.txid)
        if bulk.send_once(batch, updates.writes, has_it):
            self._send(batch, updates, ROWS.empty_table())
        bulk.forget_soon(batch.owner, batch.txid)

    def _send(self, batch: BatchId, updates: StagedUpdates, rows: pa.Table) -> None:
        def send(found: Marker | None, _: str) -> Change | None:
            mine = owned(found, batch.epoch, self._name)
            if is_in(mine.position, batch, self._name):
                return None
            assert mine.position is not None
            position = Position(batch.owner, batch.txid, batch.attempt, mine.position.birth_txid)
            marker = mine.moved(position, batch.epoch, Sent(updates.count, _digest(updates)))
            return Change(marker, records_of(rows, batch, lineage=self._lineage))

        self._markers.change(batch.owner.topology, send, limits=self._limits.of([rows]), txid=batch.txid)

    def _is_in(self, batch: BatchId) -> bool:
        found = self._markers.read(batch.owner.topology)
        return found is not None and self._has(batch, found)

    def _has(self, batch: BatchId, found: Marker | None) -> bool:
        return is_in(owned(found, batch.epoch, self._name).position, batch, self._name)


def _digest(updates: StagedUpdates) -> Digest:
    writes = updates.writes if isinstance(updates, WrittenUpdates) else ()
    return sum((write.digest for write in writes), Digest())
