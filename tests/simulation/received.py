"""A stream that can't be read again: a queue outside of every process, and the product's own source over it in each.

The queue numbers its rows. A record of the simulation is arithmetic of its position, so that a row counts by where its
process has put it; which row that was is the account's affair (`ReceivedRowsAccount`).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

from tests.simulation.accounts import LedgerAccount, ViolationError, require
from tests.simulation.data import TopicSpout
from tests.simulation.outside import Here, OutsideAccount, Places, positions
from trident.base.errors import RetryableError
from trident.base.identity import Epoch
from trident.base.ranges import OffsetRange, PartitionId
from trident.coordinators.ledger.memory.rows import Entry
from trident.coordinators.planned import Plan
from trident.coordinators.registered import RECEIVED
from trident.spouts.base import Limits, LostOffsets, SpoutKind
from trident.spouts.python.received import Row
from trident.spouts.python.receiving import ReceivingSource
from trident.spouts.python.watching import Watched

GIVEN_AGAIN = "a row was given again"
_SHARE = 0.2
_REDELIVERS = 0.5


@dataclass
class Queue:
    """What is outside: gives a row out once, or again where it was not told of it by a process that is gone."""

    rng: random.Random
    partitions: Callable[[], Sequence[int]]
    is_over: Callable[[], bool]
    """Whether no new rows are made but those that are `left`."""
    redelivers: bool
    made: int = 0
    waiting: list[int] = field(default_factory=list)
    taken: dict[str, list[int]] = field(default_factory=dict)
    """By process, what it has taken and not told of."""
    given_again: int = 0
    left: int = 40
    """As a log has a backlog when nothing more is written."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing more will be given, unless a process that has taken something goes."""
        return not self.left and not self.waiting

    def take(self, process: str, most: int) -> list[int]:
        if not self.waiting:
            count = int(self.rng.random() * 2 * most)
            if self.is_over():
                count = min(count, self.left)
                self.left -= count
            self.waiting += range(self.made, self.made + count)
            self.made += count
        rows, self.waiting = self.waiting[:most], self.waiting[most:]
        self.taken.setdefault(process, []).extend(rows)
        return rows

    def told(self, process: str, rows: Sequence[int]) -> None:
        held = self.taken[process]
        for row in rows:
            held.remove(row)

    def gone(self, process: str) -> None:
        rows = self.taken.pop(process, [])
        if self.redelivers:
            self.given_again += len(rows)
            self.waiting[:0] = rows


class ReceivedSpout(TopicSpout):
    """The description of such a stream; each process opens a source of its own over the queue."""

    has_moments = False

    def description(self) -> dict[str, str]:
        return {"spout": "simulated", "kind": RECEIVED}


@dataclass
class _InProcess:
    """See `GivesRows`: what one process has of the queue."""

    queue: Queue
    process: str
    max_records_per_batch: int
    when_done: Callable[[Sequence[int]], None]
    schema = "n bigint"

    def partitions(self) -> Iterable[int]:
        return self.queue.partitions()

    def receive(self, partition: int, most: int) -> Iterable[Row]:
        return [(row,) for row in self.queue.take(self.process, most)]

    def done(self, partition: int, rows: Sequence[Row]) -> None:
        numbers = [_number(row) for row in rows]
        self.when_done(numbers)
        self.queue.told(self.process, numbers)

    def close(self) -> None:
        self.queue.gone(self.process)


class ReceivedHere(ReceivingSource):
    """The product's source as one process has it; what it has held where is known when that has gone, too."""

    def __init__(self, name: str, spout: _InProcess, when_told: Callable[[int], None]) -> None:
        super().__init__(name, spout)  # type: ignore[arg-type]  # its schema is no class variable of a user's
        self._watched = _Unwatched(name)
        self._process = spout
        self._when_told = when_told
        self._is_gone = False
        self.places: dict[tuple[int, int], int] = {}

    def receive(self, positions: Mapping[PartitionId, int]) -> None:
        if self._is_gone:
            raise RetryableError("the process is gone")  # a call in it, which can't come late
        try:
            super().receive(positions)
        finally:
            for bound in self.bounds():
                span = OffsetRange(bound.id, bound.topic_id, bound.earliest, bound.stop)
                numbered = enumerate(self.standing(span), bound.earliest)
                self.places.update({(bound.id.partition, at): _number(row) for at, row in numbered})

    def committed(self, txid: int, ranges: Sequence[OffsetRange]) -> None:
        self._when_told(txid)
        super().committed(txid, ranges)

    def close(self) -> None:
        super().close()
        self.lose()

    def lose(self) -> None:
        """Go with the process."""
        self._is_gone = True
        self._process.queue.gone(self._process.process)


class _Unwatched(Watched):
    """Virtual time needs nobody who looks at a clock."""

    @contextmanager
    def calls(self) -> Iterator[None]:
        yield


@dataclass(frozen=True)
class ReceivedStream:
    """What a process opens such a stream by."""

    name: str
    queue: Queue
    most: int
    when_told: Callable[[int], None]
    when_done: Callable[[Sequence[int]], None]

    def opened(self, process: str) -> ReceivedHere:
        return ReceivedHere(self.name, _InProcess(self.queue, process, self.most, self.when_done), self.when_told)


class ReceivedRowsAccount(OutsideAccount):
    """What the monitor writes down of received rows: which one stands where, and which have been done."""

    def __init__(self, spout: str, queue: Queue) -> None:
        self.spout = spout
        self.queue = queue
        self.applied: set[int] = set()
        self._sources: dict[Epoch, ReceivedHere] = {}

    @property
    def partitions(self) -> frozenset[int]:
        return frozenset(self.queue.partitions())

    @property
    def is_settled(self) -> bool:
        return self.queue.is_empty

    def took_over(self, epoch: Epoch, source: Here) -> None:
        assert isinstance(source, ReceivedHere)
        self._sources[epoch] = source

    def planned(self, account: LedgerAccount, plan: Plan, epoch: Epoch | None) -> LedgerAccount:
        """A plan reads rows that its own process holds, and records as lost what other processes have taken along."""
        assert epoch is not None
        here = self._sources[epoch].places
        rows = dict(account.rows)
        for partition, at in positions(self.spout, plan):
            row = here.get((partition, at))
            require(row is not None, f"attempt {plan.attempt} reads {partition}/{at}, which its process does not hold")
            assert row is not None
            stood = rows.setdefault((partition, at), row)
            require(stood == row, f"{partition}/{at} stood for row {stood}, and is planned for row {row}")
        for loss in plan.losses:
            for at in range(loss.start, loss.stop) if loss.spout == self.spout else ():
                place = (loss.id.partition, at)
                require(place in rows, f"{place} is recorded as lost, and was planned by nobody")
                require(place not in here, f"{place} is recorded as lost by the process that holds it")
        if not self.queue.redelivers and len(set(rows.values())) < len(rows):
            raise ViolationError(f"attempt {plan.attempt} has a row at two places: {rows}")
        return account.with_rows(rows)

    def finished(self, account: LedgerAccount, plan: Plan) -> Places:
        """Write down what is done."""
        self.applied.update(account.rows[place] for place in positions(self.spout, plan))
        return account.rows

    def kept(self, account: LedgerAccount, old: Entry) -> Places:
        """A new life has positions of its own."""
        return {}

    def check_told(self, rows: Sequence[int]) -> None:
        """A queue hears of nothing that is not done."""
        early = [row for row in rows if row not in self.applied]
        require(not early, f"the queue was told of {early}, which are not done")

    def check_stopped(self, source: Here, entry: Entry | None, rows: Places) -> None:
        """Whoever ends without an error has planned all that it had received, unless another life has begun."""
        assert isinstance(source, ReceivedHere)
        left = [place for place, row in source.places.items() if rows.get(place) != row]
        require(not left or entry is None, f"a run that ended had received {left}, and planned nothing of it")

    def check_end(self, *, is_whole: bool) -> None:
        """A queue that gives again has had every row done, if nothing was put back or reset."""
        missing = set(range(self.queue.made)).difference(self.applied, self.queue.waiting)
        held = {row for rows in self.queue.taken.values() for row in rows}
        if self.queue.redelivers and is_whole:
            require(not missing - held, f"rows {missing - held} are lost, although they were to be given again")

    def stops(self, account: LedgerAccount) -> dict[int, int]:
        """Return the position behind all that was ever planned in this life, by partition."""
        found = dict(account.covered)
        for partition, at in account.rows:
            found[partition] = max(found.get(partition, 0), at + 1)
        return found

    def counts(self) -> Counter[str]:
        return Counter({GIVEN_AGAIN: int(self.queue.given_again > 0)})


def draw_received(
    seed: int, spouts: Iterable[str], partitions: Callable[[], int], is_over: Callable[[], bool]
) -> tuple[str, Queue] | None:
    """Return which stream of a world can't be read again, and its queue; what else is drawn does not depend on it."""
    rng = random.Random(seed ^ 0x4EC)
    if rng.random() >= _SHARE:
        return None
    names = list(spouts)
    share = int(rng.random() * len(names))

    def numbers() -> list[int]:
        return [number for number in range(partitions()) if number % len(names) == share]

    return names[share], Queue(rng, numbers, is_over, rng.random() < _REDELIVERS)


def received_spout(of: TopicSpout) -> ReceivedSpout:
    """Return the description of a stream that takes the place of another one, with its limit."""
    return ReceivedSpout(SpoutKind.OPAQUE, Limits(max_records=of.limits.max_records), LostOffsets.RESUME_AT_EARLIEST)


def _number(row: Row) -> int:
    return cast("Sequence[int]", row)[0]
