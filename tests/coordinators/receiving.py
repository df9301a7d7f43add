"""A queue whose records can be taken once, and a job over it: the real source, coordinator, ledger and states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import pyarrow as pa

from tests.coordinators.fakes import LAYOUT, ListSource, ListSpout, Topic, described_at, opens_at
from trident.base.digest import Digest, hash64, seed_of
from trident.base.identity import BatchId
from trident.base.levels import Level
from trident.base.ranges import OffsetRange, RangeManifest
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.holding.run import RunnableTopology
from trident.coordinators.registered import RECEIVED, TopologySpec
from trident.spouts import NonTransactionalSpout
from trident.spouts.base import LostOffsets, Source, Spout
from trident.spouts.python.held_rows import HeldRowsSource
from trident.spouts.queue.spout import QueueSpout
from trident.state.staged import HeldUpdates
from trident.state.target import State

Row = Mapping[str, object] | Sequence[object]
Meddle = Callable[[ProcessRequest, Sequence[str]], None]


@dataclass
class Queue:
    """What is outside of every process: records wait, are given out, and are acknowledged or, if so, given again."""

    waiting: dict[int, list[str]]
    redelivers: bool = False
    unacknowledged: dict[int, list[str]] = field(default_factory=dict)
    acknowledged: list[str] = field(default_factory=list)
    given: list[str] = field(default_factory=list)

    def disconnect(self) -> None:
        """Lose the process that had taken records."""
        if self.redelivers:
            for partition, records in self.unacknowledged.items():
                self.waiting[partition][:0] = records
        self.unacknowledged = {}


class Taking(NonTransactionalSpout):
    """Takes records off a queue; one whose process has died tells it nothing any more."""

    schema = "account string"
    max_records_per_batch = 5

    def __init__(self, queue: Queue, on_lost: LostOffsets = LostOffsets.RESUME_AT_EARLIEST) -> None:
        self.queue = queue
        self.on_lost_offsets = on_lost
        self.is_dead = False
        self.closed = 0

    def partitions(self) -> Iterable[int]:
        return self.queue.waiting

    def receive(self, partition: int, most: int) -> Iterable[Row]:
        assert not self.is_dead
        waiting = self.queue.waiting[partition]
        taken, waiting[:] = waiting[:most], waiting[most:]
        self.queue.unacknowledged.setdefault(partition, []).extend(taken)
        self.queue.given += taken
        return [(record,) for record in taken]

    def done(self, partition: int, rows: Sequence[Row]) -> None:
        if self.is_dead:
            return
        records = [cast("str", cast("Sequence[object]", row)[0]) for row in rows]
        held = self.queue.unacknowledged[partition]
        assert held[: len(records)] == records, "in the order in which they were received"
        del held[: len(records)]
        self.queue.acknowledged += records

    def close(self) -> None:
        self.closed += 1
        self.queue.disconnect()


class Generous(Taking):
    """Gives four times as many as it is asked for."""

    def receive(self, partition: int, most: int) -> Iterable[Row]:
        return super().receive(partition, 4 * most)


@dataclass
class CountingProcessor:
    """Counts accounts over the rows that the sources hold: those that were received, and records of a topic."""

    sources: Mapping[str, Source]
    states: Sequence[str]
    meddle: Meddle

    def process(self, request: ProcessRequest) -> ProcessResult:
        counts: dict[str, int] = {}
        manifests = []
        for stream, edge in ((stream, edge) for stream, edges in request.edges.items() for edge in edges):
            span = edge.range
            for account in self._accounts(stream, span):
                counts[account] = counts.get(account, 0) + 1
            positions = np.arange(span.start, span.stop, dtype=np.int64)
            digest = Digest.of(hash64(seed_of(span.id.topic, span.id.partition), positions))
            manifests.append((stream, RangeManifest(edge.id, span.id, span.stop, digest)))
        self.meddle(request, tuple(counts))
        columns: list[Sequence[object]] = [list(counts), list(counts.values()), list(counts.values())]
        rows = pa.table(dict(zip(LAYOUT.schema().names, columns, strict=True)), schema=LAYOUT.schema())
        return ProcessResult(tuple(manifests), (), {state: HeldUpdates(rows) for state in self.states})

    def _accounts(self, stream: str, span: OffsetRange) -> list[str]:
        source = self.sources[stream]
        if isinstance(source, HeldRowsSource):
            return [cast("str", cast("Sequence[object]", row)[0]) for row in source.rows(span)]
        assert isinstance(source, ListSource)
        return [account for account, _ in source.topic.partitions[span.id.partition][span.start : span.stop]]

    def cancel(self, batch: BatchId) -> None:
        pass


def nothing(request: ProcessRequest, accounts: Sequence[str]) -> None:
    """Let every attempt be."""


def receiving_job(
    spout: Taking | QueueSpout,
    *states: State,
    meddle: Meddle = nothing,
    beside: Topic | None = None,
    level: Level = Level.EXACTLY_ONCE,
) -> RunnableTopology:
    """Return a topology that counts what a spout takes, and the records of a topic beside it."""

    def make(sources: Mapping[str, Source], _: object) -> CountingProcessor:
        return CountingProcessor(sources, [state.name for state in states], meddle)

    spouts: dict[str, Spout] = {"s": spout}
    described = {"s": {**spout.description(), "kind": RECEIVED if isinstance(spout, Taking) else "opaque"}}
    if beside is not None:
        spouts["k"] = ListSpout(beside)
        described["k"] = {"kind": "opaque"}
    spec = TopologySpec("queued", described, {state.name: described_at(state, level) for state in states})
    targets = {state.name: opens_at(state, level) for state in states}
    return RunnableTopology(spec, spouts, targets, make)
