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

from integration_tests.dsl.collected import add_sink, placed, rows_of
from integration_tests.dsl.fakes import edges_of, manifest, run, small_spout
from trident import Count, FirstN, MapGet, Max, Min, SqliteLedger, Sum, Topology
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


def test_a_stream_begins_in_the_partitions_of_its_source(spark: SparkSession) -> None:
    third = [("z", 8)]
    expected = {0: [1, 2, 3, 4, 5, 8], 1: [6, 7]}
    assert placed(stream(FIRST, SECOND, third, partitions_there=2)) == expected
    assert placed(stream(FIRST, SECOND, third, partitions_there=2).identity_partition()) == expected
    assert placed(stream(FIRST, SECOND, third, partitions_there=2).local_or_shuffle()) == expected
    assert placed(stream(partitions_there=1)) == {0: [1, 2, 3, 4, 5, 6, 7]}


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_shuffle_deals_in_order_so_that_sizes_differ_by_one_at_most(spark: SparkSession, count: int) -> None:
    dealt = {0: [1, 4, 7], 1: [2, 5], 2: [3, 6]}
    expected = {at: kept for at, all_ in dealt.items() if (kept := [n for n in all_ if n <= count])}
    given = RECORDS[:count]
    assert placed(stream(given[:2], given[2:]).shuffle()) == expected
    assert placed(stream(given).shuffle()) == expected, "whatever partitions they come in"


def test_equal_fields_are_together(spark: SparkSession) -> None:
    assert placed(stream(partitions_there=5).partition_by("k")) == {0: [5], 1: [1, 3], 2: [4, 7], 4: [2, 6]}
    doubles = Topology("t", partitions=50).stream("s", small_spout("x double", [(0.0,), (-0.0,), (float("nan"),)] * 2))
    rows = rows_of(doubles.partition_by("x").partition_aggregate(n=Count()), ordered=False)
    assert Counter(row[0] for row in rows) == Counter({0: 48, 4: 1, 2: 1})


def test_global_is_the_lowest_partition_and_batch_global_the_batchs_own(spark: SparkSession) -> None:
    rows = rows_of(stream().global_().partition_aggregate(n=Count(), most=Max("n")), ordered=False)
    assert sorted(rows, key=repr) == sorted([(7, 7), (0, None), (0, None)], key=repr)
    assert placed(stream().shuffle().global_()) == {0: [1, 2, 3, 4, 5, 6, 7]}
    assert placed(stream().batch_global()) == {1: [1, 2, 3, 4, 5, 6, 7]}
    frame = spark.createDataFrame([(1, None)], "n int, __trident string")
    numbers = [_partition_of(frame, txid) for txid in range(1, 31)]
    assert {0, 1, 2} == set(numbers)
    assert max(Counter(numbers).values()) <= 15


def _partition_of(frame: DataFrame, txid: int) -> int:
    context = BatchContext(None, txid)  # type: ignore[arg-type]
    return int(by_batch(3).lower(frame, context).first()[PARTITION])  # type: ignore[index]


def test_broadcast_puts_each_record_into_every_partition(spark: SparkSession) -> None:
    assert placed(stream().broadcast()) == {at: [1, 2, 3, 4, 5, 6, 7] for at in range(3)}
    assert rows_of(stream(FIRST[:2]).broadcast()) == [FIRST[0]] * 3 + [FIRST[1]] * 3


def test_direct_is_what_the_record_says_on_a_stream_that_was_declared_so(spark: SparkSession) -> None:
    third = stream().each(to=F.col("n") % 3)
    declared = third.declare_direct("to").name("sent").filter(F.col("n") < 7).each(m=F.lit(1)).peek(len)
    direct = declared.shuffle().project("n", "to").direct()
    assert placed(direct) == {1: [1, 4], 2: [2, 5], 0: [3, 6]}
    third = stream().each(to=F.col("n") % 3)  # a topology is run once here
    with pytest.raises(ConfigurationError, match="declare_direct"):
        third.direct()
    with pytest.raises(ConfigurationError, match="declare_direct"):
        third.declare_direct("to").project("n").direct()
    with pytest.raises(ConfigurationError, match="stream 's': declare_direct: the field 'k' must be an integer"):
        third.declare_direct("k")


ANOTHER: dict[str, Callable[[Stream], Stream]] = {
    "map": lambda s: s.map(to=F.col("n")),
    "a function of map": lambda s: s.map(lambda batch: batch, "k string, n int, to int"),
    "map_row": lambda s: s.map_row(lambda row: row["n"], "to int"),
    "flat_map": lambda s: s.flat_map(to=F.array("n")),
    "rename": lambda s: s.rename({"to": "n", "n": "to"}),
    "group": lambda s: s.group_by("to").aggregate(n=Count()),
    "merge": lambda s: s.merge(s),
    "join": lambda s: s.join(s.project("k"), on="k"),
}


@pytest.mark.parametrize("name", ANOTHER)
def test_what_was_declared_direct_is_a_field_of_the_sender_and_no_other_of_that_name(
    spark: SparkSession, name: str
) -> None:
    declared = stream().each(to=F.col("n") % 3).declare_direct("to")
    with pytest.raises(ConfigurationError, match=r"declare_direct\(field\), behind what makes"):
        ANOTHER[name](declared).direct()


def test_a_function_says_where_each_record_goes(spark: SparkSession) -> None:
    def parity(batch: pa.RecordBatch) -> pa.Array[pa.Scalar[pa.DataType]]:
        return pc.bit_wise_and(batch.column("n"), pa.scalar(1, pa.int32()))

    assert placed(stream().partition(parity)) == {1: [1, 3, 5, 7], 0: [2, 4, 6]}


BAD: dict[str, tuple[str, Callable[[Stream], Stream]]] = {
    "direct": (
        r"the field 'to' of a record names the partition [3-7], and there are 3, from 0 to 2\. Nothing of the batch",
        lambda s: s.each(to=F.col("n")).declare_direct("to").direct(),
    ),
    "nowhere": (
        "direct: the field 'to' of a record is null, so it names no partition, and there are 3",
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
    assert placed(through) == {0: [1, 4, 7], 1: [2, 5], 2: [3, 6]}


def test_rows_of_an_aggregation_count_beside_records_in_a_merge(spark: SparkSession) -> None:
    """They have no place in a log: they are in partition 0, as they are alone, and none is lost."""
    records = stream().each(m=F.col("n").cast("bigint"))
    sums = records.group_by("k").aggregate(m=Sum("n"))
    both = records.project("m").merge(sums.project("m"))
    rows = rows_of(both.partition_aggregate(n=Count(), total=Sum("m")), ordered=False)
    assert sorted(rows, key=repr) == sorted([(9, 43), (2, 13), (0, None)], key=repr)


BOTH: dict[str, Callable[[Stream], Stream]] = {
    "flat_map": lambda s: s.flat_map(lambda batch: batch, "m bigint"),
    "flat_map in partitions": lambda s: s.partition_by("m").flat_map(lambda batch: batch, "m bigint"),
    "every other function": lambda s: (
        s.map(lambda batch: batch, "m bigint")
        .each(lambda batch: batch.column("m"), "other bigint")
        .filter(lambda batch: pc.is_valid(batch.column("m")))
        .peek(len)
        .flat_map_row(lambda row: [row], "m bigint, other bigint")
        .flat_each(lambda batch: pa.array([[1]] * batch.num_rows, pa.list_(pa.int64())), "one bigint")
        .project("m")
    ),
    "every other verb": lambda s: (
        s.parallelism(2).shuffle().partition_by("m").rename(m="n").map(m=F.col("n")).flat_map(m=F.array("m"))
    ),
    "FirstN": lambda s: s.apply_assembly(FirstN(100)),
    "merge": lambda s: s.merge(s.filter(F.lit(False))),
    "join": lambda s: s.join(s.map(m=F.col("m"), other=F.lit(1)).aggregate(m=Max("m")), on="m", how="left"),
}


@pytest.mark.parametrize("name", BOTH)
def test_rows_of_an_aggregation_go_beside_records_through_every_verb(spark: SparkSession, name: str) -> None:
    """They have no order where records have one."""
    records = stream().each(m=F.col("n").cast("bigint"))
    both = records.project("m").merge(records.group_by("k").aggregate(m=Sum("n")).project("m"))
    assert Counter(rows_of(BOTH[name](both))) == Counter((n,) for n in (1, 2, 3, 4, 5, 6, 7, 4, 8, 11, 5))


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
