"""A plan that runs again finds, value for value, what one that was made for the batch alone does."""

from __future__ import annotations

import math
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from integration_tests.dsl.collected import ShowPartition
from integration_tests.dsl.fakes import BATCH_TIME, SmallRowsSource, UnopenedState, small_spout
from integration_tests.dsl.preparing import Attempts, counted_uses, ends_of, found, made_alone, updates_of
from tests.dsl.sinks import UnopenedSink
from tests.effort import base_seed
from trident import Combiner, Count, Max, Min, Sum, Topology
from trident.base.order import ORDER
from trident.engine.prepared import PreparedPlans
from trident.engine.spark import engine_session
from trident.graph.nodes import SinkNode
from trident.language.stream import Stream
from trident.operations.base import BatchContext
from trident.spouts.arrow_types import arrow_schema
from trident.state import KafkaSink

MOMENTS = [datetime(1, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2026, 3, 29, 1, 30)]  # noqa: DTZ001
VALUES: dict[str, list[object]] = {
    "s string": ["", "a", "b", "caf\u00e9", "cafe\u0301", "\U0001f600", "x" * 300],
    "y tinyint": [-128, 0, 127],
    "h smallint": [-(2**15), 2**15 - 1],
    "i int": [-(2**31), -1, 7, 2**31 - 1],
    "l bigint": [-(2**53) - 1, -1, 0, 1, 2**53 + 1],
    "e float": [-math.inf, -0.0, 0.0, 2.0**-149, math.nan],
    "d double": [-math.inf, -0.0, 0.0, 5e-324, 0.1, math.inf, math.nan],
    "m decimal(20,3)": [Decimal("-1.005"), Decimal("0.000"), Decimal("99999999999999999.999")],
    "w decimal(38,0)": [Decimal(-(10**37)), Decimal(0), Decimal(10**37 - 1)],
    "o boolean": [True, False],
    "x binary": [b"", b"\0", b"\xff" * 20],
    "a date": [date.min, date(1969, 12, 31), date.max],
    "t timestamp": [moment.replace(tzinfo=UTC) for moment in MOMENTS],
    "n timestamp_ntz": [*MOMENTS],
    "v interval day to second": [timedelta(0), timedelta(days=-3, microseconds=1)],
    "r array<int>": [[], [1], [None, 2, None], list(range(20))],
    "u array<array<string>>": [[], [None], [["a", None], []]],
    "q struct<k:int,z:struct<f:double,s:string>>": [{"k": None, "z": None}, {"k": 1, "z": {"f": -0.0, "s": ""}}],
    "p map<string,decimal(20,3)>": [[], [("a", None), ("", Decimal("1.005"))]],
}
DDL = ", ".join(VALUES)
NAMES = [ddl.split()[0] for ddl in VALUES]
SINK = KafkaSink("out", bootstrap_servers="127.0.0.1:1")


def drawn_rows(drawn: random.Random, count: int) -> list[tuple[object, ...]]:
    share = drawn.choice([0.0, 0.2, 0.9])
    return [
        tuple(None if drawn.random() < share else drawn.choice(values) for values in VALUES.values())
        for _ in range(count)
    ]


class Longest(Combiner[str]):
    result_type: ClassVar[str] = "string"

    def init(self, *values: object) -> str:
        return repr(values)

    def combine(self, left: str, right: str) -> str:
        return max(left, right, key=lambda text: (len(text), text))


def some(batch: pa.RecordBatch) -> pa.BooleanArray:
    return pc.greater_equal(batch.column("l"), pa.scalar(0))


def halves(batch: pa.RecordBatch) -> pa.Array[Any]:
    return pc.divide(batch.column("d"), 2.0)


def narrowed(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.select(["s", "l", "w", "t"])


def twice(batch: pa.RecordBatch) -> pa.Table:
    return pa.concat_tables([pa.Table.from_batches([batch.select(["s", "l"])])] * 2)


def of_columns(rows: Stream) -> None:
    wanted = rows.filter(F.col("l") >= 0).each(m2=F.col("m") * 2, day=F.to_date("t"))
    parts = wanted.flat_map(part=F.transform("r", lambda each: F.struct(each.alias("n"), F.col("s"), F.col("m2"))))
    flat = parts.map(s=F.col("part.s"), n=F.col("part.n"), m2=F.col("part.m2")).project("n", "s", "m2")
    flat.group_by("s").persistent_aggregate(
        UnopenedState("columns"), c=Count(), n=Sum("n"), m=Sum("m2"), low=Min("n"), high=Max("m2")
    )


def of_functions(rows: Stream) -> None:
    halved = (
        rows.filter(some).each(halves, "half double").map(narrowed, "s string, l bigint, w decimal(38,0), t timestamp")
    )
    halved.flat_map(twice, "s string, l bigint").group_by("s").persistent_aggregate(
        UnopenedState("functions"), n=Count(), low=Min("l"), total=Sum("l")
    )


def of_a_combiner(rows: Stream) -> None:
    rows.group_by("o", "d").persistent_aggregate(UnopenedState("combined"), longest=Longest("s", "t", "q", "r"))


def of_groups_of_all_kinds(rows: Stream) -> None:
    keys = ("s", "y", "h", "i", "e", "d", "m", "w", "o", "x", "a", "t", "n")
    rows.group_by(*keys).persistent_aggregate(UnopenedState("keys"), c=Count(), low=Min("d"), high=Max("t"))


def of_groups_of_groups(rows: Stream) -> None:
    inner = rows.group_by("s", "o").aggregate(n=Count(), m=Sum("m"), t=Max("t"))
    inner.persistent_aggregate(UnopenedState("groups"), n=Sum("n"), m=Max("m"), t=Min("t"))


def without_groups(rows: Stream) -> None:
    rows.persistent_aggregate(UnopenedState("one row"), n=Count(), w=Max("w"), v=Min("a"))


def of_records(rows: Stream) -> None:
    rows.filter(F.col("s").isNotNull()).to_kafka(
        F.concat(F.lit("t"), F.col("y").cast("string")),
        key="s",
        value=F.to_json(F.struct(*NAMES)),
        headers={"x": "x", "t": F.col("t").cast("string")},
        sink=SINK,
    )


def as_they_are(rows: Stream) -> None:
    """What a sink of rows is given: every field of every type, untouched."""
    schema = arrow_schema(StructType(rows._sample.schema.fields[:-1])).append(pa.field(ORDER, pa.binary()))
    rows._topology._add_end(SinkNode(UnopenedSink("rows", schema), rows._node))


WAYS = (
    of_columns,
    of_functions,
    of_a_combiner,
    of_groups_of_all_kinds,
    of_groups_of_groups,
    without_groups,
    of_records,
    as_they_are,
)
WITH_FUNCTIONS = 2
"""Of these ways so many run Python, whose plans are not kept."""


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> SparkSession:
    return engine_session(spark, 2)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    return counted_uses(monkeypatch)


def test_a_plan_that_runs_again_finds_what_one_of_the_batch_alone_does(
    engine: SparkSession, made: Counter[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Every kind of step over every type, batches of all sizes in any order; then two at once on the same plans."""
    drawn = random.Random(base_seed())
    rows = drawn_rows(drawn, 400)
    attempts, ends = Attempts(SmallRowsSource(DDL, (rows,))), ends_of(*WAYS, ddl=DDL)
    sizes = [drawn.randint(1, 50), 0, drawn.randint(51, 200)]
    plans, batches = PreparedPlans(engine), []
    for size in sizes:
        start = drawn.randrange(len(rows) - size + 1)
        batches.append(attempts.batch(engine, start, start + size))
    cases = [updates_of(plans, engine, end, batch) for batch in batches for end in ends]
    expected = [made_alone(case) for case in cases]
    made.clear()
    assert [found(case) for case in cases] == expected
    kept = len(ends) - WITH_FUNCTIONS
    assert made == {"rows": kept + WITH_FUNCTIONS * len(sizes), "exchange": kept * (len(sizes) - 1)}
    order = drawn.sample(range(len(cases)), len(cases))
    with ThreadPoolExecutor(2) as pool:
        together = dict(zip(order, pool.map(lambda each: found(cases[each]), order), strict=True))
    assert [together[each] for each in range(len(cases))] == expected
    assert made["rows"] <= 2 * (kept + WITH_FUNCTIONS * len(sizes))
    assert not caplog.messages


def test_a_plan_that_holds_its_batchs_number_does_not_run_again(engine: SparkSession, made: Counter[str]) -> None:
    topology = Topology("t", partitions=3)
    stream = topology.stream("rows", small_spout("n int", [])).batch_global()
    shown = stream._then(ShowPartition(3)).project("at")
    topology._add_end(SinkNode(UnopenedSink("places", pa.schema([pa.field("at", pa.int32())])), shown._node))
    (end,) = topology.compile().ends
    rows = [(n,) for n in range(30)]
    attempts, plans = Attempts(SmallRowsSource("n int", (rows,))), PreparedPlans(engine)
    places = []
    for txid in range(1, 7):
        batch = attempts.batch(engine, 0, txid)
        updates = updates_of(plans, engine, end, batch, BatchContext(BATCH_TIME, txid))
        values, _ = found(updates)
        places.append(set(values))
    # Knuth's multiples, by hand: the upper bits of txid * 0x9E3779B97F4A7C15 as a fraction of 3
    fractions = [txid * 0x9E3779B97F4A7C15 % 2**64 / 2**64 for txid in range(1, 7)]
    assert places == [{repr({"at": int(fraction * 3)})} for fraction in fractions]
    assert made == {"rows": 6}
