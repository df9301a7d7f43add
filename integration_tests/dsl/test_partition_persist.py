"""States that a user's own code keeps, for real: the same in any cut of batches, wherever a run dies."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from examples.own_store import JournalMap
from trident import (
    Count,
    DecisionNeededError,
    EmittedRow,
    MapGet,
    MemoryLedger,
    QueryFunction,
    Reducer,
    SnapshotGet,
    SqliteLedger,
    StateChanges,
    StateUpdater,
    StoredRows,
    Sum,
    Topology,
    TridentState,
)
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import ConfigurationError, FieldError
from trident.language.stream import Stream
from trident.operations.asking import Key
from trident.operations.row_functions import Row
from trident.spouts import FixedBatchSpout
from trident.state import BackingMapState, MemoryState, SqliteState, SqliteTable, StateKind

Told = tuple[object, ...]
FIELDS = "n int, account string, word string, amount decimal(10,2)"
PAYMENTS: list[Told] = [
    (1, "ann", "pay", Decimal("10.00")), (2, "bob", "pay", Decimal("5.50")), (3, "ann", "take", Decimal("12.00")),
    (4, "ann", "take", Decimal("4.00")), (5, None, "pay", Decimal("1.00")), (6, "bob", "close", None),
    (7, "bob", "take", Decimal("1.00")), (8, "bob", "pay", Decimal("2.00")), (9, None, "close", None),
    (10, "cat", "close", None), (11, "ann", "pay", Decimal("0.25")),
]  # fmt: skip


class Accounts(StateUpdater):
    """Payments in and out of accounts that are never overdrawn; a closed one is forgotten."""

    values = "balance decimal(10,2), payments int"
    schema = "n int, refused string"

    def update(self, stored: StoredRows, rows: Sequence[Row]) -> StateChanges:
        now: dict[Any, Any] = {}
        said: list[object] = []
        for row in rows:
            key = (row["account"],)
            if key not in now:
                now[key] = stored.get(key)
            before = now[key] or {"balance": Decimal(0), "payments": 0}
            after: Any = None
            if row["word"] != "close":
                signed = row["amount"] if row["word"] == "pay" else -row["amount"]  # type: ignore[operator]
                after = {"balance": before["balance"] + signed, "payments": before["payments"] + 1}
                if after["balance"] < 0:
                    said.append((row["n"], f"{row['account']} has {before['balance']}"))
                    continue
            elif now[key] is None:
                said.append((row["n"], "nothing to close"))
            now[key] = after
        return StateChanges(now, said)


def expected(records: Sequence[Told] = tuple(PAYMENTS)) -> tuple[dict[object, Told], list[Told]]:
    """Return the accounts and the refusals, one payment after the other."""
    balances: dict[object, Decimal] = {}
    payments: dict[object, int] = {}
    said: list[Told] = []
    for n, account, word, amount in records:
        if word == "close":
            if balances.pop(account, None) is None:
                said.append((n, "nothing to close"))
            payments.pop(account, None)
            continue
        assert isinstance(amount, Decimal)
        after = balances.get(account, Decimal(0)) + (amount if word == "pay" else -amount)
        if after < 0:
            said.append((n, f"{account} has {balances.get(account, Decimal(0))}"))
            continue
        balances[account] = after
        payments[account] = payments.get(account, 0) + 1
    return {key: (balance, payments[key]) for key, balance in balances.items()}, said


def payments(size: int = 2, records: Sequence[Told] = tuple(PAYMENTS)) -> tuple[Topology, Stream]:
    topology = Topology("t")
    spout = FixedBatchSpout(FIELDS, records, max_records_per_batch=size, kind="opaque")
    return topology, topology.stream("payments", spout)


def accounts(file: Path, kind: StateKind, size: int = 2) -> Topology:
    topology, stream = payments(size)
    kept = stream.partition_persist(SqliteState("accounts", kind=kind, path=file), Accounts(), key="account")
    kept.emitted().to_table(SqliteTable("refused"))
    return topology


def found(file: Path, table: str = "accounts", columns: str = "account, balance, payments") -> dict[object, Told]:
    with sqlite3.connect(file) as connection:
        rows = connection.execute(f"SELECT {columns} FROM {table} WHERE payments IS NOT NULL").fetchall()
    return {key: (Decimal(str(balance)), count) for key, balance, count in rows}


def refused(file: Path) -> list[Told]:
    with sqlite3.connect(file) as connection:
        rows = connection.execute("SELECT n, refused FROM refused ORDER BY n").fetchall()
    return [tuple(row) for row in rows]


@pytest.mark.parametrize(
    ("kind", "size"), [(StateKind.OPAQUE, 2), (StateKind.TRANSACTIONAL, 4), (StateKind.NON_TRANSACTIONAL, 11)]
)
def test_it_is_what_one_record_after_the_other_makes(
    spark: SparkSession, tmp_path: Path, kind: StateKind, size: int
) -> None:
    file = tmp_path / "ledger.sqlite"
    accounts(file, kind, size).run(spark, ledger=SqliteLedger(file), until="caught_up")
    assert (found(file), refused(file)) == expected()


class _DeathError(Exception):
    pass


@pytest.mark.parametrize(
    ("point", "is_apart"),
    [
        (CrashPoint.BEFORE_TURN_WORK, False),
        (CrashPoint.AFTER_TURN_WORK, False),
        (CrashPoint.IN_PIN_TRANSACTION, False),
        (CrashPoint.AFTER_PIN, True),
        (CrashPoint.AFTER_APPLY, True),
    ],
)
def test_a_run_that_dies_applies_each_change_once(
    spark: SparkSession, tmp_path: Path, point: CrashPoint, is_apart: bool
) -> None:
    ledger, file = tmp_path / "ledger.sqlite", tmp_path / ("apart.sqlite" if is_apart else "ledger.sqlite")

    def topology() -> Topology:
        topology, stream = payments(3)
        state = SqliteState("accounts", kind=StateKind.OPAQUE, path=file if is_apart else None)
        kept = stream.partition_persist(state, Accounts(), key="account")
        kept.emitted().to_table(SqliteTable("refused", path=file if is_apart else None))
        return topology

    def die(reached: CrashPoint, txid: int) -> None:
        if reached is point and txid == 2:
            raise _DeathError

    with armed(die), pytest.raises(_DeathError):
        topology().run(spark, ledger=SqliteLedger(ledger), until="caught_up")
    topology().run(spark, ledger=SqliteLedger(ledger), until="caught_up")
    assert (found(file), refused(file)) == expected()


def test_it_may_be_kept_in_memory_or_in_a_map_of_ones_own(spark: SparkSession, tmp_path: Path) -> None:
    ledger = MemoryLedger()
    topology, stream = payments()
    memory = MemoryState("memory")
    stream.partition_persist(memory, Accounts(), key="account")
    own = JournalMap(tmp_path / "journal")
    stream.partition_persist(BackingMapState("own", own, kind=StateKind.OPAQUE), Accounts(), key="account")
    topology.run(spark, ledger=ledger, until="caught_up")
    kept = {row["account"]: (row["balance"], row["payments"]) for row in memory.rows(ledger.database)}
    assert {key: row for key, row in kept.items() if row != (None, None)} == expected()[0]
    assert kept["bob"] == (Decimal("2.00"), 1)  # it was removed, and came again
    assert kept[None] == (None, None)  # it was removed
    mine = {key[0]: value.current for key, value in own.items() if hasattr(value, "current")}
    assert {key: row for key, row in mine.items() if row != (None, None)} == expected()[0]


class Passes(StateUpdater):
    """Keeps how many there were, and emits each record as it is, the last one first."""

    values = "seen int"
    schema = "n int, account string, word string"

    def update(self, stored: StoredRows, rows: Sequence[Row]) -> StateChanges:
        seen = {(row["account"],): {"seen": row["n"]} for row in rows}
        given = [EmittedRow(row, {name: row[name] for name in ("n", "account", "word")}) for row in rows]
        return StateChanges(seen, given[::-1])


class InOrder(Reducer[str]):
    result_type = "string"

    def init(self) -> str:
        return ""

    def reduce(self, reduced: str, *values: object) -> str:
        return f"{reduced} {values[0]}"


@pytest.mark.parametrize("partitions", [1, 2, 4, 7])
def test_what_passes_an_updater_is_in_the_order_of_its_records(
    spark: SparkSession, tmp_path: Path, partitions: int
) -> None:
    file = tmp_path / "ledger.sqlite"
    topology = Topology("t", partitions=partitions)
    stream = topology.stream("payments", FixedBatchSpout(FIELDS, PAYMENTS, max_records_per_batch=6, kind="opaque"))
    emitted = stream.partition_persist(SqliteState("kept"), Passes(), key="account").emitted()
    for name, each in (("direct", stream), ("passed", emitted)):
        each.project("n", "word").to_table(SqliteTable(f"{name}_last"), write="upsert", key="word")
        each.aggregate(path=InOrder("n")).to_table(SqliteTable(f"{name}_path"))
    topology.run(spark, ledger=SqliteLedger(file), until="caught_up")
    with sqlite3.connect(file) as connection:
        tables = {
            name: [sorted(connection.execute(f"SELECT * FROM {name}_{table}")) for table in ("last", "path")]
            for name in ("direct", "passed")
        }
    assert tables["passed"] == tables["direct"]
    assert tables["direct"][1] == [(" 1 2 3 4 5 6",), (" 7 8 9 10 11",)]


class Tells(Passes):
    """Does not say of which record its rows are."""

    def update(self, stored: StoredRows, rows: Sequence[Row]) -> StateChanges:
        changes = super().update(stored, rows)
        return StateChanges(changes.writes, [each.row for each in changes.rows])  # type: ignore[attr-defined]


def test_of_rows_that_name_no_record_nothing_says_which_came_last(spark: SparkSession, tmp_path: Path) -> None:
    topology, stream = payments(6)
    emitted = stream.partition_persist(SqliteState("kept"), Tells(), key="account").emitted()
    emitted.project("n", "word").to_table(SqliteTable("last"), write="upsert", key="word")
    with pytest.raises(DecisionNeededError, match="nothing says which one came last"):
        topology.run(spark, ledger=SqliteLedger(tmp_path / "ledger.sqlite"), until="caught_up")


class Largest(StateUpdater):
    """Without a key: the largest payment of all, and the number of it."""

    values = "n int, most decimal(10,2)"

    def update(self, stored: StoredRows, rows: Sequence[Row]) -> StateChanges:
        before = stored.get()
        known = [] if before is None else [(before["most"], before["n"])]
        known += [(row["amount"], row["n"]) for row in rows if row["amount"] is not None]
        most, n = max(known, key=lambda pair: pair[0])  # type: ignore[arg-type, return-value]
        return StateChanges({(): {"n": n, "most": most}})


def test_a_state_without_a_key_is_of_all_records(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    topology, stream = payments()
    largest = stream.filter(F.col("word") != "close").partition_persist(SqliteState("largest"), Largest())
    stream.project("n").rename(n="asked").state_query(largest, SnapshotGet()).to_table(SqliteTable("seen"))
    topology.run(spark, ledger=SqliteLedger(file), until="caught_up")
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT n, most FROM largest").fetchall() == [(3, "12.00")]
        seen = connection.execute("SELECT asked, n FROM seen ORDER BY asked").fetchall()
    assert seen == [(n, None if n <= 2 else 1 if n <= 4 else 3) for n in range(1, 12)]


class Known(QueryFunction[StoredRows]):
    schema = "known boolean"

    def batch_retrieve(self, state: StoredRows, keys: Sequence[Key]) -> Sequence[object]:
        return [row is not None for row in state.multi_get(keys)]


def test_what_it_holds_is_asked_and_its_new_values_flow_on(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    topology, stream = payments(1, PAYMENTS[:8])
    kept = stream.partition_persist(SqliteState("accounts"), Accounts(), key="account")
    kept.new_values(previous=True).to_table(SqliteTable("changes"))
    asked = stream.state_query(kept, MapGet()).project("n", "account", "payments").state_query(kept, Known())
    asked.to_table(SqliteTable("asked"))
    kept.emitted().aggregate(times=Count()).persistent_aggregate(SqliteState("times"), n=Sum("times"))
    topology.run(spark, ledger=SqliteLedger(file), until="caught_up")
    before: dict[object, Told] = {}
    changes: list[Told] = []
    asks: list[Told] = []
    for place, record in enumerate(PAYMENTS[:8]):
        n, account = record[0], record[1]
        asks.append((n, account, before[account][1] if account in before else None, int(account in before)))
        after, _ = expected(PAYMENTS[: place + 1])
        if account in after or account in before:
            changes.append((account, after.get(account, (None, None))[1], before.get(account, (None, None))[1]))
        before = after
    with sqlite3.connect(file) as connection:
        found_asks = connection.execute("SELECT n, account, payments, known FROM asked ORDER BY n").fetchall()
        found_changes = connection.execute("SELECT account, payments, previous_payments FROM changes").fetchall()
        assert connection.execute("SELECT n FROM times").fetchall() == [(len(expected(PAYMENTS[:8])[1]),)]
    assert found_asks == asks
    assert sorted(found_changes, key=repr) == sorted(changes, key=repr)


class Drawn(StateUpdater):
    """What it writes and what it emits differ in every run."""

    values = "drawn string"
    schema = "account string, drawn string"

    def update(self, stored: StoredRows, rows: Sequence[Row]) -> StateChanges:
        import uuid

        drawn = {(row["account"],): str(uuid.uuid4()) for row in rows}
        return StateChanges(drawn, [(key[0], value) for key, value in drawn.items()])


def test_what_is_written_and_what_is_emitted_are_of_one_run(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    topology, stream = payments(11)
    kept = stream.partition_persist(SqliteState("kept"), Drawn(), key="account")
    kept.emitted().to_table(SqliteTable("emitted"))
    topology.run(spark, ledger=SqliteLedger(file), until="caught_up")
    with sqlite3.connect(file) as connection:
        kept_rows, emitted = (
            connection.execute(f"SELECT account, drawn FROM {table} ORDER BY account").fetchall()
            for table in ("kept", "emitted")
        )
    assert kept_rows == emitted
    assert len(emitted) == 4


class Bare(StateUpdater):
    """It says nothing of what it keeps."""

    def update(self, stored: StoredRows, rows: Sequence[Row]) -> StateChanges:
        return StateChanges()


class Quiet(Bare):
    values = "total int"


class Twice(Bare):
    values = "account string"


class Listing(Bare):
    values = "all map<double, int>"


Build = Callable[[Stream], object]


def _keeps(updater: Any, key: Any = "account", state: Any = None) -> Build:
    return lambda stream: stream.partition_persist(state or MemoryState("kept"), updater, key=key)


REFUSED: dict[str, tuple[str, Build]] = {
    "no updater": ("an object of a subclass of StateUpdater", _keeps(Count())),
    "its class": ("an object of a subclass of StateUpdater", _keeps(Accounts)),
    "no values": ("Bare must set values", _keeps(Bare())),
    "no state": ("the state", _keeps(Accounts(), state="kept")),
    "no key": ("key", _keeps(Accounts(), key=5)),
    "a value like the key": ("twice", _keeps(Twice())),
    "a key twice": ("twice", _keeps(Accounts(), key=("account", "account"))),
    "what no store holds": ("'all' of a state is of the type map<double,int>, which no state", _keeps(Listing())),
    "nothing emitted": ("emits no rows", lambda s: _kept(s, Quiet()).emitted()),
    "not an updater's": ("emits no rows", lambda s: s.persistent_aggregate(MemoryState("s"), n=Count()).emitted()),
}


def _kept(stream: Stream, updater: StateUpdater) -> TridentState:
    return stream.partition_persist(MemoryState("kept"), updater, key="account")


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_when_it_is_built(spark: SparkSession, name: str) -> None:
    text, build = REFUSED[name]
    with pytest.raises(ConfigurationError, match=text):
        build(payments()[1])


def test_a_key_that_is_not_there_is_named(spark: SparkSession) -> None:
    with pytest.raises(FieldError, match=r"partition_persist: key names a field.*'nothing'"):
        _keeps(Accounts(), key="nothing")(payments()[1])


def test_it_is_explained(spark: SparkSession, tmp_path: Path) -> None:
    text = accounts(tmp_path / "ledger.sqlite", StateKind.OPAQUE).explain()
    turn = text.partition("commit turn")[2]
    assert "partition_persist Accounts: a Python task" in turn
    assert "state 'accounts' (opaque) by account: what its updater says" in turn
