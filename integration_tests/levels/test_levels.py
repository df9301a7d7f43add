"""The levels on real servers: Kafka through Spark into Kafka and PostgreSQL, without a fault and with a kill."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration_tests.fix_kafka import Kafka
from integration_tests.fix_postgres import Postgres
from integration_tests.levels.job import OPTIONS, build
from integration_tests.records import Payment, balances, payments, produce
from integration_tests.sinks.reading import committed
from trident import Count, Level, PostgresLedger, RunSummary, SqliteLedger, Staging, Sum, Topology, status
from trident.base.crash_points import CrashPoint
from trident.spouts import NonTransactionalSpout
from trident.state import SqliteState

ROOT = Path(__file__).parents[2]
EACH = 400


@dataclass
class Scene:
    kafka: Kafka
    dsn: str
    source: str
    target: str

    @property
    def servers(self) -> str:
        return self.kafka.bootstrap_servers

    def run(self, spark: SparkSession, level: Level, staging: Staging = Staging.AUTO) -> RunSummary:
        topology = build(self.servers, self.source, self.target, level, EACH)
        return topology.run(spark, ledger=PostgresLedger(self.dsn), until="caught_up", options=OPTIONS, staging=staging)

    def die(self, level: Level, point: CrashPoint, txid: int) -> None:
        """Run it in a process of its own, which is killed there."""
        words = [sys.executable, "-m", "integration_tests.levels.job", self.servers, self.source, self.target]
        words += [self.dsn, level.value, point.value, str(txid)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with tempfile.TemporaryFile() as said:  # not a pipe, which Spark's Java process holds open for a while
            ended = subprocess.run(words, cwd=ROOT, env=environment, stdout=said, stderr=said, timeout=120, check=False)
            said.seek(0)
            assert ended.returncode == -signal.SIGKILL, said.read().decode()[-2000:]

    def sent(self) -> Counter[Payment]:
        found = [json.loads(message.value() or b"") for message in committed(self.servers, self.target)]
        return Counter((each["account"], each["amount"]) for each in found)

    def rows(self) -> Counter[Payment]:
        with psycopg.connect(self.dsn) as connection:
            return Counter(connection.execute("SELECT account, amount FROM paid").fetchall())

    def counted(self) -> int:
        return sum(n for n, _ in balances(self.dsn).values())


@pytest.fixture
def scene(kafka: Kafka, postgres: Postgres) -> Scene:
    return Scene(kafka, postgres.dsn, kafka.create_topic(4, name="in"), kafka.create_topic(3, name="out"))


def positive(records: Sequence[Payment]) -> Counter[Payment]:
    return Counter(pair for pair in records if pair[1] > 0)


@pytest.mark.parametrize(
    ("level", "staging"),
    [
        (Level.AT_LEAST_ONCE, Staging.DRIVER),
        (Level.AT_LEAST_ONCE, Staging.EXECUTORS),
        (Level.AT_MOST_ONCE, Staging.AUTO),
    ],
)
def test_without_a_fault_each_record_arrives_once(spark, scene, level, staging):
    records = payments(1_500)
    produce(scene.servers, scene.source, records)
    summary = scene.run(spark, level, staging)
    assert (summary.batches, summary.lost) == (4, 0)
    assert scene.sent() == scene.rows() == positive(records)
    assert scene.counted() == positive(records).total()
    assert status("payments", PostgresLedger(scene.dsn)).level is level
    with psycopg.connect(scene.dsn) as connection:
        beside = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_name ~ '^trident_(applied|staging)'"
        ).fetchall()
        columns = connection.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'balances' ORDER BY 1"
        ).fetchall()
    assert beside == []
    assert columns == [("account",), ("n",), ("total",)]


def test_at_least_once_a_killed_coordinator_loses_nothing(spark, scene):
    """It dies when its second batch is written and not recorded: that one comes again, and no other."""
    records = payments(1_500)
    produce(scene.servers, scene.source, records)
    scene.die(Level.AT_LEAST_ONCE, CrashPoint.IN_TURN, 2)
    scene.run(spark, Level.AT_LEAST_ONCE)
    for found in (scene.sent(), scene.rows()):
        assert not positive(records) - found, "nothing is lost"
        assert 0 < (found - positive(records)).total() <= EACH
    assert positive(records).total() < scene.counted() <= positive(records).total() + EACH


def test_at_most_once_a_killed_coordinator_doubles_nothing(spark, scene):
    """It dies when its second batch is recorded and not written: what was recorded by then is lost, and no more."""
    records = payments(1_500)
    produce(scene.servers, scene.source, records)
    scene.die(Level.AT_MOST_ONCE, CrashPoint.AFTER_DONE, 2)
    scene.run(spark, Level.AT_MOST_ONCE)
    for found in (scene.sent(), scene.rows()):
        assert not found - positive(records), "nothing is doubled"
        assert 0 < (positive(records) - found).total() <= EACH * OPTIONS.max_pending
    assert positive(records).total() - EACH * OPTIONS.max_pending <= scene.counted() < positive(records).total()


class Given(NonTransactionalSpout):
    """Gives rows as a user's code has made them."""

    schema = "account string, amount bigint"
    max_records_per_batch = 5

    def __init__(self, rows: Sequence[object]) -> None:
        self.rows = list(rows)

    def partitions(self) -> list[int]:
        return [0]

    def receive(self, partition: int, most: int) -> list[Any]:
        taken, self.rows = self.rows[:most], self.rows[most:]
        return taken

    def done(self, partition: int, rows: Sequence[object]) -> None:
        pass


@pytest.mark.parametrize(
    "row",
    [("x", "no number"), ("x",), ("x\0y", 1), ("x", 0), ("x", 2**62)],
    ids=["type", "shape", "NUL", "zero", "sum"],
)
def test_at_most_once_a_row_that_can_not_be_processed_takes_no_other_batch_along(spark, tmp_path, row):
    topology = Topology("given", level=Level.AT_MOST_ONCE)
    rows = [*[("a", 1)] * 17, row, row, *[("a", 1)] * 21]
    stream = topology.stream("s", Given(rows)).filter(F.lit(10) / F.col("amount") > 0)
    stream.group_by("account").persistent_aggregate(SqliteState("sums"), n=Count(), total=Sum("amount"))
    summary = topology.run(spark, ledger=SqliteLedger(tmp_path / "ledger.sqlite"), until="caught_up")
    assert (summary.batches, summary.lost) == (8, 1)
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        assert connection.execute("SELECT sum(n) FROM sums").fetchall() == [(35,)]
