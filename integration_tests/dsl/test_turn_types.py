"""The work in the turn is done on the types that were declared, whatever the frames of it are made of."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from trident import Combiner, ConfigurationError, Count, MapGet, Max, QueryFunction, StoredRows, Topology
from trident.language.stream import Stream
from trident.spouts import FixedBatchSpout
from trident.state import MemoryState, SqliteTable
from trident.testing import TopologyTest

MOMENT = datetime(2026, 3, 29, 2, 30)  # noqa: DTZ001 - no clock in Berlin ever showed it, and so it has to stay
SINGLE: dict[str, object] = {
    "tinyint": 1,
    "smallint": 2,
    "int": 3,
    "bigint": 4,
    "float": 0.5,
    "double": 0.25,
    "boolean": True,
    "decimal(12,3)": Decimal("1.250"),
    "string": "text",
    "binary": b"bytes",
    "date": date(2026, 1, 2),
    "timestamp": datetime(2026, 1, 2, tzinfo=UTC),
    "timestamp_ntz": MOMENT,
}
NESTED: dict[str, object] = {
    "array<timestamp_ntz>": [MOMENT, None],
    "struct<at:timestamp_ntz,days:array<date>>": {"at": MOMENT, "days": [date(2026, 1, 2)]},
    "map<string,timestamp_ntz>": {"a": MOMENT},
    "array<struct<at:map<string,timestamp_ntz>,moment:timestamp>>": [
        {"at": {"a": MOMENT}, "moment": datetime(2026, 1, 2, tzinfo=UTC)}
    ],
}


def latest(field: str, type_: str) -> Combiner[object]:
    class Latest(Combiner[object]):
        result_type = type_

        def init(self, *values: object) -> object:
            return values[0]

        def combine(self, left: object, right: object) -> object:
            return right

    return Latest(field)


class SecondsSince(QueryFunction[StoredRows]):
    schema = "seconds double, zone string"

    def batch_retrieve(self, state: StoredRows, keys: object) -> list[object]:
        moments = [None if row is None else row["last"] for row in state.multi_get(keys)]  # type: ignore[arg-type]
        return [
            None if each is None else ((each - MOMENT).total_seconds(), str(each.tzinfo))  # type: ignore[operator,attr-defined]
            for each in moments
        ]


def told(stream: Stream, name: str) -> dict[str, str]:
    """Write what type each field has at run time into a table; returns the declared ones."""
    fields = stream.schema.fields
    stream.each(**{f"type_{field.name}": F.typeof(field.name) for field in fields}).project(
        *(f"type_{field.name}" for field in fields)
    ).to_table(SqliteTable(name))
    return {f"type_{field.name}": field.dataType.simpleString() for field in fields}


@pytest.mark.parametrize("values", [SINGLE, NESTED], ids=["single", "nested"])
def test_fields_have_their_declared_types_in_the_turn(spark: SparkSession, values: dict[str, object]) -> None:
    made = Topology("types")
    fields = {f"f{number}": type_ for number, type_ in enumerate(values)}
    declared = ", ".join(f"{name} {type_}" for name, type_ in fields.items())
    stream = made.stream("in", FixedBatchSpout(f"k string, at timestamp_ntz, {declared}", [], kind="opaque"))
    kept = {f"last_{name}": latest(name, type_) for name, type_ in fields.items()}
    last = stream.group_by("k", "at").persistent_aggregate(MemoryState("last"), **kept)
    new = told(last.new_values(previous=True), "new")
    asked = told(stream.state_query(last, MapGet()), "asked")
    for name, type_ in fields.items():
        assert new[f"type_last_{name}"] == new[f"type_previous_last_{name}"] == type_
        assert asked[f"type_{name}"] == asked[f"type_last_{name}"] == type_
    with TopologyTest(made, spark) as test:
        for _ in range(2):
            test.batch({"in": [("a", MOMENT, *values.values())]})
        assert test.rows("new") == [new, new]
        assert test.rows("asked") == [asked, asked]


def test_a_time_without_a_zone_reaches_a_query_function_as_it_is(spark: SparkSession) -> None:
    made = Topology("since")
    stream = made.stream("in", FixedBatchSpout("k string, value timestamp_ntz", [], kind="opaque"))
    last = stream.group_by("k").persistent_aggregate(MemoryState("last"), last=Max("value"))
    stream.state_query(last, SecondsSince("k")).to_table(SqliteTable("asked"))
    with TopologyTest(made, spark) as test:
        for _ in range(2):
            test.batch({"in": [("a", MOMENT)]})
        (row,) = test.rows("asked")  # the first record found none
        assert (row["seconds"], row["zone"]) == (0.0, "None")


def test_a_text_with_a_collation_does_not_wait_for_the_turn(spark: SparkSession) -> None:
    """It would be compared by its bytes behind the query, and otherwise before it."""
    made = Topology("collated")
    stream = made.stream("in", FixedBatchSpout("k string", [], kind="opaque"))
    counts = stream.group_by("k").persistent_aggregate(MemoryState("counts"), n=Count())
    collated = stream.each(c=F.collate("k", "UTF8_LCASE"))
    collated.state_query(counts, MapGet("k")).project("k").to_table(SqliteTable("asked"))
    with pytest.raises(ConfigurationError, match="'c' is string collate utf8_lcase, and waits for the commit turn"):
        made.run(spark, until="caught_up")


def test_what_only_spark_has_goes_two_ways_in_the_turn(spark: SparkSession) -> None:
    """Rows that are kept for several ways stay what they are: Arrow has no intervals, and no collations."""
    made = Topology("two ways")
    stream = made.stream("in", FixedBatchSpout("k string", [], kind="opaque"))
    counts = stream.group_by("k").persistent_aggregate(MemoryState("counts"), n=Count())
    late = stream.state_query(counts, MapGet("k")).map_row(lambda row: (row["k"],), "k string")
    typed = late.each(c=F.collate("k", "UTF8_LCASE"), months=F.expr("INTERVAL '1' YEAR"))
    for name, condition in (("same", F.col("c") == "a"), ("other", F.col("c") != "a")):
        typed.filter(condition).project("k").to_table(SqliteTable(name))
    with TopologyTest(made, spark) as test:
        test.batch({"in": [("a",), ("A",), ("b",)]})
        assert sorted(str(row["k"]) for row in test.rows("same")) == ["A", "a"]
        assert [row["k"] for row in test.rows("other")] == ["b"]
