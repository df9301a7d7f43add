"""Merge, joins and multi-reduce of streams of one batch, against plain Python; each source is read once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from decimal import Decimal

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from integration_tests.dsl.collected import Row, add_sink, rows_of, sent_rows
from integration_tests.dsl.fakes import edges_of, manifest, rows_spout, run, small_spout
from trident import Count, JoinSide, MapGet, Mean, MultiReducer, Sum, Topology
from trident.base.errors import ConfigurationError
from trident.base.order import ORDER
from trident.coordinators.batches.processor import UnprocessableError
from trident.language.stream import Stream
from trident.operations import joining
from trident.state import MemoryState

NAN = float("nan")
LEFT: list[Row] = [("a", 1), ("b", 2), ("a", 3), (None, 4)]
RIGHT: list[Row] = [("a", "x"), ("c", "y"), ("a", "z"), (None, "w")]
THIRD: list[Row] = [("a", True), ("c", False), ("d", True)]


def topology_of(**streams: tuple[str, Sequence[Row]]) -> tuple[Topology, list[Stream]]:
    topology = Topology("t")
    return topology, [topology.stream(name, small_spout(ddl, rows)) for name, (ddl, rows) in streams.items()]


def two() -> tuple[Topology, Stream, Stream]:
    topology, (left, right) = topology_of(left=("k string, n int", LEFT), right=("k string, s string", RIGHT))
    return topology, left, right


def expected_join(sides: Sequence[Sequence[Row]], needed: Sequence[bool]) -> list[Row]:
    """Join on the first field of each, as Trident does: all combinations, sides that may lack the key padded."""
    keys = dict.fromkeys(row[0] for side in sides for row in side)
    rows: list[Row] = []
    for key in keys:
        found = [[row[1:] for row in side if row[0] == key] for side in sides]
        if any(is_needed and not mine for is_needed, mine in zip(needed, found, strict=True)):
            continue
        widths = [len(side[0]) - 1 for side in sides]
        padded = [mine or [(None,) * width] for mine, width in zip(found, widths, strict=True)]
        rows += [(key, *itertools.chain(*parts)) for parts in itertools.product(*padded)]
    return sorted(rows, key=repr)


@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
def test_a_join_of_two_streams(spark: SparkSession, how: str) -> None:
    _, left, right = two()
    joined = left.join(right, on="k", how=how)
    assert joined.fields == ("k", "n", "s")
    needed = {"inner": (True, True), "left": (True, False), "right": (False, True), "full": (False, False)}[how]
    assert sorted(rows_of(joined), key=repr) == expected_join([LEFT, RIGHT], needed)


@pytest.mark.parametrize("needed", list(itertools.product([True, False], repeat=3)), ids=str)
def test_a_join_of_three_streams_side_by_side(spark: SparkSession, needed: tuple[bool, ...]) -> None:
    topology, streams = topology_of(
        left=("k string, n int", LEFT), right=("k string, s string", RIGHT), third=("k string, b boolean", THIRD)
    )
    sides = [JoinSide.INNER if each else JoinSide.OUTER for each in needed]
    joined = topology.join(*streams, on="k", how=sides)
    assert sorted(rows_of(joined), key=repr) == expected_join([LEFT, RIGHT, THIRD], needed)


def test_preserved_fields_are_null_where_a_stream_lacks_the_key(spark: SparkSession) -> None:
    _, left, right = two()
    joined = left.join(right, on="k", how="full", output="preserve", fields=["lk", "n", "rk", "s"])
    rows = rows_of(joined)
    assert ("b", 2, None, None) in rows
    assert (None, None, "c", "y") in rows
    assert (None, 4, None, "w") in rows


def test_keys_of_other_names_and_several(spark: SparkSession) -> None:
    topology, (left, right) = topology_of(
        left=("a string, b int, n int", [("x", 1, 10), ("x", 2, 20)]), right=("b2 int, a2 string", [(1, "x"), (2, "y")])
    )
    joined = topology.join(left, right, on=[["a", "b"], ["a2", "b2"]])
    assert rows_of(joined) == [("x", 1, 10)]


def test_keys_are_equal_as_in_group_by(spark: SparkSession) -> None:
    _, (left, right) = topology_of(
        left=("k double, n int", [(NAN, 1), (0.0, 2), (None, 3)]),
        right=("k double, m int", [(NAN, 1), (-0.0, 2), (None, 3)]),
    )
    rows = rows_of(left.join(right, on="k"))
    assert {(n, m) for _, n, m in rows} == {(1, 1), (2, 2), (3, 3)}
    assert any(isinstance(k, float) and math.isnan(k) for k, _, _ in rows)


def test_joined_rows_are_in_the_order_of_their_records(spark: SparkSession) -> None:
    _, left, right = two()
    rows = [row for row in rows_of(left.join(right, on="k")) if row[0] == "a"]
    assert rows == [("a", 1, "x"), ("a", 1, "z"), ("a", 3, "x"), ("a", 3, "z")]


def test_the_order_of_a_joined_row_is_that_of_all_its_records_one_behind_the_other(spark: SparkSession) -> None:
    """Rows that happen to come in the right order would show nothing."""
    names = ", ".join(f"`{number}.{ORDER}` binary" for number in range(3))
    a, b, c = map(bytearray, (b"a", b"b", b"c"))
    frame = spark.createDataFrame([(a, b, c), (a, None, c)], names)
    assert [bytes(row[0]) for row in frame.select(joining._orders(3)).collect()] == [b"abc", b"ac"]


def test_a_join_with_groups_of_the_same_stream(spark: SparkSession) -> None:
    """A self-join: the source is read once for both ways."""
    topology, (left,) = topology_of(left=("k string, n int", LEFT))
    totals = left.group_by("k").aggregate(total=Sum("n"))
    add_sink(left.join(totals, on="k"), ordered=False)
    result = run(topology.compile(), spark)
    assert sent_rows(result) == sorted([("a", 1, 4), ("b", 2, 2), ("a", 3, 4), (None, 4, 4)], key=repr)
    source = topology._spouts["left"].open("left")
    assert result.manifests == tuple(("left", manifest(edge)) for edge in edges_of(source))


def test_merged_records_go_by_place_and_keep_their_order(spark: SparkSession) -> None:
    topology, (left, right) = topology_of(
        left=("k string, n int", LEFT), right=("other string, m int", [("z", 9), ("y", 8)])
    )
    merged = topology.merge(left, right, fields=["k", "n"])
    assert merged.fields == ("k", "n")
    rows = rows_of(merged)
    assert sorted(rows, key=repr) == sorted([*LEFT, ("z", 9), ("y", 8)], key=repr)
    assert [row for row in rows if row in LEFT] == LEFT
    assert topology.merge(right, left, left, fields=["a", "b"]).fields == ("a", "b")


def test_a_stream_merged_with_itself_has_each_record_twice(spark: SparkSession) -> None:
    _, (left,) = topology_of(left=("k string, n int", LEFT))
    assert sorted(rows_of(left.merge(left.filter(F.col("n") > 2))), key=repr) == sorted([*LEFT, *LEFT[2:]], key=repr)


def test_merging_what_has_an_order_with_what_has_none(spark: SparkSession) -> None:
    _, (left,) = topology_of(left=("k string, n bigint", LEFT))
    counts = left.group_by("k").aggregate(n=Count())
    rows = rows_of(left.merge(counts))
    assert len(rows) == 4 + 3
    assert rows[3:] == LEFT


@pytest.mark.parametrize("empty", ["left", "right", "both"])
def test_streams_without_records(spark: SparkSession, empty: str) -> None:
    left, right = ([] if empty in ("left", "both") else LEFT), ([] if empty in ("right", "both") else RIGHT)
    topology, streams = topology_of(left=("k string, n int", left), right=("k string, s string", right))
    assert len(rows_of(topology.join(*streams, on="k", how="full"))) == len(left) + len(right)


class Sides(MultiReducer[list[object]]):
    """Tells what it was given."""

    def init(self, group: tuple[object, ...]) -> list[object]:
        return [group]

    def execute(self, kept: list[object], stream: int, row: dict[str, object]) -> object:
        kept.append((stream, *row.values()))
        return ("row", str(row)) if stream else None

    def complete(self, kept: list[object]) -> object:
        return [("all", str(kept))]


def test_a_multi_reducer_goes_through_all_rows_in_order(spark: SparkSession) -> None:
    topology, left, right = two()
    rows = rows_of(topology.multi_reduce([left, right], Sides(), "what string, told string"), ordered=False)
    everything = [(), *((0, *row) for row in LEFT), *((1, *row) for row in RIGHT)]
    assert ("all", str(everything)) in rows
    assert len(rows) == 5
    assert ("row", str({"k": "c", "s": "y"})) in rows


def test_a_multi_reducer_goes_through_each_group(spark: SparkSession) -> None:
    topology, left, right = two()
    grouped = topology.multi_reduce([left.group_by("k"), right.group_by("k")], Sides(), "what string, told string")
    assert grouped.fields == ("k", "what", "told")
    rows = rows_of(grouped, ordered=False)
    assert ("a", "all", str([("a",), (0, "a", 1), (0, "a", 3), (1, "a", "x"), (1, "a", "z")])) in rows
    assert (None, "all", str([(None,), (0, None, 4), (1, None, "w")])) in rows
    assert len([row for row in rows if row[1] == "all"]) == 4


FAR = "date_add(DATE'9999-12-31', n)"
UNHELD_KEYS = {
    "a day": FAR,
    "a moment": f"CAST({FAR} AS timestamp)",
    "a moment without a zone": f"CAST({FAR} AS timestamp_ntz)",
    "inside": f"named_struct('a', {FAR})",
    "a text": "CAST(X'E9' AS string)",
}


@pytest.mark.parametrize("key", UNHELD_KEYS)
def test_a_group_that_python_can_not_hold_is_refused_by_its_field(spark: SparkSession, key: str) -> None:
    topology, (left,) = topology_of(left=("k string, n int", LEFT))
    groups = left.map(day=F.expr(UNHELD_KEYS[key])).group_by("day")
    add_sink(topology.multi_reduce([groups], Sides(), "what string, told string"), ordered=False)
    with pytest.raises(UnprocessableError, match=r"the field 'day' has .*, so no reducer can be given it"):
        run(topology.compile(), spark)


def test_a_multi_reducer_without_groups_runs_in_a_batch_without_rows(spark: SparkSession) -> None:
    topology, left, right = two()
    none = [left.filter(F.lit(False)), right.filter(F.lit(False))]
    assert rows_of(topology.multi_reduce(none, Sides(), "what string, told string"), ordered=False) == [("all", "[()]")]


def test_a_table_that_a_run_can_not_keep_is_refused_by_its_field(spark: SparkSession) -> None:
    _, left, _ = two()
    for ddl, said in (
        ("parse_json('1') AS v", "'v' of the table holds variants"),
        ("array(parse_json('1')) AS v", "'v' of the table holds variants"),
        ("1 AS __trident_level", "'__trident_level' is reserved"),
        ("1 AS __trident_matched", "'__trident_matched' is reserved"),
    ):
        table = spark.sql(f"SELECT 'a' AS k, {ddl}")
        for unique in (True, False):
            with pytest.raises(ConfigurationError, match=said):
                left.join_static(table, on="k", unique=unique)


def test_fields_of_a_structure_may_differ_by_case_alone(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        schema = "k string, s struct<a: double, A: double>"
        table = spark.createDataFrame([("a", (1.0, 2.0)), ("a", (1.0, -0.0)), ("a", (1.0, 0.0))], schema)
        _, (left,) = topology_of(left=("k string, n int", LEFT))
        rows = rows_of(left.filter(F.col("n") == 1).join_static(table, on="k", unique=False))
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    assert [str(row[-1]) for row in rows] == [str({"a": 1.0, "A": second}) for second in (-0.0, 0.0, 2.0)]


@pytest.mark.parametrize("how", ["inner", "left"])
def test_a_join_with_a_table_that_stays_as_it_is(spark: SparkSession, how: str) -> None:
    rows = [("a", Decimal("1.5")), (None, Decimal("2.5")), ("a", Decimal("3.5")), (None, Decimal("4.5"))]
    table = spark.createDataFrame(rows, "k string, rate decimal(5,2)")
    topology = Topology("t")
    stream = topology.stream("left", rows_spout("k string, n int", LEFT))
    joined = stream.join_static(table, on="k", how=how, unique=False)
    assert joined.fields == ("k", "n", "rate")
    add_sink(joined, ordered=False)
    result = run(topology.compile(), spark)
    expected = [(k, n, rate) for k, n in LEFT for key, rate in rows if key == k]
    expected += [("b", 2, None)] if how == "left" else []  # type: ignore[list-item]
    assert sent_rows(result) == sorted(expected, key=repr)
    source = topology._spouts["left"].open("left")
    assert result.manifests == tuple(("left", manifest(edge)) for edge in edges_of(source))


def test_a_table_keeps_the_records_in_order(spark: SparkSession) -> None:
    table = spark.createDataFrame([("a", 1), ("b", 2)], "k string, m int")
    _, (left,) = topology_of(left=("k string, n int", LEFT))
    assert rows_of(left.join_static(table, on="k").filter(F.col("m") > 0)) == [("a", 1, 1), ("b", 2, 2), ("a", 3, 1)]


@pytest.mark.parametrize(
    ("keys", "repeated"),
    [
        ([1.0, 2.0, None, NAN], 0),
        ([1.0, 2.0, 1.0, 1.0], 1),
        ([None, None, NAN, NAN, 0.0, -0.0, 7.0], 3),
    ],
    ids=str,
)
def test_a_table_with_several_rows_of_a_key_is_refused_unless_that_is_meant(
    spark: SparkSession, keys: list[float | None], repeated: int
) -> None:
    """A record would come out, and be counted, once for each of them."""
    _, (left,) = topology_of(left=("x double, n int", [(1.0, 1)]))
    table = spark.createDataFrame([(key, place) for place, key in enumerate(keys)], "x double, count int")
    if repeated:
        with pytest.raises(
            ConfigurationError, match=rf"stream 'left': .*: {repeated} keys \(x\) have several rows.*unique=False"
        ):
            left.join_static(table, on="x")
    assert left.join_static(table, on="x", unique=not repeated).fields == ("x", "n", "count")


REFUSED: dict[str, tuple[str, Callable[[Topology, Stream, Stream], object]]] = {
    "merge of other fields": ("has 2 fields", lambda t, left, right: left.project("k").merge(right)),
    "merge of other types": ("'s' of stream 2 is string", lambda t, left, right: left.merge(right)),
    "merge of other names": (
        "fields go by their place",
        lambda t, left, right: left.merge(left.rename(n="m")),
    ),
    "merge of names the other way round": (
        r"has the fields k, m, n, the first one k, n, m; .*fields=\[",
        lambda t, left, right: wide(left).merge(wide(left).project("k", "m", "n")),
    ),
    "merge with names": ("1 names for 2", lambda t, left, right: left.merge(left, fields=["a"])),
    "merge of one": ("at least 2", lambda t, left, right: t.merge(left)),
    "merge of no stream": ("merge: another stream", lambda t, left, right: left.merge("right")),  # type: ignore[arg-type]
    "join on a number": ("on must be the name", lambda t, left, right: left.join(right, on=[5])),  # type: ignore[list-item]
    "join on maps": ("holds maps", lambda t, left, right: mapped(left).join(mapped(right), on="m")),
    "a table with maps": ("holds maps", lambda t, a, b: mapped(a).join_static(table_of(MAPS), on="m")),
    "groups of maps": ("holds maps", lambda t, a, b: t.multi_reduce([mapped(a).group_by("m")], Sides(), "x int")),
    "join on nothing": ("on must be the name", lambda t, left, right: left.join(right, on=[])),
    "join on what is not there": ("of stream 2, names a field", lambda t, left, right: left.join(right, on="n")),
    "join on other types": ("cast one of them", lambda t, left, right: left.join(right, on=[["n"], ["s"]])),
    "join of equal names": ("two streams have a field 'n'", lambda t, left, right: left.join(left, on="k")),
    "join with other names": ("names for", lambda t, left, right: left.join(right, on="k", fields=["a"])),
    "join of which kind": ("how must be 'inner'", lambda t, left, right: left.join(right, on="k", how="cross")),
    "join of three, left": ("say of each", lambda t, left, right: t.join(left, right, left, on="k", how="left")),
    "join with which output": ("output", lambda t, left, right: left.join(right, on="k", output="all")),
    "a table of other types": ("in the table", lambda t, left, right: left.join_static(table_of("k int"), on="k")),
    "a table without the field": ("of the table", lambda t, left, right: left.join_static(table_of("x int"), on="k")),
    "a table of a known name": (
        "there already",
        lambda t, left, right: left.join_static(table_of("k string, n int"), on="k"),
    ),
    "no table": ("must be a Spark DataFrame", lambda t, left, right: left.join_static("t", on="k")),  # type: ignore[arg-type]
    "which static join": (
        "'inner' or 'left'",
        lambda t, a, b: a.join_static(table_of("k string"), on="k", how="full"),
    ),
    "reducer class": ("must be a MultiReducer object", lambda t, left, right: t.multi_reduce([left], Sides, "n int")),  # type: ignore[arg-type]
    "no reducer": ("MultiReducer", lambda t, left, right: t.multi_reduce([left], len, "n int")),  # type: ignore[arg-type]
    "one grouped": (
        "all grouped",
        lambda t, a, b: t.multi_reduce([a.group_by("k"), b], Sides(), "n int"),
    ),
    "groups of other types": (
        "cast one of them",
        lambda t, left, right: t.multi_reduce([left.group_by("n"), right.group_by("k")], Sides(), "m int"),
    ),
    "group field declared": ("twice", lambda t, left, right: t.multi_reduce([left.group_by("k")], Sides(), "k int")),
}


MAPS = "m map<string,int>"


def wide(stream: Stream) -> Stream:
    return stream.each(m=F.col("n"))


def mapped(stream: Stream) -> Stream:
    return stream.map(m=F.create_map(F.col("k"), F.lit(1)))


def table_of(ddl: str) -> DataFrame:
    return SparkSession.active().createDataFrame([], ddl)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_when_it_is_built(spark: SparkSession, name: str) -> None:
    text, build = REFUSED[name]
    with pytest.raises(ConfigurationError, match=text):
        build(*two())


NAMED: dict[str, tuple[str, Callable[[Topology, Stream, Stream], object]]] = {
    "merge": ("streams 'left', 'right': merge: the field 's'", lambda t, left, right: left.merge(right)),
    "join": ("streams 'left', 'right': join, of stream 2, names", lambda t, left, right: left.join(right, on="n")),
    "static": ("stream 'left': join_static", lambda t, left, right: left.join_static(table_of("s string"), on="s")),
    "reduce": (
        "streams 'left', 'right': multi_reduce: ",
        lambda t, left, right: t.multi_reduce([left.group_by("n"), right.group_by("k")], Sides(), "m int"),
    ),
    "group": ("stream 'left': group_by names", lambda t, left, right: left.group_by("s")),
    "parts": ("stream 'left': Sum for 'n'", lambda t, left, right: left.partition_aggregate(n=Sum("s"))),
    "kept": ("stream 'left': Sum for 'n'", lambda t, left, right: left.aggregate(n=Sum("k"))),
    "mean": ("stream 'left': Mean for 'n' needs integers", lambda t, left, right: left.aggregate(n=Mean("k"))),
    "topic": ("stream 'left': to_kafka", lambda t, left, right: left.to_kafka("t", value="s")),
    "asked": (
        "stream 'right': state_query names a field",
        lambda t, left, right: right.state_query(
            left.group_by("n").persistent_aggregate(MemoryState("m"), c=Count()), MapGet()
        ),
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_what_is_refused_is_refused_with_the_names_of_the_streams(spark: SparkSession, name: str) -> None:
    text, build = NAMED[name]
    with pytest.raises(ConfigurationError, match=f"^{text}"):
        build(*two())


def test_streams_of_two_topologies_have_txids_of_their_own(spark: SparkSession) -> None:
    _, left, _ = two()
    _, _, right = two()
    with pytest.raises(ConfigurationError, match="of one topology"):
        left.join(right, on="k")
    other = Topology("other")
    for build in (
        lambda: other.merge(left, left),
        lambda: other.join(left, left, on="k"),
        lambda: other.multi_reduce([left.group_by("k")], Sides(), "m int"),
    ):
        with pytest.raises(ConfigurationError, match="of the topology 'other' takes its own streams"):
            build()
