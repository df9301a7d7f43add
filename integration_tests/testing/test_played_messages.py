"""`TopologyTest` over a queue: a record is a message, and what `process` says of it counts as in production."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spouts.queue.file_queue import FileQueueSpout
from trident import Collector, ConfigurationError, Count, InputRecord, Level, Topology, TridentError
from trident.spouts import Failure, FixedBatchSpout
from trident.state import PostgresState, PostgresTable, SqliteState
from trident.testing import CrashPoint, Death, FailedRecord, TopologyTest, check_exactly_once
from trident.testing.playing import Deaths, Rows

NOWHERE = Path("/nowhere/queue.sqlite")
DSN = "postgresql://nobody@127.0.0.1:9/none"

Judge = Callable[[InputRecord, Collector], object]


def judge(record: InputRecord, collector: Collector) -> None:
    """Fails what is bad behind its row, which must be in no result."""
    collector.emit((record["account"],), anchors=[record])
    if record["account"] == "bad":
        collector.fail(record, "bad")
    else:
        collector.ack(record)


def leave(record: InputRecord, collector: Collector) -> None:
    collector.emit((record["account"],), anchors=[record])


def judged(function: Judge, level: Level = Level.EXACTLY_ONCE) -> Topology:
    made = Topology("judged", level=level)
    stream = made.stream("messages", FileQueueSpout(NOWHERE)).process(function, "account string").group_by("account")
    stream.persistent_aggregate(SqliteState("counts"), n=Count())
    return made


def counts(test: TopologyTest) -> dict[object, object]:
    return {row["account"]: row["n"] for row in test.rows("counts")}


BAD = FailedRecord(("bad",), Failure.OPERATION)


@pytest.mark.parametrize("level", [Level.EXACTLY_ONCE, Level.AT_LEAST_ONCE])
def test_a_message_that_fails_is_told_and_in_no_result(spark: SparkSession, level: Level) -> None:
    with TopologyTest(judged(judge, level), spark) as test:
        done = test.batch({"messages": [("ann",), ("bad",), {"account": "bad"}, ("bob",)]})
        assert (done.txid, done.tries) == (1, 1), "it is no try of the others"
        assert done.failed == {"messages": (BAD, FailedRecord({"account": "bad"}, Failure.OPERATION))}
        assert done.records == {"messages": (("ann",), ("bob",))}
        assert counts(test) == {"ann": 1, "bob": 1}
        done = test.batch({"messages": [("ann",)]})
        assert (done.failed, done.records) == ({}, {"messages": (("ann",),)}), "it is not given again by itself"
        assert counts(test) == {"ann": 2, "bob": 1}


def test_a_message_that_failed_may_be_given_again(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "mended"

    def judge_for_now(record: InputRecord, collector: Collector) -> None:
        collector.emit((record["account"],), anchors=[record])
        if file.exists():
            collector.ack(record)
        else:
            collector.fail(record, "not yet")

    with TopologyTest(judged(judge_for_now), spark) as test:
        done = test.batch({"messages": [("ann",)]})
        assert (done.txid, done.tries, done.records) == (None, 0, {"messages": ()})
        file.touch()
        again = test.batch({"messages": [failed.record for failed in done.failed["messages"]]})
        assert (again.txid, again.failed, counts(test)) == (1, {}, {"ann": 1})


def test_what_is_left_without_an_ack_is_in_no_result(spark: SparkSession) -> None:
    with TopologyTest(judged(leave), spark) as test:
        for _ in range(2):
            done = test.batch({"messages": [("ann",)]})
            assert (done.txid, done.failed) == (None, {"messages": (FailedRecord(("ann",), Failure.NOT_ACKED),)})
            assert counts(test) == {}


def test_a_row_of_several_messages_fails_them_all(spark: SparkSession) -> None:
    made = Topology("groups")
    groups = made.stream("messages", FileQueueSpout(NOWHERE)).group_by("account").aggregate(n=Count())
    groups.process(judge, "account string").to_table(PostgresTable("seen", dsn=DSN))
    with TopologyTest(made, spark) as test:
        assert test.batch({"messages": [("bad",), ("ann",), ("bad",)]}).failed == {"messages": (BAD, BAD)}
        assert test.rows("seen") == [{"account": "ann"}]


def test_at_most_once_what_is_said_of_messages_counts_for_nothing(spark: SparkSession) -> None:
    with TopologyTest(judged(judge, Level.AT_MOST_ONCE), spark) as test:
        done = test.batch({"messages": [("ann",), ("bad",)]})
        assert (done.failed, done.records) == ({}, {"messages": (("ann",), ("bad",))})
        assert counts(test) == {"ann": 1, "bad": 1}


def test_a_record_of_another_stream_can_not_be_failed(spark: SparkSession) -> None:
    made = Topology("records")
    stream = made.stream("records", FixedBatchSpout("account string", [])).process(judge, "account string")
    stream.to_table(PostgresTable("seen"))
    with TopologyTest(made, spark) as test:
        assert test.batch({"records": [("ann",)]}).failed == {}
        with pytest.raises(TridentError, match="no message"):
            test.batch({"records": [("bad",)]})


def both() -> Topology:
    """Messages, and records of a transactional stream, in one state."""
    made = Topology("both")
    messages = made.stream("messages", FileQueueSpout(NOWHERE)).process(judge, "account string")
    records = made.stream("records", FixedBatchSpout("account string", []))
    messages.merge(records).group_by("account").persistent_aggregate(PostgresState("counts", dsn=DSN), n=Count())
    return made


def test_other_streams_keep_what_they_have_in_the_batch(spark: SparkSession) -> None:
    with TopologyTest(both(), spark) as test:
        done = test.batch({"messages": [("bad",)], "records": [("bad",), ("ann",)]})
        assert (done.txid, done.failed) == (1, {"messages": (BAD,)})
        assert done.records == {"messages": (), "records": (("bad",), ("ann",))}
        assert counts(test) == {"bad": 1, "ann": 1}


def test_a_batch_of_which_all_has_failed_leaves_a_planned_txid(spark: SparkSession) -> None:
    rows: Rows = {"messages": [("ann",)], "records": [("bob",)]}
    with TopologyTest(both(), spark) as test:
        assert test.batch({"messages": [("bad",)]}).txid is None
        with pytest.raises(ConfigurationError, match=r"nothing was left of the batch before.*would become two txids"):
            test.batch(rows)
        assert test.batch({"messages": [("ann",)]}).txid == 1
        assert test.batch(rows).txid == 2
        assert counts(test) == {"ann": 2, "bob": 1}


DEATHS: list[Deaths] = [
    CrashPoint.AFTER_PLAN,
    Death(CrashPoint.BEFORE_PLAN, time=2),
    Death(CrashPoint.READING, time=2),
    CrashPoint.IN_PIN_TRANSACTION,
    [CrashPoint.READING, Death(CrashPoint.AFTER_PLAN, time=2), CrashPoint.AFTER_DONE],
]


@pytest.mark.parametrize("dies_at", DEATHS, ids=str)
def test_what_fails_is_told_once_wherever_a_coordinator_dies(spark: SparkSession, dies_at: Deaths) -> None:
    with TopologyTest(judged(judge), spark) as test:
        done = test.batch({"messages": [("bad",), ("ann",)]}, dies_at=dies_at)
        assert (done.records, done.failed) == ({"messages": (("ann",),)}, {"messages": (BAD,)})
        assert counts(test) == {"ann": 1}


@pytest.mark.parametrize(
    ("dies_at", "holds", "failed"),
    [
        (CrashPoint.READING, (("bob",),), 1),
        (Death(CrashPoint.AFTER_PLAN, time=2), (("bob",),), 2),
        (CrashPoint.AFTER_DONE, (("ann",),), 1),
    ],
)
def test_messages_that_a_batch_is_retried_with_are_others(
    spark: SparkSession, dies_at: CrashPoint | Death, holds: tuple[object, ...], failed: int
) -> None:
    others: Rows = {"messages": [("bob",), ("bad",)]}
    with TopologyTest(judged(judge), spark) as test:
        done = test.batch({"messages": [("bad",), ("ann",)]}, dies_at=dies_at, retried_with=others)
        assert (done.records, done.failed) == ({"messages": holds}, {"messages": (BAD,) * failed})


def test_every_border_is_played_with_messages_that_fail(spark: SparkSession) -> None:
    batches: list[Rows] = [{"messages": [("bad",), ("ann",)]}]
    others: list[Rows] = [{"messages": [("bob",), ("bad",)]}]
    deaths = check_exactly_once(judged(judge), spark, batches, retried_with=others)
    assert {Death(CrashPoint.AFTER_PLAN, time=time) for time in (1, 2)} <= set(deaths)


def test_what_fails_by_more_than_its_record_is_found(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "calls"

    def moody(record: InputRecord, collector: Collector) -> None:
        with file.open("a") as calls:
            calls.write(".")
        collector.emit((record["account"],), anchors=[record])
        if file.stat().st_size > 1:  # the run without a death is the first one
            collector.fail(record, "not now")
        else:
            collector.ack(record)

    with pytest.raises(AssertionError, match=r"'counts' does not hold the same after a death"):
        check_exactly_once(judged(moody), spark, [{"messages": [("ann",)]}])
