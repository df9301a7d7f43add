"""States that reducers keep, for real: the same in any cut of batches, in each store, wherever a run dies."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from examples.own_store import JournalMap
from trident import (
    Aggregator,
    ConfigurationError,
    Count,
    FieldError,
    MapGet,
    MemoryLedger,
    OperationContext,
    Reducer,
    SqliteLedger,
    Topology,
    TridentError,
    TridentState,
)
from trident.language.stream import Stream
from trident.spouts import FixedBatchSpout
from trident.state import BackingMapState, MemoryState, SqliteState, SqliteTable, StateKind
from trident.state.target import State
from trident.testing import check_exactly_once

Told = tuple[object, ...]
FIELDS = "account string, amount decimal(10,2), page string"
RECORDS: list[Told] = [
    ("ann", Decimal("10.00"), "a"), ("bob", Decimal("5.50"), None), ("ann", None, "b"), (None, Decimal("1.00"), "c"),
    ("cat", None, None), ("bob", Decimal("-5.50"), "d"), ("ann", Decimal("0.25"), None), ("cat", None, None),
    ("ann", Decimal("2.00"), "a"), (None, Decimal("7.00"), "e"), ("bob", Decimal("3.00"), "f"),
]  # fmt: skip


class Way(Reducer[str]):
    """The pages in the order in which they were seen: what no `Combiner` can make."""

    result_type = "string"

    def init(self) -> str:
        return ""

    def reduce(self, reduced: str, *values: object) -> str:
        return f"{reduced}{values[0] or ''}"


class Discounted(Reducer[Decimal]):
    """Half of what there was, and the new amount; of no finer digits than the type has."""

    result_type = "decimal(20,4)"

    def init(self) -> Decimal:
        return Decimal(1)

    def reduce(self, reduced: Decimal, *values: object) -> Decimal:
        assert -reduced.as_tuple().exponent == 4, "not as the state gives it back"  # type: ignore[operator]
        amount = values[0]
        assert amount is None or isinstance(amount, Decimal)
        return (reduced / 2 + (amount or 0)).quantize(Decimal("0.001"))


class Last(Reducer[str | None]):
    result_type = "string"

    def init(self) -> None:
        return None

    def reduce(self, reduced: str | None, *values: object) -> str | None:
        found = values[0]
        assert found is None or isinstance(found, str)
        return reduced if found is None else found


def expected(records: Sequence[Told] = tuple(RECORDS), *, keyed: bool = True) -> dict[object, Told]:
    """Return the values by account, one record after the other."""
    found: dict[object, Told] = {}
    for account, amount, page in records:
        assert amount is None or isinstance(amount, Decimal)
        key = account if keyed else None
        path, discounted, last = found.get(key, ("", Decimal(1), None))
        assert isinstance(discounted, Decimal)
        after = (discounted / 2 + (amount or 0)).quantize(Decimal("0.001"))
        found[key] = (f"{path}{page or ''}", after, page or last)
    return found


def kept(
    state: State, size: int, *, keyed: bool = True, records: Sequence[Told] = tuple(RECORDS)
) -> tuple[Topology, TridentState]:
    topology = Topology("t", partitions=2)
    spout = FixedBatchSpout(FIELDS, records, max_records_per_batch=size, kind="opaque")
    stream = topology.stream("seen", spout)
    grouped = stream.group_by("account") if keyed else stream
    return topology, grouped.persistent_aggregate(state, path=Way("page"), left=Discounted("amount"), last=Last("page"))


def rows_of(file: Path, table: str, key: str = "account") -> dict[object, Told]:
    with sqlite3.connect(file) as connection:
        rows = connection.execute(f"SELECT {key}, path, left, last FROM {table}").fetchall()
    return {key: (path, Decimal(str(left)), last) for key, path, left, last in rows}


@pytest.mark.parametrize(
    ("kind", "size"), [(StateKind.OPAQUE, 1), (StateKind.TRANSACTIONAL, 4), (StateKind.NON_TRANSACTIONAL, 11)]
)
def test_it_is_what_one_record_after_the_other_makes(
    spark: SparkSession, tmp_path: Path, kind: StateKind, size: int
) -> None:
    file = tmp_path / "ledger.sqlite"
    topology, state = kept(SqliteState("kept", kind=kind), size)
    known = state.new_values().filter(F.col("account").isNotNull())  # no key of a table may be null
    known.to_table(SqliteTable("latest"), write="upsert", key="account")
    topology.run(spark, ledger=SqliteLedger(file), until="caught_up")
    assert rows_of(file, "kept") == expected()
    assert rows_of(file, "latest") == {key: row for key, row in expected().items() if key is not None}


@pytest.mark.parametrize("size", [2, 11])
def test_without_groups_it_is_of_all_records(spark: SparkSession, tmp_path: Path, size: int) -> None:
    file = tmp_path / "ledger.sqlite"
    topology, _ = kept(SqliteState("kept"), size, keyed=False)
    topology.run(spark, ledger=SqliteLedger(file), until="caught_up")
    assert rows_of(file, "kept", "NULL") == expected(keyed=False)


def test_it_may_be_kept_in_memory_or_in_a_map_of_ones_own(spark: SparkSession, tmp_path: Path) -> None:
    ledger, memory, own = MemoryLedger(), MemoryState("memory"), JournalMap(tmp_path / "journal")
    topology, _ = kept(memory, 3)
    grouped = topology.stream("again", FixedBatchSpout(FIELDS, RECORDS, max_records_per_batch=4)).group_by("account")
    grouped.persistent_aggregate(
        BackingMapState("own", own, kind=StateKind.OPAQUE, cached_keys=2), path=Way("page"), last=Last("page")
    )
    topology.run(spark, ledger=ledger, until="caught_up")
    found = {row["account"]: (row["path"], row["left"], row["last"]) for row in memory.rows(ledger.database)}
    assert found == expected()
    mine = {key[0]: value.current for key, value in own.items() if hasattr(value, "current")}
    assert mine == {key: (path, last) for key, (path, _, last) in expected().items()}


def test_deaths_and_replays_change_nothing(spark: SparkSession) -> None:
    batches = [{"seen": RECORDS[:4]}, {"seen": RECORDS[4:5]}, {"seen": RECORDS[5:]}]
    topology, _ = kept(MemoryState("kept"), 2)
    assert len(check_exactly_once(topology, spark, batches, retried_with=[{"seen": RECORDS[6:]}] * 3)) >= 8


def test_a_key_for_which_all_have_none_has_no_row(spark: SparkSession) -> None:
    ledger, memory = MemoryLedger(), MemoryState("kept")
    topology = Topology("t")
    stream = topology.stream("seen", FixedBatchSpout(FIELDS, RECORDS, max_records_per_batch=3))
    stream.group_by("account").persistent_aggregate(memory, last=Last("page"))
    topology.run(spark, ledger=ledger, until="caught_up")
    found = {row["account"]: row["last"] for row in memory.rows(ledger.database)}
    assert found == {key: last for key, (_, _, last) in expected().items() if last is not None}


def test_groups_stay_behind_a_query(spark: SparkSession) -> None:
    ledger, memory = MemoryLedger(), MemoryState("asked")
    topology, state = kept(MemoryState("kept"), 3)
    seen = topology.stream("again", FixedBatchSpout(FIELDS, RECORDS, max_records_per_batch=4))
    asked = seen.group_by("account").state_query(state, MapGet())
    assert asked.keys == ("account",)
    asked.persistent_aggregate(memory, n=Count())
    topology.run(spark, ledger=ledger, until="caught_up")
    assert {row["account"]: row["n"] for row in memory.rows(ledger.database)} == {"ann": 4, "bob": 3, "cat": 2, None: 2}


class Often(Aggregator[list[int]]):
    schema = "n int"

    def init(self) -> list[int]:
        return []

    def aggregate(self, kept: list[int], *values: object) -> None:
        kept.append(1)

    def complete(self, kept: list[int]) -> object:
        return len(kept)


class Odd(Last):
    result_type = "map<double, bigint>"


class Unsaid(Reducer[int]):
    def init(self) -> int:
        return 0

    def reduce(self, reduced: int, *values: object) -> int:
        return reduced


class NoSuper(Last):
    def __init__(self) -> None:
        pass


REFUSED: dict[str, tuple[str, Callable[[Stream], object]]] = {
    "with others": (
        "'a' goes through the records one by one in the batch's turn, and 'n' does not: keep them in two states",
        lambda s: s.persistent_aggregate(MemoryState("s"), a=Last("page"), n=Count()),
    ),
    "an aggregator": (
        "'a' is of a Often.*Write a Combiner.*or a Reducer",
        lambda s: s.group_by("account").persistent_aggregate(MemoryState("s"), a=Often("page")),
    ),
    "a field that is not there": (
        "Last for 'a' names a field that the stream does not have",
        lambda s: s.persistent_aggregate(MemoryState("s"), a=Last("pages")),
    ),
    "a key of arrays": (
        "can't hold the field 'all'",
        lambda s: s.each(all=F.array("page")).group_by("all").persistent_aggregate(MemoryState("s"), a=Last("page")),
    ),
    "keys that are equal in two ways": (
        "'a' of a state is of the type map<double,bigint>, which no state can hold",
        lambda s: s.persistent_aggregate(MemoryState("s"), a=Odd("page")),
    ),
    "no type": ("must set result_type", lambda s: s.persistent_aggregate(MemoryState("s"), a=Unsaid("page"))),
    "no call of super": ("must call super", lambda s: s.persistent_aggregate(MemoryState("s"), a=NoSuper())),
    "a column twice": (
        "account",
        lambda s: s.group_by("account").persistent_aggregate(MemoryState("s"), account=Last("page")),
    ),
    "no state": ("the state must be a state", lambda s: s.persistent_aggregate("s", a=Last("page"))),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_not_be_is_refused_when_it_is_built(spark: SparkSession, name: str) -> None:
    text, build = REFUSED[name]
    stream = Topology("t").stream("seen", FixedBatchSpout(FIELDS, RECORDS))
    with pytest.raises(ConfigurationError if name != "a field that is not there" else FieldError, match=text):
        build(stream)


class Wrong(Reducer[object]):
    result_type = "bigint"

    def __init__(self, value: object) -> None:
        super().__init__("page")
        self.value = value

    def init(self) -> object:
        return 0

    def reduce(self, reduced: object, *values: object) -> object:
        return self.value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("many", "Wrong for 'a' made a value that is not of its result_type 'bigint'"),
        (None, "Wrong.reduce returned None"),
    ],
)
def test_a_wrong_value_fails_the_batch(spark: SparkSession, value: object, text: str) -> None:
    ledger, memory = MemoryLedger(), MemoryState("kept")
    topology = Topology("t")
    topology.stream("seen", FixedBatchSpout(FIELDS, RECORDS)).persistent_aggregate(memory, a=Wrong(value))
    with pytest.raises(TridentError, match=text) as error:
        topology.run(spark, ledger=ledger, until="caught_up")
    assert "many" not in str(error.value)
    assert not memory.rows(ledger.database)


class Prepared(Last):
    def prepare(self, context: OperationContext) -> None:
        self.verb = context.verb

    def reduce(self, reduced: str | None, *values: object) -> str | None:
        return self.verb

    def cleanup(self) -> None:
        del self.verb


def test_it_is_made_ready_in_each_task_and_explained(spark: SparkSession) -> None:
    ledger, memory = MemoryLedger(), MemoryState("kept")
    topology = Topology("t")
    stream = topology.stream("seen", FixedBatchSpout(FIELDS, RECORDS, max_records_per_batch=4))
    stream.persistent_aggregate(memory, a=Prepared("page"), b=Prepared("account"))
    assert "persistent_aggregate a = Prepared(page), b = Prepared(account): a Python task" in topology.explain()
    topology.run(spark, ledger=ledger, until="caught_up")
    assert [(row["a"], row["b"]) for row in memory.rows(ledger.database)] == [("persistent_aggregate",) * 2]
