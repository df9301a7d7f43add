"""A function that says something else each time, behind a fork: each record goes one way, whoever looks at it."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.spouts.queue.file_queue import FileQueue, FileQueueSpout, LimitedQueueSpout
from trident import Audit, Count, MapGet, RunOptions, SqliteLedger, Stream, Topology
from trident.coordinators.options import Until
from trident.spouts import AckingSpout, FixedBatchSpout
from trident.state import SqliteState, SqliteTable

NUMBERS = 120
ONCE = Counter(range(NUMBERS))


class ManyAtOnce(FileQueueSpout):
    """Gives batches of which each way has some records."""

    max_batch_size = 60


@pytest.fixture
def queue(tmp_path: Path) -> FileQueue:
    queue = FileQueue(tmp_path / "queue.sqlite")
    queue.put(map(str, range(NUMBERS)))
    return queue


def numbers_of(topology: Topology, spout: AckingSpout) -> Stream:
    return topology.stream("messages", spout).map(n=F.col("account").cast("bigint"))


def run(spark: SparkSession, folder: Path, made: Topology, audit: Audit) -> sqlite3.Connection:
    options = RunOptions(
        until=Until.CAUGHT_UP, audit=audit, max_tries=100, retry_pause=timedelta(milliseconds=1), max_pending=2
    )
    made.run(spark, ledger=SqliteLedger(folder / "ledger.sqlite"), options=options)
    return sqlite3.connect(folder / "ledger.sqlite")


def counted(connection: sqlite3.Connection, *tables: str) -> Counter[int]:
    return Counter(n for table in tables for (n,) in connection.execute(f"SELECT n FROM {table}"))


def draw(row: Any) -> tuple[int, bool]:
    return row["n"], random.random() < 0.5


def drawn_with_acks(row: Any, collector: Any) -> None:
    """Fails some, whoever asks a second time fails others."""
    if random.random() < 0.01:
        collector.fail(row, "away")
        return
    collector.emit((row["n"], random.random() < 0.5), anchors=[row])
    collector.ack(row)


Draws = Callable[[Stream], Stream]


def by_rows(stream: Stream) -> Stream:
    return stream.map_row(draw, "n bigint, heads boolean")


def by_process(stream: Stream) -> Stream:
    return stream.process(drawn_with_acks, "n bigint, heads boolean")


def two_tables(drawn: Stream) -> tuple[str, ...]:
    drawn.filter(F.col("heads")).to_table(SqliteTable("heads"))
    drawn.filter(~F.col("heads")).to_table(SqliteTable("tails"))
    return "heads", "tails"


def one_merge(drawn: Stream) -> tuple[str, ...]:
    tails = drawn.filter(~F.col("heads")).map(n=F.col("n"), heads=F.lit(True))
    drawn.filter(F.col("heads")).merge(tails).to_table(SqliteTable("both"))
    return ("both",)


def behind_two_forks(drawn: Stream) -> tuple[str, ...]:
    """A second function behind the first, which others than the first one's ways stand on too."""
    again = drawn.filter(F.col("heads")).map_row(draw, "n bigint, heads boolean")
    drawn.filter(~F.col("heads")).to_table(SqliteTable("tails"))
    again.filter(F.col("heads")).to_table(SqliteTable("heads"))
    again.filter(~F.col("heads")).merge(again.filter(F.lit(False))).to_table(SqliteTable("others"))
    return "heads", "tails", "others"


@pytest.mark.parametrize("draws", [by_rows, by_process])
@pytest.mark.parametrize("shape", [two_tables, one_merge, behind_two_forks])
@pytest.mark.parametrize("audit", Audit)
def test_each_record_goes_one_way_and_what_is_acked_is_there(
    spark: SparkSession, tmp_path: Path, queue: FileQueue, draws: Draws, shape: Callable[..., Any], audit: Audit
) -> None:
    made = Topology("forks")
    numbers = numbers_of(made, ManyAtOnce(queue.path))
    numbers.to_table(SqliteTable("all_of_them"))
    tables = shape(draws(numbers))
    with run(spark, tmp_path, made, audit) as connection:
        assert counted(connection, "all_of_them") == ONCE
        assert counted(connection, *tables) == ONCE
    assert Counter(queue.said("ack")) == Counter(map(str, range(NUMBERS)))


@pytest.mark.parametrize("audit", Audit)
def test_what_was_said_on_the_way_to_a_fork_counts_whatever_ways_lead_on(
    spark: SparkSession, tmp_path: Path, queue: FileQueue, audit: Audit
) -> None:
    """Behind a join and a merge the words are those of the fork, each once."""

    def fails_some(row: Any, collector: Any) -> None:
        collector.emit((row["n"], row["n"] % 2 == 0), anchors=[row])
        if random.random() < 0.02:
            collector.fail(row, "away")
        else:
            collector.ack(row)

    made = Topology("forks")
    numbers = numbers_of(made, ManyAtOnce(queue.path))
    judged = numbers.process(fails_some, "n bigint, heads boolean")
    heads, tails = judged.filter(F.col("heads")), judged.filter(~F.col("heads"))
    merged = heads.merge(tails).map_row(lambda row: (row["n"],), "n bigint")
    merged.merge(numbers.filter(F.lit(False))).to_table(SqliteTable("merged"))
    made.join(judged, numbers, on=[["n"], ["n"]]).to_table(SqliteTable("joined"))
    numbers.to_table(SqliteTable("all_of_them"))
    with run(spark, tmp_path, made, audit) as connection:
        for table in ("all_of_them", "merged", "joined"):
            assert counted(connection, table) == ONCE
    assert Counter(queue.said("ack")) == Counter(map(str, range(NUMBERS)))
    assert queue.said("fail"), "nothing was failed on the way"


def test_what_is_failed_before_a_merge_is_not_acked_whatever_step_stands_between(
    spark: SparkSession, tmp_path: Path, queue: FileQueue
) -> None:
    def fails_thirteen(row: Any, collector: Any) -> None:
        collector.emit((row["n"],), anchors=[row])
        if row["n"] == 13:
            collector.fail(row, "away")
        else:
            collector.ack(row)

    made = Topology("forks")
    numbers = numbers_of(made, LimitedQueueSpout(queue.path))
    judged = numbers.process(fails_thirteen, "n bigint").map(n=F.col("n") + 0)
    judged.merge(numbers.filter(F.lit(False))).to_table(SqliteTable("merged"))
    with run(spark, tmp_path, made, Audit.OFF) as connection:
        assert counted(connection, "merged") == ONCE - Counter([13])
    assert "13" not in queue.said("ack")


def test_a_fork_behind_which_all_straight_ends_are_is_run_once(
    spark: SparkSession, tmp_path: Path, queue: FileQueue
) -> None:
    made = Topology("forks")
    numbers = numbers_of(made, ManyAtOnce(queue.path))
    tables = two_tables(by_rows(numbers))
    numbers.merge(numbers.filter(F.lit(False))).to_table(SqliteTable("all_of_them"))
    with run(spark, tmp_path, made, Audit.OFF) as connection:
        assert counted(connection, *tables) == ONCE


def test_in_the_turn_each_record_goes_one_way_too(spark: SparkSession, tmp_path: Path) -> None:
    made = Topology("turn")
    rows = [(number,) for number in range(NUMBERS)]
    numbers = made.stream("numbers", FixedBatchSpout("n bigint", rows, max_records_per_batch=50))
    counts = numbers.group_by("n").persistent_aggregate(SqliteState("counts"), times=Count())
    drawn = numbers.state_query(counts, MapGet("n")).map_row(draw, "n bigint, heads boolean")
    drawn.filter(F.col("heads")).to_table(SqliteTable("heads"))
    tails = drawn.filter(~F.col("heads"))
    again = tails.state_query(counts, MapGet("n")).map_row(draw, "n bigint, heads boolean")
    one_of_two, other = again.filter(F.col("heads")), again.filter(~F.col("heads"))
    one_of_two.merge(other).to_table(SqliteTable("tails"))
    with run(spark, tmp_path, made, Audit.OFF) as connection:
        assert counted(connection, "heads", "tails") == ONCE
