"""The three failures that Storm's guide to reliability names: an operation dies, an acker dies, a spout dies."""

from __future__ import annotations

import sqlite3
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from reliability.cases import Case, Fault
from reliability.faults import Operation, Strikes, striking
from tests.spouts.queue.file_queue import FileQueue, FileQueueSpout
from trident import Level, RunOptions, SqliteLedger, Topology
from trident.coordinators.options import Until
from trident.state import SqliteTable

NUMBERS = 40
OPTIONS = RunOptions(until=Until.CAUGHT_UP, retry_pause=timedelta(milliseconds=1))


class Scene:
    """A queue in a file, an operation that looks after acks, a table; what is lost or doubled is seen there."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.queue = FileQueue(folder / "queue.sqlite")
        self.queue.put(map(str, range(1, NUMBERS + 1)))

    def play(self, fault: Fault, level: Level = Level.EXACTLY_ONCE) -> Counter[int]:
        """Run until all is there while the fault strikes, once; returns how often each number arrived."""
        case = Case(level, fault, 1, NUMBERS)
        (self.folder / "strikes").mkdir()
        strikes = Strikes(self.folder / "strikes")
        with striking(case, strikes, lambda: len(self.queue.said("ack"))):
            self._run(Operation(strikes, fault, case.strikes_at()), level)
        assert strikes.count == 1
        with sqlite3.connect(self.folder / "ledger.sqlite") as connection:
            return Counter(n for (n,) in connection.execute("SELECT n FROM numbers"))

    def _run(self, operation: Operation, level: Level) -> None:
        made = Topology("failures", level=level)
        numbers = made.stream("messages", FileQueueSpout(self.queue.path)).map(n=F.col("account").cast("bigint"))
        numbers.process(operation, "n bigint").to_table(SqliteTable("numbers"))
        made.run(self.spark, ledger=SqliteLedger(self.folder / "ledger.sqlite"), options=OPTIONS)


@pytest.fixture
def scene(spark: SparkSession, tmp_path: Path) -> Scene:
    return Scene(spark, tmp_path)


ONCE = Counter(range(1, NUMBERS + 1))


@pytest.mark.parametrize("fault", [Fault.WORKER, pytest.param(Fault.AFTER_EMIT, marks=pytest.mark.verify)])
def test_an_operation_dies_and_its_messages_are_processed_again(scene: Scene, fault: Fault) -> None:
    assert scene.play(fault) == ONCE
    assert scene.queue.left() == []


def test_an_acker_dies_and_the_messages_that_it_knew_go_back_to_their_source(scene: Scene) -> None:
    assert scene.play(Fault.ACKER) == ONCE
    assert scene.queue.left() == []
    assert scene.queue.said("fail"), "nobody could say of them that they were processed"


def test_a_spout_dies_and_its_queue_gives_again_what_was_not_acked(scene: Scene) -> None:
    assert scene.play(Fault.SPOUT) == ONCE
    assert scene.queue.left() == []
    assert len(scene.queue.said("open")) == 2


@pytest.mark.verify
@pytest.mark.parametrize("fault", [Fault.WORKER, Fault.SPOUT])
def test_at_least_once_they_lose_nothing(scene: Scene, fault: Fault) -> None:
    assert set(scene.play(fault, Level.AT_LEAST_ONCE)) == set(ONCE)
    assert scene.queue.left() == []
