"""H17 on Spark: nulls, empty batches, large numbers and money, through whole topologies."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from trident import ConfigurationError, Count, Max, MemoryLedger, Min, RunOptions, Sum, Topology
from trident.spouts import FixedBatchSpout
from trident.state import MemoryState

OPTIONS = RunOptions(lease=timedelta(seconds=5), retry_pause=timedelta(0))
HUGE = 2**40
ROWS = [
    ("null", None, None, None),
    ("null", None, None, None),
    ("some", 1, 0.5, Decimal("12345678901234567.89")),
    ("some", None, 0.5, None),
    ("some", HUGE, None, Decimal("0.01")),
    ("zero", 0, 0.0, Decimal("0.00")),
    (None, -7, 0.25, Decimal("-1.10")),
]


def aggregated(spark: SparkSession, batch_size: int, keep: Any = None) -> Any:
    topology, ledger, state = Topology("aggregates"), MemoryLedger(), MemoryState("facts")
    spout = FixedBatchSpout("k string, v bigint, f double, m decimal(20,2)", ROWS, max_records_per_batch=batch_size)
    stream = topology.stream("rows", spout).each(exact=F.col("f").cast("decimal(10,2)"))
    stream = stream if keep is None else stream.filter(keep)
    stream.group_by("k").persistent_aggregate(
        state, n=Count(), total=Sum("v"), least=Min("v"), most=Max("f"), money=Sum("m"), exact=Sum("exact")
    )
    summary = topology.run(spark, ledger=ledger, until="caught_up", options=OPTIONS)
    return summary.batches, {row["k"]: tuple(row.values())[1:] for row in state.rows(ledger.database)}


EXPECTED = {
    "null": (2, None, None, None, None, None),
    "some": (3, HUGE + 1, 1, 0.5, Decimal("12345678901234567.90"), Decimal("1.00")),
    "zero": (1, 0, 0, 0.0, Decimal("0.00"), Decimal("0.00")),
    None: (1, -7, -7, 0.25, Decimal("-1.10"), Decimal("0.25")),
}


@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_h17_aggregates_hold_no_surprise_however_batches_are_cut(spark: SparkSession, batch_size: int) -> None:
    """Storm: Sum of the floats 0 instead of 1, a crash on the first null, counts read back from JSON as Integer."""
    batches, found = aggregated(spark, batch_size)
    assert batches == -(-len(ROWS) // batch_size)
    assert found == EXPECTED


def test_h17_a_batch_of_which_nothing_is_left_changes_nothing(spark: SparkSession) -> None:
    """Storm's Min and Max emit a null for an empty partition, and what reads it crashes."""
    batches, found = aggregated(spark, 2, keep=F.col("k") == "zero")
    assert batches == 4
    assert found == {"zero": EXPECTED["zero"]}


def test_h17_a_sum_of_floats_is_refused_when_the_topology_is_built(spark: SparkSession) -> None:
    stream = Topology("floats").stream("rows", FixedBatchSpout("k string, f float", []))
    with pytest.raises(ConfigurationError, match=r"cast it first, say to decimal\(38,2\)"):
        stream.group_by("k").persistent_aggregate(MemoryState("facts"), total=Sum("f"))
