"""Storm's groupings, each by what it means, and aggregation by partition; against plain Python."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from integration_tests.dsl.collected import add_sink, rows_of
from integration_tests.dsl.fakes import edges_of, manifest, run, small_spout
from trident import CollectList, Count, MapGet, Max, Min, SqliteLedger, Sum, Topology
from trident.base.errors import ConfigurationError, FatalError
from trident.base.partitions import PARTITION
from trident.language.stream import Stream
from trident.operations.base import BatchContext
from trident.operations.partitioning import by_batch
from trident.spouts import FixedBatchSpout
from trident.state import SqliteState, SqliteTable

FIELDS = "k string, n int"
FIRST = [("a", 1), ("b", 2), ("a", 3), (None, 4), ("c", 5)]
SECOND = [("b", 6), (None, 7)]
RECORDS = [*FIRST, *SECOND]


def stream(*partitions: Sequence[tuple[str | None, int]], partitions_there: int = 3) -> Stream:
    return Topology("t", partitions=partitions_there).stream("s", small_spout(FIELDS, *(partitions or (FIRST, SECOND))))


def lists(partitioned: Stream) -> list[list[int]]:
    """Return the numbers in each partition."""
    rows = rows_of(partitioned.partition_aggregate(all=CollectList("n"), n=Count()), ordered=False)
    return sorted([row[0] or [] for row in rows], key=repr)  # type: ignore[misc]


def test_a_stream_begins_in_the_partitions_of_its_source(spark: SparkSession) -> None:
    assert lists(stream()) == [[1, 2, 3, 4, 5], [6, 7], []]
    assert lists(stream().identity_partition()) == lists(stream().local_or_shuffle()) == lists(stream())
    assert lists(stream(partitions_there=1)) == [[1, 2, 3, 4, 5, 6, 7]]


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_shuffle_deals_so_that_sizes_differ_by_one_at_most(spark: SparkSession, count: int) -> None:
    given = RECORDS[:count]
    sizes = [len(each) for each in lists(stream(given[:2], given[2:]).shuffle())] if count else [0, 0, 0]
    assert sum(sizes) == count
    assert max(sizes) - min(sizes) <= 1
    assert count == 0 or lists(stream(given).shuffle()) == lists(stream(given).shuffle()), "every re-run deals alike"


def test_equal_fields_are_together(spark: SparkSession) -> None:
    found = lists(stream().partition_by("k"))
    for key in {key for key, _ in RECORDS}:
        mine = {number for each, number in RECORDS if each == key}
        assert sum(bool(mine & set(part)) for part in found) == 1
    doubles = Topology("t", partitions=50).stream("s", small_spout("x double", [(0.0,), (-0.0,), (float("nan"),)] * 2))
    rows = rows_of(doubles.partition_by("x").partition_aggregate(n=Count()), ordered=False)
    assert Counter(row[0] for row in rows) == Counter({0: 48, 4: 1, 2: 1})


def test_global_is_the_lowest_partition_and_batch_global_the_batchs_own(spark: SparkSession) -> None:
    rows = rows_of(stream().global_().partition_aggregate(n=Count(), most=Max("n")), ordered=False)
    assert sorted(rows, key=repr) == sorted([(7, 7), (0, None), (0, None)], key=repr)
    assert sorted(len(each) for each in lists(stream().batch_global())) == [0, 0, 7]
    frame = spark.createDataFrame([(1, None)], "n int, __trident string")
    numbers = [_partition_of(frame, txid) for txid in range(1, 31)]
    assert {0, 1, 2} == set(numbers)
    assert max(Counter(numbers).values()) <= 15


def _partition_of(frame: DataFrame, txid: int) -> int:
    context = BatchContext(None, txid)  # type: ignore[arg-type]
    return int(by_batch(3).lower(frame, context).first()[PARTITION])  # type: ignore[index]


def test_broadcast_puts_each_record_into_every_partition(spark: SparkSession) -> None:
    assert lists(stream().broadcast()) == [[1, 2, 3, 4, 5, 6, 7]] * 3
    assert rows_of(stream(FIRST[:2]).broadcast()) == [FIRST[0]] * 3 + [FIRST[1]] * 3


def test_direct_is_what_the_record_says_on_a_stream_that_was_declared_so(spark: SparkSession) -> None:
    third = stream().each(to=F.col("n") % 3)
    assert lists(third.declare_direct("to").filter(F.col("n") < 7).direct()) == [[1, 4], [2, 5], [3, 6]]
    with pytest.raises(ConfigurationError, match="declare_direct"):
        third.direct()
    with pytest.raises(ConfigurationError, match="declare_direct"):
        third.declare_direct("to").project("n").direct()
    with pytest.raises(ConfigurationError, match="must be an integer"):
        third.declare_direct("k")


def test_a_function_says_where_each_record_goes(spark: SparkSession) -> None:
    def parity(batch: pa.RecordBatch) -> pa.Array[pa.Scalar[pa.DataType]]:
        return pc.bit_wise_and(batch.column("n"), pa.scalar(1, pa.int32()))

    assert lists(stream().partition(parity)) == [[1, 3, 5, 7], [2, 4, 6], []]


BAD: dict[str, tuple[str, Callable[[Stream], Stream]]] = {
    "direct": ("can't compute it from these records", lambda s: s.each(to=F.col("n")).declare_direct("to").direct()),
    "nowhere": (
        "can't compute it from these records",
        lambda s: s.each(to=F.lit(None).cast("int")).declare_direct("to").direct(),
    ),
    "function": ("what is no partition", lambda s: s.partition(lambda batch: batch.column("n"))),
}


@pytest.mark.parametrize("name", BAD)
def test_a_partition_that_is_not_there_fails_the_batch(spark: SparkSession, name: str) -> None:
    text, build = BAD[name]
    with pytest.raises(FatalError, match=text):
        rows_of(build(stream()).partition_aggregate(n=Count()), ordered=False)


def test_records_stay_where_they_are_through_what_keeps_them_records(spark: SparkSession) -> None:
    def same(batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch

    through = (
        stream()
        .shuffle()
        .filter(F.col("n") > 0)
        .each(m=F.col("n") + 1)
        .each_row(lambda row: [1], "one int")
        .project("k", "n")
        .rename(k="key")
        .peek(len)
        .flat_map(same, "key string, n int")
        .map(n=F.col("n"))
        .flat_map(n=F.array("n"))
    )
    assert lists(through) == lists(stream().shuffle())


def test_an_empty_batch_has_a_row_for_each_partition(spark: SparkSession) -> None:
    rows = rows_of(
        stream().filter(F.lit(False)).partition_aggregate(n=Count(), least=Min("n"), total=Sum("n")), ordered=False
    )
    assert rows == [(0, None, None)] * 3


def test_each_word_comes_out_once(spark: SparkSession) -> None:
    made = stream().broadcast().partition_by("k").shuffle().partition_aggregate(n=Count())
    add_sink(made, ordered=False)
    topology = made._topology
    result = run(topology.compile(), spark)
    source = topology._spouts["s"].open("s")
    assert sorted(result.manifests, key=repr) == sorted((("s", manifest(edge)) for edge in edges_of(source)), key=repr)


def test_partitions_are_carried_to_the_turn(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    topology = Topology("t", partitions=2)
    made = topology.stream("s", FixedBatchSpout(FIELDS, RECORDS, max_records_per_batch=4))
    sums = made.group_by("k").persistent_aggregate(SqliteState("sums"), total=Sum("n"))
    shuffled = made.shuffle().state_query(sums, MapGet()).partition_aggregate(records=Count(), known=Sum("total"))
    shuffled.to_table(SqliteTable("parts"))
    topology.run(spark, ledger=SqliteLedger(file), until="caught_up")
    with sqlite3.connect(file) as connection:
        found = sorted(connection.execute("SELECT records FROM parts").fetchall())
    assert found == [(1,), (2,), (2,), (2,)]
