"""Several producers of one sink: each sends its share of a txid once, whoever runs it, and how often.

Each has a transactional id and a marker of its own, and does with them what a sink does with its only one. The sink's
own marker moves when all of them are in: it says what is applied, and theirs what is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass

import pyarrow as pa

from trident.base.advice import RESET_CLEARING
from trident.base.crash_points import CrashPoint, reached
from trident.base.digest import Digest
from trident.base.errors import MismatchError, RefusedError, RetryableError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.writes import WriteManifest
from trident.state.kafka.bulk.folder import StagingFolder
from trident.state.kafka.bulk.reach import Reach
from trident.state.kafka.bulk.tidying import StagedFiles
from trident.state.kafka.bulk.writing import BulkWriting, read_share, share_of
from trident.state.kafka.clients.cluster import Cluster
from trident.state.kafka.marker import Marker, Sent
from trident.state.kafka.markers import Change, Decide, Markers, no_marker, owned
from trident.state.kafka.moves import bearing, beginning_anew, fencing, letting_go
from trident.state.kafka.records import ROWS, in_order, records_of
from trident.state.positions import Position, stands
from trident.state.staged import StagingLostError
from trident.state.tasks import InThisProcess, Tasks


@dataclass(frozen=True, slots=True)
class BulkPlace:
    """Where a sink's shares lie, and where they go; can be pickled."""

    folder: StagingFolder
    reach: Reach
    marker_topic: str
    producers: int
    lineage: bool

    @property
    def sink(self) -> str:
        """The sink's name."""
        return self.folder.sink

    def markers(self, cluster: Cluster, share: int | None) -> Markers:
        """Return the markers of one producer; without a number, the sink's own."""
        return Markers(self.sink, self.marker_topic, cluster, self.reach.producers(), share)


@dataclass(frozen=True, slots=True)
class SendShare:
    """A producer's part of a txid; can be pickled. What is in is not sent again."""

    place: BulkPlace
    batch: BatchId
    share: int
    writes: tuple[WriteManifest, ...]

    def __call__(self) -> None:
        """Send the rows and the share's marker in one transaction, unless its newest marker is this batch's."""
        try:
            tables = [read_share(self.place.folder, self.batch, write) for write in self.writes]
            rows, lost = in_order(pa.concat_tables(tables)), None
        except (StagingLostError, RetryableError) as error:
            rows, lost = ROWS.empty_table(), error

        def send(found: Marker | None, _: str) -> Change | None:
            change = self._change(found, rows)
            if change is not None and lost is not None:
                raise lost
            return change  # what was sent has been cleaned up

        with closing(self.place.reach.cluster()) as cluster:
            limits = self.place.reach.limits(cluster, lineage=self.place.lineage).of([rows])
            markers = self.place.markers(cluster, self.share)
            markers.change(self.batch.owner.topology, send, limits=limits, txid=self.batch.txid)

    def _change(self, found: Marker | None, rows: pa.Table) -> Change | None:
        batch = self.batch
        mine = owned(found, batch.epoch, self.place.sink)
        sent = Sent(sum(write.rows for write in self.writes), sum((write.digest for write in self.writes), Digest()))
        if is_sent(mine, batch, self.place.sink):
            if mine.sent != sent:  # a ledger that was put back gives the same numbers out again
                raise MismatchError(
                    f"{batch}: a producer of sink {self.place.sink!r} has sent {mine.sent.count} other records as this "
                    "txid and attempt: the ledger was put back to another moment. Nothing of its share was sent: "
                    "restore ledger and marker topic to one moment"
                )
            return None
        assert mine.position is not None
        position = Position(batch.owner, batch.txid, batch.attempt, mine.position.birth_txid)
        marker = mine.moved(position, batch.epoch, sent)
        return Change(marker, records_of(rows, batch, lineage=self.place.lineage))


class BulkSender:
    """All producers of one sink, seen from the driver."""

    def __init__(self, place: BulkPlace) -> None:
        self._place = place
        self._tasks: Tasks = InThisProcess()
        self._is_settled = True
        self.files = StagedFiles(place.folder)
        self.writing = BulkWriting(place.folder, place.reach, place.producers, place.lineage)

    def use(self, tasks: Tasks) -> None:
        """See `UsesTasks`."""
        self._tasks = tasks

    def prepare(self) -> None:
        """Make the folder, or look whether it is there."""
        self._place.folder.prepare()

    def raise_fence(self, owner: Owner, epoch: Epoch) -> None:
        """Refuse every older epoch to each producer; before the sink does: what is open hides its marker."""
        self.settle_all(owner.topology)
        self._change_all(owner.topology, fencing(owner, epoch, self._place.sink))

    def check_markers(self, owner: Owner, newest: int) -> None:
        """Raise MismatchError unless each producer has a position of this life, none above what may have been sent."""
        with self._all() as each:
            found = [markers.read(owner.topology) for markers in each]
        sink = self._place.sink
        for number, position in enumerate(marker.position if marker else None for marker in found):
            if position is None:
                raise MismatchError(f"{no_marker(f'producer {number} of sink {sink!r}')}; or {RESET_CLEARING}.")
            if position.owner != owner or position.txid > newest:
                raise MismatchError(
                    f"producer {number} of sink {sink!r} {stands(position)}, and txid {newest} is the newest that it "
                    "can have sent: the marker topic or the ledger was put back to another moment. Nothing was sent: "
                    f"restore both to one moment, or {RESET_CLEARING}."
                )

    def _settle(self, topology: str) -> None:
        """End what is open under any id of the sink, if tasks of this process have failed: each hides the others."""
        if not self._is_settled:
            self.settle_all(topology)

    def settle_all(self, topology: str) -> None:
        """End what is open under any id of the sink, whoever has left it."""
        with closing(self._place.reach.cluster()) as cluster:
            for share in (None, *range(self._place.producers)):
                self._place.markers(cluster, share).settle(topology)
        self._is_settled = True

    def register(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Write the first marker with a position of each producer; before the sink's own."""
        self._change_all(owner.topology, bearing(owner, epoch, birth_txid, self._place.sink))

    def begin_anew(self, owner: Owner, epoch: Epoch, birth_txid: int) -> None:
        """Start at the birth txid under a new owner; before the sink's own marker does."""
        self._change_all(owner.topology, beginning_anew(owner, epoch, birth_txid, self._place.sink))

    def let_go(self, owner: Owner, epoch: Epoch) -> None:
        """Have no producer stand anywhere; before the sink's own marker does not."""
        self.settle_all(owner.topology)
        self._change_all(owner.topology, letting_go(owner, epoch, self._place.sink))

    def send_once(self, batch: BatchId, writes: Sequence[WriteManifest], is_in: Callable[[], bool]) -> bool:
        """Have every share sent, unless the sink's own marker has the batch; returns whether that has to move now.

        What this process has left open is ended first: it would hide the marker that `is_in` asks.
        """
        self._settle(batch.owner.topology)
        if is_in():
            return False
        self._send(batch, writes)
        return True

    def _send(self, batch: BatchId, writes: Sequence[WriteManifest]) -> None:
        """Return once every share is in; what is in is not sent again. The sink's own marker does not move."""
        shares = sorted({share_of(write) for write in writes})
        works = [
            SendShare(self._place, batch, share, tuple(write for write in writes if share_of(write) == share))
            for share in shares
        ]
        try:
            self.writing.check_written(batch, writes)
        except (
            StagingLostError
        ):  # else those that have other files would send their shares, and it could not be taken out
            if not self.sent_of(batch):
                raise
        self._is_settled = False
        what = f"{batch}, sending of the sink {self._place.sink!r}"
        try:
            self._tasks.run(works, self._place.reach.secrets, what, self._place.reach.limit)
        except RefusedError as error:
            others = f"{len(works) - 1} other producers may have sent their share"
            raise RefusedError(f"{error}. This is one producer's; {others}") from None
        self._is_settled = True
        reached(CrashPoint.AFTER_SHARES, batch.txid)

    def sent_of(self, batch: BatchId) -> int:
        """Return how many records of a batch are sent, of a batch that is not in as a whole."""
        with self._all() as each:
            found = [owned(markers.read(batch.owner.topology), batch.epoch, self._place.sink) for markers in each]
        return sum(marker.sent.count for marker in found if is_sent(marker, batch, self._place.sink))

    def newest_txid(self, topology: str) -> int:
        """Return the newest txid of which any producer has sent something, 0 where none has a position."""
        with self._all() as each:
            found = [markers.read(topology) for markers in each]
        return max((marker.position.txid for marker in found if marker and marker.position), default=0)

    def rows_of(self, batch: BatchId, writes: Sequence[WriteManifest], *, without_lost: bool = False) -> pa.Table:
        """Return all rows in the order of the records that they are of, or those that are left."""
        tables = []
        for write in writes:
            with suppress(*[StagingLostError] if without_lost else []):
                tables.append(read_share(self._place.folder, batch, write))
        return in_order(pa.concat_tables(tables)) if tables else ROWS.empty_table()

    def _change_all(self, topology: str, decide: Decide) -> None:
        with self._all() as each:
            for markers in each:
                markers.change(topology, decide)

    @contextmanager
    def _all(self) -> Iterator[list[Markers]]:
        with closing(self._place.reach.cluster()) as cluster:
            yield [self._place.markers(cluster, share) for share in range(self._place.producers)]


def is_sent(mine: Marker, batch: BatchId, sink: str) -> bool:
    """Tell whether a producer has sent its share; raises MismatchError where it stands behind the batch's turn.

    A producer without a share of a txid stays where it is, so it may stand anywhere before the batch.
    """
    position = mine.position
    if position is None or position.owner != batch.owner or position.txid > batch.txid:
        where = "was never registered" if position is None else stands(position)
        raise MismatchError(f"{batch}: a producer of sink {sink!r} {where}; nothing of its share was sent")
    if position.txid < batch.txid:
        return False
    if position.attempt != batch.attempt:
        raise MismatchError(f"{batch}: a producer of sink {sink!r} {stands(position)}; nothing of its share was sent")
    return True
