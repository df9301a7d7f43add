"""Graphs that are more than a chain, for real on Spark: each source is read once, and its words come once."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from integration_tests.dsl.fakes import (
    RowsSource,
    RowsSpout,
    UnopenedState,
    edges_of,
    held_rows,
    manifest,
    request_for,
    run,
)
from tests.dsl.sinks import UnopenedSink
from trident import Count, MemoryLedger, RetryableError, Sum, Topology
from trident.base.control import CONTROL
from trident.base.ranges import BadRecordRow, Edge, PartitionId
from trident.coordinators.batches.processor import ProcessResult
from trident.engine.processor import SparkProcessor
from trident.graph.nodes import RecordOperationNode, SinkNode
from trident.language.stream import Stream
from trident.operations.aggregators.base import StoredColumn
from trident.operations.base import BatchContext, Fields
from trident.spouts.memory import FixedBatchSpout
from trident.state.layout import Merge
from trident.state.memory.state import MemoryState

PAYMENTS = "account string, amount bigint"
LEFT = [("a", 5), ("b", -1), ("a", 7), (None, 2)]
RIGHT = [("b", 3), ("c", 9)]
BAD = BadRecordRow(PartitionId("rows", 0), 2, None, "not JSON", None, b"payload")


@dataclass(frozen=True)
class LogEachRun:
    """Runs in a reading task: leaves a file for each time that its partition is read."""

    folder: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        Path(self.folder, uuid.uuid4().hex).touch()
        yield from batches


@dataclass(frozen=True)
class LoggedSource(RowsSource):
    """Says how often it was read."""

    folder: str = ""

    def read(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        frame = super().read(spark, edges, tasks, quick).coalesce(1)
        return frame.mapInArrow(LogEachRun(self.folder), frame.schema)

    def runs(self) -> int:
        return len(list(Path(self.folder).iterdir()))


def logged(folder: Path, *partitions: Sequence[tuple[str | None, int | None]], bad: bool = False) -> RowsSpout:
    folder.mkdir()
    return RowsSpout(LoggedSource(PAYMENTS, partitions, (BAD,) if bad else (), folder=str(folder)))


class OnSeveral:
    """What the engine asks of an operation beside its frames."""

    verb = "together"
    wants_order = False
    runs_user_code = False

    def result(self, schemas: Sequence[StructType]) -> StructType:
        return schemas[0]


class Union(OnSeveral):
    """The records of all inputs, by name."""

    def lower(self, frames: Sequence[DataFrame], batch: BatchContext) -> DataFrame:
        first, *others = frames
        assert all(CONTROL not in frame.columns for frame in frames)
        for other in others:
            first = first.unionByName(other)
        return first


class ByAccount(OnSeveral):
    """As a later repartitioning will be."""

    def lower(self, frames: Sequence[DataFrame], batch: BatchContext) -> DataFrame:
        (frame,) = frames
        assert CONTROL not in frame.columns
        return frame.repartition(3, "account")


class JoinOnAccount(OnSeveral):
    """A join as a user of Spark would write it."""

    def lower(self, frames: Sequence[DataFrame], batch: BatchContext) -> DataFrame:
        left, right = frames
        return left.join(right.select("account", F.col("amount").alias("other")), "account")


def joined(operation: Union | ByAccount | JoinOnAccount, *streams: Stream, add: str = "") -> Stream:
    """Return the stream behind an operation that the language has no word for."""
    sample = streams[0]._sample
    if add:
        sample = sample.withColumn(add, F.lit(None).cast("bigint"))
    return Stream(streams[0]._topology, RecordOperationNode(operation, tuple(s._node for s in streams)), sample)


def manifests_of(result: ProcessResult, spout: str) -> Counter[object]:
    return Counter(item for name, item in result.manifests if name == spout)


def stored_frames(spark: SparkSession) -> int:
    return int(spark.sparkContext._jsc.getPersistentRDDs().size())


def test_a_union_of_two_sources_is_one_job(spark: SparkSession, tmp_path: Path) -> None:
    """Both read one topic; a record of it that does not decode is bad in each of them, and not the same word."""
    topology = Topology("t")
    spouts = {"left": logged(tmp_path / "l", LEFT, bad=True), "right": logged(tmp_path / "r", RIGHT, [], bad=True)}
    left, right = (topology.stream(name, spout) for name, spout in spouts.items())
    both = joined(Union(), left.filter(F.col("amount") > 0), right)
    both.group_by("account").persistent_aggregate(UnopenedState("sums"), n=Count(), total=Sum("amount"))
    compiled = topology.compile()
    assert len(compiled.jobs) == 1
    result = run(compiled, spark)
    assert held_rows(result, "sums") == [("a", 2, 12), ("b", 1, 3), ("c", 1, 9), (None, 1, 2)]
    for n, (name, spout) in enumerate(spouts.items()):
        assert manifests_of(result, name) == Counter(manifest(edge) for edge in edges_of(spout.source, 1 + 100 * n))
        assert isinstance(spout.source, LoggedSource)
        assert spout.source.runs() == 1
    assert sorted((letter.spout, letter.record) for letter in result.bad_records) == [("left", BAD), ("right", BAD)]
    assert stored_frames(spark) == 0


def test_a_join_and_a_repartitioning_see_records_only(spark: SparkSession, tmp_path: Path) -> None:
    topology = Topology("t")
    left = topology.stream("left", logged(tmp_path / "l", LEFT, bad=True))
    right = topology.stream("right", logged(tmp_path / "r", RIGHT))
    dealt = joined(ByAccount(), left)
    pairs = joined(JoinOnAccount(), dealt, right, add="other").each(both=F.col("amount") + F.col("other"))
    pairs.persistent_aggregate(UnopenedState("pairs"), n=Count(), total=Sum("both"))
    dealt.group_by("account").persistent_aggregate(UnopenedState("n"), n=Count())
    result = run(topology.compile(), spark)
    assert held_rows(result, "pairs") == [(1, 2)]
    assert held_rows(result, "n") == [("a", 2), ("b", 1), (None, 1)]
    assert len(result.manifests) == 2
    assert [letter.spout for letter in result.bad_records] == ["left"]
    assert len(list((tmp_path / "l").iterdir())) == len(list((tmp_path / "r").iterdir())) == 1


def test_a_stream_that_meets_itself_is_read_once(spark: SparkSession, tmp_path: Path) -> None:
    topology = Topology("t")
    spout = logged(tmp_path / "l", LEFT, bad=True)
    stream = topology.stream("payments", spout)
    joined(Union(), stream, stream.filter(F.col("amount") > 0)).persistent_aggregate(UnopenedState("n"), n=Count())
    result = run(topology.compile(), spark)
    assert held_rows(result, "n") == [(7,)]
    assert manifests_of(result, "payments") == Counter(manifest(edge) for edge in edges_of(spout.source))
    assert len(result.bad_records) == 1
    assert len(list((tmp_path / "l").iterdir())) == 1


def test_several_ends_of_one_stream_are_read_once(spark: SparkSession, tmp_path: Path) -> None:
    topology = Topology("t")
    spout = logged(tmp_path / "l", LEFT, RIGHT, bad=True)
    stream = topology.stream("payments", spout).filter(F.col("amount") > 0)
    stream.group_by("account").persistent_aggregate(UnopenedState("by account"), n=Count())
    stream.persistent_aggregate(UnopenedState("all"), total=Sum("amount"))
    types: dict[str, pa.DataType] = {"account": pa.string(), "amount": pa.int64()}
    schema = pa.schema(types)
    topology._add_end(SinkNode(UnopenedSink("out", schema), stream._node))
    result = run(topology.compile(), spark)
    assert held_rows(result, "by account") == [("a", 2), ("b", 1), ("c", 1), (None, 1)]
    assert held_rows(result, "all") == [(26,)]
    assert held_rows(result, "out") == sorted((row for row in LEFT + RIGHT if row[1] > 0), key=repr)
    assert manifests_of(result, "payments") == Counter(manifest(edge) for edge in edges_of(spout.source))
    assert len(result.bad_records) == 1
    assert len(list((tmp_path / "l").iterdir())) == 1
    assert stored_frames(spark) == 0


def test_a_chain_keeps_nothing(spark: SparkSession, tmp_path: Path) -> None:
    topology = Topology("t")
    spout = logged(tmp_path / "l", LEFT)
    topology.stream("payments", spout).persistent_aggregate(UnopenedState("n"), n=Count())
    kept: list[DataFrame] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(spark.range(1)), "persist", lambda frame, *_: kept.append(frame))
        assert held_rows(run(topology.compile(), spark), "n") == [(4,)]
    assert not kept
    assert len(list((tmp_path / "l").iterdir())) == 1


def explode(batch: pa.RecordBatch) -> pa.RecordBatch:
    raise ValueError("secret")


def test_what_was_kept_goes_with_an_attempt_that_fails(spark: SparkSession, tmp_path: Path) -> None:
    topology = Topology("t")
    stream = topology.stream("payments", logged(tmp_path / "l", LEFT))
    stream.persistent_aggregate(UnopenedState("n"), n=Count())
    stream.map(explode, PAYMENTS).persistent_aggregate(UnopenedState("never"), n=Count())
    with pytest.raises(RetryableError, match="job of 'never': Python code raised ValueError"):
        run(topology.compile(), spark)
    assert stored_frames(spark) == 0


def test_a_source_with_nothing_to_read_among_others(spark: SparkSession, tmp_path: Path) -> None:
    topology = Topology("t")
    left = topology.stream("left", logged(tmp_path / "l", LEFT))
    right = topology.stream("right", logged(tmp_path / "r", []))
    joined(Union(), left, right).persistent_aggregate(UnopenedState("n"), n=Count())
    right.persistent_aggregate(UnopenedState("nothing"), n=Count())
    result = run(topology.compile(), spark)
    assert held_rows(result, "n") == [(4,)]
    assert held_rows(result, "nothing") == []
    assert [spout for spout, _ in result.manifests] == ["left"]


@pytest.mark.parametrize("states", [1, 2])
def test_what_the_quick_way_can_not_read_is_read_again_carefully(
    spark: SparkSession, tmp_path: Path, states: int
) -> None:
    topology = Topology("t")
    spout = logged(tmp_path / "l", LEFT)
    spout = replace(spout, source=replace(spout.source, slow=True))
    stream = topology.stream("payments", spout)
    for n in range(states):
        stream.persistent_aggregate(UnopenedState(f"s{n}"), n=Count())
    compiled = topology.compile()
    sources = {"payments": spout.source}
    processor = SparkProcessor(compiled, spark, sources, {})
    for runs in (2, 3):
        result = processor.process(request_for(compiled, sources))
        assert [held_rows(result, f"s{n}") for n in range(states)] == [[(4,)]] * states
        assert len(list((tmp_path / "l").iterdir())) == runs
    assert result.manifests == tuple(("payments", manifest(edge)) for edge in edges_of(spout.source))


@dataclass(frozen=True)
class Average:
    """An aggregator of two columns, as a user might write one: the mean of an integer field, rounded down."""

    field: str

    def check(self, name: str, fields: Fields) -> None:
        fields.require(self.field, f"Average for {name!r}")

    def columns(self) -> tuple[StoredColumn, ...]:
        value = F.col(self.field)
        return StoredColumn("_sum", F.sum(value), Merge.ADD), StoredColumn("_count", F.count(value), Merge.ADD)

    def shown(self, *stored: Column) -> Column:
        total, count = stored
        return F.floor(total / F.nullif(count, F.lit(0)))


def test_an_aggregator_of_two_columns_in_a_state(spark: SparkSession) -> None:
    topology = Topology("averages")
    rows = [("a", 5), ("b", None), ("a", 8), ("a", 2), ("b", 4), ("c", None)]
    stream = topology.stream("payments", FixedBatchSpout(PAYMENTS, rows, max_records_per_batch=2))
    state, ledger = MemoryState("means"), MemoryLedger()
    handle = stream.group_by("account").persistent_aggregate(state, mean=Average("amount"), n=Count())
    assert [(value.name, value.merge) for value in handle.layout.values] == [
        ("mean_sum", Merge.ADD),
        ("mean_count", Merge.ADD),
        ("n", Merge.ADD),
    ]
    assert (
        topology.compile().spec().states["means"]["values"] == "mean_sum int64 add, mean_count int64 add, n int64 add"
    )
    summary = topology.run(spark, ledger=ledger, until="caught_up")
    assert summary.batches == 3
    assert {tuple(row.values()) for row in state.rows(ledger.database)} == {
        ("a", 15, 3, 3),
        ("b", 4, 1, 2),
        ("c", None, 0, 1),
    }


def test_an_aggregator_of_two_columns_in_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    topology = Topology("t")
    stream = topology.stream("payments", logged(tmp_path / "l", [*LEFT, ("c", None)], bad=True))
    means = stream.group_by("account").aggregate(mean=Average("amount"))
    assert means.fields == ("account", "mean")
    means.group_by("account", "mean").persistent_aggregate(UnopenedState("means"), n=Count())
    result = run(topology.compile(), spark)
    assert held_rows(result, "means") == [("a", 6, 1), ("b", -1, 1), ("c", None, 1), (None, 2, 1)]
    assert len(result.manifests) == len(result.bad_records) == 1
