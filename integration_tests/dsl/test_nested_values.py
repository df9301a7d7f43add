"""Combiners whose values are arrays, structures or maps: kept as texts, seen as values, the same in every store."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration_tests.fix_postgres import Postgres
from trident import (
    Combiner,
    MapGet,
    MemoryLedger,
    PostgresLedger,
    Reducer,
    SqliteLedger,
    StateChanges,
    StateUpdater,
    StoredRows,
    Topology,
    TridentState,
)
from trident.base.errors import ConfigurationError, FatalError, MismatchError
from trident.language.stream import Stream
from trident.operations.row_functions import Row
from trident.spouts import FixedBatchSpout
from trident.state import MemoryState, PostgresState, SqliteState, SqliteTable
from trident.state.target import State

FIELDS = "account string, currency string, amount decimal(10,2)"
Record = tuple[str, str | None, Decimal]
RECORDS: list[Record] = [
    ("ann", "EUR", Decimal("1.50")),
    ("ann", "USD", Decimal("2.00")),
    ("bob", "EUR", Decimal("0.10")),
    ("ann", "EUR", Decimal("-0.25")),
    ("bob", None, Decimal("9.00")),
    ("ann", "CHF", Decimal("3.00")),
    ("bob", "EUR", Decimal("0.20")),
]


class Balances(Combiner[dict[str, Decimal]]):
    result_type = "map<string, decimal(20,2)>"

    def init(self, *values: object) -> dict[str, Decimal] | None:
        currency, amount = values
        return {currency: amount} if isinstance(currency, str) and isinstance(amount, Decimal) else None

    def combine(self, left: dict[str, Decimal], right: dict[str, Decimal]) -> dict[str, Decimal]:
        return {key: left.get(key, Decimal(0)) + right.get(key, Decimal(0)) for key in {**left, **right}}


class Greatest(Combiner[list[Decimal]]):
    result_type = "array<decimal(10,2)>"

    def init(self, *values: object) -> list[Decimal]:
        (amount,) = values
        assert isinstance(amount, Decimal)
        return [amount]

    def combine(self, left: list[Decimal], right: list[Decimal]) -> list[Decimal]:
        return sorted([*left, *right], reverse=True)[:2]


class Range(Combiner[dict[str, object]]):
    result_type = "struct<low: decimal(10,2), high: decimal(10,2), names: array<string>>"

    def init(self, *values: object) -> dict[str, object]:
        currency, amount = values
        return {"low": amount, "high": amount, "names": [currency]}

    def combine(self, left: dict[str, object], right: dict[str, object]) -> dict[str, object]:
        low = min(left["low"], right["low"])  # type: ignore[call-overload]
        high = max(left["high"], right["high"])  # type: ignore[call-overload]
        names = {*left["names"], *right["names"]}  # type: ignore[misc]
        return {"low": low, "high": high, "names": sorted(names, key=lambda name: (name is not None, name))}


def expected(records: list[Record]) -> dict[str, tuple[object, object, object]]:
    """Return of each account what it has, in plain Python that shares nothing with the combiners."""
    found: dict[str, tuple[object, object, object]] = {}
    for account in {account for account, _, _ in records}:
        mine = [record for record in records if record[0] == account]
        sums: Counter[str] = Counter()
        for _, currency, amount in mine:
            if currency is not None:
                sums[currency] += amount  # type: ignore[assignment]
        amounts = sorted(amount for _, _, amount in mine)
        names = sorted({currency or "" for _, currency, _ in mine})
        found[account] = (
            {key: f"{sums[key]:.2f}" for key in sorted(sums)} or None,
            [f"{amount:.2f}" for amount in reversed(amounts[-2:])],
            {"low": f"{amounts[0]:.2f}", "high": f"{amounts[-1]:.2f}", "names": [name or None for name in names]},
        )
    return found


def kept(name: str, state: State, size: int, records: list[Record] = RECORDS) -> tuple[Topology, Stream, TridentState]:
    topology = Topology(name)
    stream = topology.stream("s", FixedBatchSpout(FIELDS, records, max_records_per_batch=size, kind="opaque"))
    held = stream.group_by("account").persistent_aggregate(
        state, balances=Balances("currency", "amount"), most=Greatest("amount"), range=Range("currency", "amount")
    )
    return topology, stream, held


def read(value: object) -> object:
    return json.loads(value) if isinstance(value, str) else value


@pytest.mark.parametrize("size", [1, 2, 100])
def test_in_a_state_in_memory(spark: SparkSession, size: int) -> None:
    state, ledger = MemoryState("kept"), MemoryLedger()
    kept("t", state, size)[0].run(spark, ledger=ledger, until="caught_up")
    rows = state.rows(ledger.database)
    found = {row["account"]: (read(row["balances"]), read(row["most"]), read(row["range"])) for row in rows}
    assert found == expected(RECORDS)


def test_in_postgres_where_sql_can_ask_for_what_is_inside(spark: SparkSession, postgres: Postgres) -> None:
    topology, _, _ = kept("t", PostgresState("kept"), 2)
    topology.run(spark, ledger=PostgresLedger(postgres.dsn), until="caught_up")
    with psycopg.connect(postgres.dsn) as connection:
        rows = connection.execute("SELECT account, balances::jsonb, most::jsonb, range::jsonb FROM kept").fetchall()
        assert {account: tuple(values) for account, *values in rows} == expected(RECORDS)
        inside = "SELECT (balances::jsonb ->> 'EUR')::numeric FROM kept WHERE account = 'ann'"
        assert connection.execute(inside).fetchall() == [(Decimal("1.25"),)]


def test_new_values_and_queries_show_the_values_themselves(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    topology, stream, held = kept("t", SqliteState("kept"), 2)
    after = held.new_values(previous=True)
    types = {field.name: field.dataType.simpleString() for field in after.schema.fields}
    assert types["balances"] == types["previous_balances"] == "map<string,decimal(20,2)>"
    euros = {"after": F.col("balances")["EUR"], "before": F.col("previous_balances")["EUR"]}
    after.map(account=F.col("account"), low=F.col("range.low"), **euros).to_table(SqliteTable("changes"))
    asked = stream.state_query(held, MapGet()).map(account=F.col("account"), n=F.size("most"))
    asked.filter(F.col("n") > 0).to_table(SqliteTable("asked"))
    topology.run(spark, ledger=SqliteLedger(file), until="caught_up")
    with sqlite3.connect(file) as connection:
        found = connection.execute("SELECT account, low, after, before FROM changes WHERE account = 'ann'").fetchall()
        sizes = connection.execute("SELECT account, n FROM asked").fetchall()
    shown = [tuple(None if each is None else Decimal(str(each)) for each in row) for _, *row in found]
    low = Decimal("-0.25")
    assert shown == [
        (Decimal("1.5"), Decimal("1.5"), None),
        (low, Decimal("1.25"), Decimal("1.5")),
        (low, Decimal("1.25"), Decimal("1.25")),
    ]
    assert sorted(sizes) == [("ann", 2), ("ann", 2), ("bob", 1), ("bob", 2)]


def test_of_one_batch_the_values_themselves_go_on(spark: SparkSession) -> None:
    topology = Topology("t")
    stream = topology.stream("s", FixedBatchSpout(FIELDS, RECORDS))
    shown = stream.group_by("account").aggregate(most=Greatest("amount"))
    assert shown.schema["most"].dataType.simpleString() == "array<decimal(10,2)>"


class Texts(Greatest):
    result_type = "array<string>"


def test_values_of_another_type_are_another_state(spark: SparkSession, tmp_path: Path) -> None:
    def topology_of(most: Combiner[list[Decimal]]) -> Topology:
        topology = Topology("t")
        stream = topology.stream("s", FixedBatchSpout(FIELDS, RECORDS))
        stream.group_by("account").persistent_aggregate(SqliteState("kept"), most=most)
        return topology

    ledger = tmp_path / "ledger.sqlite"
    topology_of(Greatest("amount")).run(spark, ledger=SqliteLedger(ledger), until="caught_up")
    with pytest.raises((ConfigurationError, MismatchError), match="most"):
        topology_of(Texts("amount")).run(spark, ledger=SqliteLedger(ledger), until="caught_up")


def test_a_text_that_something_else_wrote_is_refused_and_stays(spark: SparkSession, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    kept("t", SqliteState("kept"), 100, RECORDS[:2])[0].run(spark, ledger=SqliteLedger(ledger), until="caught_up")
    with sqlite3.connect(ledger) as connection:
        connection.execute("UPDATE kept SET most = '[1.5]'")
    with pytest.raises(FatalError, match="Greatest found not the text of a value of list") as refused:
        kept("t", SqliteState("kept"), 2)[0].run(spark, ledger=SqliteLedger(ledger), until="caught_up")
    assert "1.5]" not in str(refused.value)
    with sqlite3.connect(ledger) as connection:
        assert connection.execute("SELECT most FROM kept WHERE account = 'ann'").fetchone() == ("[1.5]",)


class Sums(Reducer[dict[str, Decimal]]):
    """What `Balances` makes, taken up record by record."""

    result_type = "map<string, decimal(20,2)>"

    def init(self) -> dict[str, Decimal]:
        return {}

    def reduce(self, reduced: dict[str, Decimal], *values: object) -> dict[str, Decimal]:
        currency, amount = values
        if isinstance(currency, str) and isinstance(amount, Decimal):
            reduced[currency] = reduced.get(currency, Decimal(0)) + amount
        return reduced


class Seen(Reducer[dict[str, object]]):
    result_type = "struct<n: bigint, amounts: array<decimal(10,2)>>"

    def init(self) -> dict[str, object]:
        return {"n": 0, "amounts": []}

    def reduce(self, reduced: dict[str, object], *values: object) -> dict[str, object]:
        assert isinstance(reduced["n"], int)
        assert isinstance(reduced["amounts"], list)
        return {"n": reduced["n"] + 1, "amounts": [*reduced["amounts"], *values]}


class Books(StateUpdater):
    """The same by an updater's own hands; an account whose last amount is 9 is closed."""

    values = "sums map<string, decimal(20,2)>, seen struct<n: bigint, amounts: array<decimal(10,2)>>"

    def update(self, stored: StoredRows, rows: Sequence[Row]) -> StateChanges:
        now: dict[Any, Any] = {}
        for row in rows:
            key = (row["account"],)
            before = now.get(key, stored.get(key)) or {"sums": {}, "seen": {"n": 0, "amounts": []}}
            sums, seen = Sums("currency", "amount"), Seen("amount")
            now[key] = {
                "sums": sums.reduce(dict(before["sums"]), row["currency"], row["amount"]),
                "seen": seen.reduce(before["seen"], row["amount"]),
            }
            if row["amount"] == Decimal(9):
                now[key] = None
        return StateChanges(now)


def by_reducers(stream: Stream, state: State) -> TridentState:
    return stream.group_by("account").persistent_aggregate(state, sums=Sums("currency", "amount"), seen=Seen("amount"))


def by_updater(stream: Stream, state: State) -> TridentState:
    return stream.partition_persist(state, Books(), key="account")


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize("keep", [by_reducers, by_updater])
def test_what_reducers_and_updaters_write_may_be_nested_too(
    spark: SparkSession, tmp_path: Path, keep: Callable[[Stream, State], TridentState], size: int
) -> None:
    ledger = tmp_path / "ledger.sqlite"
    topology = Topology("t")
    stream = topology.stream("s", FixedBatchSpout(FIELDS, RECORDS, max_records_per_batch=size, kind="opaque"))
    state = keep(stream, SqliteState("kept"))
    shown = state.new_values().each(
        francs=F.col("sums").getItem("CHF"), n=F.col("seen.n"), first=F.get("seen.amounts", F.lit(0))
    )
    shown = shown.project("account", "francs", "n", "first")
    shown.to_table(SqliteTable("latest"), write="upsert", key="account")
    asked = stream.state_query(state, MapGet()).each(euros=F.col("sums").getItem("EUR")).project("account", "euros")
    asked.to_table(SqliteTable("asked"))
    topology.run(spark, ledger=SqliteLedger(ledger), until="caught_up")
    mine = {name: [record for record in RECORDS if record[0] == name] for name in ("ann", "bob")}
    if keep is by_updater:
        mine["bob"] = mine["bob"][2:]  # it was closed before
    with sqlite3.connect(ledger) as connection:
        rows = connection.execute("SELECT account, sums, seen FROM kept").fetchall()
        latest = connection.execute("SELECT account, francs, n, first FROM latest").fetchall()
        euros = {row[0] for row in connection.execute("SELECT DISTINCT euros FROM asked WHERE account = 'ann'")}
    kept = {account: (json.loads(sums), json.loads(seen)) for account, sums, seen in rows}
    for account, records in mine.items():
        sums: Counter[str] = Counter()
        for _, currency, amount in records:
            sums.update({currency: amount} if currency else {})
        amounts = [str(amount) for _, _, amount in records]
        assert kept[account] == (
            {name: str(total) for name, total in sorted(sums.items())},
            {"n": len(records), "amounts": amounts},
        )
    assert {row[0]: row[1:] for row in latest} == {
        account: ("3.00" if account == "ann" else None, len(records), str(records[0][2]))
        for account, records in mine.items()
    }
    assert euros == {1: {None, "1.50", "1.25"}, 3: {None, "1.50"}, 100: {None}}[size]


class Halves(Greatest):
    def combine(self, left: list[Decimal], right: list[Decimal]) -> list[Decimal]:
        return [Decimal("0.001")]


@pytest.mark.parametrize("size", [1, 100], ids=["with what is stored", "inside of a batch"])
def test_a_value_that_the_type_does_not_hold_is_refused(spark: SparkSession, size: int) -> None:
    topology = Topology("t")
    stream = topology.stream("s", FixedBatchSpout(FIELDS, RECORDS, max_records_per_batch=size))
    stream.group_by("account").persistent_aggregate(MemoryState("kept"), most=Halves("amount"))
    with pytest.raises(FatalError, match="made a value that is not of its result_type 'array<decimal"):
        topology.run(spark, ledger=MemoryLedger(), until="caught_up")


@pytest.mark.parametrize(
    "type_", ["map<array<string>, bigint>", "map<double, bigint>", "array<interval day to second>"]
)
def test_values_that_no_text_gives_back_are_refused_when_it_is_built(spark: SparkSession, type_: str) -> None:
    stream = Topology("t").stream("s", FixedBatchSpout(FIELDS, RECORDS))
    most = type("Odd", (Greatest,), {"result_type": type_, "__module__": __name__})("amount")
    with pytest.raises(ConfigurationError, match=r"'most' of a state is of the type .*which no state can hold"):
        stream.group_by("account").persistent_aggregate(MemoryState("kept"), most=most)
