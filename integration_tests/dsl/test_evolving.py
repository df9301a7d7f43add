"""Versions of a topology, as users write them: aggregates in another order, and more of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from trident import Count, Max, Mean, SqliteLedger, StdDev, Sum, Topology
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import ConfigurationError, MismatchError
from trident.language.grouped import GroupedStream
from trident.language.trident_state import TridentState
from trident.spouts import FixedBatchSpout
from trident.state import SqliteState, SqliteTable

PAYMENTS = [("ann", 5), ("bob", 7), ("ann", -2), ("bob", 1), ("ann", 10), ("cat", 3), ("cat", 4), ("ann", 1)]


class _Died(BaseException):
    pass


def version(
    folder: Path, rows: Sequence[tuple[str, int]], keep: Callable[[GroupedStream, SqliteState], TridentState]
) -> Topology:
    topology = Topology("payments")
    spout = FixedBatchSpout("account string, amount bigint", rows, max_records_per_batch=2, kind="opaque")
    stream = topology.stream("payments", spout)
    kept = keep(stream.group_by("account"), SqliteState("balances", path=folder / "balances.sqlite"))
    kept.new_values().project("account", "total").to_table(SqliteTable("changes"))
    return topology


def run(spark: SparkSession, folder: Path, topology: Topology) -> None:
    topology.run(spark, ledger=SqliteLedger(folder / "ledger.sqlite"), until="caught_up")


def balances(folder: Path, columns: str) -> dict[str, tuple[object, ...]]:
    with sqlite3.connect(folder / "balances.sqlite") as connection:
        return {row[0]: row[1:] for row in connection.execute(f"SELECT account, {columns} FROM balances")}


def test_a_version_with_more_aggregates_in_another_order_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    def first(stream: GroupedStream, state: SqliteState) -> TridentState:
        return stream.persistent_aggregate(state, n=Count(), total=Sum("amount"))

    def turned(stream: GroupedStream, state: SqliteState) -> TridentState:
        return stream.persistent_aggregate(state, total=Sum("amount"), n=Count())

    def grown(stream: GroupedStream, state: SqliteState) -> TridentState:
        return stream.persistent_aggregate(
            state, most=Max("amount"), mean=Mean("amount"), total=Sum("amount"), n=Count()
        )

    def die(point: CrashPoint, txid: int) -> None:
        if point is CrashPoint.AFTER_PIN and txid == 2:
            raise _Died

    with armed(die), pytest.raises(_Died):
        run(spark, tmp_path, version(tmp_path, PAYMENTS[:6], first))
    run(spark, tmp_path, version(tmp_path, PAYMENTS[:6], turned))
    assert balances(tmp_path, "n, total") == {"ann": (3, 13), "bob": (2, 8), "cat": (1, 3)}
    run(spark, tmp_path, version(tmp_path, PAYMENTS, grown))
    assert balances(tmp_path, "n, total, most") == {"ann": (4, 14, 1), "bob": (2, 8, None), "cat": (2, 7, 4)}
    with pytest.raises(MismatchError, match="can't go back to this version: state 'balances' has 'm"):
        run(spark, tmp_path, version(tmp_path, PAYMENTS, first))
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        changes = connection.execute("SELECT account, total FROM changes ORDER BY rowid").fetchall()
    assert sorted(changes) == sorted(
        [("ann", 5), ("bob", 7), ("ann", 3), ("bob", 8), ("ann", 13), ("cat", 3), ("cat", 7), ("ann", 14)]
    )


def test_a_result_that_would_be_made_of_a_column_that_is_there_and_a_new_one_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A deviation keeps what a mean does, and the squares: those of what comes after, beside the sum of everything."""

    def mean(stream: GroupedStream, state: SqliteState) -> TridentState:
        return stream.persistent_aggregate(state, total=Sum("amount"), spread=Mean("amount"))

    def deviation(stream: GroupedStream, state: SqliteState) -> TridentState:
        return stream.persistent_aggregate(state, total=Sum("amount"), spread=StdDev("amount"))

    run(spark, tmp_path, version(tmp_path, PAYMENTS[:2], mean))
    with pytest.raises(ConfigurationError, match="'spread' is made of it and of 'spread_sum', 'spread_count', which"):
        run(spark, tmp_path, version(tmp_path, PAYMENTS, deviation))
    run(spark, tmp_path, version(tmp_path, PAYMENTS[:4], mean))
    assert balances(tmp_path, "total, spread_sum, spread_count") == {"ann": (3, 3, 2), "bob": (8, 8, 2)}
