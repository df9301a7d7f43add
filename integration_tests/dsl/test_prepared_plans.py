"""Which plans run again with other rows, and which must not: what keeps anything of a run, or of a batch."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from integration_tests.dsl.fakes import BATCH_TIME, SmallRowsSource, UnopenedState
from integration_tests.dsl.preparing import Attempts, counted_uses, ends_of, found, updates_of
from trident import Count, Sum, batch_time
from trident.base.control import CONTROL
from trident.base.signals import StopSignal
from trident.engine import prepared
from trident.engine.collecting import read_table
from trident.engine.prepared import PreparedPlans, _begins_anew
from trident.engine.spark import engine_session
from trident.graph.nodes import End, OperationNode
from trident.language.stream import Stream
from trident.operations.base import BatchContext, Operation
from trident.spouts.base import SmallBatch
from trident.spouts.wanted import reading_until

PAYMENTS = "account string, amount bigint"
ROWS: list[tuple[object, ...]] = [("a", 1), ("b", 2), ("a", 2**63 - 1), ("c", None), ("a", 5), ("d", 7)]
PARTS = ((0, 2), (3, 6), (1, 2))
"""Parts of these rows in which no sum overflows."""


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> SparkSession:
    return engine_session(spark, 2)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    return counted_uses(monkeypatch)


def totals(payments: Stream) -> None:
    payments.group_by("account").persistent_aggregate(UnopenedState("s"), n=Count(), total=Sum("amount"))


def totals_of(start: int, stop: int) -> list[str]:
    return sorted(repr({"account": account, "n": 1, "total": total}) for account, total in ROWS[start:stop])


def attempts() -> Attempts:
    return Attempts(SmallRowsSource(PAYMENTS, (ROWS,)))


@dataclass(frozen=True, eq=False)
class Lowered:
    """A step that the language has no word for."""

    lowered: Callable[[DataFrame], DataFrame]
    verb: str = "step"
    makes_groups: bool = False
    runs_user_code: bool = False

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        return self.lowered(frame)


def behind(lowered: Callable[[DataFrame], DataFrame]) -> End:
    """Return an end behind such a step."""
    (end,) = ends_of(totals, ddl=PAYMENTS)
    node = OperationNode(cast(Operation, Lowered(lowered)), end.input)
    return replace(end, input=node)


def test_one_frame_is_made_for_any_number_of_batches(engine: SparkSession, made: Counter[str]) -> None:
    (end,), plans, given = ends_of(totals, ddl=PAYMENTS), PreparedPlans(engine), attempts()
    for start, stop in (*PARTS, *PARTS):
        updates = updates_of(plans, engine, end, given.batch(engine, start, stop, in_order=False))
        assert found(updates)
    assert made == {"rows": 1, "exchange": 5}


def test_a_frame_that_asks_for_the_time_is_made_for_each_batch(engine: SparkSession, made: Counter[str]) -> None:
    def timed(payments: Stream) -> None:
        payments.each(at=batch_time()).group_by("at").persistent_aggregate(UnopenedState("s"), n=Count())

    (end,), plans, given = ends_of(timed, ddl=PAYMENTS), PreparedPlans(engine), attempts()
    times = [BATCH_TIME + timedelta(days=day) for day in range(3)]
    for time in times:
        batch = given.batch(engine, 0, 2, in_order=False)
        table = updates_of(plans, engine, end, batch, BatchContext(time)).table()
        assert [row["at"] for row in table.to_pylist() if row[CONTROL] is None] == [time]
    assert made == {"rows": 3}


def test_a_diverted_batch_has_a_plan_of_its_own(engine: SparkSession, made: Counter[str]) -> None:
    """A sum that is out of range is refused, and left out of the rows that a person is to see; so it is each time."""
    (end,), plans, given = ends_of(totals, ddl=PAYMENTS), PreparedPlans(engine), attempts()
    diverted = BatchContext(BATCH_TIME, is_diverted=True)
    seen = []
    for context, stop in ((None, 2), (diverted, 6), (None, 2), (diverted, 6)):
        updates = updates_of(plans, engine, end, given.batch(engine, 0, stop, in_order=False), context)
        rows = read_table(updates.table(), end.schema).rows
        assert rows is not None
        seen.append({row["account"]: row["total"] for row in rows.to_pylist()})
    assert seen == [{"a": 1, "b": 2}, {"a": None, "b": 2, "c": None, "d": 7}] * 2
    assert made == {"rows": 3, "exchange": 1}
    with pytest.raises(PySparkException):
        updates_of(plans, engine, end, given.batch(engine, 0, 6, in_order=False)).table()


def test_a_plan_that_is_kept_holds_no_rows_but_its_first(engine: SparkSession) -> None:
    (end,), plans, given = ends_of(totals, ddl=PAYMENTS), PreparedPlans(engine), attempts()
    held = []
    for start, stop in PARTS:
        assert found(updates_of(plans, engine, end, given.batch(engine, start, stop, in_order=False)))
        ((kept,),) = plans._idle.values()
        held.append(bytes(kept.partitions[0].values().head()))
    assert held == held[:1] * len(PARTS)


def test_a_plan_that_a_large_batch_has_prepared_is_not_kept(
    engine: SparkSession, made: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (end,), plans, given = ends_of(totals, ddl=PAYMENTS), PreparedPlans(engine), attempts()
    for most, uses in ((1, {"rows": 2}), (prepared._MOST_BYTES, {"rows": 3, "exchange": 1})):
        monkeypatch.setattr(prepared, "_MOST_BYTES", most)
        for start, stop in PARTS[:2]:
            assert found(updates_of(plans, engine, end, given.batch(engine, start, stop, in_order=False)))
        assert made == uses


def in_a_shuffle(frame: DataFrame) -> DataFrame:
    return frame.repartition(2, "account")


def in_a_broadcast(frame: DataFrame) -> DataFrame:
    others = frame.sparkSession.createDataFrame([("a",), ("b",)], "account string")
    return frame.join(F.broadcast(others), "account", "left").select("account", "amount", CONTROL)


def in_a_subquery(frame: DataFrame) -> DataFrame:
    frame.createOrReplaceTempView("trident_rows")
    return frame.filter(F.expr("amount IS NULL OR amount <= (SELECT max(amount) FROM trident_rows)"))


@pytest.fixture
def kept(engine: SparkSession) -> Iterator[list[DataFrame]]:
    frames: list[DataFrame] = []
    yield frames
    for frame in frames:
        frame.unpersist()


@pytest.mark.parametrize("lowered", [in_a_shuffle, in_a_broadcast, in_a_subquery, None])
def test_a_plan_that_keeps_anything_of_a_run_is_not_run_again(
    engine: SparkSession,
    made: Counter[str],
    kept: list[DataFrame],
    caplog: pytest.LogCaptureFixture,
    lowered: Callable[[DataFrame], DataFrame] | None,
) -> None:
    def in_storage(frame: DataFrame) -> DataFrame:
        kept.append(frame.persist())
        return kept[-1]

    end, plans, given = behind(lowered or in_storage), PreparedPlans(engine), attempts()
    for start, stop in PARTS:
        updates = updates_of(plans, engine, end, given.batch(engine, start, stop, in_order=False))
        assert found(updates)[0] == totals_of(start, stop)
    assert made == {"rows": len(PARTS)}
    assert not caplog.messages


def test_steps_that_begin_anew_are_known_by_name(engine: SparkSession) -> None:
    frame = attempts().batch(engine, 0, 6)
    rows = engine.createDataFrame(pa.Table.from_batches([frame.rows]), frame.schema).coalesce(1)
    anew = rows.filter("amount > 0").groupBy("account").agg(F.count("*"), F.collect_list("amount"), F.max("account"))
    assert _begins_anew(anew.select(F.explode("collect_list(amount)")))
    for others in (in_a_shuffle, in_a_broadcast, in_a_subquery, lambda frame: frame.limit(1)):
        assert not _begins_anew(others(rows))


def test_a_plan_is_gone_once_a_run_of_it_has_failed(engine: SparkSession, made: Counter[str]) -> None:
    (end,), plans, given = ends_of(totals, ddl=PAYMENTS), PreparedPlans(engine), attempts()
    for turn in range(2):
        for start, stop in PARTS:
            assert found(updates_of(plans, engine, end, given.batch(engine, start, stop, in_order=False)))
        assert made == {"rows": turn + 1, "exchange": 3 * turn + 2}
        with pytest.raises(PySparkException):
            updates_of(plans, engine, end, given.batch(engine, 0, 3 + 3, in_order=False)).table()
        assert made == {"rows": turn + 1, "exchange": 3 * turn + 3}


def test_a_plan_is_of_one_schema(engine: SparkSession, made: Counter[str]) -> None:
    (end,), plans, given = ends_of(totals, ddl=PAYMENTS), PreparedPlans(engine), attempts()
    other = Attempts(SmallRowsSource("amount bigint, account string", (tuple(row[::-1] for row in ROWS),)))
    for source in (given, other, other, given):
        for start, stop in PARTS:
            updates = updates_of(plans, engine, end, source.batch(engine, start, stop, in_order=False))
            assert found(updates)[0] == totals_of(start, stop)
    assert made["rows"] == 3


def test_rows_of_another_arrow_form_are_not_taken_for_sparks(engine: SparkSession, made: Counter[str]) -> None:
    """Spark is given bytes: of texts with long offsets it would read nonsense, or memory that is nobody's."""
    (end,), plans, given = ends_of(totals, ddl=PAYMENTS), PreparedPlans(engine), attempts()
    for start, stop in (*PARTS, *PARTS):
        batch = given.batch(engine, start, stop, in_order=False)
        rows = pa.Table.from_batches([batch.rows])
        wide = pa.schema([pa.field("account", pa.large_string()), *list(rows.schema)[1:]])
        (wider,) = rows.cast(wide).to_batches()
        updates = updates_of(plans, engine, end, SmallBatch(wider, batch.schema))
        assert found(updates)[0] == totals_of(start, stop)


def test_a_plan_that_returns_another_batchs_words_is_not_believed(
    engine: SparkSession, made: Counter[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a Spark would that goes by a copy of its partitions."""
    monkeypatch.setattr(prepared._Prepared, "exchange", lambda *_: made.update(["exchange"]))
    (end,), plans, given = ends_of(totals, ddl=PAYMENTS), PreparedPlans(engine), attempts()
    for start, stop in (*PARTS, *PARTS):
        updates = updates_of(plans, engine, end, given.batch(engine, start, stop, in_order=False))
        rows, words = found(updates)
        assert len(words) == 1
        assert rows == totals_of(start, stop)
    assert made == {"rows": 6, "exchange": 1}
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "Nothing of what was found so was applied" in caplog.text


def broken(*_: object) -> None:
    raise Py4JError("this Spark has no such method")


@pytest.mark.parametrize(
    ("owner", "name"),
    [(prepared._Prepared, "exchange"), (prepared, "_partitions")],
    ids=["where a partition is exchanged", "where a plan is kept"],
)
def test_a_spark_without_what_it_takes_plans_each_batch_anew(
    engine: SparkSession,
    made: Counter[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    owner: object,
    name: str,
) -> None:
    monkeypatch.setattr(owner, name, broken)
    (end,), plans, given = ends_of(totals, ddl=PAYMENTS), PreparedPlans(engine), attempts()
    for start, stop in (*PARTS, *PARTS):
        rows, words = found(updates_of(plans, engine, end, given.batch(engine, start, stop, in_order=False)))
        assert len(words) == 1
        assert rows == totals_of(start, stop)
    assert made["rows"] == 6
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_a_spark_that_fails_the_first_plans_that_run_again_costs_two_tries(
    engine: SparkSession, made: Counter[str], caplog: pytest.LogCaptureFixture
) -> None:
    (end,), plans, given = ends_of(totals, ddl=PAYMENTS), PreparedPlans(engine), attempts()
    start, stop = PARTS[0]
    for _ in range(2):
        assert not caplog.messages
        assert found(updates_of(plans, engine, end, given.batch(engine, start, stop, in_order=False)))
        with pytest.raises(PySparkException):
            updates_of(plans, engine, end, given.batch(engine, 0, 3 + 3, in_order=False)).table()
    for turn in range(3):
        rows, _ = found(updates_of(plans, engine, end, given.batch(engine, start, stop, in_order=False)))
        assert rows == totals_of(start, stop)
        assert made == {"rows": turn + 3, "exchange": 2}


def test_what_was_cancelled_says_nothing_of_the_plans(
    engine: SparkSession, made: Counter[str], caplog: pytest.LogCaptureFixture
) -> None:
    (end,), plans, given, given_up = ends_of(totals, ddl=PAYMENTS), PreparedPlans(engine), attempts(), StopSignal()
    given_up.set()
    start, stop = PARTS[0]
    for _ in range(3):
        assert found(updates_of(plans, engine, end, given.batch(engine, start, stop, in_order=False)))
        batch = given.batch(engine, 0, 3 + 3, in_order=False)
        with reading_until(given_up), pytest.raises(PySparkException):
            updates_of(plans, engine, end, batch).table()
    for _ in range(2):
        assert found(updates_of(plans, engine, end, given.batch(engine, start, stop, in_order=False)))
    assert made == {"rows": 4, "exchange": 4}
    assert not caplog.messages


def test_a_users_function_is_what_it_is_when_a_batch_is_read(engine: SparkSession) -> None:
    """It is pickled with its plan: a rate that the driver has learned since would never arrive."""
    rate = {"of": 1}

    def rated(payments: Stream) -> None:
        each = payments.each(lambda batch: pc.multiply(batch.column("amount"), rate["of"]), "rated bigint")
        each.persistent_aggregate(UnopenedState("s"), total=Sum("rated"))

    (end,), plans, given = ends_of(rated, ddl=PAYMENTS), PreparedPlans(engine), attempts()
    totals = []
    for rate["of"] in (1, 10):
        rows, _ = found(updates_of(plans, engine, end, given.batch(engine, 0, 2, in_order=False)))
        totals.append(rows)
    assert totals == [["{'total': 3}"], ["{'total': 30}"]]
