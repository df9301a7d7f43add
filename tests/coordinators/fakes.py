"""A spout over lists and an engine without Spark: they drive the real coordinator, ledger and states."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from trident.base.digest import Digest, hash64, seed_of
from trident.base.errors import RetryableError
from trident.base.identity import BatchId
from trident.base.levels import Level
from trident.base.logs import EpochEnd, LogCut, cut_of
from trident.base.ranges import BadRecordRow, Edge, OffsetRange, PartitionBounds, PartitionId, RangeManifest
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.holding.run import RunnableTopology
from trident.coordinators.pinned import DeadLetter
from trident.coordinators.registered import LEVEL, TopologySpec
from trident.spouts.base import BadRecord, Limits, LostOffsets, OffsetsLostError, SpoutKind, TopicsMissingError
from trident.spouts.offsets import StartOffsets
from trident.state.layout import KeyColumn, Merge, StateLayout, ValueColumn
from trident.state.plainly import PlainState
from trident.state.staged import HeldUpdates
from trident.state.target import OpensTarget, State

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
    epoch: int | None = None
    ends: dict[int, dict[int, int]] = field(default_factory=dict)
    """Where each partition's former epochs end."""
    ids: dict[int, str] = field(default_factory=dict)
    """The topics' ids of partitions that are of another topic than the others."""
    came: dict[int, list[datetime]] = field(default_factory=dict)
    """When each partition's records came, for a start at a moment."""
    is_deleted: bool = False
    stable: int | None = None
    """Where a transaction is open in each partition, None for nowhere."""
    begins: str = "earliest"
    """Where its spout begins unless a reset says something else."""

    def cut(self, partition: int, end: int) -> None:
        """Lose the end of a partition; what is appended from now on is another leader's."""
        assert self.epoch is not None
        for number, records in enumerate(self.partitions):
            self.ends.setdefault(number, {})[self.epoch] = end if number == partition else len(records)
            if number == partition:
                del records[end:]
                known = self.ends[number]
                known.update({epoch: min(stop, end) for epoch, stop in known.items()})
        self.epoch += 1

    def end_of(self, partition: int, epoch: int) -> int:
        return self.ends.get(partition, {}).get(epoch, len(self.partitions[partition]))

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
        if self.topic.is_deleted:
            raise TopicsMissingError(("t",), "this process")
        return tuple(
            PartitionBounds(
                PartitionId("t", n),
                self.topic.ids.get(n, self.topic.topic_id),
                self.topic.earliest.get(n, 0),
                len(records) if self.topic.stable is None else min(self.topic.stable, len(records)),
                self.topic.epoch,
            )
            for n, records in enumerate(self.topic.partitions)
        )

    def ends(self, ids: Sequence[PartitionId]) -> dict[PartitionId, int]:
        return {id_: len(self.topic.partitions[id_.partition]) for id_ in ids}

    def starts(self, policy: object = None) -> tuple[PartitionBounds, ...]:
        policy = policy or self.topic.begins
        if isinstance(policy, StartOffsets):
            return policy.begun("s", self.bounds())
        if str(policy) == "latest":
            return tuple(replace(item, earliest=item.stop) for item in self.bounds())
        if isinstance(policy, datetime) and self.topic.came:
            return tuple(replace(item, earliest=self._since(item, policy)) for item in self.bounds())
        return self.bounds()

    def _since(self, bounds: PartitionBounds, moment: datetime) -> int:
        came = self.topic.came[bounds.id.partition]
        later = (offset for offset, at in enumerate(came) if at >= moment and offset >= bounds.earliest)
        return next(later, bounds.stop)

    def schema(self, spark: SparkSession) -> StructType:
        raise NotImplementedError("there is no Spark here")

    def read(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        raise NotImplementedError("there is no Spark here")

    def verify(self, ranges: Sequence[OffsetRange]) -> None:
        lost = tuple(item for item in ranges if self.topic.earliest.get(item.id.partition, 0) > item.start)
        if lost:
            raise OffsetsLostError(lost)
        if self.recognize(ranges):
            raise RetryableError("the log was cut while it was read")

    def recognize(self, known: Sequence[OffsetRange]) -> tuple[LogCut, ...]:
        asked = [(item, item.epoch) for item in known if item.epoch is not None]
        ends = [(item, EpochEnd(epoch, self.topic.end_of(item.id.partition, epoch))) for item, epoch in asked]
        return tuple(cut for cut in (cut_of(item, end) for item, end in ends) if cut is not None)

    def why_gone(self, ranges: Sequence[OffsetRange]) -> str | None:
        if any(self.topic.earliest.get(item.id.partition, 0) > item.start for item in ranges if item.width):
            return "its beginning is gone"
        return "its log was cut" if self.recognize(ranges) else None

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
            ((stream, edges),) = request.edges.items()
            return self.meddle(request, self.read(stream, edges))
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
    level: Level = Level.EXACTLY_ONCE

    def plan(self, name: str = "payments") -> RunnableTopology:
        spec = TopologySpec(
            name,
            {"s": self.spout.description()},
            {state.name: described_at(state, self.level) for state in self.states},
        )
        return RunnableTopology(
            spec,
            {"s": self.spout},
            {state.name: opens_at(state, self.level) for state in self.states},
            lambda *_: self.processor,
        )


def described_at(state: State, level: Level) -> dict[str, str]:
    """Return what the ledger keeps of a state at a level."""
    return state.description() | ({LEVEL: level.value} if level.is_plain else {})


def opens_at(state: State, level: Level) -> OpensTarget:
    """Return how a state is opened at a level."""
    if not level.is_plain:
        return partial(state.open, LAYOUT)
    assert isinstance(state, PlainState)
    return partial(state.open_plain, LAYOUT)


def _leave(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
    return result


def make_job(
    topic: Topic,
    *states: State,
    meddle: Meddle = _leave,
    level: Level = Level.EXACTLY_ONCE,
    **spout_options: Any,
) -> ListJob:
    spout = ListSpout(topic, **spout_options)
    return ListJob(topic, spout, states, ListProcessor(topic, [state.name for state in states], meddle), level)
