"""Operations that look after acks themselves, on Spark: single messages fail, all others are in results once."""

from __future__ import annotations

import logging
import sqlite3
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.spouts.queue.file_queue import FileQueue, FileQueueSpout, LimitedQueueSpout
from trident import (
    Audit,
    Collector,
    Count,
    InputRecord,
    MapGet,
    RunOptions,
    SqliteLedger,
    Stream,
    Topology,
)
from trident.base.errors import ConfigurationError, TridentError
from trident.coordinators.options import Until
from trident.spouts import AckingSpout, FixedBatchSpout
from trident.state import SqliteState, SqliteTable

IDS = [f"m{n}" for n in range(5, 14)]
BAD = {"m6", "m7", "m11"}


@pytest.fixture
def queue(tmp_path: Path) -> FileQueue:
    queue = FileQueue(tmp_path / "queue.sqlite")
    queue.put(IDS)
    return queue


def run(
    spark: SparkSession, folder: Path, spout: AckingSpout, build: Callable[[Stream], Stream], options: RunOptions
) -> Counter[str]:
    """Run until all is there; returns how often each text is in the table."""
    made = Topology("trees")
    build(made.stream("messages", spout)).project("text").to_table(SqliteTable("texts"))
    made.run(spark, ledger=SqliteLedger(folder / "ledger.sqlite"), options=options)
    with sqlite3.connect(folder / "ledger.sqlite") as connection:
        return Counter(text for (text,) in connection.execute("SELECT text FROM texts"))


def judge(record: InputRecord, collector: Collector) -> None:
    """Fails what is bad behind its first row; a row that it made of it must be in no result."""
    collector.emit((f"{record['account']}.1",), anchors=[record])
    if record["account"] in BAD:
        collector.fail(record, "bad")
        return
    collector.emit((f"{record['account']}.2",), anchors=[record])
    collector.ack(record)


def twice(ids: set[str]) -> Counter[str]:
    return Counter(f"{id_}.{n}" for id_ in ids for n in (1, 2))


def by(function: Callable[[InputRecord, Collector], object]) -> Callable[[Stream], Stream]:
    return lambda stream: stream.process(function, "text string")


PAUSE = timedelta(milliseconds=1)
OPTIONS = RunOptions(until=Until.CAUGHT_UP, retry_pause=PAUSE)


@pytest.mark.parametrize("audit", [Audit.OFF, pytest.param(Audit.ON, marks=pytest.mark.verify)])
def test_messages_that_an_operation_fails_go_back_and_all_others_are_in_the_result_once(
    spark: SparkSession, tmp_path: Path, queue: FileQueue, audit: Audit
) -> None:
    options = RunOptions(until=Until.CAUGHT_UP, retry_pause=PAUSE, audit=audit)
    found = run(
        spark, tmp_path, LimitedQueueSpout(queue.path), lambda each: each.process(judge, "text string"), options
    )
    assert found == twice(set(IDS) - BAD)
    assert Counter(queue.said("ack")) == Counter(set(IDS) - BAD)
    assert Counter(queue.said("fail")) == Counter([*BAD, *BAD])
    assert queue.left() == []


def leave(record: InputRecord, collector: Collector) -> None:
    collector.emit((record["account"],), anchors=[record])
    if record["account"] not in BAD:
        collector.ack(record)


def test_messages_that_an_operation_never_acks_go_back(
    spark: SparkSession, tmp_path: Path, queue: FileQueue, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        found = run(
            spark, tmp_path, LimitedQueueSpout(queue.path), lambda each: each.process(leave, "text string"), OPTIONS
        )
    assert found == Counter(set(IDS) - BAD)
    assert Counter(queue.said("fail")) == Counter([*BAD, *BAD])
    assert any("that were left without an ack" in record.getMessage() for record in caplog.records)


def anchored(record: InputRecord, collector: Collector) -> None:
    collector.emit((record["account"],), anchors=[record])
    collector.ack(record)


def unanchored(record: InputRecord, collector: Collector) -> None:
    collector.emit((record["account"],))
    collector.ack(record)


def leave_out(record: InputRecord, collector: Collector) -> None:
    """Makes nothing of what is bad, and does not ack it."""
    if record["account"] not in BAD:
        collector.emit((record["account"],), anchors=[record])
        collector.ack(record)


@pytest.mark.parametrize(("first", "failed"), [(anchored, BAD), (unanchored, set[str]())])
def test_only_what_is_anchored_holds_its_message(
    spark: SparkSession,
    tmp_path: Path,
    queue: FileQueue,
    first: Callable[[InputRecord, Collector], None],
    failed: set[str],
) -> None:
    """One of Storm's conditions of at least once: what an unanchored row meets is lost with it, since it was acked."""
    spout = LimitedQueueSpout(queue.path)
    found = run(spark, tmp_path, spout, lambda each: by(leave_out)(each.process(first, "account string")), OPTIONS)
    assert found == Counter(set(IDS) - BAD)
    assert Counter(queue.said("fail")) == Counter([*failed, *failed])
    assert Counter(queue.said("ack")) == Counter(set(IDS) - failed)


class Late:
    """Acks at the end of its task, but for what is bad; and once more, which changes nothing."""

    def __init__(self) -> None:
        self.kept: list[InputRecord] = []

    def __call__(self, record: InputRecord, collector: Collector) -> None:
        self.kept.append(record)

    def finish(self, collector: Collector) -> None:
        for record in self.kept:
            collector.emit((record["account"],), anchors=[record])
            (collector.fail if record["account"] in BAD else collector.ack)(record)
            collector.ack(record)


def test_acks_may_be_late_and_a_second_one_is_told_and_changes_nothing(
    spark: SparkSession, tmp_path: Path, queue: FileQueue, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        found = run(
            spark, tmp_path, LimitedQueueSpout(queue.path), lambda each: each.process(Late(), "text string"), OPTIONS
        )
    assert found == Counter(set(IDS) - BAD)
    told = [record.getMessage() for record in caplog.records]
    assert any("acked a record that had been acked" in text for text in told)
    assert any("acked a record that had been failed" in text for text in told)


def fail_group(record: InputRecord, collector: Collector) -> None:
    collector.emit((record["half"],))
    (collector.fail if record["half"] == "low" else collector.ack)(record)


def test_a_group_that_fails_fails_every_message_that_it_was_made_of(
    spark: SparkSession, tmp_path: Path, queue: FileQueue, caplog: pytest.LogCaptureFixture
) -> None:
    low = {id_ for id_ in IDS if len(id_) == 2}

    def build(stream: Stream) -> Stream:
        halves = stream.each(half=F.when(F.length("account") == 2, "low").otherwise("high"))
        groups = halves.filter(F.col("account") != "m13").group_by("half").aggregate(n=Count())
        return groups.process(fail_group, "text string")

    with caplog.at_level(logging.WARNING):
        found = run(spark, tmp_path, LimitedQueueSpout(queue.path), build, OPTIONS)
    assert set(found) == {"high"}
    assert any(f"{len(low)} that an operation has failed" in record.getMessage() for record in caplog.records)
    assert set(queue.said("fail")) == low
    assert set(queue.said("ack")) == set(IDS) - low


def fail_b(record: InputRecord, collector: Collector) -> None:
    collector.emit((record["key"],), anchors=[record])
    (collector.fail if record["key"] == "b" else collector.ack)(record)


@pytest.mark.verify
def test_a_row_of_a_join_is_of_the_messages_of_both_its_sides(spark: SparkSession, tmp_path: Path) -> None:
    """The rows behind go two ways and meet again: what was said of messages comes once, and is heard behind a merge."""
    queue = FileQueue(tmp_path / "queue.sqlite")
    queue.put(["a1", "b1", "c1", "a2", "b2"])

    def build(stream: Stream) -> Stream:
        halves = stream.each(key=F.substring("account", 1, 1), side=F.substring("account", 2, 1))
        left, right = (halves.filter(F.col("side") == side).project("key") for side in "12")
        joined = left.join(right, on="key").process(fail_b, "text string")
        return joined.merge(joined.filter(F.col("text") == "a"))

    spout = LimitedQueueSpout(queue.path)
    assert run(spark, tmp_path, spout, build, OPTIONS) == Counter({"a": 2})
    assert Counter(queue.said("fail")) == Counter({"b1": 2, "b2": 2})
    assert set(queue.said("ack")) == {"a1", "c1", "a2"}


def test_without_ackers_what_an_operation_says_of_messages_counts_for_nothing(
    spark: SparkSession, tmp_path: Path, queue: FileQueue
) -> None:
    options = RunOptions(until=Until.CAUGHT_UP, ackers=0)
    found = run(spark, tmp_path, FileQueueSpout(queue.path), by(leave), options)
    assert (found, queue.left(), queue.said("fail")) == (Counter(IDS), [], [])


def test_a_record_of_no_message_can_t_be_failed(spark: SparkSession, tmp_path: Path) -> None:
    made = Topology("no_messages")
    stream = made.stream("rows", FixedBatchSpout("account string", [("m6",)]))
    stream.process(judge, "text string").to_table(SqliteTable("texts"))
    with pytest.raises(TridentError, match="failed a record that is of no message"):
        made.run(spark, ledger=SqliteLedger(tmp_path / "ledger.sqlite"), options=OPTIONS)


def test_a_record_that_is_failed_in_the_turn_is_not_left_out_in_silence(spark: SparkSession, tmp_path: Path) -> None:
    made = Topology("in_the_turn")
    stream = made.stream("rows", FixedBatchSpout("account string", [("m5",), ("m6",)]))
    kept = stream.group_by("account").persistent_aggregate(SqliteState("counts"), n=Count())
    stream.state_query(kept, MapGet()).process(judge, "text string").to_table(SqliteTable("texts"))
    with pytest.raises(TridentError, match="failed a record that is of no message"):
        made.run(spark, ledger=SqliteLedger(tmp_path / "ledger.sqlite"), options=OPTIONS)


def acks_twice(record: InputRecord, collector: Collector) -> None:
    collector.emit(str(record["account"]))
    collector.ack(record)
    collector.ack(record)


def test_a_second_ack_in_the_turn_is_said_in_the_log(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = Topology("in_the_turn")
    stream = made.stream("rows", FixedBatchSpout("account string", [("m5",), ("m6",)]))
    kept = stream.group_by("account").persistent_aggregate(SqliteState("counts"), n=Count())
    stream.state_query(kept, MapGet()).process(acks_twice, "text string").to_table(SqliteTable("texts"))
    with caplog.at_level(logging.WARNING):
        made.run(spark, ledger=SqliteLedger(tmp_path / "ledger.sqlite"), options=OPTIONS)
    assert any(
        "acked a record" in record.getMessage() and "2 times" in record.getMessage() for record in caplog.records
    )


@pytest.mark.parametrize("audit", Audit)
def test_messages_that_are_dealt_out_in_turn_are_known_behind_it(
    spark: SparkSession, tmp_path: Path, queue: FileQueue, audit: Audit
) -> None:
    """Storm's commonest pair: a source, its shuffle grouping, and what looks after acks."""
    options = RunOptions(until=Until.CAUGHT_UP, audit=audit, retry_pause=PAUSE)

    def build(stream: Stream) -> Stream:
        return stream.parallelism(3).shuffle().process(judge, "text string")

    assert run(spark, tmp_path, LimitedQueueSpout(queue.path), build, options) == twice(set(IDS) - BAD)
    assert Counter(queue.said("ack")) == Counter(set(IDS) - BAD)
    assert Counter(queue.said("fail")) == Counter([*BAD, *BAD])


class Impatient(FileQueueSpout):
    """Any attempt takes longer than its messages may."""

    message_timeout = timedelta(microseconds=1)


def test_a_bad_message_of_one_stream_gives_none_of_another_one_back(
    spark: SparkSession, tmp_path: Path, queue: FileQueue
) -> None:
    others = FileQueue(tmp_path / "others.sqlite")
    others.put(["a", "b", "c"])
    made = Topology("trees")
    made.stream("others", Impatient(others.path)).to_table(SqliteTable("others"))
    messages = made.stream("messages", LimitedQueueSpout(queue.path)).process(judge, "text string")
    messages.to_table(SqliteTable("texts"))
    made.run(spark, ledger=SqliteLedger(tmp_path / "ledger.sqlite"), options=OPTIONS)
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        assert sorted(connection.execute("SELECT account FROM others")) == [("a",), ("b",), ("c",)]
        assert Counter(text for (text,) in connection.execute("SELECT text FROM texts")) == twice(set(IDS) - BAD)
    assert (others.said("fail"), queue.said("fail") != []) == ([], True)


def test_what_does_not_say_of_which_messages_its_rows_are_is_refused_before_a_collector(
    spark: SparkSession, queue: FileQueue
) -> None:
    made = Topology("refused")
    stream = made.stream("messages", FileQueueSpout(queue.path))
    kept = stream.group_by("account").persistent_aggregate(SqliteState("counts"), n=Count())
    with pytest.raises(ConfigurationError, match="process can't stand behind what asks a state"):
        stream.state_query(kept, MapGet()).process(judge, "text string")
