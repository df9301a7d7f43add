"""What streams compute, against plain Python, with control words among the rows all the way."""

from __future__ import annotations

from collections import Counter, defaultdict
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration_tests.dsl.fakes import (
    BATCH_TIME,
    Rows,
    UnopenedState,
    edges_of,
    held_rows,
    manifest,
    rows_spout,
    run,
)
from trident import Combiner, Count, Max, Min, RetryableError, Sum, Topology, batch_time
from trident.base.ranges import BadRecordRow, PartitionId
from trident.coordinators.batches.processor import ProcessResult
from trident.language.stream import Stream
from trident.state.staged import HeldUpdates

PAYMENTS = "account string, amount bigint"
FIRST = [("a", 5), ("b", -1), ("a", 7), (None, 2), ("c", None)]
SECOND = [("b", 3), ("a", 0), ("c", 9), (None, 4)]
BAD = BadRecordRow(PartitionId("rows", 0), 2, None, "not JSON", None, b"payload")


class Longest(Combiner[str]):
    result_type = "string"

    def init(self, *values: object) -> str | None:
        (text,) = values
        return str(text) if text is not None else None

    def combine(self, left: str, right: str) -> str:
        return max(left, right, key=lambda text: (len(text), text))


def payments(*, repeat: bool = False) -> tuple[Topology, Stream]:
    topology = Topology("t")
    return topology, topology.stream("payments", rows_spout(PAYMENTS, FIRST, SECOND, [], bad=(BAD,), repeat=repeat))


def check_words(result: ProcessResult, spout_rows: tuple[Rows, ...] = (FIRST, SECOND)) -> None:
    expected = [("payments", manifest(edge)) for edge in edges_of(rows_spout(PAYMENTS, *spout_rows).source)]
    assert sorted(result.manifests, key=repr) == sorted(expected, key=repr)
    assert [letter.record for letter in result.bad_records] == [BAD]
    assert {letter.spout for letter in result.bad_records} == {"payments"}


def test_the_documented_example(spark: SparkSession) -> None:
    topology, stream = payments()
    stream.filter(F.col("amount") > 0).group_by("account").persistent_aggregate(
        UnopenedState("balances"), n=Count(), total=Sum("amount")
    )
    result = run(topology.compile(), spark)
    expected: dict[str | None, list[int]] = defaultdict(lambda: [0, 0])
    for account, amount in FIRST + SECOND:
        if amount is not None and amount > 0:
            expected[account][0] += 1
            expected[account][1] += amount
    assert held_rows(result, "balances") == sorted(((key, *value) for key, value in expected.items()), key=repr)
    held = result.updates["balances"]
    assert isinstance(held, HeldUpdates)
    types: dict[str, pa.DataType] = {"account": pa.string(), "n": pa.int64(), "total": pa.int64()}
    assert held.rows.schema == pa.schema(types)
    check_words(result)


def test_without_keys_there_is_one_row(spark: SparkSession) -> None:
    topology, stream = payments()
    stream.persistent_aggregate(
        UnopenedState("all"), n=Count(), total=Sum("amount"), least=Min("amount"), last=Max("account")
    )
    result = run(topology.compile(), spark)
    assert held_rows(result, "all") == [(9, 29, -1, "c")]
    check_words(result)


def test_no_record_left_means_no_update(spark: SparkSession) -> None:
    topology, stream = payments()
    stream.filter(F.lit(False)).persistent_aggregate(UnopenedState("all"), n=Count())
    result = run(topology.compile(), spark)
    assert held_rows(result, "all") == []
    check_words(result)


def test_columns_add_replace_and_expand(spark: SparkSession) -> None:
    topology, stream = payments()
    (
        stream.each(double=F.col("amount") * 2, one=F.lit(1))
        .map(pair=F.array(F.col("double"), F.col("one")), account=F.col("account"))
        .project("account", "pair")
        .flat_map(number=F.filter("pair", lambda x: x.isNotNull()))
        .group_by("number")
        .persistent_aggregate(UnopenedState("numbers"), n=Count())
    )
    result = run(topology.compile(), spark)
    expected = Counter(n for _, amount in FIRST + SECOND for n in (amount and amount * 2, 1) if n is not None)
    expected[0] = 1  # 0 is a value, not a missing one
    assert held_rows(result, "numbers") == sorted(expected.items(), key=repr)
    check_words(result)


def test_functions_see_records_only(spark: SparkSession) -> None:
    def no_words(batch: pa.RecordBatch) -> None:
        assert batch.schema.names[:2] == ["account", "amount"]
        assert batch.num_rows > 0

    def known(batch: pa.RecordBatch) -> pa.BooleanArray:
        no_words(batch)
        return pc.is_valid(batch["amount"])

    def doubled(batch: pa.RecordBatch) -> pa.Array[Any]:
        no_words(batch)
        return pc.multiply(batch["amount"], 2)

    def renamed(batch: pa.RecordBatch) -> dict[str, pa.Array[Any]]:
        no_words(batch)
        return {"value": batch["double"], "who": batch["account"]}

    topology, stream = payments()
    (
        stream.filter(known)
        .each(doubled, "double bigint")
        .map(renamed, "who string, value decimal(22,2)")
        .flat_map(lambda batch: [batch], "who string, value decimal(22,2)")
        .group_by("who")
        .persistent_aggregate(UnopenedState("doubles"), total=Sum("value"))
    )
    result = run(topology.compile(), spark)
    expected: dict[str | None, Decimal] = defaultdict(Decimal)
    for account, amount in FIRST + SECOND:
        if amount is not None:
            expected[account] += 2 * amount
    assert held_rows(result, "doubles") == sorted(
        ((k, v.quantize(Decimal("0.01"))) for k, v in expected.items()), key=repr
    )
    check_words(result)


def test_a_function_may_return_more_rows(spark: SparkSession) -> None:
    def copies(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        rows = [row for row in batch.to_pylist() for _ in range(max(0, row["amount"] or 0))]
        return [pa.RecordBatch.from_pylist(rows, schema=batch.schema)]

    topology, stream = payments()
    stream.flat_map(copies, PAYMENTS).persistent_aggregate(UnopenedState("n"), n=Count())
    result = run(topology.compile(), spark)
    assert held_rows(result, "n") == [(sum(max(0, amount or 0) for _, amount in FIRST + SECOND),)]
    check_words(result)


def test_an_aggregate_can_be_followed_by_another(spark: SparkSession) -> None:
    topology, stream = payments()
    (
        stream.group_by("account")
        .aggregate(n=Count(), total=Sum("amount"))
        .filter(F.col("n") > 1)
        .aggregate(groups=Count(), total=Sum("total"))
        .persistent_aggregate(UnopenedState("groups"), groups=Sum("groups"), total=Max("total"))
    )
    result = run(topology.compile(), spark)
    assert held_rows(result, "groups") == [(4, 29)]
    check_words(result)


def test_functions_after_an_aggregate(spark: SparkSession) -> None:
    topology, stream = payments()
    (
        stream.group_by("account")
        .aggregate(n=Count())
        .filter(lambda batch: pc.greater(batch["n"], pa.scalar(2)))
        .each(lambda batch: [batch["n"]], "again bigint")
        .persistent_aggregate(UnopenedState("n"), n=Sum("again"))
    )
    result = run(topology.compile(), spark)
    assert held_rows(result, "n") == [(3,)]
    check_words(result)


def test_own_combiner_beside_built_in_ones(spark: SparkSession) -> None:
    topology, stream = payments()
    handle = (
        stream.each(text=F.concat(F.col("account"), F.col("amount").cast("string")))
        .group_by("account")
        .persistent_aggregate(UnopenedState("words"), n=Count(), longest=Longest("text"))
    )
    result = run(topology.compile(), spark)
    assert held_rows(result, "words") == [("a", 3, "a7"), ("b", 2, "b-1"), ("c", 2, "c9"), (None, 2, None)]
    check_words(result)
    combine = handle.layout.values[1].combine
    assert combine is not None
    assert combine("aa", "b") == "aa"


def test_several_states_share_one_reading(spark: SparkSession) -> None:
    topology, stream = payments()
    stream.persistent_aggregate(UnopenedState("n"), n=Count())
    stream.group_by("account").persistent_aggregate(UnopenedState("by_account"), n=Count())
    result = run(topology.compile(), spark)
    assert held_rows(result, "n") == [(9,)]
    assert held_rows(result, "by_account") == [("a", 3), ("b", 2), ("c", 2), (None, 2)]
    check_words(result)


def test_the_batch_time_is_the_planned_one(spark: SparkSession) -> None:
    topology, stream = payments()
    (
        stream.filter(batch_time() > F.lit("2026-01-01").cast("timestamp"))
        .each(at=batch_time())
        .group_by("at")
        .persistent_aggregate(UnopenedState("at"), n=Count())
    )
    assert stream.each(at=batch_time()).fields == ("account", "amount", "at")
    result = run(topology.compile(), spark)
    assert held_rows(result, "at") == [(BATCH_TIME, 9)]


@pytest.mark.parametrize("grouped", [False, True])
def test_a_range_that_was_read_twice_is_noticed(spark: SparkSession, *, grouped: bool) -> None:
    topology, stream = payments(repeat=True)
    if grouped:
        stream = stream.group_by("account").aggregate(n=Count())
    stream.persistent_aggregate(UnopenedState("n"), n=Count())
    with pytest.raises(RetryableError, match="read twice"):
        run(topology.compile(), spark)
