"""docs/from-structured-streaming.md: what it writes in our language is a topology, and a window by hand is a key."""

from __future__ import annotations

from datetime import UTC, datetime

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.pages.blocks import blocks_of
from trident import Count, Sum, Topology
from trident.spouts import FixedBatchSpout
from trident.state import PostgresState
from trident.testing import TopologyTest

SCHEMA = "account string, amount bigint, at timestamp"


def test_what_the_page_writes_counts_and_has_a_row_for_each_hour(spark: SparkSession) -> None:
    theirs, ours, hourly = (
        block for block in blocks_of("docs/from-structured-streaming.md") if block.language == "python"
    )
    assert "foreachBatch" in theirs.text, "of Structured Streaming, and not ours to run"
    made = Topology("payments")
    payments = made.stream("payments", FixedBatchSpout(SCHEMA, []))
    names = {"payments": payments, "PostgresState": PostgresState, "Count": Count, "Sum": Sum, "F": F}
    for block in (ours, hourly):
        exec(block.compiled(), names)
    rows = [("ann", 5, datetime(2026, 1, 31, 6, minute, tzinfo=UTC)) for minute in (0, 59)]
    with TopologyTest(made, spark) as test:
        test.batch({"payments": [*rows, ("ann", 10, datetime(2026, 1, 31, 7, tzinfo=UTC))]})
        assert test.rows("balances") == [{"account": "ann", "n": 3, "total": 20}]
        hours = [(str(row["hour"])[11:13], row["n"], row["total"]) for row in test.rows("hourly")]
        assert hours == [("06", 2, 10), ("07", 1, 10)]
