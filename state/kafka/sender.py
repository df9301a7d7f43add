"""What a sink has in its cluster, whether its rows wait or not: its marker, its producers, how its records go."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from trident.base.errors import MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.writes import WriteManifest
from trident.state.kafka.bulk.sending import BulkSender
from trident.state.kafka.bulk.writing import BulkWriting
from trident.state.kafka.clients.cluster import Cluster
from trident.state.kafka.clients.limits import MessageLimits
from trident.state.kafka.marker import Marker
from trident.state.kafka.markers import Decide, Markers, owned
from trident.state.kafka.moves import bearing, fencing, letting_go
from trident.state.kafka.records import ROWS
from trident.state.positions import Position


@dataclass(frozen=True, slots=True)
class KafkaSender:
    """The part of a target that is in Kafka; see `Target` for what holds of methods of the same name."""

    name: str
    cluster: Cluster
    markers: Markers
    limits: MessageLimits
    lineage: bool
    bulk: BulkSender | None = None
    """What sends rows that tasks have staged; None where tasks stage none."""

    def __str__(self) -> str:
        return f"sink {self.name!r}"

    @property
    def writing(self) -> BulkWriting | None:
        """How tasks stage rows; None where they stage none."""
        return None if self.bulk is None else self.bulk.writing

    def look(self, topology: str) -> Position | None:
        """Return where the newest marker says that it stands; what an owner left open is ended if it has to be."""
        settling = [] if self.bulk is None else [partial(self.bulk.settle_all, topology)]
        found = self.markers.look(topology, *settling)
        return found.position if found is not None else None

    def prepare(self) -> None:
        """Make the marker topic and the folder of staged files, or check them."""
        self.markers.prepare()
        if self.bulk is not None:
            self.bulk.prepare()

    def raise_fence(self, owner: Owner, epoch: Epoch) -> None:
        """Begin a session, which ends every other one, and leave a marker of this epoch; each producer's before it."""
        if self.bulk is not None:
            self.bulk.raise_fence(owner, epoch)
        self.markers.change(owner.topology, fencing(owner, epoch, self.name))

    def position(self, topology: str) -> Position | None:
        """Return where the newest marker says that it stands, None when it has never been registered."""
        found = self.markers.read(topology)
        return found.position if found is not None else None

    def register(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Write the first marker with a position; each producer's before it."""
        if self.bulk is not None:
            self.bulk.register(owner, epoch, birth_txid)
        self.markers.change(owner.topology, bearing(owner, epoch, birth_txid, self.name))

    def let_go(self, owner: Owner, epoch: Epoch) -> None:
        """Take the position out of the marker, and of each producer's before it; both keep the epoch."""
        if self.bulk is not None:
            self.bulk.let_go(owner, epoch)
        self.markers.change(owner.topology, letting_go(owner, epoch, self.name))

    def marker(self, topology: str, epoch: Epoch) -> Marker:
        """Return the newest marker; raises where it is gone, or of a newer epoch."""
        return owned(self.markers.read(topology), epoch, self.name)

    def send(self, topology: str, decide: Decide, rows: Sequence[pa.Table], txid: int) -> None:
        """Change the marker, with records of these rows, in one transaction."""
        self.markers.change(topology, decide, limits=self.limits.of(rows), txid=txid)

    def send_staged(
        self, batch: BatchId, writes: Sequence[WriteManifest], has_it: Callable[[Marker | None], bool]
    ) -> bool:
        """Have every producer send its share, unless the marker has the batch; returns whether that has to move now."""
        ask = partial(self.markers.ask, batch.owner.topology, has_it, txid=batch.txid)
        return self._producers().send_once(batch, writes, ask)

    def staged_rows(self, batch: BatchId, writes: Sequence[WriteManifest], *, without_lost: bool = False) -> pa.Table:
        """Return the rows that tasks have staged, in the order in which they would be sent, or those that are left."""
        return self._producers().rows_of(batch, writes, without_lost=without_lost) if writes else ROWS.empty_table()

    def sent_of(self, batch: BatchId) -> int:
        """Return how many records of a batch single producers have sent."""
        return 0 if self.bulk is None else self.bulk.sent_of(batch)

    def forget_soon(self, owner: Owner, txid: int) -> None:
        """Have staged files of txids up to this one, which were sent, deleted once in a while."""
        if self.bulk is not None:
            self.bulk.files.forget_soon(owner, txid)

    def files_to_clean(self, owner: Owner) -> Mapping[str, int]:
        """Return the places that were staged in this life, sent or not, each with its txid; none that can't be told."""
        return {} if self.bulk is None else self.bulk.files.to_clean(owner)

    def clean_files(self, owner: Owner, places: Collection[str]) -> None:
        """Delete places of txids that are sent, as far as that can be done now."""
        if self.bulk is not None:
            self.bulk.files.clean(owner, places)

    def files_at_drop(self, owner: Owner) -> Mapping[str, int]:
        """Return the same of a sink that is given up, for which all that waited is sent."""
        return {} if self.bulk is None else self.bulk.files.at_drop(owner)

    def delete_at_drop(self, owner: Owner, places: Collection[str]) -> None:
        """Delete what `files_at_drop` returned, as far as it is there still."""
        if self.bulk is not None:
            self.bulk.files.delete_at_drop(owner, places)

    def check_producers(self, owner: Owner, newest: int) -> None:
        """Raise MismatchError unless each producer has a position of this life, none above what may have been sent."""
        if self.bulk is not None:
            self.bulk.check_markers(owner, newest)

    def close(self) -> None:
        """Let go of connections."""
        self.cluster.close()

    def _producers(self) -> BulkSender:
        if self.bulk is None:
            raise MismatchError(
                f"rows for sink {self.name!r} lie in files that tasks have staged, and it has no staging_folder any "
                "more; nothing was sent. Give it the one that it had"
            )
        return self.bulk
