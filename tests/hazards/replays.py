"""What the rows of the hazard table are replayed with: lists instead of Kafka, no Spark, all else is the real thing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.coordinators.fakes import ListJob, ListProcessor, ListSource, ListSpout, Topic
from tests.state.harnesses import DictMap
from trident.base.crash_points import CrashPoint, armed
from trident.base.ranges import OffsetRange, PartitionBounds
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.spouts.base import Limits, SpoutKind
from trident.state import BackingPosition, TimedValue
from trident.state.folding import current
from trident.state.target import State

Counts = dict[str, tuple[int, int]]


class Death(BaseException):
    """The process ends here; nobody catches it but the test."""


@dataclass(frozen=True)
class HidingSource(ListSource):
    """Its metadata answers leave partitions out, as a broker's do when a leader is away."""

    hidden: set[int] = field(default_factory=set)

    def bounds(self) -> tuple[PartitionBounds, ...]:
        return tuple(bound for bound in super().bounds() if bound.id.partition not in self.hidden)


@dataclass(frozen=True)
class HidingSpout(ListSpout):
    hidden: set[int] = field(default_factory=set)

    def open(self, name: str) -> HidingSource:
        return HidingSource(self.topic, name, self.hidden)


def as_it_is(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
    return result


def hiding_job(topic: Topic, *states: State, hidden: set[int], kind: SpoutKind = SpoutKind.OPAQUE) -> ListJob:
    spout = HidingSpout(topic, kind, Limits(max_records=10), hidden=hidden)
    return ListJob(topic, spout, states, ListProcessor(topic, [state.name for state in states], as_it_is))


def ranges_of(job: ListJob, txid: int) -> list[tuple[OffsetRange, ...]]:
    """Return what each attempt at the txid read, in the order of its tries."""
    mine = sorted((item for item in job.processor.attempts if item.batch.txid == txid), key=lambda item: item.tries)
    return [tuple(edge.range for edge in item.edges["s"]) for item in mine]


def tries_of(job: ListJob) -> dict[int, int]:
    """Return how often each txid was tried."""
    tries: dict[int, int] = {}
    for item in job.processor.attempts:
        tries[item.batch.txid] = max(tries.get(item.batch.txid, 0), item.tries)
    return tries


def in_map(backing_map: DictMap) -> Counts:
    """Return what a map holds, read past the state."""
    apart = BackingPosition | TimedValue
    rows = {key: current(row) for key, row in backing_map.rows.items() if not isinstance(row, apart)}
    return {str(account): (int(str(n)), int(str(total))) for (account,), (n, total) in rows.items()}


@contextmanager
def once_at(point: CrashPoint, txid: int, *actions: Callable[[], None]) -> Iterator[None]:
    """Run the actions one by one at the first times that the coordinator comes to the point with the txid."""
    left: Sequence[Callable[[], None]] = list(actions)
    lock = threading.Lock()

    def reached(where: CrashPoint, what: int) -> None:
        with lock:
            action = left.pop(0) if left and (where, what) == (point, txid) else None  # type: ignore[attr-defined]
        if action is not None:
            action()

    with armed(reached):
        yield
    assert not left, f"the run came to {point.value} of txid {txid} too seldom"


def die() -> None:
    raise Death
