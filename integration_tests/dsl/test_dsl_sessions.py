"""Whatever a user's session says: exact results, the same in every run, and their session stays as it is."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import ClassVar

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration_tests.dsl.fakes import UnopenedState, held_rows, rows_spout, run
from integration_tests.dsl.programs import run_program
from trident import Combiner, ConfigurationError, Count, FatalError, Max, Min, Sum, Topology
from trident.base.errors import RefusedError
from trident.engine.session import PINNED
from trident.engine.spark import engine_session

HOSTILE = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "Europe/Berlin",
    "spark.sql.caseSensitive": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.function.concatBinaryAsString": "true",
    "spark.sql.parser.quotedRegexColumnNames": "true",
}
SUMMER = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
WINTER = SUMMER + timedelta(minutes=40)


@pytest.fixture
def hostile(spark: SparkSession) -> Iterator[SparkSession]:
    before = {name: str(spark.conf.get(name)) for name in HOSTILE}
    was_set = spark.conf.getAll
    for name, value in HOSTILE.items():
        spark.conf.set(name, value)
    yield spark
    assert {name: spark.conf.get(name) for name in HOSTILE} == HOSTILE, "the user's session was changed"
    for name, value in before.items():
        if name in was_set:
            spark.conf.set(name, value)
        else:
            spark.conf.unset(name)


OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer"
RULES = "spark.sql.optimizer.excludedRules"
USERS_RULE = f"{OPTIMIZER}.CollapseRepartition"


class Latest(Combiner[datetime]):
    """The latest moment, as Python compares them."""

    result_type: ClassVar[str] = "timestamp_ltz"

    def init(self, *values: object) -> datetime | None:
        (moment,) = values
        assert moment is None or isinstance(moment, datetime)
        return moment

    def combine(self, left: datetime, right: datetime) -> datetime:
        return max(left, right)


def test_a_run_has_a_session_with_what_exact_results_need(
    hostile: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "trident.engine"):
        hostile.conf.set(RULES, USERS_RULE)
        own = engine_session(hostile, 2)
    assert {name: own.conf.get(name) for name in PINNED} == dict(PINNED)
    assert own.conf.get("spark.sql.legacy.timeParserPolicy") == "CORRECTED"
    assert own.conf.get(RULES) == USERS_RULE
    frame = own.createDataFrame(pa.table({"n": [1]}))
    assert str(frame._jdf.queryExecution().analyzed().nodeName()) == "LogicalRDD", "rows would be computed on in plans"
    hostile.conf.unset(RULES)
    (line,) = caplog.messages
    assert all(name in line for name in HOSTILE)


def test_sums_neither_wrap_nor_vanish(hostile: SparkSession) -> None:
    for ddl, values in (
        ("n bigint", [(2**63 - 1,), (1,)]),
        ("n decimal(38,0)", [(Decimal(10**38 - 1),), (Decimal(1),)]),
    ):
        topology = Topology("sums")
        topology.stream("rows", rows_spout(ddl, values)).persistent_aggregate(UnopenedState("s"), total=Sum("n"))
        with pytest.raises(RefusedError, match="out of range"):
            run(topology.compile(), hostile)


def test_an_hour_that_comes_twice_has_two_halves(hostile: SparkSession) -> None:
    """Moments are compared as instants by Spark and by Python, and days are those of UTC."""
    rows = [(SUMMER,), (WINTER,)]
    topology = Topology("moments")
    stream = topology.stream("rows", rows_spout("at timestamp_ltz", rows)).each(
        day=F.col("at").cast("date").cast("string")
    )
    stream.group_by("day").persistent_aggregate(
        UnopenedState("s"), first=Min("at"), last=Max("at"), latest=Latest("at")
    )
    ((day, first, *last),) = held_rows(run(topology.compile(), hostile), "s")
    assert (day, first, last) == ("2026-10-25", SUMMER, [WINTER, WINTER])
    late = datetime(2026, 6, 1, 23, 30, tzinfo=UTC)
    topology = Topology("days")
    stream = topology.stream("rows", rows_spout("at timestamp", [(late,)])).each(day=F.to_date("at").cast("string"))
    stream.group_by("day").persistent_aggregate(UnopenedState("s"), n=Count())
    assert held_rows(run(topology.compile(), hostile), "s") == [("2026-06-01", 1)]


def test_types_are_those_of_the_run(hostile: SparkSession) -> None:
    """Without ANSI a text plus a number is a double, and a cast that fails is null."""
    topology = Topology("types")
    stream = topology.stream("rows", rows_spout("K string", [(str(2**53),), ("1",)])).each(more=F.expr("k + 1"))
    assert stream.schema["more"].dataType.simpleString() == "bigint"
    stream.persistent_aggregate(UnopenedState("s"), total=Sum("more"))
    assert held_rows(run(topology.compile(), hostile), "s") == [(2**53 + 3,)]


@pytest.mark.parametrize("ddl", ["k string collate UTF8_LCASE", "k string collate UNICODE_CI"])
def test_keys_that_are_not_told_apart_by_their_bytes_are_refused(spark: SparkSession, ddl: str) -> None:
    stream = Topology("collated").stream("rows", rows_spout(ddl, []))
    with pytest.raises(ConfigurationError, match=r"'k' apart: it is string collate .* UTF8_BINARY"):
        stream.group_by("k").persistent_aggregate(UnopenedState("s"), n=Count())
    with pytest.raises(ConfigurationError, match="collate"):
        stream.group_by("k").aggregate(n=Count())
    with pytest.raises(ConfigurationError, match="collate"):
        stream.aggregate(last=Max("k"))
    stream.each(plain=F.expr("k collate UTF8_BINARY")).group_by("plain").aggregate(n=Count())


class Half(Combiner[float]):
    """Half of a number: no bigint, if it is odd."""

    result_type: ClassVar[str] = "bigint"

    def init(self, *values: object) -> float | None:
        (number,) = values
        assert isinstance(number, int)
        return number / 2

    def combine(self, left: float, right: float) -> float:
        return left + right


def test_what_a_combiner_makes_is_held_exactly_or_refused(spark: SparkSession) -> None:
    for value, made in ((4, [(2,)]), (5, None)):
        topology = Topology("halves")
        topology.stream("rows", rows_spout("n bigint", [(value,)])).persistent_aggregate(
            UnopenedState("s"), h=Half("n")
        )
        if made is not None:
            assert held_rows(run(topology.compile(), spark), "s") == made
            continue
        with pytest.raises(FatalError, match="Half for 'h' made a value that is not of its result_type 'bigint'"):
            run(topology.compile(), spark)


def test_a_moment_keeps_its_instant_in_any_zone(spark: SparkSession) -> None:
    berlin = WINTER.astimezone(timezone(timedelta(hours=1)))
    topology = Topology("zones")
    stream = topology.stream("rows", rows_spout("at timestamp", [(berlin,), (SUMMER,)]))
    stream.persistent_aggregate(UnopenedState("s"), latest=Latest("at"), last=Max("at"))
    assert held_rows(run(topology.compile(), spark), "s") == [(WINTER, WINTER)]


@pytest.mark.verify
def test_through_connect_a_session_is_refused_by_the_options_name_and_left_as_it_is() -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio")
    shown = run_program("integration_tests.dsl.connect_job")
    said = [line for line in shown.splitlines() if line.startswith(("sum", "both", "build", "run", "batch"))]
    assert said == ["sum [(12,)]", "both True", *["build True", "run True", "batch True"] * 4, "sum [(12,)]"]
