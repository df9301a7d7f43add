"""What a refusal tells a person to mend can be mended: a topology with a filter goes on over the same ledger."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from trident import DecisionNeededError, SqliteLedger, Sum, Topology, retry, undo
from trident.spouts import FixedBatchSpout
from trident.state import SqliteState

TOP = 9_223_372_036_854_775_807
ROWS = [("a", TOP), ("b", 1), ("a", 1), ("b", 2)]


def topology_of(file: Path | None, *, filtered: bool) -> Topology:
    topology = Topology("sums")
    stream = topology.stream(
        "rows", FixedBatchSpout("k string, v bigint", ROWS, max_records_per_batch=2, kind="opaque")
    )
    if filtered:
        stream = stream.filter((F.col("k") != "a") | (F.col("v") > 1))
    stream.group_by("k").persistent_aggregate(SqliteState("totals", path=file), total=Sum("v"))
    return topology


@pytest.mark.parametrize("is_apart", [False, True])
def test_a_filter_that_is_added_lets_a_refused_txid_go_on(spark: SparkSession, tmp_path: Path, is_apart: bool) -> None:
    ledger = tmp_path / "ledger.sqlite"
    file = tmp_path / "state.sqlite" if is_apart else None
    with pytest.raises(DecisionNeededError) as refused:
        topology_of(file, filtered=False).run(spark, ledger=SqliteLedger(ledger), until="caught_up")
    said = str(refused.value)
    assert not re.search(r"wider|another type", said)
    command = "undo" if is_apart else "retry"  # what is pinned is not computed again
    assert re.search(rf"trident {command} .*\bfilter", said)
    assert not is_apart or not re.search(r"trident retry .*\bfilter", said)
    mended = topology_of(file, filtered=True)
    if is_apart:
        undo(mended, SqliteLedger(ledger), txid=2)
    else:
        retry("sums", SqliteLedger(ledger), txid=2)
    mended.run(spark, ledger=SqliteLedger(ledger), until="caught_up")
    with sqlite3.connect(file or ledger) as connection:
        assert sorted(connection.execute("SELECT k, total FROM totals")) == [("a", TOP), ("b", 3)]
