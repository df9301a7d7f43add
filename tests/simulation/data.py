"""What the simulated topology reads: partitions whose records are arithmetic, a spout over them, an engine."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from trident.base.digest import Digest
from trident.base.logs import LogCut
from trident.base.order import ORDER
from trident.base.ranges import BadRecordRow, Edge, OffsetRange, PartitionBounds, PartitionId, RangeManifest
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.pinned import DeadLetter
from trident.spouts.base import BadRecord, Limits, LostOffsets, OffsetsLostError, SpoutKind
from trident.state.kafka.records import ROWS
from trident.state.layout import KeyColumn, Merge, StateLayout, ValueColumn
from trident.state.staged import HeldUpdates

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

SPOUT = "s"
SECOND_SPOUT = "t"
"""The other one of a topology with two; it has every second partition."""
SINK = "sink"
OUT = "out"
"""The topic that the sink writes to."""
LAYOUT = StateLayout(
    (KeyColumn("key", pa.int64()),),
    (ValueColumn("n", pa.int64(), Merge.ADD), ValueColumn("total", pa.int64(), Merge.ADD)),
)
PARTITIONS = tuple(PartitionId("t", number) for number in range(8))
_SHARE_OF_TWO_SPOUTS = 0.4
Rows = dict[tuple[object, ...], tuple[object, ...]]


@cache
def is_bad(partition: int, offset: int) -> bool:
    """Tell whether the record does not decode."""
    return (offset * 5 + partition * 3) % 19 == 7


@cache
def key_of(partition: int, offset: int) -> tuple[int]:
    return ((partition * 7 + offset * 3) % 5,)


def amount_of(partition: int, offset: int) -> int:
    return partition * 1000 + offset + 1


def good_of(spans: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int]]:
    """Yield partition and offset of the records that decode."""
    for partition, start, stop in spans:
        for offset in range(start, stop):
            if not is_bad(partition, offset):
                yield partition, offset


def held_records(read: Iterable[OffsetRange]) -> HeldUpdates:
    """Return what a sink gets: a record for each one that was read and decodes."""
    sources = list(good_of((span.id.partition, span.start, span.stop) for span in read))
    columns: dict[str, Sequence[str | bytes | None]] = {
        "topic": [OUT] * len(sources),
        "key": [str(key_of(partition, offset)[0]).encode() for partition, offset in sources],
        "value": [f"{partition}/{offset}".encode() for partition, offset in sources],
        "headers": [None] * len(sources),
        ORDER: [b"t\0" + struct.pack(">IQ", partition, offset) for partition, offset in sources],
    }
    return HeldUpdates(pa.table(columns, schema=ROWS))


class PlainTable(dict[tuple[object, ...], tuple[Any, ...]]):
    """Staged rows by key, in the place of an Arrow table."""

    @property
    def num_rows(self) -> int:
        return len(self)


def held_plain(rows: PlainTable) -> HeldUpdates:
    """Return plain rows as the product passes Arrow's along: it looks into them by way of `PlainRows` alone."""
    return HeldUpdates(cast("pa.Table", rows))


class Topic:
    """A log per partition: only where it starts and where it ends, since the records are arithmetic."""

    def __init__(self, stops: Sequence[int]) -> None:
        self.stops = list(stops)
        self.earliest = [0] * len(self.stops)

    def copy(self) -> Topic:
        other = Topic(self.stops)
        other.earliest = list(self.earliest)
        return other

    def bounds(self) -> tuple[PartitionBounds, ...]:
        return tuple(
            PartitionBounds(PARTITIONS[number], "id", self.earliest[number], stop)
            for number, stop in enumerate(self.stops)
        )


@dataclass
class TopicSource:
    """A `Source` over the topic; `before_answer` may change the topic, hide a partition or raise.

    `when_told` hears of every txid that the source may let go of. Of `shares` sources each has the partitions whose
    number modulo that is its own.
    """

    topic: Topic
    before_answer: Callable[[], int | None] | None = None
    when_told: Callable[[int], None] | None = None
    share: int = 0
    shares: int = 1

    def opened(self, process: str) -> TopicSource:
        """Return what a process reads it by: it is the same for all."""
        return self

    def bounds(self) -> tuple[PartitionBounds, ...]:
        hidden = self.before_answer() if self.before_answer is not None else None
        found = self._bounds()
        return found if hidden is None else tuple(bound for bound in found if bound.id.partition != hidden)

    def _bounds(self) -> tuple[PartitionBounds, ...]:
        return tuple(each for each in self.topic.bounds() if each.id.partition % self.shares == self.share)

    def ends(self, ids: Sequence[PartitionId]) -> dict[PartitionId, int]:
        return {id_: self.topic.stops[id_.partition] for id_ in ids}

    def starts(self, policy: object = None) -> tuple[PartitionBounds, ...]:
        if policy is not None and str(policy) == "latest":
            return tuple(PartitionBounds(item.id, item.topic_id, item.stop, item.stop) for item in self._bounds())
        return self._bounds()

    def schema(self, spark: SparkSession) -> StructType:
        raise NotImplementedError("there is no Spark here")

    def read(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        raise NotImplementedError("there is no Spark here")

    def verify(self, ranges: Sequence[OffsetRange]) -> None:
        earliest = self.topic.earliest
        lost = tuple(item for item in ranges if earliest[item.id.partition] > item.start)
        if lost:
            raise OffsetsLostError(lost)

    def recognize(self, known: Sequence[OffsetRange]) -> tuple[LogCut, ...]:
        return ()

    def committed(self, txid: int, ranges: object) -> None:
        if self.when_told is not None:
            self.when_told(txid)

    def close(self) -> None:
        pass


@dataclass
class TopicSpout:
    """The spout of the simulated topology; a person may change what it does about lost offsets."""

    kind: SpoutKind
    limits: Limits
    on_lost_offsets: LostOffsets
    on_bad_record: BadRecord = BadRecord.DEAD_LETTER

    def description(self) -> dict[str, str]:
        return {"spout": "simulated", "kind": str(self.kind)}

    def open(self, name: str) -> TopicSource:
        raise NotImplementedError("the host opens the source")


def draw_second_spout(seed: int) -> dict[str, TopicSpout]:
    """Return it, of a kind and with a limit of its own; what else is drawn with the seed does not depend on it."""
    rng = random.Random(seed ^ 0x5F0)
    if rng.random() >= _SHARE_OF_TWO_SPOUTS:
        return {}
    kind = rng.choice(list(SpoutKind))
    policy = rng.choice(list(LostOffsets)) if kind is SpoutKind.OPAQUE else LostOffsets.STOP
    return {SECOND_SPOUT: TopicSpout(kind, no_limit(rng.randint(1, 5)), policy)}


class TopicProcessor:
    """Counts and sums per key, the same for each state; `short` lets the next task stop before the end of its range.

    What the state `in_turn` gets is made in the commit turn: nothing is staged for it before.
    """

    def __init__(self, states: Sequence[str], in_turn: str = "") -> None:
        self.states = tuple(states)
        self.in_turn = in_turn
        self.short = False

    def process(self, request: ProcessRequest) -> ProcessResult:
        rows = PlainTable()
        manifests, bad = [], []
        for spout, edge in _edges(request):
            span = edge.range
            partition, stop = span.id.partition, span.stop
            if self.short:
                self.short, stop = False, stop - 1
            bad += [DeadLetter(spout, _bad(span.id, offset)) for offset in count(rows, partition, span.start, stop)]
            digest = Digest(stop - span.start, span.start, stop, partition)
            manifests.append((spout, RangeManifest(edge.id, span.id, stop, digest, 10 * (stop - span.start))))
        held = {state: held_plain(PlainTable() if state == self.in_turn else rows) for state in self.states}
        if SINK in held:
            held[SINK] = held_records(edge.range for _, edge in _edges(request))
        return ProcessResult(tuple(manifests), tuple(bad), held)

    def cancel(self, batch: object) -> None:
        pass


def _edges(request: ProcessRequest) -> list[tuple[str, Edge]]:
    return [(spout, edge) for spout, edges in request.edges.items() for edge in edges]


def _bad(id_: PartitionId, offset: int) -> BadRecordRow:
    return BadRecordRow(id_, offset, None, "unreadable", None, None)


def count(rows: PlainTable, partition: int, start: int, stop: int) -> list[int]:
    """Count and sum the records of a range; returns the offsets that do not decode."""
    bad = []
    for offset in range(start, stop):
        if is_bad(partition, offset):
            bad.append(offset)
            continue
        key = key_of(partition, offset)
        n, total = rows.get(key, (0, 0))
        rows[key] = (n + 1, total + amount_of(partition, offset))
    return bad


def no_limit(records: int) -> Limits:
    return Limits(max_records=records)
