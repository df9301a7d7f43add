"""Queries of static states, and a user's own query function over them and over a state of the topology."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from integration_tests.dsl.collected import add_sink, placed, rows_of
from trident import (
    CollectionGet,
    Count,
    MapGet,
    Mean,
    QueryFunction,
    SnapshotGet,
    SqliteLedger,
    StateChanges,
    StateUpdater,
    StaticState,
    StoredRows,
    Sum,
    Topology,
    status,
)
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import ConfigurationError, FatalError, FieldError
from trident.coordinators.decided import StopKind
from trident.language.stream import Stream
from trident.operations.asking import Key
from trident.operations.user_objects import OperationContext
from trident.spouts import FixedBatchSpout
from trident.state import MemoryState, SqliteState, SqliteTable

Row = tuple[object, ...]
FIELDS = "person string, n int"
PEOPLE: list[Row] = [("ann", 1), ("bob", 2), (None, 3), ("zoe", 4), ("ann", 5)]
FRIENDS: list[Row] = [
    ("ann", "eve", Decimal("1.50")), ("bob", "ann", None), ("ann", "bob", Decimal("0.20")), (None, "none", None),
    ("ann", None, Decimal("9.99")), ("ann", "bob", Decimal("0.20")),
]  # fmt: skip
SCHEMA = "who string, friend string, since decimal(5,2)"


def people(rows: Sequence[Row] = PEOPLE, size: int = 10, fields: str = FIELDS) -> tuple[Topology, Stream]:
    topology = Topology("t")
    return topology, topology.stream("people", FixedBatchSpout(fields, rows, max_records_per_batch=size))


def table(spark: SparkSession, rows: Sequence[Row] = FRIENDS, schema: str = SCHEMA) -> DataFrame:
    return spark.createDataFrame(rows, schema)


def friends(topology: Topology, spark: SparkSession, rows: Sequence[Row] = FRIENDS) -> StaticState:
    return topology.new_static_state(table(spark, rows), keys="who")


def test_a_record_gets_the_one_row_of_its_key_or_nulls(spark: SparkSession) -> None:
    topology, stream = people()
    static = topology.new_static_state(table(spark, [FRIENDS[1], FRIENDS[3], FRIENDS[0]]), keys="who")
    asked = stream.state_query(static, MapGet("person"))
    assert [each.simpleString() for each in asked.schema] == [
        "person:string", "n:int", "friend:string", "since:decimal(5,2)",
    ]  # fmt: skip
    assert rows_of(asked) == [
        ("ann", 1, "eve", Decimal("1.50")), ("bob", 2, "ann", None), (None, 3, "none", None), ("zoe", 4, None, None),
        ("ann", 5, "eve", Decimal("1.50")),
    ]  # fmt: skip


def test_a_record_gets_each_row_of_its_key_in_the_order_of_their_values(spark: SparkSession) -> None:
    expected = [
        (person, n, friend, since)
        for person, n in PEOPLE
        for who, friend, since in sorted(FRIENDS, key=lambda row: (row[1] or "", row[2] or 0))
        if who == person
    ]
    for rows in (FRIENDS, FRIENDS[::-1]):  # however Spark reads them
        topology, stream = people()
        assert rows_of(stream.state_query(friends(topology, spark, rows), CollectionGet("person"))) == expected


def test_rows_that_hold_maps_are_in_the_order_of_their_entries(spark: SparkSession) -> None:
    rows: list[Row] = [("ann", 1, {"b": 1}), ("ann", 1, {"a": 2}), ("ann", 0, {"z": 1}), ("ann", 1, None)]
    expected = [{"z": 1}, None, {"a": 2}, {"b": 1}]
    for some in (rows, rows[::-1]):
        topology, stream = people([("ann", 1)])
        static = topology.new_static_state(table(spark, some, "who string, m int, tags map<string, int>"), keys="who")
        found = rows_of(stream.state_query(static, CollectionGet("person")).project("tags"))
        assert [None if each is None else dict(each) for (each,) in found] == expected  # type: ignore[call-overload]


def test_a_table_without_keys(spark: SparkSession) -> None:
    topology, stream = people(PEOPLE[:2])
    rate = topology.new_static_state(table(spark, [(Decimal("1.25"),)], "rate decimal(5,2)"))
    colours = topology.new_static_state(table(spark, [("red",), ("blue",)], "colour string"))
    none = topology.new_static_state(table(spark, [], "nothing string"))
    asked = stream.state_query(rate, SnapshotGet()).state_query(none, SnapshotGet())
    assert rows_of(asked.state_query(colours, CollectionGet())) == [
        (person, n, Decimal("1.25"), None, colour) for person, n in PEOPLE[:2] for colour in ("blue", "red")
    ]


def test_an_empty_table_and_an_empty_batch(spark: SparkSession) -> None:
    topology, stream = people()
    nobody = friends(topology, spark, [])
    assert rows_of(stream.state_query(nobody, MapGet("person")).project("n", "friend")) == [
        (n, None) for _, n in PEOPLE
    ]
    topology, stream = people()
    assert rows_of(stream.state_query(friends(topology, spark, []), CollectionGet("person"))) == []
    topology, stream = people()
    nobody_asks = stream.filter(F.lit(False)).state_query(friends(topology, spark), CollectionGet("person"))
    assert rows_of(nobody_asks) == []


def test_keys_are_equal_as_in_group_by(spark: SparkSession) -> None:
    nan = float("nan")
    topology, stream = people([(nan, 1), (-0.0, 2), (None, 3)], fields="x double, n int")
    static = topology.new_static_state(table(spark, [(0.0, "zero"), (nan, "nan")], "x double, said string"), keys="x")
    assert rows_of(stream.state_query(static, MapGet()).project("n", "said")) == [(1, "nan"), (2, "zero"), (3, None)]


def test_rows_stay_in_the_logical_partition_of_their_record(spark: SparkSession) -> None:
    topology, stream = people()
    asked = stream.global_().state_query(friends(topology, spark), CollectionGet("person"))
    assert {place: len(found) for place, found in placed(asked).items()} == {0: 10}
    topology, stream = people()
    asked = stream.global_().state_query(Graph.state(topology), Graph())
    assert {place: len(found) for place, found in placed(asked).items()} == {0: 5}


class Graph(QueryFunction["Known"]):
    schema = "friend string, place int"

    def __init__(self) -> None:
        super().__init__("person")

    def batch_retrieve(self, state: Known, keys: Sequence[Key]) -> Sequence[object]:
        return [state.of(person) for (person,) in keys]

    def execute(self, key: Key, result: object) -> object:
        assert isinstance(result, list)
        return [(friend, place) for place, friend in enumerate(result)]

    @staticmethod
    def state(topology: Topology) -> StaticState:
        return topology.new_static_state(Known({"ann": ["eve", "bob"], None: ["x"], "zoe": []}))


class Known:
    """A user's object: it is ready only in a task."""

    def __init__(self, friends: Mapping[str | None, list[str]]) -> None:
        self.friends = friends
        self.is_open = False

    def prepare(self, context: OperationContext) -> None:
        self.is_open = True

    def cleanup(self) -> None:
        self.is_open = False

    def of(self, person: object) -> list[str]:
        assert self.is_open
        return self.friends.get(person, [])  # type: ignore[call-overload, no-any-return]


def test_a_users_object_is_asked_in_tasks(spark: SparkSession) -> None:
    topology, stream = people()
    asked = stream.state_query(Graph.state(topology), Graph())
    assert asked.fields == ("person", "n", "friend", "place")
    assert rows_of(asked) == [
        ("ann", 1, "eve", 0), ("ann", 1, "bob", 1), (None, 3, "x", 0), ("ann", 5, "eve", 0), ("ann", 5, "bob", 1),
    ]  # fmt: skip


def test_what_two_ends_share_was_asked_once(spark: SparkSession, tmp_path: Path) -> None:
    """An object that says another thing at each call."""

    class Moods:
        schema = "mood string"

    class Ask(QueryFunction[object]):
        schema = "mood string"

        def batch_retrieve(self, state: object, keys: Sequence[Key]) -> Sequence[object]:
            import uuid

            return [str(uuid.uuid4()) for _ in keys]

    file = tmp_path / "ledger.sqlite"
    topology, stream = people(PEOPLE[:3])
    asked = stream.state_query(topology.new_static_state(Moods()), Ask("person"))
    asked.to_table(SqliteTable("one"))
    asked.to_table(SqliteTable("two"))
    (job,) = topology.compile().jobs
    assert not job.can_part, "in one run of both, also where a batch is small"
    topology.run(spark, ledger=SqliteLedger(file), until="caught_up")
    with sqlite3.connect(file) as connection:
        one, two = (connection.execute(f"SELECT n, mood FROM {name} ORDER BY n").fetchall() for name in ("one", "two"))
    assert one == two
    assert len(one) == 3


class Told(QueryFunction[StoredRows]):
    """What a state has, in a text; two rows for a key that it knows."""

    schema = "said string"

    def batch_retrieve(self, state: StoredRows, keys: Sequence[Key]) -> Sequence[object]:
        return state.multi_get(keys)

    def execute(self, key: Key, result: object) -> object:
        if result is None:
            return [f"{key[0] if key else '-'} is new"]
        assert isinstance(result, Mapping)
        return [f"{name}={value}" for name, value in result.items()]


def told(batch_size: int) -> tuple[list[Row], list[Row]]:
    """Return what is expected of keys, and of the whole."""
    totals: dict[object, list[int]] = defaultdict(list)
    by_key: list[Row] = []
    whole: list[Row] = []
    for start in range(0, len(PEOPLE), batch_size):
        batch = PEOPLE[start : start + batch_size]
        for person, n in batch:
            mine = totals.get(person)
            by_key += (
                [(n, f"total={sum(mine)}"), (n, f"mean={Decimal(sum(mine)) / len(mine):.6f}")]
                if mine
                else [(n, f"{person} is new")]
            )
            seen = sum(map(len, totals.values()))
            whole.append((n, f"count={seen}" if seen else "- is new"))
        for person, n in batch:
            assert isinstance(n, int)
            totals[person].append(n)
    return by_key, whole


class _DeathError(Exception):
    pass


def told_topology() -> Topology:
    topology, stream = people(size=2)
    totals = stream.group_by("person").persistent_aggregate(SqliteState("totals"), total=Sum("n"), mean=Mean("n"))
    count = stream.persistent_aggregate(SqliteState("count"), count=Count())
    stream.state_query(totals, Told()).project("n", "said").to_table(SqliteTable("by_key"))
    stream.state_query(count, Told()).project("n", "said").to_table(SqliteTable("whole"))
    return topology


def read_told(file: Path) -> tuple[list[Row], list[Row]]:
    with sqlite3.connect(file) as connection:
        by_key, whole = (connection.execute(f"SELECT n, said FROM {name}").fetchall() for name in ("by_key", "whole"))
    return [(n, said if "mean" not in said else f"mean={Decimal(said[5:]):.6f}") for n, said in by_key], whole


@pytest.mark.parametrize("dies", [None, CrashPoint.AFTER_TURN_WORK])
def test_a_users_function_is_given_what_the_txid_before_has_left(
    spark: SparkSession, tmp_path: Path, dies: CrashPoint | None
) -> None:
    file = tmp_path / "ledger.sqlite"

    def die(reached: CrashPoint, txid: int) -> None:
        if reached is dies and txid == 2:
            raise _DeathError

    if dies is not None:
        with armed(die), pytest.raises(_DeathError):
            told_topology().run(spark, ledger=SqliteLedger(file), until="caught_up")
    told_topology().run(spark, ledger=SqliteLedger(file), until="caught_up")
    by_key, whole = read_told(file)
    expected = told(2)
    assert sorted(by_key, key=repr) == sorted(expected[0], key=repr)
    assert sorted(whole, key=repr) == sorted(expected[1], key=repr)


class Wrong(QueryFunction[object]):
    """It lacks its schema."""

    def batch_retrieve(self, state: object, keys: Sequence[Key]) -> Sequence[object]:
        return keys


class Unmade(Told):
    def __init__(self) -> None:
        pass


Build = Callable[[Topology, Stream, SparkSession], object]


def _asks(query: Any, keys: Any = "who", rows: Sequence[Row] = FRIENDS[:2]) -> Build:
    return lambda t, s, spark: s.state_query(t.new_static_state(table(spark, rows), keys=keys), query)


def _kept(stream: Stream, keys: Sequence[str] = ("person",)) -> Any:
    grouped = stream.group_by(*keys) if keys else stream
    return grouped.persistent_aggregate(MemoryState("kept"), total=Sum("n"))


REFUSED: dict[str, tuple[str, Build]] = {
    "no state": ("what persistent_aggregate or new_static_state returned", lambda t, s, _: s.state_query({}, MapGet())),  # type: ignore[arg-type]
    "no query of a table": ("query of a table", _asks("all")),
    "function of a table": ("query of a table", _asks(Told("person"))),
    "several rows": ("up to 4 rows for one key.*CollectionGet", _asks(MapGet("person"), rows=FRIENDS)),
    "several rows of no key": ("up to 6 rows", _asks(SnapshotGet(), keys=(), rows=FRIENDS)),
    "snapshot of keys": ("has the keys who; ask with MapGet", _asks(SnapshotGet())),
    "key of nothing": ("has no keys", _asks(MapGet("person"), keys=())),
    "too many keys": ("names 2 fields for the 1 keys", _asks(MapGet("person", "n"))),
    "keys for none": ("names 1 fields for the 0 keys", _asks(CollectionGet("n"), keys=())),
    "another type": ("is int, the field 'who' that is a key of the table string; cast", _asks(MapGet("n"))),
    "added twice": ("there already", lambda t, s, spark: _asks(MapGet("person"))(t, s.each(friend=F.lit(1)), spark)),
    "all keys": ("needs a field beside its keys", _asks(MapGet(), keys=("who", "friend", "since"))),
    "no such key": ("of the table, names a field", _asks(MapGet(), keys="whom")),
    "twice the key": ("twice", _asks(MapGet(), keys=("who", "who"))),
    "no keys": ("keys", _asks(MapGet(), keys=5)),
    "keys of an object": ("keys are of a table", lambda t, s, _: t.new_static_state({"a": 1}, keys="a")),
    "no source": ("a Spark DataFrame, or an object", lambda t, s, _: t.new_static_state("a table")),
    "unsendable": ("can't be sent.*'lock'", lambda t, s, _: t.new_static_state(_Locked())),
    "get of an object": ("query of an object", lambda t, s, _: s.state_query(t.new_static_state({}), MapGet("n"))),
    "no schema": ("must set schema", lambda t, s, _: s.state_query(t.new_static_state({}), Wrong("n"))),
    "not made": (r"super\(\).__init__", lambda t, s, _: s.state_query(t.new_static_state({}), Unmade())),
    "collection of a state": ("has one row for a key", lambda t, s, _: s.state_query(_kept(s), CollectionGet())),
    "function of other keys": ("names 2 fields", lambda t, s, _: s.state_query(_kept(s), Told("person", "n"))),
    "function of another type": ("cast one of them", lambda t, s, _: s.state_query(_kept(s), Told("n"))),
    "function of no keys": ("has no keys", lambda t, s, _: s.state_query(_kept(s, ()), Told("n"))),
    "function adds twice": ("there already", lambda t, s, _: s.each(said=F.lit(1)).state_query(_kept(s), Told())),
}  # fmt: skip


class _Locked:
    def __init__(self) -> None:
        import threading

        self.lock = threading.Lock()


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_when_it_is_built(spark: SparkSession, name: str) -> None:
    text, build = REFUSED[name]
    with pytest.raises(ConfigurationError, match=text):
        build(*people(), spark)


def test_a_field_that_is_not_there_is_named(spark: SparkSession) -> None:
    topology, stream = people()
    for query in (MapGet("whom"), CollectionGet("whom")):
        with pytest.raises(FieldError, match=r"state_query names a field.*'whom'"):
            stream.state_query(topology.new_static_state(table(spark, FRIENDS[:2]), keys="who"), query)
    with pytest.raises(FieldError, match=r"state_query names a field.*'whom'"):
        stream.state_query(topology.new_static_state({}), Told("whom"))


def test_what_is_asked_is_explained(spark: SparkSession) -> None:
    topology, stream = people()
    add_sink(stream.state_query(_kept(stream), Told()))
    text = topology.explain()
    assert "state_query of 'kept' by person: as the txid before has left it" in text
    assert "state_query Told(person): a Python task" in text


def by_query(stream: Stream, state: SqliteState) -> None:
    kept = stream.filter(F.col("n") < 3).group_by("day").persistent_aggregate(state, times=Count())
    stream.state_query(kept, MapGet()).aggregate(all=Count()).to_table(SqliteTable("asked"))


def by_updater(stream: Stream, state: SqliteState) -> None:
    stream.partition_persist(state, CountsDays(), key="day")


class CountsDays(StateUpdater):
    values = "times bigint"

    def update(self, stored: StoredRows, rows: Sequence[dict[str, object]]) -> StateChanges:
        return StateChanges({(row["day"],): {"times": 1} for row in rows})


ASKED = (
    r"state 'days' can't be asked for the keys of the batch: column 'day'.*leave those with such a key out \(filter\)"
)


@pytest.mark.parametrize("ask", [by_query, by_updater])
def test_a_key_that_no_state_holds_stops_the_batch_with_a_way_on(
    spark: SparkSession, tmp_path: Path, ask: Callable[[Stream, SqliteState], object]
) -> None:
    """A day of the year 0 is one for Spark."""

    def topology(*, mended: bool = False) -> Topology:
        made = Topology("t")
        stream = made.stream("s", FixedBatchSpout("n int", [(1,), (2,), (3,), (4,)], max_records_per_batch=2))
        stream = stream.filter(F.col("n") != 3) if mended else stream
        stream = stream.each(day=F.make_date(F.when(F.col("n") == 3, 0).otherwise(2000), F.lit(1), F.lit(1)))
        ask(stream, SqliteState("days"))
        return made

    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    with pytest.raises(FatalError, match=ASKED):
        topology().run(spark, ledger=ledger, until="caught_up")
    refusal = status("t", ledger).refusal
    assert refusal is not None
    assert (refusal.txid, refusal.kind) == (2, StopKind.UNPROCESSABLE)
    topology(mended=True).run(spark, ledger=ledger, until="caught_up")
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        rows = connection.execute("SELECT day, times FROM days").fetchall()
    assert rows == [("2000-01-01", 2 if ask is by_query else 1)]
