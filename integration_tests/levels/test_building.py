"""What can't be had at a weaker level is said when the topology is built, in words that name the thing."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import pytest
from pyspark.sql import SparkSession

from integration_tests.dsl.fakes import UnopenedState, rows_spout
from trident import (
    ConfigurationError,
    Count,
    Level,
    MapGet,
    MemoryLedger,
    Staging,
    StateChanges,
    StateUpdater,
    Sum,
    Topology,
    undo,
)
from trident.language.stream import Stream
from trident.state import MemoryState, PostgresTable, SqliteState
from trident.testing import TopologyTest

WEAKER = (Level.AT_LEAST_ONCE, Level.AT_MOST_ONCE)
FIELDS = "account string, amount bigint"


class Newest(StateUpdater):
    values: ClassVar[str] = "amount bigint"

    def update(self, stored: object, rows: object) -> StateChanges:
        raise AssertionError("nothing is run")


def counted(stream: Stream) -> object:
    return stream.group_by("account").persistent_aggregate(MemoryState("sums"), n=Count())


REFUSED: dict[str, tuple[Callable[[Stream], object], str]] = {
    "new values": (
        lambda s: s.group_by("account").persistent_aggregate(MemoryState("sums"), n=Count()).new_values(),
        "new values of state 'sums'",
    ),
    "a query": (
        lambda s: s.state_query(
            s.group_by("account").persistent_aggregate(MemoryState("sums"), n=Count()), MapGet("account")
        ),
        "what is stored in state 'sums'",
    ),
    "an updater": (
        lambda s: s.partition_persist(MemoryState("newest"), Newest(), key="account"),
        "what is stored in state 'newest'",
    ),
    "a state of another kind": (
        lambda s: s.group_by("account").persistent_aggregate(UnopenedState("own"), n=Count()),
        "state 'own' (UnopenedState)",
    ),
    "an upsert": (
        lambda s: s.to_table(PostgresTable("paid"), write="upsert", key="account"),
        "write='upsert'",
    ),
}


def stream_at(level: Level | str) -> Stream:
    return Topology("t", level=level).stream("payments", rows_spout(FIELDS, [("ann", 1), ("bob", 2), ("ann", 3)]))


@pytest.mark.parametrize("level", WEAKER)
@pytest.mark.parametrize("what", REFUSED)
def test_what_stands_at_a_txid_is_refused(spark: SparkSession, level: Level, what: str) -> None:
    build, named = REFUSED[what]
    with pytest.raises(ConfigurationError, match="can't be had at level at_least_once or at_most_once") as caught:
        build(stream_at(level))
    assert named in str(caught.value)


@pytest.mark.parametrize("what", REFUSED)
def test_at_the_first_level_it_is_taken(spark: SparkSession, what: str) -> None:
    REFUSED[what][0](stream_at(Level.EXACTLY_ONCE))


@pytest.mark.parametrize("level", WEAKER)
def test_explain_says_the_level(spark: SparkSession, level: Level) -> None:
    stream = stream_at(level.value)
    counted(stream)
    stream.to_table(PostgresTable("paid"))
    said = stream._topology.explain()
    assert f"level {level}, not exactly_once: {level.not_promised}" in said
    assert f"every record {level.replace('_', ' ')}" in said
    assert "once per txid" not in said
    assert "level" not in stream_at(Level.EXACTLY_ONCE)._topology.explain()


@pytest.mark.parametrize("level", Level)
def test_without_servers_each_record_counts_once(spark: SparkSession, level: Level) -> None:
    stream, ledger = stream_at(level), MemoryLedger()
    stream.group_by("account").persistent_aggregate(MemoryState("sums"), n=Count(), total=Sum("amount"))
    summary = stream._topology.run(spark, ledger=ledger, until="caught_up")
    assert (summary.batches, summary.lost) == (1, 0)
    found = {tuple(row.values()) for row in MemoryState("sums").rows(ledger.database)}
    assert found == {("ann", 2, 4), ("bob", 1, 2)}


def test_at_most_once_no_task_writes(spark: SparkSession) -> None:
    stream = stream_at(Level.AT_MOST_ONCE)
    counted(stream)
    with pytest.raises(ConfigurationError, match="Spark may run a task again that has written"):
        stream._topology.run(spark, ledger=MemoryLedger(), staging=Staging.EXECUTORS)


@pytest.mark.parametrize("level", WEAKER)
def test_nothing_is_undone(spark: SparkSession, level: Level) -> None:
    stream = stream_at(level)
    counted(stream)
    with pytest.raises(ConfigurationError, match="no txid waits for a person"):
        undo(stream._topology, MemoryLedger(), txid=1)


@pytest.mark.parametrize("level", WEAKER)
def test_a_test_plays_what_it_does_and_not_what_a_death_does(spark: SparkSession, level: Level) -> None:
    stream = stream_at(level)
    stream.group_by("account").persistent_aggregate(SqliteState("sums"), n=Count())
    with TopologyTest(stream._topology, spark) as test:
        test.batch({"payments": [("ann", 1), ("ann", 2)]})
        assert test.rows("sums") == [{"account": "ann", "n": 2}]
        with pytest.raises(ConfigurationError, match="a test plays batches exactly once"):
            test.batch({"payments": [("ann", 1)]}, dies_at="in the commit turn")
