"""Aggregators against plain Python, in one batch and over many, whose states and new values say the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration_tests.dsl.collected import rows_of
from integration_tests.dsl.fakes import small_spout
from trident import (
    Aggregation,
    BoolAnd,
    BoolOr,
    CollectList,
    CollectSet,
    Count,
    CountDistinct,
    First,
    Last,
    MaxBy,
    Mean,
    MinBy,
    SqliteLedger,
    TopN,
    Topology,
)
from trident.base.errors import ConfigurationError
from trident.language.stream import Stream
from trident.spouts import FixedBatchSpout
from trident.state import MemoryState, SqliteState, SqliteTable

FIELDS = "k string, n bigint, price decimal(10,2), yes boolean, name string"
Record = tuple[str | None, int | None, Decimal | None, bool | None, str | None]
RECORDS: list[Record] = [
    ("a", 3, Decimal("1.50"), True, "x"),
    ("a", 1, None, None, "y"),
    ("b", None, None, None, None),
    ("a", 1, Decimal("-0.25"), False, None),
    (None, 7, Decimal("9.00"), True, "z"),
    ("a", 3, Decimal("2.00"), True, "w"),
    ("c", 2, Decimal("0.10"), True, "v"),
    (None, 7, Decimal("1.00"), True, "q"),
]


def present(records: Sequence[Record], place: int) -> list[object]:
    return [record[place] for record in records if record[place] is not None]


def chosen(records: Sequence[Record], *, is_least: bool) -> object:
    known = [(record[1], record[4]) for record in records if record[1] is not None]
    choose = min if is_least else max
    return choose(known, key=lambda pair: (pair[0], pair[1] is not None, pair[1] or ""), default=(None, None))[1]


def rounded(value: object) -> object:
    return round(value, 6) if isinstance(value, Decimal) else value


def mean(values: list[object]) -> object:
    return rounded(sum(values) / len(values)) if values else None  # type: ignore[arg-type]


EXPECTED: dict[str, Callable[[Sequence[Record]], object]] = {
    "mean": lambda records: mean(present(records, 1)),
    "price": lambda records: mean(present(records, 2)),
    "least": lambda records: chosen(records, is_least=True),
    "most": lambda records: chosen(records, is_least=False),
    "first": lambda records: chosen(records, is_least=True),
    "last": lambda records: chosen(records, is_least=False),
    "every": lambda records: all(present(records, 3)) if present(records, 3) else None,
    "some": lambda records: any(present(records, 3)) if present(records, 3) else None,
}
KEPT: dict[str, Aggregation] = {
    "mean": Mean("n"),
    "price": Mean("price"),
    "least": MinBy("name", by="n"),
    "most": MaxBy("name", by="n"),
    "first": First("name", by="n"),
    "last": Last("name", by="n"),
    "every": BoolAnd("yes"),
    "some": BoolOr("yes"),
}


def by_key(records: Sequence[Record]) -> dict[str | None, list[Record]]:
    return {key: [each for each in records if each[0] == key] for key in {record[0] for record in records}}


def expected(records: Sequence[Record]) -> dict[str | None, tuple[object, ...]]:
    return {key: tuple(make(mine) for make in EXPECTED.values()) for key, mine in by_key(records).items()}


@pytest.mark.parametrize("records", [RECORDS, RECORDS[:1], RECORDS[::-1], []], ids=["many", "one", "reversed", "none"])
def test_of_one_batch(spark: SparkSession, records: list[Record]) -> None:
    stream = Topology("t").stream("s", small_spout(FIELDS, records[::2], records[1::2]))
    found = rows_of(stream.group_by("k").aggregate(**KEPT), ordered=False)
    assert {row[0]: tuple(map(rounded, row[1:])) for row in found} == expected(records)


@pytest.mark.parametrize("size", [1, 3, 8])
def test_over_batches_of_any_size_in_a_state_and_its_new_values(spark: SparkSession, tmp_path: Path, size: int) -> None:
    file = tmp_path / "ledger.sqlite"
    topology = Topology("t")
    stream = topology.stream("s", FixedBatchSpout(FIELDS, RECORDS, max_records_per_batch=size))
    state = stream.group_by("k").persistent_aggregate(SqliteState("kept"), **KEPT)
    shown = state.new_values()
    assert shown.fields == ("k", *KEPT)
    shown.each_row(lambda row: str(row["k"]), "name string").to_table(SqliteTable("latest"), write="upsert", key="name")
    topology.run(spark, ledger=SqliteLedger(file), until="caught_up")
    with sqlite3.connect(file) as connection:
        connection.row_factory = sqlite3.Row
        latest = {row["k"]: row for row in connection.execute("SELECT * FROM latest")}
        kept = {row["k"]: row for row in connection.execute("SELECT * FROM kept")}
    for key, wanted in expected(RECORDS).items():
        for name, value in zip(EXPECTED, wanted, strict=True):
            found = latest[key][name]
            assert (rounded(Decimal(str(found))) if isinstance(value, Decimal) else found) == value, name
        assert kept[key]["least"] == wanted[2]


def test_lists_and_sets_of_a_batch(spark: SparkSession) -> None:
    stream = Topology("t").stream("s", small_spout(FIELDS, RECORDS[::2], RECORDS[1::2]))
    found = rows_of(
        stream.group_by("k").aggregate(
            different=CountDistinct("n"),
            numbers=CollectSet("n"),
            names=CollectList("name"),
            in_order=CollectList("name", by="price"),
            top=TopN("n", 2),
        ),
        ordered=False,
    )
    assert {row[0]: row[1:] for row in found} == {
        "a": (2, [1, 3], ["w", "x", "y"], ["y", "x", "w"], [3, 3]),
        "b": (0, [], [], [], []),
        "c": (1, [2], ["v"], ["v"], [2]),
        None: (1, [7], ["q", "z"], ["q", "z"], [7, 7]),
    }


REFUSED: dict[str, tuple[str, Callable[[Stream], object]]] = {
    "mean of decimals that none can be made of": (
        r"at most 32 digits before the point.*decimal\(34,2\)",
        lambda s: s.each(d=F.lit(1).cast("decimal(38,2)")).aggregate(m=Mean("d")),
    ),
    "mean of a text": ("integers or decimals", lambda s: s.aggregate(m=Mean("name"))),
    "and of a number": ("needs a boolean", lambda s: s.aggregate(m=BoolAnd("n"))),
    "a set in a state": (
        "one batch's records only",
        lambda s: s.persistent_aggregate(MemoryState("s"), numbers=CollectSet("n")),
    ),
    "a count in a state": (
        "one batch's records only",
        lambda s: s.persistent_aggregate(MemoryState("s"), different=CountDistinct("n")),
    ),
    "by what is not there": ("nothing", lambda s: s.aggregate(m=MinBy("name", by="nothing"))),
    "result named as what is kept": ("twice", lambda s: s.aggregate(m=Mean("n"), m_sum=Count())),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_when_it_is_built(spark: SparkSession, name: str) -> None:
    text, build = REFUSED[name]
    stream = Topology("t").stream("s", small_spout(FIELDS, RECORDS))
    with pytest.raises(ConfigurationError, match=text):
        build(stream)
