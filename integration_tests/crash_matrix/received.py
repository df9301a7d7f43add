"""A process over a queue outside of it that can be taken from once: a life of the crash matrix, and what must hold."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from integration_tests.crash_matrix.borders import BATCH_POINTS, TAKE_OVER_POINTS
from integration_tests.crash_matrix.forking import Forker
from integration_tests.crash_matrix.outside import OutsideLife
from integration_tests.crash_matrix.sites import TARGET, Site
from tests.coordinators.receiving import CountingProcessor
from trident.base.crash_points import CrashPoint, armed, reached
from trident.base.ranges import OffsetRange
from trident.base.timeouts import DEFAULT_TIMEOUTS
from trident.coordinators.batches.processor import ProcessRequest
from trident.coordinators.holding.run import RunnableTopology, TopologyRun
from trident.coordinators.registered import RECEIVED, TopologySpec
from trident.spouts import NonTransactionalSpout
from trident.spouts.base import Source
from trident.spouts.python.received import Row
from trident.spouts.python.receiving import ReceivingSource

SITES = (Site.SQLITE, Site.POSTGRES, Site.APART, Site.BESIDE_AND_APART, Site.PER_KEY)
ROWS = 14
EACH = 4
_OF_TASKS = (CrashPoint.AFTER_COPY,)
NOT_PLANNED = (CrashPoint.BEFORE_PLAN,)
"""Where what was received stands in no record."""
SECOND_DEATHS = (*TAKE_OVER_POINTS, CrashPoint.BEFORE_PLAN, CrashPoint.AFTER_PLAN, CrashPoint.AFTER_DONE)
"""Where a successor may die that has found something lost."""


@dataclass(frozen=True, slots=True)
class OutsideQueue:
    """A file that outlives every process: which rows there are, in which order they were taken, which are done."""

    file: Path

    def make(self, count: int) -> None:
        with closing(sqlite3.connect(self.file)) as connection, connection:
            connection.execute("CREATE TABLE queue (n INTEGER PRIMARY KEY, taken INTEGER, told INTEGER DEFAULT 0)")
            connection.executemany("INSERT INTO queue (n) VALUES (?)", [(n,) for n in range(count)])
            connection.execute("CREATE TABLE place (position INTEGER PRIMARY KEY, n INTEGER)")

    def take(self, most: int) -> list[int]:
        with closing(sqlite3.connect(self.file)) as connection, connection:
            query = "SELECT n FROM queue WHERE taken IS NULL ORDER BY n LIMIT ?"
            found = [n for (n,) in connection.execute(query, (most,))]
            connection.executemany("UPDATE queue SET taken = 1 WHERE n = ?", [(n,) for n in found])
        return found

    def tell(self, rows: Iterable[int]) -> None:
        with closing(sqlite3.connect(self.file)) as connection, connection:
            connection.executemany("UPDATE queue SET told = 1 WHERE n = ?", [(n,) for n in rows])

    def give_again(self) -> None:
        """Let what nobody was told of be taken once more: its process is gone."""
        with closing(sqlite3.connect(self.file)) as connection, connection:
            connection.execute("UPDATE queue SET taken = NULL WHERE told = 0")

    def told(self) -> set[int]:
        with closing(sqlite3.connect(self.file)) as connection:
            return {n for (n,) in connection.execute("SELECT n FROM queue WHERE told = 1")}

    def put(self, places: Mapping[int, int]) -> None:
        """Note which row stands where, of what was planned; no position ever stands for two rows."""
        with closing(sqlite3.connect(self.file)) as connection, connection:
            known = dict(connection.execute("SELECT position, n FROM place").fetchall())
            assert all(known.get(at, n) == n for at, n in places.items()), f"{known} and {places}"
            connection.executemany("INSERT OR IGNORE INTO place VALUES (?, ?)", places.items())

    def note(self, source: Source) -> None:
        """Put down all that a source holds: where one batch is planned at a time all of it is planned."""
        assert isinstance(source, ReceivingSource)
        for bound in source.bounds():
            rows = source.standing(OffsetRange(bound.id, bound.topic_id, bound.earliest, bound.stop))
            self.put(dict(enumerate(map(_number, rows), bound.earliest)))

    def places(self) -> dict[int, int]:
        with closing(sqlite3.connect(self.file)) as connection:
            return dict(connection.execute("SELECT position, n FROM place").fetchall())


class Taking(NonTransactionalSpout):
    """Takes from it."""

    schema = "account string"
    max_records_per_batch = EACH

    def __init__(self, queue: OutsideQueue) -> None:
        self.queue = queue

    def receive(self, partition: int, most: int) -> Iterable[Row]:
        return [(f"r{n}",) for n in self.queue.take(most)]

    def done(self, partition: int, rows: Sequence[Row]) -> None:
        self.queue.tell(map(_number, rows))


@dataclass(frozen=True, slots=True)
class ReceivingLife(OutsideLife):
    """See `OutsideLife`."""

    @property
    def queue(self) -> OutsideQueue:
        return OutsideQueue(Path(self.addresses.folder) / f"queue-{self.key}.sqlite")

    def live(self) -> None:
        """Run; a death is a SIGKILL of this very process."""
        process = _Process(self)
        with armed(process.reach):
            TopologyRun(process.job(), self.place.ledger(), self.options).run()


@dataclass
class _Process:
    """What one process keeps in its memory."""

    life: ReceivingLife
    sources: Mapping[str, Source] = field(default_factory=dict)

    def job(self) -> RunnableTopology:
        ends, spout = self.life.ends, Taking(self.life.queue)
        described = {"s": {**spout.description(), "kind": RECEIVED}}
        spec = TopologySpec(self.life.place.topology, described, {end.name: end.description() for end in ends})

        def make(sources: Mapping[str, Source], _: object) -> CountingProcessor:
            self.sources = sources
            return CountingProcessor(sources, [end.name for end in ends], reading)

        return RunnableTopology(spec, {"s": spout}, {end.name: end.open for end in ends}, make)

    def reach(self, point: CrashPoint, txid: int) -> None:
        if point is CrashPoint.AFTER_PLAN:
            self.life.queue.note(self.sources["s"])
        if point is self.life.dies_at and txid in (0, self.life.target):
            os.kill(os.getpid(), signal.SIGKILL)
            threading.Event().wait()  # the signal is on its way


def _number(row: Row) -> int:
    assert not isinstance(row, Mapping)
    return int(str(row[0])[1:])


def reading(request: ProcessRequest, accounts: Sequence[str]) -> None:
    """Reach the border at which the records of a batch are read."""
    reached(CrashPoint.READING, request.batch.txid)


def points_of(site: Site) -> list[CrashPoint]:
    """Return where a batch of a place can die that no task writes."""
    return [point for point in BATCH_POINTS[site] if point not in _OF_TASKS]


def play(life: ReceivingLife, forker: Forker, second: CrashPoint | None, *, gives_again: bool) -> Iterator[str]:
    """Yield what is wrong once one has died, perhaps its successor too, and another has taken what was left."""
    life.queue.make(ROWS)
    told: set[int] = set()
    deaths = [life, *([] if second is None else [replace(life, dies_at=second, target=target_of_next(life.dies_at))])]
    for dies in deaths:
        end = forker.end_of(dies)
        if end != -signal.SIGKILL:
            yield f"it ended with {end} instead of dying at {dies.dies_at}: {forker.said()}"
        told |= life.queue.told()
        if gives_again:
            life.queue.give_again()
    for _ in range(2):  # a further start finds nothing to do, and records no loss twice
        end = forker.end_of(replace(life, dies_at=None))
        if end:
            yield f"the last one ended with {end}: {forker.said()}"
        for each in life.ends:
            counts = {int(account[1:]): int(str(values[0])) for account, values in each.seen().rows.items()}
            yield from _again(counts, told) if gives_again else _once(life, counts, {life.dies_at, second})


def target_of_next(died_at: CrashPoint | None) -> int:
    """Return the txid with which a successor dies: the first one that it plans."""
    is_decided = died_at in (CrashPoint.AFTER_PIN, CrashPoint.IN_APPLY, CrashPoint.AFTER_APPLY)
    is_decided |= died_at in (CrashPoint.BEFORE_DONE, CrashPoint.AFTER_DONE)
    is_decided |= died_at in (CrashPoint.BETWEEN_CHUNKS, CrashPoint.BEFORE_POSITION)
    return TARGET + is_decided


def _again(counts: dict[int, int], told: set[int]) -> Iterator[str]:
    """Yield unless each row was applied, and twice at most where nobody had told the queue of it."""
    if counts.keys() != set(range(ROWS)):
        yield f"rows {set(range(ROWS)) - counts.keys()} are in no result, although they were given again"
    twice = {n for n, count in counts.items() if count > 1}
    if twice & told or max(counts.values()) > 2 + 1:
        yield f"{counts}: {twice & told} were told of, and count again"


def _once(life: ReceivingLife, counts: dict[int, int], deaths: set[CrashPoint | None]) -> Iterator[str]:
    """Yield unless each row was applied once, or is recorded as lost, or was received and never planned."""
    if set(counts.values()) != {1}:
        yield f"rows count twice: {counts}"
    missing = set(range(ROWS)) - counts.keys()
    places = life.queue.places()
    recorded = {places[at] for at in _lost_positions(life)}
    unplanned = set(range(ROWS)) - set(places.values())
    if missing != recorded | unplanned or recorded & unplanned:
        yield f"rows {missing} are in no result; {recorded} are recorded as lost, {unplanned} were planned by nobody"
    if unplanned and not deaths.intersection(NOT_PLANNED):
        yield f"rows {unplanned} were received, and planned by nobody"


def _lost_positions(life: ReceivingLife) -> list[int]:
    """Return the positions that the ledger records as lost, each once."""
    ledger = life.place.ledger()
    ledger.open(DEFAULT_TIMEOUTS)
    with closing(ledger):
        losses = ledger.view().losses(life.place.topology)
    found = [at for loss in losses for at in range(loss.start_offset, loss.stop_offset)]
    assert len(found) == len(set(found)), f"{losses} record a position twice"
    return found
