"""What a topology says of itself: with what each step was given, whatever of it is there yet."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from trident import (
    CollectionGet,
    Combiner,
    Count,
    FilterNull,
    FirstN,
    MapGet,
    MinBy,
    MultiReducer,
    QueryFunction,
    SnapshotGet,
    Sum,
    Topology,
)
from trident.language.explaining import ExplainForm
from trident.language.stream import Stream
from trident.operations.asking import Key
from trident.spouts import FixedBatchSpout
from trident.state import KafkaSink, MemoryState, SqliteTable


def parity(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def lists(batch: pa.RecordBatch) -> list[pa.Array[pa.Scalar[pa.DataType]]]:
    return [pa.array([[1]] * batch.num_rows)]


class Longest(Combiner[str]):
    result_type = "string"

    def init(self, *values: object) -> str:
        return str(values[0])

    def combine(self, left: str, right: str) -> str:
        return max(left, right, key=len)


class Pairs(MultiReducer[None]):
    def init(self, group: tuple[object, ...]) -> None:
        return None

    def execute(self, kept: None, stream: int, row: dict[str, object]) -> object:
        return None


class Asks(QueryFunction[object]):
    schema = "m int"

    def batch_retrieve(self, state: object, keys: Sequence[Key]) -> Sequence[object]:
        return [1] * len(keys)


def prices(stream: Stream) -> DataFrame:
    return stream._sample.sparkSession.createDataFrame([], "k string, p int")


def topology() -> tuple[Topology, Stream]:
    made = Topology("t")
    return made, made.stream("payments", FixedBatchSpout("k string, n bigint", []))


HERE = rf"parity at {__file__}:\d+: a Python task"
STEPS: dict[str, tuple[str, Callable[[Topology, Stream], object]]] = {
    "filter": (r"filter .*n.*1.*: Spark columns", lambda t, s: s.filter(F.col("n") > 1)),
    "a condition": (r"filter .*k.*: Spark columns", lambda t, s: s.filter(FilterNull("k"))),
    "each": (r"each m = n, x = .*2.*: Spark columns", lambda t, s: s.each(m=F.col("n"), x=F.col("n") * 2)),
    "map": ("map m = n: Spark columns", lambda t, s: s.map(m=F.col("n"))),
    "flat_map": (r"flat_map m = array\(n\): Spark columns", lambda t, s: s.flat_map(m=F.array("n"))),
    "a filter function": (f"filter {HERE}", lambda t, s: s.filter(parity)),  # type: ignore[arg-type]
    "an each function": (f"each {HERE}", lambda t, s: s.each(parity, "m bigint")),
    "a map function": (f"map {HERE}", lambda t, s: s.map(parity, "m bigint")),
    "a flat_map function": (f"flat_map {HERE}", lambda t, s: s.flat_map(parity, "m bigint")),
    "a flat_each function": ("flat_each lists at .*: a Python task", lambda t, s: s.flat_each(lists, "m bigint")),
    "filter_row": (f"filter_row {HERE}", lambda t, s: s.filter_row(parity)),  # type: ignore[arg-type]
    "map_row": (f"map_row {HERE}", lambda t, s: s.map_row(parity, "m bigint")),  # type: ignore[arg-type]
    "peek": (f"peek {HERE}", lambda t, s: s.peek(parity)),
    "project": ("project n: Spark columns", lambda t, s: s.project("n")),
    "rename": ("rename n to m, k to key: Spark columns", lambda t, s: s.rename(n="m", k="key")),
    "partition_by": ("partition_by k, n: Spark columns", lambda t, s: s.partition_by("k", "n")),
    "direct": ("direct n: Spark columns", lambda t, s: s.declare_direct("n").direct()),
    "partition": (f"partition {HERE}", lambda t, s: s.partition(parity)),  # type: ignore[arg-type]
    "aggregate": (
        r"aggregate by k: n = Count\(\), least = MinBy\(n, n\); Spark's aggregation, per batch",
        lambda t, s: s.group_by("k").aggregate(n=Count(), least=MinBy("n", by="n")),
    ),
    "a combiner": (
        r"aggregate x = Longest\(k\); Spark's aggregation and a Python fold, per batch",
        lambda t, s: s.aggregate(x=Longest("k")),
    ),
    "partition_aggregate": (
        r"partition_aggregate n = Sum\(n\): Spark columns, within the batch",
        lambda t, s: s.partition_aggregate(n=Sum("n")),
    ),
    "merge": ("merge as a, b: Spark columns", lambda t, s: s.merge(s, fields=["a", "b"])),
    "join": (
        "join on k = j, inner and outer:",
        lambda t, s: s.join(s.map(j=F.col("k")), on=[["k"], ["j"]], how="left"),
    ),
    "static": (
        "join_static with a table on k, left:",
        lambda t, s: s.join_static(s._sample.sparkSession.createDataFrame([], "k string, p int"), on="k", how="left"),
    ),
    "multi_reduce": (
        "multi_reduce Pairs by k: a Python task",
        lambda t, s: t.multi_reduce([s.group_by("k"), s.group_by("k")], Pairs(), "m int"),
    ),
    "a state": (
        r"state 'totals' \(opaque\) by k: n = Count\(\); Spark's aggregation per batch, one merge per txid over all",
        lambda t, s: s.group_by("k").persistent_aggregate(MemoryState("totals"), n=Count()),
    ),
    "a state of one row": (
        r"state 'total' \(opaque\) in one row: n = Count\(\);",
        lambda t, s: s.persistent_aggregate(MemoryState("total"), n=Count()),
    ),
    "a query": (
        "state_query of 'totals' by k: as the txid before has left it, whatever this batch adds",
        lambda t, s: s.state_query(s.group_by("k").persistent_aggregate(MemoryState("totals"), c=Count()), MapGet()),
    ),
    "first records": (
        r"FirstN of 3 by n, the greatest first for each k: Spark columns",
        lambda t, s: s.group_by("k").apply_assembly(FirstN(3, by="n", reverse=True)),
    ),
    "a query by code": (
        r"state_query Asks\(n\): a Python task",
        lambda t, s: s.state_query(t.new_static_state(object()), Asks("n")),
    ),
    "a query of a table": (
        "state_query a table's row by k: Spark columns",
        lambda t, s: s.state_query(t.new_static_state(prices(s), keys="k"), MapGet()),
    ),
    "a query of several rows": (
        "state_query each row of a table by k: Spark columns",
        lambda t, s: s.state_query(t.new_static_state(prices(s), keys="k"), CollectionGet()),
    ),
    "a snapshot": (
        "state_query of 'total': as the txid before has left it",
        lambda t, s: s.state_query(s.persistent_aggregate(MemoryState("total"), c=Count()), SnapshotGet()),
    ),
    "new values": (
        "new values of state 'totals': a batch's net change by key",
        lambda t, s: s.group_by("k").persistent_aggregate(MemoryState("totals"), n=Count()).new_values(),
    ),
    "to_table": ("to_table, sink 'rows': append, every record once", lambda t, s: s.to_table(SqliteTable("rows"))),
    "upserts": (
        "to_table, sink 'rows': upsert by k, every record once",
        lambda t, s: s.to_table(SqliteTable("rows"), write="upsert", key="k"),
    ),
    "to_kafka": (
        "to_kafka, sink 'out' of topic 'alerts': every record once",
        lambda t, s: s.to_kafka("alerts", value="k", sink=KafkaSink("out", bootstrap_servers="127.0.0.1:9")),
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_told_with_what_it_was_given(spark: SparkSession, name: str) -> None:
    text, build = STEPS[name]
    made, stream = topology()
    build(made, stream)
    lines = made.explain().splitlines()
    numbered = rf"  \d+\. {text}"

    assert [line for line in lines if re.match(numbered, line)], made.explain()


def test_what_is_not_finished_is_told_as_far_as_it_is(spark: SparkSession) -> None:
    assert Topology("t").explain() == "topology 't': no streams yet"
    made, stream = topology()
    assert made.explain().splitlines()[-1].endswith("read and decoded once per attempt, and ends in nothing yet")
    large = stream.filter(F.col("n") > 1).name("large ones")
    named, loose = " (stream 'large ones')", ", and ends in nothing yet"
    assert made.explain().splitlines()[-1].endswith(f"Spark columns{named}{loose}   <- 1")
    large.project("n").to_table(SqliteTable("rows"))
    text = made.explain()
    assert named in text
    assert loose not in text
    assert loose in (stream.project("k"), made.explain())[1]
    for form in ExplainForm:
        assert "project k" in made.explain(form)


def test_graphs_show_texts_as_they_are(spark: SparkSession) -> None:
    made, stream = topology()
    stream.map_row(lambda row: 1, "n int").filter(F.col("n") > 1).each(x=F.lit("a\\b")).to_table(SqliteTable("rows"))
    assert "#lt;lambda#gt;" in made.explain("mermaid")
    assert "<" not in made.explain("mermaid").replace("-->", "")
    assert made.explain("dot").count("\\") == 2 * made.explain().count("\\") > 0


def test_a_long_expression_is_cut(spark: SparkSession) -> None:
    made, stream = topology()
    stream.each(x=F.lit("y" * 5_000)).to_table(SqliteTable("rows"))
    assert max(map(len, made.explain().splitlines())) < 300
    assert "yyy…" in made.explain()
