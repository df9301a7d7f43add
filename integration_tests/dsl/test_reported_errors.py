"""What a user's function raises in a task is in the ledger, with the place that people know and without a record."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from trident import Count, RunOptions, SqliteLedger, Topology
from trident.base.errors import TridentError
from trident.spouts import FixedBatchSpout
from trident.state import SqliteState


def parse(batch: pa.RecordBatch) -> pa.RecordBatch:
    raise ValueError(f"Ann's secret is {batch.column(0)[0]}")


def test_a_users_error_is_reported_by_class_and_place(spark: SparkSession, tmp_path: Path) -> None:
    topology = Topology("payments")
    stream = topology.stream("in", FixedBatchSpout("name string", [("hunter2",)])).map(parse, "name string")
    stream.group_by("name").persistent_aggregate(SqliteState("totals"), n=Count())
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    with pytest.raises(TridentError):
        topology.run(spark, ledger=ledger, until="caught_up", options=RunOptions(max_tries=2))
    rows = ledger.view().errors("payments")
    (row,) = (row for row in rows if "job of 'totals'" in row.place)
    assert (row.place, row.kind, row.count, row.txid) == ("stream 'in', job of 'totals'", "ValueError", 2, 1)
    assert "test_reported_errors.py" in row.text
    assert not any("hunter2" in each.text or "Ann" in each.text for each in rows)
    assert ledger.view().status("payments").recent_errors == len(rows)
