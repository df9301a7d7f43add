"""A spout over lists and an engine without Spark: they drive the real coordinator, ledger and states."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from trident.base.digest import Digest, hash64, seed_of
from trident.base.identity import BatchId
from trident.base.ranges import BadRecordRow, Edge, OffsetRange, PartitionBounds, PartitionId, RangeManifest
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.holding.run import RunnableTopology
from trident.coordinators.pinned import DeadLetter
from trident.coordinators.registered import TopologySpec
from trident.spouts.base import BadRecord, Limits, LostOffsets, OffsetsLostError, SpoutKind
from trident.state.layout import KeyColumn, Merge, StateLayout, ValueColumn
from trident.state.staged import HeldUpdates
from trident.state.target import State

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

LAYOUT = StateLayout(
    (KeyColumn("account", pa.string()),),
    (ValueColumn("n", pa.int64(), Merge.ADD), ValueColumn("total", pa.int64(), Merge.ADD)),
)
Record = tuple[str, int]
Meddle: TypeAlias = "Callable[[ProcessRequest, ProcessResult], ProcessResult]"
POISON = ("poison", 0)


@dataclass
class Topic:
    """A partitioned log in memory; tests append to it, cut it and count it."""

    partitions: list[list[Record]]
    earliest: dict[int, int] = field(default_factory=dict)
    topic_id: str = "id"
    told: list[int] = field(default_factory=list)

    def expected(self) -> dict[str, tuple[int, int]]:
        counts: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
        for records in self.partitions:
            for account, amount in records:
                n, total = counts[account]
                counts[account] = (n + 1, total + amount)
        return dict(counts)


@dataclass(frozen=True)
class ListSource:
    topic: Topic
    name: str

    def bounds(self) -> tuple[PartitionBounds, ...]:
        return tuple(
            PartitionBounds(PartitionId("t", n), self.topic.topic_id, self.topic.earliest.get(n, 0), len(records))
            for n, records in enumerate(self.topic.partitions)
        )

    def starts(self, policy: object = None) -> tuple[PartitionBounds, ...]:
        if policy is not None and str(policy) == "latest":
            return tuple(replace(item, earliest=item.stop) for item in self.bounds())
        return self.bounds()

    def schema(self, spark: SparkSession) -> StructType:
        raise NotImplementedError("there is no Spark here")

    def read(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        raise NotImplementedError("there is no Spark here")

    def verify(self, ranges: Sequence[OffsetRange]) -> None:
        lost = tuple(item for item in ranges if self.topic.earliest.get(item.id.partition, 0) > item.start)
        if lost:
            raise OffsetsLostError(lost)

    def committed(self, txid: int, ranges: Sequence[OffsetRange]) -> None:
        self.topic.told.append(txid)

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class ListSpout:
    topic: Topic
    kind: SpoutKind = SpoutKind.OPAQUE
    limits: Limits = field(default_factory=lambda: Limits(max_records=10))
    on_lost_offsets: LostOffsets = LostOffsets.STOP
    on_bad_record: BadRecord = BadRecord.FAIL

    def description(self) -> dict[str, str]:
        return {"spout": "list"}

    def open(self, name: str) -> ListSource:
        return ListSource(self.topic, name)


@dataclass
class ListProcessor:
    """Counts and sums per account; `meddle` may change or refuse what an attempt brings back."""

    topic: Topic
    states: Sequence[str]
    meddle: Meddle
    cancelled: list[int] = field(default_factory=list)
    attempts: list[ProcessRequest] = field(default_factory=list)
    running: int = 0
    most_running: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def process(self, request: ProcessRequest) -> ProcessResult:
        with self._lock:
            self.attempts.append(request)
            self.running += 1
            self.most_running = max(self.most_running, self.running)
        try:
            return self.meddle(request, self.read("s", request.edges["s"]))
        finally:
            with self._lock:
                self.running -= 1

    def cancel(self, batch: BatchId) -> None:
        self.cancelled.append(batch.attempt)

    def read(self, spout: str, edges: Sequence[Edge]) -> ProcessResult:
        sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        manifests, bad = [], []
        for edge in edges:
            span = edge.range
            for offset in range(span.start, span.stop):
                record = self.topic.partitions[span.id.partition][offset]
                if record == POISON:
                    bad.append(DeadLetter(spout, BadRecordRow(span.id, offset, None, "unreadable", None, b"{")))
                    continue
                sums[record[0]][0] += 1
                sums[record[0]][1] += record[1]
            positions = np.arange(span.start, span.stop, dtype=np.int64)
            digest = Digest.of(hash64(seed_of(span.id.topic, span.id.partition), positions))
            manifests.append((spout, RangeManifest(edge.id, span.id, span.stop, digest, size_bytes=10 * span.width)))
        columns: list[list[Any]] = [
            list(sums),
            [item[0] for item in sums.values()],
            [item[1] for item in sums.values()],
        ]
        rows = pa.table(dict(zip(LAYOUT.schema().names, columns, strict=True)), schema=LAYOUT.schema())
        return ProcessResult(tuple(manifests), tuple(bad), {state: HeldUpdates(rows) for state in self.states})


@dataclass
class ListJob:
    """A runnable topology over a list topic."""

    topic: Topic
    spout: ListSpout
    states: Sequence[State]
    processor: ListProcessor

    def plan(self, name: str = "payments") -> RunnableTopology:
        spec = TopologySpec(
            name, {"s": self.spout.description()}, {state.name: state.description() for state in self.states}
        )
        return RunnableTopology(
            spec, {"s": self.spout}, {state.name: (state, LAYOUT) for state in self.states}, lambda *_: self.processor
        )


def _leave(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
    return result


def make_job(topic: Topic, *states: State, meddle: Meddle = _leave, **spout_options: Any) -> ListJob:
    spout = ListSpout(topic, **spout_options)
    return ListJob(topic, spout, states, ListProcessor(topic, [state.name for state in states], meddle))
