"""Small batches that this process reads, through the whole engine: what comes of them is what comes of tasks."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration_tests.dsl.fakes import (
    BATCH,
    FileWriter,
    RowsSource,
    SmallRowsSource,
    UnopenedState,
    WriterStore,
    held_rows,
    request_for,
    rows_spout,
    run,
    small_spout,
)
from trident import Count, RetryableError, Staging, Sum, Topology
from trident.base.ranges import BadRecordRow, Edge, PartitionId
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.engine import parallel, reading
from trident.engine.compiled import CompiledTopology
from trident.engine.processor import SparkProcessor
from trident.spouts.base import SmallBatch, Source
from trident.spouts.wanted import require_wanted
from trident.state.staged import WrittenUpdates
from trident.state.target import Target

PAYMENTS = "account string, amount bigint"
LEFT: list[tuple[object, ...]] = [("a", 5), ("b", -1), ("a", 7), (None, 2)]
RIGHT: list[tuple[object, ...]] = [("b", 3), ("c", None)]
BAD = BadRecordRow(PartitionId("rows", 0), 2, None, "not JSON", None, b"payload")


def same(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def topology(ends: int, *, is_small: bool = True, repeat: bool = False) -> CompiledTopology:
    built = Topology("t")
    spout = (small_spout if is_small else rows_spout)(PAYMENTS, LEFT, RIGHT, [], bad=(BAD,), repeat=repeat)
    stream = built.stream("payments", spout).filter(F.col("account").isNotNull())
    stream.group_by("account").persistent_aggregate(UnopenedState("s0"), n=Count(), total=Sum("amount"))
    for number in range(1, ends):
        mapped = stream.each(big=F.col("amount") > 4).map(same, f"{PAYMENTS}, big boolean")
        mapped.group_by("big").persistent_aggregate(UnopenedState(f"s{number}"), n=Count())
    return built.compile()


def processor_of(compiled: CompiledTopology, spark: SparkSession) -> tuple[SparkProcessor, SmallRowsSource]:
    source = compiled.spouts["payments"].open("payments")
    assert isinstance(source, SmallRowsSource)
    return SparkProcessor(compiled, spark, {"payments": source}, {}), source


def seen(result: ProcessResult) -> object:
    return Counter(result.manifests), result.bad_records, {name: held_rows(result, name) for name in result.updates}


@pytest.mark.parametrize("ends", [1, 3])
def test_what_is_read_here_comes_to_what_tasks_come_to(spark: SparkSession, ends: int) -> None:
    expected = seen(run(topology(ends, is_small=False), spark))
    compiled = topology(ends)
    processor, source = processor_of(compiled, spark)
    request = request_for(compiled, {"payments": source})
    assert [seen(processor.process(request)) for _ in range(3)] == [expected] * 3
    assert source.ways == ["small"] * 3
    assert not request.edges["payments"][2:], "an empty partition has no edge"


@pytest.mark.parametrize("ends", [1, 2])
def test_a_word_of_an_undecoded_record_sends_some_batches_the_careful_way(
    spark: SparkSession, ends: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "CAREFUL_BATCHES", 3)
    compiled = topology(ends)
    source = cast(SmallRowsSource, compiled.spouts["payments"].open("payments"))
    slow = replace(source, slow=True, ways=[])
    processor = SparkProcessor(compiled, spark, {"payments": slow}, {})
    request = request_for(compiled, {"payments": slow})
    expected = seen(run(topology(ends, is_small=False), spark))
    assert [seen(processor.process(request)) for _ in range(4)] == [expected] * 4
    assert slow.ways == ["small", "careful", "careful", "careful", "small", "careful"]


class Waiting:
    """Stands for a read that takes long; one that is deaf does not ask whether it is wanted still."""

    def __init__(self, *, is_deaf: bool) -> None:
        self.began, self.may_end = threading.Event(), threading.Event()
        self._is_deaf = is_deaf

    def __call__(self) -> None:
        self.began.set()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not self.may_end.is_set():
            if not self._is_deaf:
                require_wanted()
            time.sleep(0.01)


@pytest.mark.parametrize("ends", [1, 2])
@pytest.mark.parametrize("is_deaf", [False, True], ids=["", "deaf"])
def test_what_this_process_reads_of_an_attempt_ends_with_its_cancel(
    spark: SparkSession, ends: int, is_deaf: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its job began once the source answered again, beside its successor's, or after the end of the run."""
    compiled = topology(ends)
    processor, source = processor_of(compiled, spark)
    request = request_for(compiled, {"payments": source})
    processor.process(request)
    waiting = Waiting(is_deaf=is_deaf)
    raised: list[str] = []
    real = SmallRowsSource.read_small
    begun: list[object] = []

    def read_small(*arguments: object, **named: object) -> SmallBatch | None:
        waiting()
        return real(*arguments, **named)  # type: ignore[arg-type]

    def work() -> None:
        try:
            processor.process(request)
        except RetryableError as error:
            raised.append(str(error))

    with monkeypatch.context() as patched:
        patched.setattr(SmallRowsSource, "read_small", read_small)
        patched.setattr(processor._ends, "collect", begun.append)
        thread = threading.Thread(target=work)
        thread.start()
        assert waiting.began.wait(30)
        processor.cancel(BATCH)
        if is_deaf:
            waiting.may_end.set()
        thread.join(10)
    assert not thread.is_alive()
    assert raised == ["the attempt was given up while it was read; nothing of it was applied"]
    assert not begun
    assert processor.process(request).updates.keys() == {f"s{number}" for number in range(ends)}


@pytest.mark.parametrize("ends_by", ["its own", "a cancel"])
def test_the_first_batch_of_a_run_goes_alone(
    spark: SparkSession, ends_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it loads and compiles is there for the others; one that hangs keeps them until its cancel, and no longer."""
    compiled = topology(1)
    processor, source = processor_of(compiled, spark)
    first = request_for(compiled, {"payments": source})
    second = replace(first, batch=replace(first.batch, txid=first.batch.txid + 1, attempt=first.batch.attempt + 1))
    real, begun, may_end, is_read = SmallRowsSource.read_small, list[str](), threading.Event(), threading.Event()

    def read_small(*arguments: object, **named: object) -> SmallBatch | None:
        begun.append(threading.current_thread().name)
        if begun == ["first"]:
            is_read.set()
            may_end.wait(120)
        return real(*arguments, **named)  # type: ignore[arg-type]

    def work(request: ProcessRequest) -> None:
        with suppress(RetryableError):  # what was cancelled
            processor.process(request)

    monkeypatch.setattr(SmallRowsSource, "read_small", read_small)
    monkeypatch.setattr(parallel, "_LONGEST_TURN_S", 600.0)
    threads = [
        threading.Thread(target=work, args=(request,), name=name)
        for name, request in (("first", first), ("second", second))
    ]
    threads[0].start()
    assert is_read.wait(30)
    threads[1].start()
    threads[1].join(0.5)
    assert begun == ["first"]
    if ends_by == "a cancel":
        processor.cancel(first.batch)
        threads[1].join(10)
        together = list(begun)
        may_end.set()
        assert together == ["first", "second"]
    may_end.set()
    for thread in threads:
        thread.join(30)
    assert begun == ["first", "second"]


def test_tasks_stage_what_was_read_here(spark: SparkSession, tmp_path: Path) -> None:
    compiled = topology(2)
    for name in ("s0", "s1"):
        (tmp_path / name).mkdir()
    stores = {name: cast(Target, WriterStore(FileWriter(str(tmp_path / name), name))) for name in ("s0", "s1")}
    expected = run(topology(2, is_small=False), spark)
    result = run(compiled, spark, staging=Staging.EXECUTORS, stores=stores)
    assert Counter(result.manifests) == Counter(expected.manifests)
    assert result.bad_records == expected.bad_records
    for name in stores:
        updates = result.updates[name]
        assert isinstance(updates, WrittenUpdates)
        tables = {path.stem: pa.ipc.open_file(str(path)).read_all() for path in (tmp_path / name).iterdir()}
        assert {write.write_id: write.rows for write in updates.writes} == {
            key: table.num_rows for key, table in tables.items()
        }
        staged = [tuple(row.values()) for table in tables.values() for row in table.to_pylist()]
        assert sorted(staged, key=repr) == held_rows(expected, name)


@pytest.mark.parametrize("ends", [1, 2])
def test_a_range_that_was_read_twice_here_is_refused(spark: SparkSession, ends: int) -> None:
    with pytest.raises(RetryableError, match="came more than once, so a range was read twice; nothing was applied"):
        run(topology(ends, repeat=True), spark)


class Elsewhere(SmallRowsSource):
    """Reads what it was not asked for."""

    def read_small(self, spark: SparkSession, edges: object, *, in_order: bool) -> SmallBatch | None:
        others = [Edge(edge.id + 1_000, edge.range) for edge in cast("tuple[Edge, ...]", edges)]
        return super().read_small(spark, others, in_order=in_order)


class Broken(SmallRowsSource):
    """Asks a Spark that is out of reach."""

    def read_small(self, spark: SparkSession, edges: object, *, in_order: bool) -> SmallBatch | None:
        raise Py4JNetworkError("a secret")


def process_with(spark: SparkSession, kind: type[SmallRowsSource], ends: int = 1) -> ProcessResult:
    compiled = topology(ends)
    source: Source = kind(PAYMENTS, (LEFT, RIGHT))
    return SparkProcessor(compiled, spark, {"payments": source}, {}).process(
        request_for(compiled, {"payments": RowsSource(PAYMENTS, (LEFT, RIGHT))})
    )


@pytest.mark.parametrize("ends", [1, 2])
def test_a_range_that_was_not_given_is_refused(spark: SparkSession, ends: int) -> None:
    with pytest.raises(RetryableError, match="returned a range that it was not given; nothing was applied"):
        process_with(spark, Elsewhere, ends)


def test_what_spark_raises_while_a_batch_is_read_here_is_told_as_what_it_is(spark: SparkSession) -> None:
    with pytest.raises(RetryableError, match="reading of the stream 'payments'") as caught:
        process_with(spark, Broken)
    assert "secret" not in str(caught.value)
