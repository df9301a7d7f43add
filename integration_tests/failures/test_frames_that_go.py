"""What Spark keeps for several ends is let go of by others while a batch is processed: no record takes both ways."""

from __future__ import annotations

import random
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.spouts.queue.file_queue import FileQueue, FileQueueSpout
from trident import RunOptions, SqliteLedger, Topology
from trident.coordinators.options import Until
from trident.state import SqliteTable

NUMBERS = 120
OPTIONS = RunOptions(until=Until.CAUGHT_UP, max_pending=1, max_tries=1_000, retry_pause=timedelta(milliseconds=50))


@contextmanager
def clearing(spark: SparkSession, seconds: float) -> Iterator[None]:
    """Let go of what Spark keeps, again and again, for that long."""
    done = threading.Event()

    def clear() -> None:
        timer = threading.Timer(seconds, done.set)
        timer.start()
        while not done.wait(0.02):
            spark.catalog.clearCache()
        timer.cancel()

    thread = threading.Thread(target=clear)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@pytest.mark.timeout(300)
def test_what_was_let_go_of_is_no_result(spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def draw(row: Any, collector: Any) -> None:
        """Say something else each time, as a service may."""
        collector.emit((row["n"], random.random() < 0.5), anchors=[row])
        collector.ack(row)

    queue = FileQueue(tmp_path / "queue.sqlite")
    queue.put(map(str, range(NUMBERS)))
    made = Topology("frames")
    numbers = made.stream("messages", FileQueueSpout(queue.path)).map(n=F.col("account").cast("bigint"))
    drawn = numbers.process(draw, "n bigint, heads boolean")
    drawn.filter(F.col("heads")).to_table(SqliteTable("heads"))
    drawn.filter(~F.col("heads")).to_table(SqliteTable("tails"))
    with clearing(spark, 12.0):
        made.run(spark, ledger=SqliteLedger(tmp_path / "ledger.sqlite"), options=OPTIONS)
    assert "what Spark kept of the batch was let go of" in caplog.text
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        found = connection.execute("SELECT n FROM heads UNION ALL SELECT n FROM tails").fetchall()
    assert Counter(n for (n,) in found) == Counter(range(NUMBERS))
