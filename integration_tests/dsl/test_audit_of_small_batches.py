"""A small batch is audited in the plan that it has without an audit: counted as it is read, and at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from integration_tests.dsl.collected import add_sink, sent_rows
from integration_tests.dsl.fakes import (
    FOURTH,
    BadSource,
    FileWriter,
    LosingSource,
    Rows,
    RowsSpout,
    SmallRowsSource,
    UnopenedState,
    WriterStore,
    held_rows,
    request_for,
    run,
)
from trident import Audit, Count, First, Staging, Sum, Topology
from trident.base.audit import ID
from trident.engine import auditing
from trident.engine.audited import AuditError
from trident.engine.audited_small import is_counted_at_end
from trident.engine.compiled import CompiledTopology
from trident.engine.prepared import PreparedPlans, SmallUpdates
from trident.engine.processor import SparkProcessor
from trident.language.stream import Stream
from trident.operations.aggregate import Aggregate
from trident.operations.columns import FilterColumn
from trident.state.staged import WrittenUpdates
from trident.state.target import Target

FIELDS = "k string, n bigint"
MOST = 2**63 - 1
ROWS: Rows = [("abc"[n % 3], n) for n in range(100)]


def stream_of(topology: Topology, *partitions: Rows, kind: type[SmallRowsSource] = SmallRowsSource) -> Stream:
    return topology.stream("s", RowsSpout(kind(FIELDS, partitions or (ROWS[:60], ROWS[60:]))))


def in_columns(stream: Stream) -> Stream:
    kept = stream.filter(F.col("n") % 4 != 1).each(m=F.col("n") * 2).rename(m="w").project("k", "w")
    return kept.map(k=F.upper("k"), n=F.col("w")).filter(F.col("n") > 7)


def totals(make: Callable[[Stream], Stream], *partitions: Rows) -> CompiledTopology:
    topology = Topology("t")
    grouped = make(stream_of(topology, *partitions)).group_by("k")
    grouped.persistent_aggregate(UnopenedState("totals"), n=Count(), total=Sum("n"), one=First("n", by="n"))
    return topology.compile()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Return how often a plan was prepared, and how often steps were counted one by one."""
    counted: Counter[str] = Counter()

    def noted(owner: object, name: str) -> None:
        real = getattr(owner, name)

        def note(*given: object, **named: object) -> object:
            counted[name] += 1
            return real(*given, **named)

        monkeypatch.setattr(owner, name, note)

    noted(PreparedPlans, "_prepare")
    noted(auditing, "measured")
    return counted


def test_batches_are_audited_by_one_plan_that_runs_again(spark: SparkSession, made: Counter[str]) -> None:
    compiled = totals(in_columns)
    expected = held_rows(run(compiled, spark), "totals")
    made.clear()
    sources = {name: spout.open(name) for name, spout in compiled.spouts.items()}
    processor = SparkProcessor(compiled, spark, sources, {}, audit=Audit.ON)
    for _ in range(3):
        assert held_rows(processor.process(request_for(compiled, sources)), "totals") == expected
    assert made == {"_prepare": 1}


@pytest.mark.parametrize("ordered", [False, True])
def test_rows_of_records_are_the_same(spark: SparkSession, made: Counter[str], ordered: bool) -> None:
    topology = Topology("t")
    add_sink(in_columns(stream_of(topology)), ordered=ordered)
    compiled = topology.compile()
    expected = sent_rows(run(compiled, spark))
    assert expected
    assert sent_rows(run(compiled, spark, audit=Audit.ON)) == expected
    assert made == {"_prepare": 2}


def test_nothing_is_computed_of_what_a_filter_left_out(spark: SparkSession) -> None:
    """The sum of these would not be a bigint, and their quotients would be no numbers."""
    rows = [("a", MOST), ("a", MOST), ("a", 0), ("b", 4)]
    compiled = totals(
        lambda stream: stream.filter((F.col("n") > 0) & (F.col("n") < MOST)).each(q=12 / F.col("n")), rows
    )
    assert held_rows(run(compiled, spark, audit=Audit.ON), "totals") == held_rows(run(compiled, spark), "totals")


def test_where_all_is_left_out_all_is_accounted_for(spark: SparkSession) -> None:
    compiled = totals(lambda stream: stream.filter(F.col("n") < 0))
    assert held_rows(run(compiled, spark, audit=Audit.ON), "totals") == []


def test_a_filter_that_does_not_say_what_it_leaves_out_is_named(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FilterColumn, "_filtered", lambda self, frame: frame.filter(self._kept))
    with pytest.raises(AuditError, match=r"the operation filter .* lost records: it was given 100 records"):
        run(totals(in_columns), spark, audit=Audit.ON)


@pytest.mark.parametrize(("change", "said"), [("k <> 'c'", "lost"), (None, "doubled")])
def test_groups_that_are_lost_or_doubled_are_missed_by_the_state(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, change: str | None, said: str
) -> None:
    real = Aggregate._grouped

    def grouped(self: Aggregate, frame: DataFrame, batch: object) -> DataFrame:
        found = real(self, frame, batch)  # type: ignore[arg-type]
        return found.filter(f"k is null or {change}") if change else found.union(found.filter("k = 'c'"))

    compiled = totals(lambda stream: stream)
    monkeypatch.setattr(Aggregate, "_grouped", grouped)
    with pytest.raises(AuditError, match=f"what is staged for the state 'totals' {said} records"):
        run(compiled, spark, audit=Audit.ON)


def test_what_a_plan_alone_has_lost_is_not_applied_and_the_plan_is_let_go_of(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, made: Counter[str]
) -> None:
    compiled = totals(in_columns)
    sources = {name: spout.open(name) for name, spout in compiled.spouts.items()}
    processor = SparkProcessor(compiled, spark, sources, {}, audit=Audit.ON)
    expected = held_rows(processor.process(request_for(compiled, sources)), "totals")
    with monkeypatch.context() as patch:
        real = SmallUpdates.table
        patch.setattr(SmallUpdates, "table", lambda self: real(self).slice(1))
        with pytest.raises(AuditError, match="a step up to what is staged for the state 'totals' lost records"):
            processor.process(request_for(compiled, sources))
    assert made["_prepare"] == 1
    assert held_rows(processor.process(request_for(compiled, sources)), "totals") == expected
    assert made["_prepare"] == 2


def test_a_record_that_was_read_and_is_not_there_is_missed(spark: SparkSession) -> None:
    topology = Topology("t")
    grouped = stream_of(topology, kind=LosingSource).group_by("k")
    grouped.persistent_aggregate(UnopenedState("totals"), n=Count())
    with pytest.raises(AuditError, match="the reading of the stream 's' lost records: it was given 100"):
        run(topology.compile(), spark, audit=Audit.ON)


def test_a_bad_record_is_accounted_for(spark: SparkSession) -> None:
    topology = Topology("t")
    stream = topology.stream("s", RowsSpout(BadSource(FIELDS, (ROWS,), (FOURTH,))))
    stream.group_by("k").persistent_aggregate(UnopenedState("totals"), n=Count())
    result = run(topology.compile(), spark, audit=Audit.ON)
    assert sum(int(str(row[1])) for row in held_rows(result, "totals")) == 99
    assert len(result.bad_records) == 1


def test_what_tasks_stage_is_counted_step_by_step(spark: SparkSession, tmp_path: Path, made: Counter[str]) -> None:
    stores = {"totals": cast(Target, WriterStore(FileWriter(str(tmp_path), "totals")))}
    result = run(totals(in_columns), spark, audit=Audit.ON, staging=Staging.EXECUTORS, stores=stores)
    written = result.updates["totals"]
    assert isinstance(written, WrittenUpdates)
    assert written.count == 3
    assert made["measured"] > 1


def test_what_tasks_stage_of_a_small_batch_is_missed_too(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FilterColumn, "_filtered", lambda self, frame: frame.filter(self._kept))
    stores = {"totals": cast(Target, WriterStore(FileWriter(str(tmp_path), "totals")))}
    with pytest.raises(AuditError, match=r"the operation filter .* lost records"):
        run(totals(in_columns), spark, audit=Audit.ON, staging=Staging.EXECUTORS, stores=stores)


class Loses(FilterColumn):
    """Leaves out a record more, and says nothing."""

    def lower(self, frame: DataFrame, batch: object) -> DataFrame:
        kept = super().lower(frame, batch)  # type: ignore[arg-type]
        return kept.filter(F.coalesce(F.col("n"), F.lit(0)) != 8) if ID in frame.columns else kept


def test_only_what_the_library_does_in_columns_is_counted_at_the_end(spark: SparkSession) -> None:
    def ends(make: Callable[[Stream], Stream]) -> list[bool]:
        (job,) = totals(make).jobs
        return [is_counted_at_end(end) for end in job.ends]

    assert ends(in_columns) == [True]
    assert ends(lambda stream: stream.flat_each(letter=F.split("k", "")).project("k", "n")) == [False]
    assert ends(lambda stream: stream.filter_row(lambda row: True)) == [False]
    assert ends(lambda stream: stream.group_by("k").aggregate(n=Count())) == [False]
    compiled = totals(lambda stream: stream._then(Loses(F.col("n") >= 0)))
    (end,) = (end for job in compiled.jobs for end in job.ends)
    assert not is_counted_at_end(end)
    with pytest.raises(AuditError, match="lost records"):
        run(compiled, spark, audit=Audit.ON)


def test_a_batch_that_is_diverted_is_audited_too(spark: SparkSession) -> None:
    compiled = totals(in_columns)
    sources = {name: spout.open(name) for name, spout in compiled.spouts.items()}
    processor = SparkProcessor(compiled, spark, sources, {}, audit=Audit.ON)
    request = replace(request_for(compiled, sources), diverts=("totals",))
    assert held_rows(processor.process(request), "totals") == held_rows(run(compiled, spark), "totals")
