"""H7: what is fed by a state's new values and by an ordinary stream ends, with every record once."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from pyspark.sql import SparkSession

from trident import SqliteLedger, Sum, Topology
from trident.spouts import FixedBatchSpout
from trident.state import SqliteState, SqliteTable


def test_h07_an_operator_that_is_fed_from_the_turn_and_by_a_stream_ends(spark: SparkSession, tmp_path: Path) -> None:
    """Storm waits for ever, 0 records. Here five batches of two records, and of one to two changed totals, come out."""
    file = tmp_path / "ledger.sqlite"
    topology = Topology("t")
    records = [(f"a{number % 3}", number) for number in range(10)]
    stream = topology.stream("s", FixedBatchSpout("k string, n bigint", records, max_records_per_batch=2))
    totals = stream.group_by("k").persistent_aggregate(SqliteState("totals"), n=Sum("n"))
    totals.new_values().merge(stream).to_table(SqliteTable("both"))
    assert topology.run(spark, ledger=SqliteLedger(file), until="caught_up").batches == 5
    with sqlite3.connect(file) as connection:
        found = connection.execute("SELECT k, n FROM both").fetchall()
    running: dict[str, int] = {}
    expected = list(records)
    for start in range(0, 10, 2):
        for key, number in records[start : start + 2]:
            running[key] = running.get(key, 0) + number
        expected += [(key, running[key]) for key in {key for key, _ in records[start : start + 2]}]
    assert sorted(found) == sorted(expected)
