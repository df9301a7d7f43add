"""Rows that are made of one record: each has a place of its own, so the number of tasks says nowhere which is last."""

from __future__ import annotations

import itertools
import math
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from integration_tests.dsl.collected import Row, add_sink
from integration_tests.dsl.fakes import run, small_spout
from trident import (
    CollectionGet,
    Collector,
    Count,
    FirstN,
    InputRecord,
    JoinSide,
    QueryFunction,
    RunOptions,
    SqliteLedger,
    Topology,
)
from trident.base.order import ORDER, origin_of
from trident.coordinators.options import Until
from trident.language.stream import Stream
from trident.operations.asking import Key
from trident.operations.by_values import compared_by
from trident.operations.given import in_order
from trident.operations.static_join import with_levels
from trident.operations.static_query import rows_by_key
from trident.spouts import FixedBatchSpout
from trident.state import SqliteTable
from trident.state.staged import HeldUpdates

TASKS = (1, 3, 8)
RECORDS = [("ab"[number % 2], number) for number in range(7)]
TABLE = [("a", 3, "y"), ("a", 1, "x"), ("c", 5, "c"), ("a", 3, "x"), ("b", 2, "w"), ("b", None, "w")]
FIELDS = "k string, v int, w string"


def records() -> Stream:
    spout = small_spout("k string, n int", RECORDS[:4], RECORDS[4:])
    return Topology("t", partitions=3).stream("s", spout).project("k", "n")


def table_of(rows: Sequence[Row] = TABLE, fields: str = FIELDS) -> DataFrame:
    return SparkSession.active().createDataFrame(list(rows), fields)


def placed_rows(stream: Stream) -> list[tuple[bytes | None, Row]]:
    """Return what comes out as one batch, each row with its order."""
    add_sink(stream)
    updates = run(stream._topology.compile(), stream._sample.sparkSession).updates["out"]
    assert isinstance(updates, HeldUpdates)
    return [(row.pop(ORDER), tuple(row.values())) for row in updates.rows.to_pylist()]


class Friends(QueryFunction[range]):
    schema = "friend string"

    def batch_retrieve(self, state: range, keys: Sequence[Key]) -> Sequence[object]:
        return [[f"{key[0]}{number}" for number in state] for key in keys]

    def execute(self, key: Key, result: object) -> object:
        return result


def twice(batch: pa.RecordBatch) -> pa.Table:
    return pa.concat_tables([pa.Table.from_batches([batch])] * 2)


def by_sides(stream: Stream) -> tuple[Stream, Stream]:
    """Each record once on each side, with keys that meet in some, and stand on one side alone in others."""
    left = stream.map(k=F.col("n"), l=F.col("n"))
    return left, stream.map(k=F.col("n") + 2, r=F.col("n"))


def of_three(stream: Stream, *sides: JoinSide) -> Stream:
    left, right = by_sides(stream)
    third = stream.map(k=F.col("n") * 2, t=F.col("n"))
    return stream._topology.join(left, right, third, on="k", how=sides)


def preserved(stream: Stream) -> Stream:
    """Rows that are alike in all fields but those of the key."""
    left, right = by_sides(stream)
    return left.project("k").join(right.project("k"), on="k", how="full", output="preserve", fields=["lk", "rk"])


def emit_two(record: InputRecord, collector: Collector) -> None:
    for number in range(2):
        collector.emit((record["n"], number))


LEVELS: dict[str, Callable[[Stream], Stream]] = {
    "a table's rows": lambda s: s.join_static(table_of(), on="k", unique=False),
    "a table's rows, or none": lambda s: s.join_static(table_of(TABLE[:4]), on="k", how="left", unique=False),
    "a table's rows that hold maps": lambda s: (
        s.join_static(
            table_of([("a", {"x": 1}), ("a", {"y": 1}), ("a", {"x": 2}), ("b", None)], "k string, m map<string,int>"),
            on="k",
            unique=False,
        )
        .each(m_=F.to_json("m"))
        .project("n", "m_")
    ),
    "two tables": lambda s: s.join_static(table_of(), on="k", unique=False).join_static(
        table_of([("x", 1), ("x", 2), ("w", 3)], "w string, u int"), on="w", how="left", unique=False
    ),
    "a table's rows, asked for": lambda s: s.state_query(
        s._topology.new_static_state(table_of(), keys="k"), CollectionGet("k")
    ),
    "a function's answers": lambda s: s.state_query(s._topology.new_static_state(range(3)), Friends("k")),
    "inner": lambda s: by_sides(s)[0].join(by_sides(s)[1], on="k"),
    "left": lambda s: by_sides(s)[0].join(by_sides(s)[1], on="k", how="left"),
    "right": lambda s: by_sides(s)[0].join(by_sides(s)[1], on="k", how="right"),
    "full": lambda s: by_sides(s)[0].join(by_sides(s)[1], on="k", how="full"),
    "full, of keys of many": lambda s: s.join(s.filter(F.col("n") > 2).rename(n="m"), on="k", how="full"),
    "full, of rows of records": lambda s: (
        s.flat_each(u=F.array(F.lit(0), F.lit(1)))
        .map(k=F.col("n"), u=F.col("u"))
        .join(by_sides(s)[1], on="k", how="full")
    ),
    "full, then rows of each": lambda s: (
        by_sides(s)[0].join(by_sides(s)[1], on="k", how="full").flat_each(u=F.array(F.lit(0), F.lit(1)))
    ),
    "full, with itself": lambda s: (full := by_sides(s)[0].join(by_sides(s)[1], on="k", how="full")).merge(full),
    "preserved": preserved,
    "preserved, inner": lambda s: s.join(s, on="k", output="preserve", fields=["lk", "ln", "rk", "rn"]),
    "three, all outer": lambda s: of_three(s, JoinSide.OUTER, JoinSide.OUTER, JoinSide.OUTER),
    "three, the second inner": lambda s: of_three(s, JoinSide.OUTER, JoinSide.INNER, JoinSide.OUTER),
    "three, the first inner": lambda s: of_three(s, JoinSide.INNER, JoinSide.OUTER, JoinSide.OUTER),
    "merged with itself": lambda s: s.merge(s, s.flat_each(u=F.array(F.lit(0), F.lit(1))).project("k", "n")),
    "flat_map of a column": lambda s: s.flat_map(u=F.array(F.col("n"), F.col("n") + 1)),
    "flat_map of a function": lambda s: s.flat_map(twice, "k string, n int"),
    "flat_map_row": lambda s: s.flat_map_row(lambda row: [(row["n"], 0), (row["n"], 1)], "n int, u int"),
    "broadcast": lambda s: s.broadcast(),
    "process": lambda s: s.process(emit_two, "n int, u int"),
}


@pytest.mark.verify(short=True, one_in=4)
@pytest.mark.parametrize("made", LEVELS)
def test_no_two_rows_of_a_record_are_in_one_place(spark: SparkSession, made: str) -> None:
    found = {}
    for tasks in TASKS:
        rows = placed_rows(LEVELS[made](records().parallelism(tasks)).parallelism(tasks))
        orders = Counter(order for order, _ in rows)
        assert None not in orders
        assert max(orders.values()) == 1, [row for row in rows if orders[row[0]] > 1]
        # an order begins with its record, of which more than one place asks for the log
        assert {origin_of(order).topic for order, _ in rows if order is not None} == {"rows"}
        found[tasks] = sorted(rows)
    assert all(rows == found[1] for rows in found.values())


def test_a_row_of_one_side_stands_where_its_record_does_and_the_first_side_comes_first(spark: SparkSession) -> None:
    stream = records().filter(F.col("n") < 4)
    left, right = by_sides(stream)
    rows = [row for _, row in sorted(placed_rows(left.join(right, on="k", how="full")))]
    assert rows == [(0, 0, None), (1, 1, None), (2, 2, 0), (4, None, 2), (3, 3, 1), (5, None, 3)]


def test_a_side_comes_first_whatever_was_made_of_its_record_before(spark: SparkSession) -> None:
    """A number behind those of the rows of a record would put the other side's between them."""
    stream = records().filter(F.col("n") == 0)
    left = stream.flat_each(u=F.array(F.lit(0), F.lit(1), F.lit(2))).map(k=F.lit("left"), u=F.col("u"))
    rows = placed_rows(left.join(stream.map(k=F.lit("right"), r=F.col("n")), on="k", how="full"))
    assert [row for _, row in sorted(rows)] == [
        ("left", 0, None),
        ("left", 1, None),
        ("left", 2, None),
        ("right", None, 0),
    ]


@pytest.mark.parametrize("how", ["inner", "full"])
def test_a_joined_row_has_no_place_where_one_that_it_is_made_of_has_none(spark: SparkSession, how: str) -> None:
    """Else rows that differ in that one alone would all be in one place, and an upsert would keep any of them."""
    stream = records().filter(F.col("n") < 3)
    counts = stream.group_by("k").aggregate(n=Count()).map(k=F.col("k"), n=F.col("n").cast("int"))
    rows = placed_rows(stream.merge(counts).join(counts.merge(stream).rename(n="m"), on="k", how=how))
    # a: two records and a count on either side, of nine pairs four are of records; b: one of four
    assert (len(rows), len([row for order, row in rows if order is None])) == (13, 8)
    assert len({order for order, _ in rows if order is not None}) == 5


def test_the_rows_of_a_table_are_in_the_order_of_their_values_however_they_are_read(spark: SparkSession) -> None:
    expected = sorted(TABLE, key=lambda row: (row[1] is not None, row[1], row[2]))
    for rows in (TABLE, TABLE[::-1]):
        joined = records().join_static(table_of(rows).repartition(3), on="k", unique=False)
        found = [row for _, row in sorted(placed_rows(joined))]
        assert found == [(k, n, v, w) for k, n in RECORDS for of, v, w in expected if of == k]


SEEN = "k string, x double, c string collate utf8_lcase, m map<string,double>, l array<float>, s struct<`a b`:double>"
ALIKE: list[Row] = [
    ("a", 0.0, "b", {"x": 1.0}, [0.0], (0.0,)),
    ("a", -0.0, "b", {"x": 1.0}, [0.0], (0.0,)),
    ("a", 0.0, "B", {"x": 1.0}, [0.0], (0.0,)),
    ("a", 0.0, "b", {"x": -0.0, "y": 1.0}, [0.0], (0.0,)),
    ("a", 0.0, "b", {"y": 1.0, "x": 0.0}, [0.0], (0.0,)),
    ("a", 0.0, "b", {"x": 1.0}, [-0.0], (0.0,)),
    ("a", 0.0, "b", {"x": 1.0}, [0.0], (-0.0,)),
    ("a", math.nan, "b", {"x": 1.0}, [0.0], (0.0,)),
    ("a", None, None, None, None, None),
]


def test_what_can_be_told_apart_has_an_order_although_spark_takes_it_for_equal(spark: SparkSession) -> None:
    levels, lists = set(), set()
    for rows in (ALIKE, ALIKE[::-1], ALIKE[4:] + ALIKE[:4]):
        table = table_of(rows, SEEN)
        # Spark's Python rows know nothing of collations
        found = with_levels(table, ["k"]).orderBy("__trident_level").drop("__trident_level").toArrow()
        levels.add(repr(found.to_pylist()))
        lists.add(repr(rows_by_key(table, ["k"]).toArrow().column("__trident_rows").to_pylist()))
    assert len(levels) == len(lists) == 1
    (only,) = levels
    assert only.index("None") < only.index("-0.0") < only.index("nan")


def test_values_of_plain_types_are_compared_as_they_are(spark: SparkSession) -> None:
    table = table_of([], "k string, d date, l array<int>, s struct<a:int,b:interval day>")
    assert [str(column) for column in compared_by(table.schema.fields)] == [
        str(F.col(f"`{name}`")) for name in table.columns
    ]


def test_zeros_of_rows_without_a_place_are_told_apart() -> None:
    for values in itertools.permutations([0.0, -0.0, math.nan, -1.0]):
        rows = [{"x": value} for value in values]
        assert repr(in_order([None] * 4, rows)) == repr([{"x": value} for value in (-1.0, -0.0, 0.0, math.nan)])


@pytest.mark.parametrize("tasks", [1, 3, 8])
def test_the_last_row_of_a_key_is_the_same_for_each_number_of_tasks(
    spark: SparkSession, tmp_path: Path, tasks: int
) -> None:
    topology = Topology("t")
    stream = topology.stream("rows", FixedBatchSpout("k string, n int", [("a", n) for n in range(9)]))
    table = table_of([("a", v) for v in range(7)], "k string, v int")
    static = stream.join_static(table, on="k", unique=False).parallelism(tasks)
    static.to_table(SqliteTable("last_of_table"), write="upsert", key="k")
    left, right = stream.map(k=F.col("n"), l=F.col("n")), stream.map(k=F.col("n") + 100, r=F.col("n"))
    joined = left.parallelism(tasks).join(right.parallelism(tasks), on="k", how="full").parallelism(tasks)
    joined.map(g=F.lit(1), k=F.col("k")).to_table(SqliteTable("last_of_sides"), write="upsert", key="g")
    ledger = SqliteLedger(tmp_path / "l.sqlite")
    topology.run(spark, ledger=ledger, options=RunOptions(until=Until.CAUGHT_UP))
    with sqlite3.connect(tmp_path / "l.sqlite") as found:
        assert found.execute("SELECT * FROM last_of_table").fetchall() == [("a", 8, 6)]
        assert found.execute("SELECT * FROM last_of_sides").fetchall() == [(1, 108)]


@pytest.mark.parametrize("tasks", [1, 3, 8])
def test_the_first_rows_are_the_same_for_each_number_of_tasks(spark: SparkSession, tasks: int) -> None:
    joined = records().join_static(table_of(), on="k", unique=False).parallelism(tasks)
    rows = [row for _, row in sorted(placed_rows(joined.apply_assembly(FirstN(4))))]
    assert rows == [("a", 0, 1, "x"), ("a", 0, 3, "x"), ("a", 0, 3, "y"), ("b", 1, None, "w")]
