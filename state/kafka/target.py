"""An opened sink: what a batch brings to Kafka, once."""

from __future__ import annotations

import pyarrow as pa

from trident.base.digest import Digest
from trident.base.errors import MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.state.capabilities import Capabilities
from trident.state.kafka.cluster import Cluster
from trident.state.kafka.limits import MessageLimits
from trident.state.kafka.marker import Marker, Sent
from trident.state.kafka.markers import Change, Markers, owned
from trident.state.kafka.records import ROWS, check_rows, in_order, records_of, shown
from trident.state.kafka.resetting import KafkaResetting
from trident.state.kafka.undoing import KafkaUndoing
from trident.state.maps.blobs import BlobStore
from trident.state.positions import Position, check_epoch, is_in, stands
from trident.state.rows import conform
from trident.state.staged import HeldUpdates, StagedUpdates, WrittenUpdates


class KafkaTarget:
    """See `Target` for what holds of every method."""

    def __init__(
        self, name: str, markers: Markers, cluster: Cluster, blobs: BlobStore, *, lineage: bool, compressed: bool
    ) -> None:
        self._name = name
        self._markers = markers
        self._cluster = cluster
        self._limits = MessageLimits(cluster)
        self._blobs = blobs
        self._lineage = lineage
        self._compressed = compressed
        self._capabilities = Capabilities(
            undoing=KafkaUndoing(name, markers),
            resetting=KafkaResetting(name, markers),
            diverting=self,
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
        """Return where the newest marker says that it stands."""
        return self.position(topology)

    def prepare(self) -> None:
        """Make the table for staged rows and the marker topic, or check them."""
        self._blobs.prepare()
        self._markers.prepare()

    def raise_fence(self, owner: Owner, epoch: Epoch) -> None:
        """Begin a session, which ends every other one, and leave a marker of this epoch."""

        def fence(found: Marker | None, cluster: str) -> Change | None:
            check_epoch(found.epoch if found else None, epoch, self._name)
            if found is None:
                return Change(Marker(owner, epoch, cluster))
            return Change(found.fenced(owner, epoch)) if found.epoch != epoch else None

        self._markers.change(owner.topology, fence)

    def position(self, topology: str) -> Position | None:
        """Return where the newest marker says that it stands, None when it has never been registered."""
        found = self._markers.read(topology)
        return found.position if found is not None else None

    def register(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Write the first marker with a position."""

        def bear(found: Marker | None, _: str) -> Change | None:
            mine = owned(found, epoch, self._name)
            if mine.position is None:
                return Change(mine.moved(Position(owner, birth_txid, 0, birth_txid), epoch))
            if mine.position.owner != owner:
                raise MismatchError(f"sink {self._name!r} {stands(mine.position)}; nothing was changed")
            return None

        self._markers.change(owner.topology, bear)

    def stage(self, batch: BatchId, updates: HeldUpdates) -> StagedUpdates:
        """Check the rows and commit them to the ledger's database."""
        rows = in_order(conform(updates.rows, ROWS))
        if not rows.num_rows:
            return WrittenUpdates(())
        limits = self._limits.of([rows])
        # how large a record is once it is compressed only the broker knows
        check_rows(rows, dict.fromkeys(limits) if self._compressed else limits)
        return WrittenUpdates((self._blobs.put(batch, rows),))

    def apply(self, batch: BatchId, updates: StagedUpdates) -> None:
        """Send the rows and the marker of the txid in one transaction, unless the newest marker is this batch's."""
        try:
            rows = self._rows_of(batch, updates)
        except MismatchError:
            found = self._markers.read(batch.owner.topology)
            if found is not None and is_in(found.position, batch, self._name):
                return  # what was sent has been cleaned up
            raise

        def send(found: Marker | None, _: str) -> Change | None:
            mine = owned(found, batch.epoch, self._name)
            if is_in(mine.position, batch, self._name):
                return None
            assert mine.position is not None
            position = Position(batch.owner, batch.txid, batch.attempt, mine.position.birth_txid)
            marker = mine.moved(position, batch.epoch, Sent(rows.num_rows, _digest(updates)))
            return Change(marker, records_of(rows, batch, lineage=self._lineage))

        self._markers.change(batch.owner.topology, send, limits=self._limits.of([rows]), txid=batch.txid)

    def staged_rows(self, batch: BatchId, updates: StagedUpdates) -> pa.Table:
        """Return all staged rows of a batch for a person, in the order in which they would have been sent."""
        return shown(updates.rows if isinstance(updates, HeldUpdates) else self._rows_of(batch, updates))

    def _rows_of(self, batch: BatchId, updates: StagedUpdates) -> pa.Table:
        if isinstance(updates, HeldUpdates):
            return in_order(conform(updates.rows, ROWS))
        tables = [self._blobs.get(batch, write) for write in updates.writes]
        return in_order(pa.concat_tables(tables)) if tables else ROWS.empty_table()

    def clean_up(self, owner: Owner, epoch: Epoch, done: int) -> None:
        """Delete staged rows of txids up to `done`, never beyond what was sent."""
        found = self._markers.read(owner.topology)
        position = owned(found, epoch, self._name).position
        if position is None or position.owner != owner:
            raise MismatchError(f"sink {self._name!r} is not of {owner.topology!r}; nothing was deleted")
        self._blobs.forget(owner.topology, min(done, position.txid))

    def close(self) -> None:
        """Let go of connections."""
        self._cluster.close()


def _digest(updates: StagedUpdates) -> Digest:
    writes = updates.writes if isinstance(updates, WrittenUpdates) else ()
    return sum((write.digest for write in writes), Digest())
