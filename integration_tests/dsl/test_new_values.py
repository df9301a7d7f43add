"""New values and queries, for real: what they show is what the states hold before and after each txid."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from trident import Combiner, Count, MapGet, Max, MemoryLedger, SnapshotGet, SqliteLedger, Sum, Topology, TridentState
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import ConfigurationError, FieldError
from trident.language.stream import Stream
from trident.spouts import FixedBatchSpout
from trident.state import MemoryState, SqliteState, SqliteTable

PAYMENTS: list[tuple[str | None, int]] = [
    ("ann", 5), ("bob", 7), ("ann", -2), (None, 1), ("bob", 1), ("ann", 10), ("cat", 3), (None, 4), ("ann", 1),
]  # fmt: skip
FIELDS = "account string, amount bigint"
Row = tuple[object, ...]


def batches(size: int = 2) -> list[list[tuple[str | None, int]]]:
    return [PAYMENTS[start : start + size] for start in range(0, len(PAYMENTS), size)]


def payments(name: str = "t", size: int = 2) -> tuple[Topology, Stream]:
    topology = Topology(name)
    spout = FixedBatchSpout(FIELDS, PAYMENTS, max_records_per_batch=size, kind="opaque")
    return topology, topology.stream("payments", spout)


def rows(file: Path, table: str) -> list[Row]:
    with sqlite3.connect(file) as connection:
        return connection.execute(f"SELECT * FROM {table}").fetchall()


def expected_changes() -> list[Row]:
    """Key, total after and before, in the order of txids."""
    totals: dict[str | None, int] = {}
    changes: list[Row] = []
    for batch in batches():
        before = dict(totals)
        for account, amount in batch:
            totals[account] = totals.get(account, 0) + amount
        changes += [(key, totals[key], before.get(key)) for key in {account: None for account, _ in batch}]
    return changes


def with_changes(file: Path, apart: Path | None = None) -> Topology:
    topology, stream = payments()
    totals = stream.group_by("account").persistent_aggregate(SqliteState("totals", path=apart), total=Sum("amount"))
    totals.new_values(previous=True).to_table(SqliteTable("changes", path=apart))
    return topology


@pytest.mark.parametrize("is_apart", [False, True])
def test_new_values_are_what_the_state_holds_after_and_before_each_txid(
    spark: SparkSession, tmp_path: Path, is_apart: bool
) -> None:
    file = tmp_path / "ledger.sqlite"
    apart = tmp_path / "apart.sqlite" if is_apart else None
    with_changes(file, apart).run(spark, ledger=SqliteLedger(file), until="caught_up")
    assert sorted(rows(apart or file, "changes"), key=repr) == sorted(expected_changes(), key=repr)


class _DeathError(Exception):
    pass


_ANYWHERE = (CrashPoint.BEFORE_TURN_WORK, CrashPoint.AFTER_TURN_WORK)
_STEP_BY_STEP = (
    CrashPoint.BEFORE_PIN,
    CrashPoint.AFTER_PIN,
    CrashPoint.IN_APPLY,
    CrashPoint.AFTER_APPLY,
    CrashPoint.BEFORE_DONE,
)


@pytest.mark.parametrize(
    ("is_apart", "point"),
    [(False, point) for point in (*_ANYWHERE, CrashPoint.IN_PIN_TRANSACTION)]
    + [(True, point) for point in (*_ANYWHERE, *_STEP_BY_STEP)],
)
def test_a_run_that_dies_in_its_turn_shows_each_change_once(
    spark: SparkSession, tmp_path: Path, is_apart: bool, point: CrashPoint
) -> None:
    file = tmp_path / "ledger.sqlite"
    apart = tmp_path / "apart.sqlite" if is_apart else None

    def die(reached: CrashPoint, txid: int) -> None:
        if reached is point and txid == 3:
            raise _DeathError

    with armed(die), pytest.raises(_DeathError):
        with_changes(file, apart).run(spark, ledger=SqliteLedger(file), until="caught_up")
    with_changes(file, apart).run(spark, ledger=SqliteLedger(file), until="caught_up")
    assert sorted(rows(apart or file, "changes"), key=repr) == sorted(expected_changes(), key=repr)


def test_a_failure_of_the_work_in_the_turn_is_tried_again(spark: SparkSession, tmp_path: Path) -> None:
    marker, file = tmp_path / "failed", tmp_path / "ledger.sqlite"

    def fail_once(row: dict[str, object]) -> bool:
        if not marker.exists():
            marker.touch()
            raise OSError("once")
        return True

    topology, stream = payments()
    totals = stream.group_by("account").persistent_aggregate(SqliteState("totals"), total=Sum("amount"))
    totals.new_values(previous=True).filter_row(fail_once).to_table(SqliteTable("changes"))
    topology.run(spark, ledger=SqliteLedger(file), until="caught_up")
    assert sorted(rows(file, "changes"), key=repr) == sorted(expected_changes(), key=repr)
    with sqlite3.connect(file) as connection:
        assert max(tries for (tries,) in connection.execute("SELECT tries FROM trident_commit")) == 2


def test_a_state_of_new_values_and_one_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    """How often each account changed, and how often each such count was reached."""
    file = tmp_path / "ledger.sqlite"
    topology, stream = payments()
    totals = stream.group_by("account").persistent_aggregate(SqliteState("totals"), total=Sum("amount"))
    changed = totals.new_values().group_by("account").persistent_aggregate(SqliteState("changed"), times=Count())
    changed.new_values().group_by("times").persistent_aggregate(SqliteState("reached"), n=Count())
    topology.run(spark, ledger=SqliteLedger(file), until="caught_up")
    times: dict[object, int] = defaultdict(int)
    reached: dict[int, int] = defaultdict(int)
    for key, _, _ in expected_changes():
        times[key] += 1
        reached[times[key]] += 1
    assert {(row[0], row[1]) for row in rows(file, "changed")} == set(times.items())
    assert {(row[0], row[1]) for row in rows(file, "reached")} == set(reached.items())


def test_a_plain_stream_is_merged_and_joined_with_one_that_waits_for_the_turn(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Storm's Trident deadlocks here."""
    file = tmp_path / "ledger.sqlite"
    topology, stream = payments()
    totals = stream.group_by("account").persistent_aggregate(SqliteState("totals"), total=Sum("amount"))
    new = totals.new_values()
    new.merge(stream, fields=["account", "number"]).to_table(SqliteTable("merged"))
    stream.join(new, on="account").to_table(SqliteTable("joined"))
    topology.run(spark, ledger=SqliteLedger(file), until="caught_up")
    changes = [(key, after) for key, after, _ in expected_changes()]
    assert sorted(rows(file, "merged"), key=repr) == sorted([*changes, *PAYMENTS], key=repr)
    joined: list[Row] = []
    totals_now: dict[str | None, int] = defaultdict(int)
    for batch in batches():
        for account, amount in batch:
            totals_now[account] += amount
        joined += [(account, amount, totals_now[account]) for account, amount in batch]
    assert sorted(rows(file, "joined"), key=repr) == sorted(joined, key=repr)


def test_a_record_is_shown_what_was_there_before_its_txid(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    topology, stream = payments()
    totals = stream.group_by("account").persistent_aggregate(SqliteState("totals"), total=Sum("amount"), n=Count())
    everything = stream.persistent_aggregate(SqliteState("everything"), most=Max("amount"))
    asked = stream.state_query(totals, MapGet()).rename(account="who").state_query(everything, SnapshotGet())
    assert asked.fields == ("who", "amount", "total", "n", "most")
    asked.to_table(SqliteTable("asked"))
    topology.run(spark, ledger=SqliteLedger(file), until="caught_up")
    expected: list[Row] = []
    seen: list[tuple[str | None, int]] = []
    for batch in batches():
        for account, amount in batch:
            mine = [each for key, each in seen if key == account]
            most = max((each for _, each in seen), default=None)
            expected.append((account, amount, sum(mine) if mine else None, len(mine) or None, most))
        seen += batch
    assert sorted(rows(file, "asked"), key=repr) == sorted(expected, key=repr)


class Joined(Combiner[str]):
    result_type = "string"

    def init(self, *values: object) -> str:
        return str(values[0])

    def combine(self, left: str, right: str) -> str:
        return "".join(sorted(left + right))


def test_a_combiners_new_values_and_a_state_in_memory(spark: SparkSession) -> None:
    ledger = MemoryLedger()
    topology, stream = payments()
    digits = stream.each(digit=F.substring(F.col("amount").cast("string"), -1, 1)).group_by("account")
    state = digits.persistent_aggregate(MemoryState("digits"), all=Joined("digit"))
    longest = MemoryState("longest")
    state.new_values().group_by("account").persistent_aggregate(longest, longest=Max("all"))
    topology.run(spark, ledger=ledger, until="caught_up")
    found = {row["account"]: row["longest"] for row in longest.rows(ledger.database)}
    assert found[None] == "14"
    assert found["cat"] == "3"


def test_decimals_and_several_keys(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    data = [("a", 1, Decimal("0.10")), ("a", 1, Decimal("0.20")), ("a", 2, Decimal("-5.00")), ("a", 1, Decimal("0.30"))]
    topology = Topology("t")
    spout = FixedBatchSpout("k string, m int, price decimal(10,2)", data, max_records_per_batch=2)
    stream = topology.stream("s", spout)
    sums = stream.group_by("k", "m").persistent_aggregate(SqliteState("sums"), total=Sum("price"))
    sums.new_values().filter(F.col("total") > Decimal("0.5")).to_table(SqliteTable("large"))
    stream.state_query(sums, MapGet("k", "m")).filter(F.col("total").isNotNull()).to_table(SqliteTable("seen"))
    topology.run(spark, ledger=SqliteLedger(file), until="caught_up")
    assert [(k, m, Decimal(str(total))) for k, m, total in rows(file, "large")] == [("a", 1, Decimal("0.60"))]
    ((k, m, price, total),) = rows(file, "seen")
    assert (k, m, Decimal(str(price)), Decimal(str(total))) == ("a", 1, Decimal("0.30"), Decimal("0.30"))


Build = Callable[[Stream], object]
REFUSED: dict[str, tuple[str, Build]] = {
    "no state": ("state_query: state", lambda s: s.state_query("totals", MapGet())),  # type: ignore[arg-type]
    "no query": ("state_query: query", lambda s: s.state_query(_state(s), "all")),  # type: ignore[arg-type]
    "snapshot of keys": ("ask with MapGet", lambda s: s.state_query(_state(s), SnapshotGet())),
    "key of nothing": ("ask with SnapshotGet", lambda s: s.state_query(_single(s), MapGet("account"))),
    "too many keys": ("names 2 fields", lambda s: s.state_query(_state(s), MapGet("account", "amount"))),
    "key of another type": (
        "that is a key of the state 'totals' string; cast one",
        lambda s: s.state_query(_state(s), MapGet("amount")),
    ),
    "result is there": ("there already", lambda s: s.each(total=F.lit(1)).state_query(_state(s), MapGet())),
    "no flag": ("previous", lambda s: _state(s).new_values(previous=1)),  # type: ignore[arg-type]
}


def _state(stream: Stream) -> TridentState:
    return stream.group_by("account").persistent_aggregate(MemoryState("totals"), total=Sum("amount"))


def _single(stream: Stream) -> TridentState:
    return stream.persistent_aggregate(MemoryState("totals"), total=Sum("amount"))


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_when_it_is_built(spark: SparkSession, name: str) -> None:
    text, build = REFUSED[name]
    with pytest.raises(ConfigurationError, match=text):
        build(payments()[1])


def test_a_field_that_is_not_there_is_named(spark: SparkSession) -> None:
    _, stream = payments()
    with pytest.raises(FieldError, match=r"state_query names a field.*'nothing'"):
        stream.state_query(_state(stream), MapGet("nothing"))


def test_another_topologys_state_is_no_state_of_this_one(spark: SparkSession) -> None:
    state = _state(payments("other")[1])
    with pytest.raises(ConfigurationError, match="another topology's"):
        payments()[1].state_query(state, MapGet())
