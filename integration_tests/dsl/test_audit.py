"""An audited topology comes to what one that is not comes to, and a step that loses or doubles a record is named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc
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
    run,
)
from trident import (
    Audit,
    CollectionGet,
    Combiner,
    Count,
    Equals,
    FirstN,
    MapGet,
    MemoryLedger,
    RunOptions,
    Staging,
    Sum,
    Topology,
)
from trident.base.audit import ID
from trident.base.errors import FatalError, TridentError
from trident.base.ranges import Edge
from trident.engine.audited import AuditError
from trident.engine.compiled import CompiledTopology
from trident.language.stream import Stream
from trident.operations import columns
from trident.operations.accounting import Account
from trident.operations.aggregate import Aggregate
from trident.operations.base import BatchContext, Fields, control
from trident.operations.uniting import MergeStreams
from trident.spouts import BadRecord, FileSpout, FixedBatchSpout
from trident.spouts.base import SmallBatch
from trident.state import MemoryState
from trident.state.staged import WrittenUpdates
from trident.state.target import Target

FIELDS = "k string, n bigint, tags array<string>"
FIELDS_OF_ALL = ("k", "n", "tags")
ROWS: Rows = [("abc"[n % 3], n, list("xyz"[: n % 4])) for n in range(200)]


class OrderedSource(SmallRowsSource):
    """Is never read in the coordinator's process."""

    def read_small(self, spark: SparkSession, edges: Sequence[Edge], *, in_order: bool) -> SmallBatch | None:
        return None


class OrderedLosingSource(LosingSource, OrderedSource):
    """Is read by tasks."""


class OrderedBadSource(BadSource, OrderedSource):
    """Is read by tasks."""


def stream_of(topology: Topology, kind: type[SmallRowsSource] = OrderedSource) -> Stream:
    return topology.stream("s", RowsSpout(kind(FIELDS, (ROWS[:120], ROWS[120:], []))))


def doubled(batch: pa.RecordBatch) -> dict[str, pa.Array]:  # type: ignore[type-arg]
    return {"d": pc.multiply(batch.column("n"), 2)}


def twice(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.concat_arrays([batch.column("n"), batch.column("n")])], names=["n"])


class Longest(Combiner[str]):
    result_type = "string"

    def init(self, *values: object) -> str:
        return str(values[0])

    def combine(self, left: str, right: str) -> str:
        return max(left, right)


def by_columns(stream: Stream) -> Stream:
    kept = stream.filter(F.col("n") % 3 != 1).each(m=F.col("n") * 2).rename(m="w").project("k", "w", "tags")
    return kept.map(k=F.upper("k"), w=F.col("w"), tags=F.col("tags")).flat_map(tag=F.col("tags"))


def by_functions(stream: Stream) -> Stream:
    kept = stream.filter(lambda batch: pc.greater(batch.column("n"), pa.scalar(17))).each(doubled, "d bigint")
    return kept.flat_map(twice, "n bigint").map(lambda batch: {"n": pc.add(batch.column("n"), 1)}, "n bigint")


def by_rows(stream: Stream) -> Stream:
    kept = stream.filter_row(lambda row: row["n"] != 5).map_row(lambda row: (row["k"], row["n"]), "k string, n bigint")
    return kept.flat_map_row(lambda row: [row["n"]] * len(str(row["n"])[1:]), "n bigint")


def by_moves(stream: Stream) -> Stream:
    spread = stream.parallelism(3).partition_by("k").flat_each(tag=F.col("tags")).shuffle()
    return spread.partition(lambda batch: pa.array([0] * batch.num_rows, pa.int32())).peek(lambda batch: None)


def by_groups(stream: Stream) -> Stream:
    grouped = stream.group_by("k").aggregate(n=Count(), most=Longest("k")).filter(F.col("n") > 1)
    return grouped.aggregate(all=Sum("n"))


def by_several(stream: Stream) -> Stream:
    topology, left, right = stream._topology, stream.filter(F.col("n") < 100), stream.filter(Equals("k", "k"))
    merged = topology.merge(left, right).each(m=F.col("n") + 1)
    again = topology.merge(merged.filter(F.col("n") > 5), merged)
    return topology.join(again.project("k", "n"), right.map(k=F.col("k"), o=F.col("n")), on="k")


def by_first(stream: Stream) -> Stream:
    return stream.filter(F.col("n") > 3).apply_assembly(FirstN(5, by="n", reverse=True))


def by_tables(stream: Stream) -> Stream:
    spark = stream._sample.sparkSession
    table = spark.createDataFrame([("a", 1), ("b", 2)], "k string, x bigint")
    several = spark.createDataFrame([(1, "p"), (1, "q"), (2, "r")], "y bigint, z string")
    static = stream._topology.new_static_state(several, keys="y")
    joined = stream.broadcast().join_static(table, on="k").map(y=F.col("x"), n=F.col("n"))
    return joined.state_query(static, CollectionGet("y"))


def by_odd_names(stream: Stream) -> Stream:
    named = stream.map(**{"a.b": F.col("k"), "c`d": F.col("n"), "k": F.col("k")})
    other = stream.filter(F.col("n") < 3).map(k=F.col("k"), v=F.expr("parse_json('1')"))
    joined = stream._topology.join(named, other, on="k")
    return joined.map(k=F.col("`a.b`"), n=F.col("`c``d`"))


MADE: list[Callable[[Stream], Stream]] = [
    by_columns,
    by_functions,
    by_rows,
    by_moves,
    by_groups,
    by_several,
    by_first,
    by_tables,
    by_odd_names,
]


def played(
    make: Callable[[Stream], Stream], spark: SparkSession, audit: Audit, *, is_small: bool = False
) -> list[tuple[object, ...]]:
    kind = SmallRowsSource if is_small else OrderedSource
    stream = make(stream_of(Topology("t", partitions=3), kind))
    add_sink(stream, ordered=False)
    return sent_rows(run(stream._topology.compile(), spark, audit=audit))


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_an_audited_stream_has_the_same_rows(spark: SparkSession, make: Callable[[Stream], Stream]) -> None:
    expected = played(make, spark, Audit.OFF)
    assert expected
    assert played(make, spark, Audit.ON) == expected


def totals(
    make: Callable[[Stream], Stream] = lambda stream: stream, kind: type[SmallRowsSource] = OrderedSource
) -> CompiledTopology:
    topology = Topology("t")
    grouped = make(stream_of(topology, kind)).group_by("k")
    grouped.persistent_aggregate(UnopenedState("totals"), n=Count(), total=Sum("n"))
    return topology.compile()


def test_states_and_what_tasks_stage_are_audited(spark: SparkSession, tmp_path: Path) -> None:
    compiled = totals(lambda stream: stream.filter(F.col("n") > 3))
    expected = held_rows(run(compiled, spark), "totals")
    assert held_rows(run(compiled, spark, audit=Audit.ON), "totals") == expected
    stores = {"totals": cast(Target, WriterStore(FileWriter(str(tmp_path), "totals")))}
    written = run(compiled, spark, audit=Audit.ON, staging=Staging.EXECUTORS, stores=stores).updates["totals"]
    assert isinstance(written, WrittenUpdates)
    assert written.count == len(expected) == 3


def test_what_tasks_stage_is_missed_too(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Aggregate._grouped
    monkeypatch.setattr(Aggregate, "_grouped", lambda self, frame, batch: less(real(self, frame, batch)))
    stores = {"totals": cast(Target, WriterStore(FileWriter(str(tmp_path), "totals")))}
    with pytest.raises(AuditError, match="what is staged for the state 'totals' lost records"):
        run(totals(), spark, audit=Audit.ON, staging=Staging.EXECUTORS, stores=stores)


class Faulty:
    """An operation that says that it keeps its records."""

    verb = "faulty"
    makes_groups = False
    runs_user_code = False
    account = Account.KEEPS

    def __init__(self, change: Callable[[DataFrame], DataFrame]) -> None:
        self._change = change

    def check(self, fields: Fields) -> None:
        """Any fields will do."""

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        return self._change(frame) if ID in frame.columns else frame


def one(frame: DataFrame) -> DataFrame:
    return frame.filter((F.col("n") == 150) & control().isNull())


def lost(frame: DataFrame) -> DataFrame:
    return frame.filter(control().isNotNull() | (F.col("n") != 150))


def there_twice(frame: DataFrame) -> DataFrame:
    return frame.union(one(frame))


def there_three_times(frame: DataFrame) -> DataFrame:
    return there_twice(frame).union(one(frame))


def exchanged(frame: DataFrame) -> DataFrame:
    other = frame.filter((F.col("n") == 149) & control().isNull())
    return lost(frame).union(other)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lost, "lost records: it was given 200 records, and 199 are accounted for"),
        (there_twice, "doubled records: it was given 200 records, and 201 are accounted for"),
        (there_three_times, "doubled records: it was given 200 records, and 202 are accounted for"),
        (exchanged, "lost some and doubled others: it was given 200 records, and as many, but others, are accounted"),
    ],
)
def test_the_operation_that_lost_or_doubled_a_record_is_named(
    spark: SparkSession, change: Callable[[DataFrame], DataFrame], said: str
) -> None:
    compiled = totals(lambda stream: stream.each(m=F.lit(1))._then(Faulty(change)).filter(F.col("n") >= 0))
    with pytest.raises(AuditError, match=f"audit: the operation faulty {said}") as raised:
        run(compiled, spark, audit=Audit.ON)
    assert "Nothing of the batch was applied, and it is tried again" in str(raised.value)
    assert run(compiled, spark).updates["totals"]


def test_a_run_stops_with_the_name_of_the_step_and_nothing_applied(spark: SparkSession) -> None:
    topology, ledger = Topology("audited"), MemoryLedger()
    stream = topology.stream("s", FixedBatchSpout("k string, n bigint", [("a", n) for n in (149, 150, 151)]))
    stream._then(Faulty(lost)).group_by("k").persistent_aggregate(MemoryState("totals"), n=Count())
    audited = RunOptions(audit=Audit.ON, max_tries=2, retry_pause=timedelta(0))
    with pytest.raises(TridentError, match="audit: the operation faulty lost records: it was given 3 records"):
        topology.run(spark, ledger=ledger, until="caught_up", options=audited)
    assert topology.run(spark, ledger=ledger, until="caught_up").batches == 1


def test_work_in_the_turn_goes_on_beside_an_audit(spark: SparkSession) -> None:
    topology, ledger = Topology("turning"), MemoryLedger()
    stream = topology.stream("s", FixedBatchSpout("k string, n bigint", [("a", n) for n in range(4)]))
    totals = stream.group_by("k").persistent_aggregate(MemoryState("totals"), count=Count())
    asked = topology.merge(stream.state_query(totals, MapGet()).project("k"), totals.new_values().project("k"))
    asked.group_by("k").persistent_aggregate(MemoryState("others"), n=Count())
    options = RunOptions(audit=Audit.ON, max_tries=1)
    assert topology.run(spark, ledger=ledger, until="caught_up", options=options).batches == 1
    assert sum(batch.keys for batch in ledger.view().batches("turning")) == 2


@pytest.mark.parametrize("format_", ["json", "csv"])
def test_lines_of_files_have_the_ids_that_their_manifests_say(
    spark: SparkSession, tmp_path: Path, format_: str
) -> None:
    lines = {
        "json": ['{"k": "a", "n": 1}', "no JSON", "", '{"k": "b", "n": 2}'],
        "csv": ["k,n", "a,1", "", "b,x", "b,2"],
    }
    (tmp_path / f"one.{format_}").write_text("\n".join(lines[format_]) + "\n")
    topology, ledger = Topology("files"), MemoryLedger()
    spout = FileSpout(tmp_path, "k string, n bigint", format=format_, on_bad_record=BadRecord.DEAD_LETTER)
    topology.stream("s", spout).group_by("k").persistent_aggregate(MemoryState("totals"), n=Count())
    options = RunOptions(audit=Audit.ON, max_tries=1)
    assert topology.run(spark, ledger=ledger, until="caught_up", options=options).batches == 1
    (batch,) = ledger.view().batches("files", 10)
    assert (batch.records, batch.dead_letters) == (3, 1)


def less(frame: DataFrame) -> DataFrame:
    return frame.filter("coalesce(k, '') <> 'c'")


def test_a_lost_group_is_missed_by_the_state(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Aggregate._grouped
    monkeypatch.setattr(Aggregate, "_grouped", lambda self, frame, batch: less(real(self, frame, batch)))
    with pytest.raises(AuditError, match="what is staged for the state 'totals' lost records"):
        run(totals(), spark, audit=Audit.ON)
    with pytest.raises(AuditError, match=r"the operation aggregate by k: n = Count\(\) lost records"):
        run(totals(lambda stream: stream.group_by("k").aggregate(n=Count())), spark, audit=Audit.ON)


def test_a_lost_row_of_one_record_is_missed(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = totals(lambda stream: stream.flat_each(tag=F.col("tags")))
    real = columns.exploded  # from here on: a stream that is built with a filter nobody asked for is refused
    monkeypatch.setattr(columns, "exploded", lambda *given: real(*given).filter("coalesce(tag, '') <> 'z' or n <> 3"))
    with pytest.raises(AuditError, match="flat_each tag = tags lost records: it is said to have made 300 rows of them"):
        run(compiled, spark, audit=Audit.ON)


def test_a_record_that_was_read_and_is_not_there_is_missed(spark: SparkSession) -> None:
    with pytest.raises(AuditError, match="the reading of the stream 's' lost records: it was given 200"):
        run(totals(kind=OrderedLosingSource), spark, audit=Audit.ON)


def test_a_merge_that_takes_a_stream_twice_is_named(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def merged(stream: Stream) -> Stream:
        return stream._topology.merge(stream.filter(F.col("n") > 10), stream)

    real = MergeStreams.lower
    monkeypatch.setattr(
        MergeStreams, "lower", lambda self, frames, batch: real(self, [*frames, records_alone(frames[0])], batch)
    )
    with pytest.raises(AuditError, match="the operation merge doubled records: it was given 389"):
        run(totals(merged), spark, audit=Audit.ON)


def records_alone(frame: DataFrame) -> DataFrame:
    return frame.filter(control().isNull())


def test_what_a_join_is_given_is_kept(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[str] = []
    frames = type(spark.range(1))
    real = frames.persist

    def persist(frame: DataFrame) -> DataFrame:
        kept.extend(name for name in frame.columns if not name.startswith("__"))
        return real(frame)

    def joined(stream: Stream) -> Stream:
        other = stream.filter(F.col("n") > 190).map(k=F.col("k"), o=F.col("n"))
        return stream._topology.join(other, stream.each(m=F.lit(1)).project("k", "n", "m"), on="k")

    monkeypatch.setattr(frames, "persist", persist)
    assert held_rows(run(totals(joined), spark, audit=Audit.ON), "totals")
    assert kept == [*FIELDS_OF_ALL, "k", "o", "k", "n", "m"]


def test_a_bad_record_is_accounted_for(spark: SparkSession) -> None:
    topology = Topology("t")
    stream = topology.stream("s", RowsSpout(OrderedBadSource(FIELDS, (ROWS[:120], ROWS[120:]), (FOURTH,))))
    stream.group_by("k").persistent_aggregate(UnopenedState("totals"), n=Count())
    result = run(topology.compile(), spark, audit=Audit.ON)
    assert sum(int(str(row[1])) for row in held_rows(result, "totals")) == 199
    assert len(result.bad_records) == 1


@pytest.mark.parametrize("audit", Audit)
def test_a_function_that_loses_a_record_is_refused_without_an_audit_too(spark: SparkSession, audit: Audit) -> None:
    compiled = totals(lambda stream: stream.map(lambda batch: batch.slice(1), FIELDS))
    with pytest.raises(FatalError, match=r"values for \d+ records; it must return one for each"):
        run(compiled, spark, audit=audit)


def test_what_is_not_audited_is_said(spark: SparkSession) -> None:
    topology = Topology("t")
    stream = stream_of(topology)
    joined = topology.join(stream.filter(F.col("n") > 1), stream.map(k=F.col("k"), o=F.col("n")), on="k")
    state = joined.group_by("k").persistent_aggregate(UnopenedState("totals"), n=Count())
    state.new_values().group_by("k").persistent_aggregate(UnopenedState("others"), n=Count())
    told = {
        line.split(". ", 1)[1].split(" ")[0]: line for line in topology.explain(audit="on").split("\n") if ". " in line
    }
    assert told["stream"].endswith("; audited")
    assert "; audited" in told["filter"]
    assert "; not audited, its rows are counted as new ones" in told["join"]
    assert "audited" not in topology.explain()


def test_a_small_batch_is_audited_too(spark: SparkSession) -> None:
    assert played(by_columns, spark, Audit.ON, is_small=True) == played(by_columns, spark, Audit.OFF)
    compiled = totals(lambda stream: stream._then(Faulty(lost)), SmallRowsSource)
    with pytest.raises(AuditError, match="the operation faulty lost records"):
        run(compiled, spark, audit=Audit.ON)
