"""A stream of ticks on Spark: rows of its own, merged with others, once each over deaths and a pause."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from trident import Count, SqliteLedger, Topology
from trident.base.crash_points import CrashPoint, armed
from trident.spouts import FixedBatchSpout, ticks
from trident.spouts.ticking import MissedTicks
from trident.state import SqliteState, SqliteTable
from trident.testing import TopologyTest

BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)


class _DeathError(Exception):
    pass


class Wall:
    """What the source takes for now when the topology begins; batches have the machine's own time."""

    def now(self) -> datetime:
        return datetime.now(UTC) - timedelta(seconds=2.5)


def beating(missed: str) -> Topology:
    made = Topology("beating")
    beat = made.ticks("beat", timedelta(seconds=1), missed=missed)
    words = made.stream("words", FixedBatchSpout("word string, n bigint", [("a", 1), ("b", 2)]))
    beat.to_table(SqliteTable("beats"))
    both = beat.map(word=F.col("tick").cast("string")).merge(words.project("word"))
    both.group_by("word").persistent_aggregate(SqliteState("seen"), times=Count())
    return made


@pytest.mark.parametrize("missed", list(MissedTicks))
def test_each_tick_is_in_the_results_once_whatever_dies(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missed: MissedTicks
) -> None:
    monkeypatch.setattr(ticks, "SystemClock", Wall)
    file = tmp_path / "ledger.sqlite"

    def die(point: CrashPoint, txid: int | None) -> None:
        if point is CrashPoint.AFTER_PROCESSING:
            raise _DeathError

    with armed(die), pytest.raises(_DeathError):
        beating(missed.value).run(spark, ledger=SqliteLedger(file), until="caught_up")
    beating(missed.value).run(spark, ledger=SqliteLedger(file), until="caught_up")
    with sqlite3.connect(file) as connection:
        beats = connection.execute("SELECT tick, missed FROM beats ORDER BY tick").fetchall()
        seen = dict(connection.execute("SELECT word, times FROM seen").fetchall())
    covered = [n for tick, others in beats for n in range(tick - others, tick + 1)]
    assert len(covered) >= 2
    assert covered == list(range(covered[0], covered[0] + len(covered)))
    assert all(others == 0 for _, others in beats) or missed is MissedTicks.ONE
    assert seen == {"a": 1, "b": 1, **{str(tick): 1 for tick, _ in beats}}


def test_a_test_of_a_topology_gives_ticks_as_rows(spark: SparkSession) -> None:
    made = Topology("beating")
    made.ticks("beat", timedelta(hours=1)).group_by("tick").persistent_aggregate(SqliteState("seen"), times=Count())
    with TopologyTest(made, spark) as test:
        test.batch({"beat": [{"tick": 5, "due": BEGIN, "missed": 0}]}, at=BEGIN)
        assert test.rows("seen") == [{"tick": 5, "times": 1}]
