"""Jobs that fail, are cancelled, or are staged by their own tasks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from integration_tests.dsl.fakes import (
    BATCH,
    BATCH_TIME,
    FileWriter,
    RowsSource,
    UnopenedState,
    WriterStore,
    edges_of,
    held_rows,
    manifest,
    request_for,
    rows_spout,
    run,
)
from trident import (
    Combiner,
    ConfigurationError,
    Count,
    FatalError,
    Max,
    MemoryLedger,
    RetryableError,
    Staging,
    Sum,
    Topology,
)
from trident.base.control import CONTROL
from trident.coordinators.batches.processor import StagingRefusedError, UnprocessableError
from trident.engine.lowering import from_source
from trident.engine.processor import SparkProcessor
from trident.engine.tasks import SparkTasks
from trident.graph.nodes import sources_of
from trident.language.stream import Stream
from trident.operations.base import BatchContext
from trident.spouts import FixedBatchSpout
from trident.state import MemoryState
from trident.state.staged import WrittenUpdates

ROWS = [("a", 9_223_372_036_854_775_807), ("a", 1), ("secret", 3)]
UNHELD = {
    "overflow": ("amount + 1", "ARITHMETIC_OVERFLOW"),
    "cast": ("CAST(account AS bigint)", "CAST_INVALID_INPUT"),
    "raised": ("CAST(raise_error(account) AS bigint)", "USER_RAISED_EXCEPTION"),
}


def topology_of(number: str) -> Topology:
    topology = Topology("t")
    stream = topology.stream("payments", rows_spout("account string, amount bigint", ROWS)).each(number=F.expr(number))
    stream.persistent_aggregate(UnopenedState("s"), total=Sum("number"))
    return topology


def test_a_sum_that_overflows_is_refused_by_its_state(spark: SparkSession) -> None:
    with pytest.raises(
        StagingRefusedError, match="the sum of the field 'number' over a group is out of range"
    ) as error:
        run(topology_of("amount").compile(), spark)
    assert error.value.state == "s"


def test_a_sum_inside_the_stream_that_overflows_is_no_states_refusal(spark: SparkSession) -> None:
    """Rows that are made of it would be kept wrong, or not at all, if the state's rows were diverted."""
    topology = Topology("t")
    stream = topology.stream("payments", rows_spout("account string, amount bigint", ROWS))
    by_account = stream.group_by("account").aggregate(t=Sum("amount"))
    by_account.persistent_aggregate(UnopenedState("s"), most=Max("t"))
    with pytest.raises(UnprocessableError, match="ARITHMETIC_OVERFLOW"):
        run(topology.compile(), spark)


class Counting(Combiner[int]):
    result_type: ClassVar[str] = "bigint"

    def init(self, *values: object) -> int:
        return 1

    def combine(self, left: int, right: int) -> int:
        return left + right


def in_a_chain(late: Stream) -> None:
    by_account = late.group_by("account").aggregate(t=Counting("at"))
    by_account.persistent_aggregate(UnopenedState("first"), most=Max("t"))


def of_a_state(late: Stream) -> None:
    late.group_by("account").persistent_aggregate(UnopenedState("first"), t=Counting("at"))


def shared_by_all(late: Stream) -> None:
    by_account = late.group_by("account").aggregate(t=Counting("at"))
    by_account.persistent_aggregate(UnopenedState("first"), most=Max("t"))
    by_account.persistent_aggregate(UnopenedState("second"), n=Count())


def shared_by_some(late: Stream) -> None:
    late.persistent_aggregate(UnopenedState("zero"), n=Count())
    shared_by_all(late)


@pytest.mark.parametrize("diverts", [(), ("first",)], ids=["", "diverted"])
@pytest.mark.parametrize("build", [in_a_chain, of_a_state, shared_by_all, shared_by_some])
def test_what_no_combiner_can_be_given_is_no_states_refusal(
    spark: SparkSession, build: Callable[[Stream], None], diverts: tuple[str, ...]
) -> None:
    """Python has no year 10000: without the combiner's result there are no rows that a divert could lead elsewhere."""
    topology = Topology("t")
    stream = topology.stream("payments", rows_spout("account string, amount bigint", ROWS))
    build(stream.each(at=F.timestamp_micros(F.lit(253_402_300_800_000_000))))
    with pytest.raises(UnprocessableError, match=r"the field 'at' has .*or leave such records out"):
        run(topology.compile(), spark, diverts=diverts)


A_DAY, A_TEXT = "date_add(DATE'9999-12-31', number)", "CAST(if(number = 1, X'E9', X'41') AS string)"
WAYS_OUT: dict[str, tuple[str, str, str]] = {
    "a day left out": (A_DAY, "number IS NULL OR year(at) <= 9999", "at"),
    "a day as a text": (A_DAY, "true", "CAST(at AS string)"),
    "a text made one": (A_TEXT, "true", "make_valid_utf8(at)"),
    "a text in a list made one": (f"array({A_TEXT})", "true", "transform(at, t -> make_valid_utf8(t))"),
}


@pytest.mark.parametrize(("made", "kept", "given"), WAYS_OUT.values(), ids=WAYS_OUT)
def test_the_ways_that_the_text_names_lead_out(spark: SparkSession, made: str, kept: str, given: str) -> None:
    def topology(kept: str, given: str) -> Topology:
        topology = Topology("t")
        stream = topology.stream(
            "payments", rows_spout("account string, number int", [("a", 1), ("a", 0), ("a", None)])
        )
        left = stream.each(at=F.expr(made)).filter(F.expr(kept)).each(given=F.expr(given))
        left.group_by("account").persistent_aggregate(UnopenedState("s"), t=Counting("given"))
        return topology

    with pytest.raises(UnprocessableError, match=r"make_valid_utf8, of a day or moment a text\), or leave"):
        run(topology("true", "at").compile(), spark)
    found = run(topology(kept, given).compile(), spark)
    assert held_rows(found, "s") == [("a", 3 if kept == "true" else 2)]


@pytest.mark.parametrize(("number", "condition"), UNHELD.values(), ids=UNHELD)
def test_what_no_retry_heals_is_fatal(
    spark: SparkSession, caplog: pytest.LogCaptureFixture, number: str, condition: str
) -> None:
    with pytest.raises(FatalError, match=condition) as caught:
        run(topology_of(number).compile(), spark)
    assert "Nothing of the batch was applied" in str(caught.value)
    assert "secret" not in str(caught.value) + caplog.text
    assert caught.value.__suppress_context__


def explode(batch: pa.RecordBatch) -> pa.RecordBatch:
    raise ValueError("it was secret")


def test_an_exception_of_the_users_code_may_be_tried_again(spark: SparkSession) -> None:
    topology = Topology("t")
    stream = topology.stream("payments", rows_spout("account string, amount bigint", ROWS))
    stream.map(explode, "n bigint").persistent_aggregate(UnopenedState("s"), n=Count())
    with pytest.raises(RetryableError, match=r"raised ValueError at .*test_dsl_failures.py:\d+ in explode") as caught:
        run(topology.compile(), spark)
    assert "secret" not in str(caught.value)


def test_a_function_that_breaks_its_promise_is_fatal(spark: SparkSession) -> None:
    topology = Topology("t")
    stream = topology.stream("payments", rows_spout("account string, amount bigint", ROWS))
    stream.map(lambda batch: batch.slice(0, 1), "account string, amount bigint").persistent_aggregate(
        UnopenedState("s"), n=Count()
    )
    with pytest.raises(FatalError, match="returned 1 values for 3 records"):
        run(topology.compile(), spark)


def forgetful(batch: pa.RecordBatch) -> pa.RecordBatch:  # type: ignore[return]
    batch.slice(0)  # and no return


@pytest.mark.parametrize("verb", ["filter", "flat_map"])
def test_a_function_that_returns_nothing_is_tried_once(spark: SparkSession, verb: str) -> None:
    """The same function would return nothing again: it is no case for the next nine tries."""
    topology, ledger = Topology("t"), MemoryLedger()
    stream = topology.stream("payments", FixedBatchSpout("account string, amount bigint", [("secret", 1)]))
    declared = () if verb == "filter" else ("n bigint",)
    getattr(stream, verb)(forgetful, *declared).persistent_aggregate(MemoryState("s"), n=Count())
    with pytest.raises(FatalError, match=f"function given to {verb} returned None .*; it must return an? ") as caught:
        topology.run(spark, ledger=ledger, until="caught_up")
    assert "secret" not in str(caught.value)
    assert len(ledger.view().txid("t", 1).attempts) == 1


def sleep(batch: pa.RecordBatch) -> pa.RecordBatch:
    time.sleep(60)
    return batch


def test_cancel_ends_the_jobs_of_an_attempt(spark: SparkSession) -> None:
    topology = Topology("t")
    stream = topology.stream("payments", rows_spout("account string, amount bigint", ROWS))
    slow = stream.map(sleep, "account string, amount bigint")
    slow.persistent_aggregate(UnopenedState("s"), n=Count())
    slow.persistent_aggregate(UnopenedState("again"), n=Count())
    compiled = topology.compile()
    sources = {name: spout.open(name) for name, spout in compiled.spouts.items()}
    processor = SparkProcessor(compiled, spark, sources, {})
    raised: list[BaseException] = []

    def work() -> None:
        try:
            processor.process(request_for(compiled, sources))
        except RetryableError as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    tracker = spark.sparkContext.statusTracker()
    deadline = time.monotonic() + 30
    while not tracker.getActiveJobsIds() and time.monotonic() < deadline:
        time.sleep(0.05)
    while thread.is_alive() and time.monotonic() < deadline:
        processor.cancel(BATCH)  # a job that starts after a cancel is not ended by it
        thread.join(0.5)
    assert not thread.is_alive()
    assert len(raised) == 1


def test_tasks_stage_what_is_large(spark: SparkSession, tmp_path: Path) -> None:
    topology = Topology("t")
    rows = [(f"a{n % 7}", n) for n in range(100)]
    stream = topology.stream("payments", rows_spout("account string, amount bigint", rows[:60], rows[60:], []))
    stream.group_by("account").persistent_aggregate(UnopenedState("s"), n=Count(), total=Sum("amount"))
    store = WriterStore(FileWriter(str(tmp_path), "s"))
    result = run(topology.compile(), spark, staging=Staging.EXECUTORS, stores={"s": store})  # type: ignore[dict-item]
    updates = result.updates["s"]
    assert isinstance(updates, WrittenUpdates)
    tables = {path.stem: pa.ipc.open_file(str(path)).read_all() for path in tmp_path.iterdir()}
    assert {write.write_id: write.rows for write in updates.writes} == {
        name: table.num_rows for name, table in tables.items()
    }
    staged = {row["account"]: (row["n"], row["total"]) for table in tables.values() for row in table.to_pylist()}
    assert staged == {f"a{k}": (len(range(k, 100, 7)), sum(range(k, 100, 7))) for k in range(7)}
    source = rows_spout("account string, amount bigint", rows[:60], rows[60:]).source
    assert sorted(m.edge for _, m in result.manifests) == [manifest(edge).edge for edge in edges_of(source)]


def test_a_state_that_only_the_driver_can_stage(spark: SparkSession) -> None:
    compiled = Topology("t")
    stream = compiled.stream("payments", rows_spout("account string, amount bigint", ROWS))
    stream.persistent_aggregate(UnopenedState("s"), n=Count())
    stores = {"s": WriterStore(None)}
    with pytest.raises(ConfigurationError, match="by the driver only"):
        run(compiled.compile(), spark, staging=Staging.EXECUTORS, stores=stores)  # type: ignore[arg-type]


def test_a_small_batch_is_one_task_without_a_shuffle(spark: SparkSession) -> None:
    topology = Topology("t")
    stream = topology.stream("payments", rows_spout("account string, amount bigint", ROWS, ROWS))
    stream.filter(F.col("amount") > 0).group_by("account").persistent_aggregate(UnopenedState("s"), total=Sum("amount"))
    (end,) = topology.compile().ends
    (payments,) = sources_of(end)
    source = rows_spout("account string, amount bigint", ROWS, ROWS).source

    class OneTask(RowsSource):
        def read(self, spark: SparkSession, edges: object, tasks: int, quick: bool = False) -> DataFrame:
            return spark.range(10).selectExpr("'a' AS account", "id AS amount", f"CAST(NULL AS STRING) AS {CONTROL}")

    frame = OneTask(source.ddl, source.partitions).read(spark, (), 1).coalesce(1)
    lowering = from_source(payments, frame, BatchContext(BATCH_TIME))
    plan = lowering.updates(end, for_driver=True)._jdf.queryExecution().executedPlan().toString()
    assert "HashAggregate" in plan
    assert "Exchange" not in plan


def test_a_task_of_a_target_that_never_ends_is_cancelled(spark: SparkSession) -> None:
    began = time.monotonic()
    with pytest.raises(RetryableError, match="sending: its tasks took longer than 2 s"):
        SparkTasks(spark).run([partial(time.sleep, 600)] * 2, (), "sending", timedelta(seconds=2))
    assert time.monotonic() - began < 300
    SparkTasks(spark).run([partial(time.sleep, 0)], (), "sending", timedelta(minutes=1))
