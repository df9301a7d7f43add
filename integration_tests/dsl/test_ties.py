"""What could depend on which task comes first: rows of one record, both zeros, records that verbs only pass on."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration_tests.dsl.collected import placed, rows_of
from integration_tests.dsl.fakes import small_spout
from trident import CollectList, CollectSet, FirstN, Max, MaxBy, Min, TopN, Topology
from trident.language.stream import Stream
from trident.operations.aggregators.base import Aggregation
from trident.spouts import FixedBatchSpout

RECORDS = [(f"k{number:02d}", number) for number in range(12)]


def records(topology: Topology | None = None) -> Stream:
    cuts = (RECORDS[:5], RECORDS[5:])
    return (
        (topology or Topology("t", partitions=3)).stream("s", small_spout("k string, n int", *cuts)).project("k", "n")
    )


@pytest.mark.parametrize("tasks", [None, 1, 2, 3, 5])
def test_a_stream_merged_with_itself_has_the_rows_of_a_record_in_the_order_of_its_inputs(
    spark: SparkSession, tasks: int | None
) -> None:
    stream = records()
    first, second = (stream.each(who=F.lit(who)) for who in "ab")
    merged = second.merge(first, second.filter(F.col("n") > 3))
    rows = rows_of(merged if tasks is None else merged.parallelism(tasks))
    expected = [(*row, who) for row in RECORDS for who in ("b", "a", *("b" if row[1] > 3 else ""))]
    assert rows == expected


@pytest.mark.parametrize("tasks", [None, 1, 3])
def test_merges_of_rows_that_were_made_of_records_too(spark: SparkSession, tasks: int | None) -> None:
    def merged() -> Stream:
        stream = records()
        several = stream.flat_each(w=F.array(F.lit(0), F.lit(1), F.lit(2)))
        return stream.each(w=F.lit(-1)).merge(several, several.merge(several))

    rows = rows_of(merged() if tasks is None else merged().parallelism(tasks))
    assert rows == [(*row, w) for row in RECORDS for w in (-1, *(0, 1, 2) * 3)]


def test_an_input_of_more_levels_stands_before_one_of_fewer(spark: SparkSession) -> None:
    stream = records()
    merged = stream.flat_each(w=F.array(F.lit(0), F.lit(1))).merge(stream.each(w=F.lit(-1)))
    assert rows_of(merged) == [(*row, w) for row in RECORDS for w in (0, 1, -1)]


DEALT: dict[str, Callable[[Stream], Stream]] = {
    "as they are read": lambda s: s,
    "filtered and repeated": lambda s: s.filter(F.col("n") != 4).flat_each(w=F.array(F.lit(1), F.lit(2))),
    "in two tasks": lambda s: s.parallelism(2),
    "in three, then changed": lambda s: s.parallelism(3).map(k=F.col("k"), n=F.col("n") + 0),
    "partitioned": lambda s: s.partition_by("k"),
    "merged with itself": lambda s: s.merge(s.filter(F.col("n") > 3)),
    "first by a field": lambda s: s.apply_assembly(FirstN(100, by="n", reverse=True)),
}


@pytest.mark.parametrize("per_call", [None, 5])
@pytest.mark.parametrize("dealt", DEALT)
def test_a_function_that_gives_back_its_records_changes_no_order(
    spark: SparkSession, dealt: str, per_call: int | None
) -> None:
    """Its rows do not say which records they are of, so what it is given at once has to be what lies together."""

    def same(batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch

    def stream() -> Stream:
        return DEALT[dealt](records()).project("k", "n")

    asked = stream() if per_call is None else stream().options(records_per_call=per_call)
    assert rows_of(asked.flat_map(same, "k string, n int")) == rows_of(stream())


FURTHER: dict[str, Callable[[Stream, Stream], Stream]] = {
    "merged with another branch": lambda made, odd: made.merge(odd),
    "merged with itself": lambda made, _: made.merge(made),
    "joined with another branch": lambda made, odd: made.join(odd.rename(n="m"), on="k", how="full"),
    "merged, of the first ones": lambda made, odd: odd.merge(made.filter(F.col("n") > 1)).apply_assembly(FirstN(5)),
}


@pytest.mark.parametrize("per_call", [None, 2])
@pytest.mark.parametrize("further", FURTHER)
def test_a_function_changes_no_order_of_what_comes_together_further_down(
    spark: SparkSession, further: str, per_call: int | None
) -> None:
    """Its rows counted from the first record of what it is given: what else is of that log stood behind all of them."""

    def out(*, is_mapped: bool) -> list[tuple[object, ...]]:
        stream = records()
        even, odd = stream.filter(F.col("n") % 2 == 0), stream.filter(F.col("n") % 2 == 1)
        asked = even if per_call is None else even.options(records_per_call=per_call)
        return rows_of(
            FURTHER[further](asked.flat_map(lambda batch: batch, "k string, n int") if is_mapped else even, odd)
        )

    assert out(is_mapped=True) == out(is_mapped=False)


def test_a_function_is_given_many_records_at_once_where_nothing_comes_between_its_rows(spark: SparkSession) -> None:
    """One at a time takes a hundred times as long."""

    def sizes(batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.record_batch({"n": pa.array([batch.num_rows] * batch.num_rows, pa.int32())})

    topology = Topology("t")
    first, other = (topology.stream(name, FixedBatchSpout("n int", [(1,)] * 7)) for name in "ab")
    assert rows_of(first.flat_map(sizes, "n int").merge(other)) == [(7,)] * 7 + [(1,)] * 7
    assert rows_of(records().flat_map(sizes, "n int")) == [(5,)] * 5 + [(7,)] * 7


PASSES: dict[str, Callable[[Stream], Stream]] = {
    "FirstN of all": lambda s: s.apply_assembly(FirstN(100)),
    "FirstN by a field": lambda s: s.apply_assembly(FirstN(100, by="n", reverse=True)),
    "FirstN of each group": lambda s: s.group_by("k").apply_assembly(FirstN(100)),
    "filter": lambda s: s.filter(F.lit(True)),
    "each": lambda s: s.each(more=F.lit(1)),
    "parallelism": lambda s: s.parallelism(4),
    "rename": lambda s: s.rename(k="key"),
}


@pytest.mark.parametrize("verb", PASSES)
@pytest.mark.parametrize("place", ["partition_by", "direct"])
def test_a_record_that_is_passed_on_stays_in_its_partition(spark: SparkSession, verb: str, place: str) -> None:
    def in_partitions() -> Stream:
        if place == "partition_by":
            return records().partition_by("k")
        return records().each(at=(F.col("n") % 3).cast("int")).declare_direct("at").direct()

    expected = {at: sorted(values) for at, values in placed(in_partitions()).items()}  # type: ignore[type-var]
    assert len(expected) == 3
    found = placed(PASSES[verb](in_partitions()))
    assert {at: sorted(values) for at, values in found.items()} == expected  # type: ignore[type-var]


@pytest.mark.parametrize("of_groups", [False, True])
@pytest.mark.parametrize("type_", ["double", "float"])
def test_zeros_of_both_signs_are_one_value_whatever_comes_first(
    spark: SparkSession, type_: str, *, of_groups: bool
) -> None:
    results = set()
    for signs in itertools.permutations(["0.0", "-0.0", "-0.0"]):
        source = Topology("t").stream("s", small_spout("g string, x string", [("a", sign) for sign in signs]))
        zeros = source.map(g=F.col("g"), x=F.col("x").cast(type_), y=F.lit(1))
        aggregators: dict[str, Aggregation] = {
            "least": Min("x"), "greatest": Max("x"), "some": CollectSet("x"), "top": TopN("x", 2),
            "all": CollectList("x"), "by": MaxBy("y", "x"),
        }  # fmt: skip
        made = zeros.group_by("g").aggregate(**aggregators) if of_groups else zeros.aggregate(**aggregators)
        results.add(repr(rows_of(made)))
    (only,) = results
    assert "-0.0" not in only
