"""Every argument that a user can give refuses what it can't be, when it is given: found by looking, not by a list.

An argument that is new is found by itself. With an annotation that is known here it is asked at once; with another
one, or of something public that is new, the first two tests fail until it is said what to refuse and how to call it.
"""

from __future__ import annotations

import atexit
import inspect
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from types import SimpleNamespace
from typing import Final, Literal

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

import trident
from tests.base.public import PublicArgument, arguments, owners
from trident import Collector, ConfigurationError, Count, InputRecord, MemoryLedger, RunOptions, Topology
from trident.engine.compiled import CompiledTopology
from trident.engine.staging import Staging
from trident.graph.nodes import SourceNode
from trident.language.stream import Stream
from trident.language.trident_state import TridentState
from trident.local import kafka, kafka_cluster, postgres, rabbitmq, redis, session, spark_cluster
from trident.spouts import (
    BadRecord,
    FixedBatchSpout,
    Json,
    LostOffsets,
    OpaqueKafkaSpout,
    SpoutKind,
    TransactionalKafkaSpout,
)
from trident.spouts.kafka.readers.arrow import ArrowReader
from trident.spouts.kafka.readers.spark import SparkReader
from trident.state import (
    BackingMapState,
    KafkaSink,
    MemoryState,
    PostgresState,
    PostgresTable,
    SqliteState,
    SqliteTable,
)
from trident.testing import BackingMapHarness, CrashPoint, Death, TopologyTest, check_exactly_once

NAN: Final = float("nan")
ENDLESS: Final = float("inf")
OTHER: Final = object()
TEXT = (5, True, b"bytes", "", "  ", OTHER)
COUNT = ("3", b"3", True, 0, -1, 2.5, NAN, OTHER)
SECONDS = (None, "3", b"3", True, -1, NAN, ENDLESS, OTHER, timedelta(seconds=1))
DURATION = (None, "3", 5, 2.5, True, NAN, OTHER, timedelta(seconds=-1), timedelta.max)
POLICY = (5, True, b"opaque", "", "for ever", "OPAQUE", OTHER)
FLAG = (None, "no", 0, 1, b"", OTHER)
THING = ("a text", b"bytes", 5, True, NAN, OTHER, type)
MANY = (*TEXT, None)
NO_START: Final[tuple[object, ...]] = (
    datetime(2026, 1, 1),  # noqa: DTZ001 - what is refused
    *({}, {"t": 5}, {"t": {}}, {5: {0: 1}}, {"t": {0: -1}}, {"t": {"0": 1}}, {"t": {0: True}}),
)

REFUSED: Final[Mapping[str, Sequence[object]]] = {
    "str": (*TEXT, None),
    "str | None": TEXT,
    "str | Path": (5, True, b"bytes", "", None, OTHER, "a\0b"),
    "str | Path | None": (5, True, b"bytes", "", OTHER, "a\0b"),
    "str | Sequence[str]": (*TEXT, None, [], [5], [""], [None]),
    "int": (*COUNT, None),
    "int | None": COUNT,
    "float": SECONDS,
    "Never": (1, None),
    "Collection[str]": ("a text", 5, True, b"bytes", None, [5], [None], [""]),
    "Sequence[float]": (*THING, None, [], 0.5, ["a"], [None], [True], [-0.1], [1.1], [NAN]),
    "bool": FLAG,
    "timedelta": DURATION,
    "timedelta | None": tuple(value for value in DURATION if value is not None),
    "Sequence[Row]": ("a text", b"bytes", 5, None, True, ["a text"], [5], [None], {"a": 1}),
    "Sequence[int] | None": ("a text", 5, True, [], [5], ["a", "b", "c"], [None] * 3, [True] * 3),
    "Sequence[Sequence[int]] | None": ("a text", 5, True, ["a text"], [5], [[None]], [[-1]]),
    "Mapping[str, str]": (None, *THING, {"a": 5}, {5: "a"}, {"a": b"b"}),
    "Mapping[str, str] | None": (*THING, {"a": 5}, {5: "a"}, {"a": b"b"}),
    "None": (5, "3", timedelta(seconds=1)),
    # policies
    **dict.fromkeys(
        ("Audit", "OnRunning", "Until", "Staging", "StateKind", "LostOffsets", "BadRecord"), (None, *POLICY)
    ),
    **dict.fromkeys(
        (
            "Audit | str",
            "ForgottenTables | str",
            "Level | str",
            "SpoutKind | str",
            "RowWrite | str",
            "Literal['clear', 'adopt']",
        ),
        (None, *POLICY),
    ),
    "MissedTicks | str": (None, *POLICY),
    "StartAt": (None, *POLICY),
    "Literal['stopped', 'caught_up'] | None": POLICY,
    "Start": (None, *POLICY, datetime(2026, 1, 1)),  # noqa: DTZ001 - what is refused
    "Start | Mapping[str, Mapping[int, int]]": (None, *POLICY, *NO_START),
    "ResetStart | StartAt | datetime | str | Mapping[str, Mapping[int, int]] | None": (*POLICY, *NO_START),
    # things
    **dict.fromkeys(
        ("Spout | AckingSpout", "Ledger", "State", "Topology", "Keep", "Decoder", "RangeReader"), (None, *THING)
    ),
    **dict.fromkeys(
        ("BackingMap", "SparkSession", "Aggregation", "Column", "LedgerDatabase", "RowStore"), (None, *THING)
    ),
    **{f"{each} | None": THING for each in ("Clock", "MemoryDatabase", "Ledger", "RunOptions", "KafkaNode")},
    "Topology | str": (None, 5, b"bytes", "", "a\nb", OTHER, type),
    "str | Column": (*TEXT, None),
    "Part": (5, True, b"bytes", "", "  ", OTHER, int),
    "Mapping[str, str | Column] | None": (*THING, {"a": 5}, {5: "a"}, {"a": b"b"}, {"": "a"}, {"a": ""}),
    "KafkaSink | None": THING,
    "Callable[[int], str]": (None, "a text", 5, int),
    **dict.fromkeys(
        (
            "Collects",
            "RowFunction",
            "RowFilter",
            "Callable[[pa.RecordBatch], object]",
            "Callable[[pa.RecordBatch], AnyArray]",
        ),
        (None, "a text", 5, b"x", int),
    ),
    "Callable[..., R]": (None, "a text", 5, b"bytes", int),
    "object": (),
    "Query": (None, *THING),
    "Sequence[RunListener]": (None, *THING, [5], [None], [trident.RunListener]),
    "Callable[[], object] | None": ("a text", 5, b"bytes", OTHER),
    "TridentState | StaticState": (None, *THING),
    "Keys": (5, True, b"bytes", "", None, [], [5], [None], [""]),
    "Keys | Sequence[Keys]": (5, True, b"bytes", "", None, [], [5], [None], [""], [["a"]], [["a"], 5]),
    "str | Sequence[JoinSide | str]": (None, 5, b"bytes", "sideways", [], ["inner"], ["inner", "sideways"]),
    **dict.fromkeys(("JoinOutput | str", "StdDevOf | str", "FileFormat | str"), (None, *POLICY)),
    "bool | None": (5, "no", b"bytes"),
    "ExplainForm | str": (),
    "Sequence[str]": ("a text", 5, True, b"bytes", None, [5], [None], ["nobody's"]),
    "Rows": (None, *THING, ["a"], {"a": 5}, {5: []}, {"nobody's": []}),
    "Rows | None": (*THING, ["a"], {"a": 5}, {5: []}, {"nobody's": []}),
    "Sequence[Rows]": (None, *THING, [], [5], [None]),
    "Sequence[Rows] | None": (*THING, [], [5], [None]),
    "Deaths": (None, *POLICY, ["tomorrow"], [None], [[]], CrashPoint.AFTER_RENEWAL),
    "CrashPoint | str": (None, *POLICY, CrashPoint.AFTER_RENEWAL),
    "datetime | None": (*THING, datetime(2026, 1, 1)),  # noqa: DTZ001 - what is refused
    "Sequence[str] | None": ("a text", 5, True, b"bytes", [5], [None]),
    **dict.fromkeys(
        (
            "Stream",
            "DataFrame",
            "StateUpdater",
            "TridentState",
            "MultiReducer[Any]",
            "Sequence[Stream | GroupedStream]",
        ),
        (None, *THING),
    ),
    **dict.fromkeys(("Column | Split", "Column | Condition"), (None, "a text", 5, b"bytes", int)),
    "ByRow": (None, *THING, Count()),
    "Aggregation | ByRow": (None, *THING),
    "Column | Condition | MaskFunction": (None, "a text", 5, b"bytes", int),
    "Body": (None, *THING),
    "Mapping[str, tuple[str, str, str]] | None": (
        *THING,
        {"a": 5},
        {5: ("", "", "")},
        {"a": ("", "")},
        {"a": (1, 2, 3)},
    ),
    **{f"{each} | None": ("a text", 5, b"bytes", int) for each in ("BatchFunction", "RowsFunction", "ListsFunction")},
}
"""What an argument of that annotation must refuse."""
MAY: Final[Mapping[str, Sequence[object]]] = {
    "ProgressiveWait(eager)": (0,),
    "ProgressiveWait(soon)": (0,),
    "BackingMapState(cached_keys)": (0,),
    "BackingMapHarness(cached_keys)": (0,),
    "Keep(count)": (0,),
    "ArrowReader(here_records)": (0,),
    "SqliteLedger(busy_seconds)": (0,),
    "LocalKafkaCluster.leader(partition)": (0,),
    "Stream.each(schema)": (None,),
    "HttpPushSpout(port)": (0,),
    "RunOptions(ackers)": (0,),
    "RunOptions(metrics_port)": (0,),
}
"""What one of them may be, unlike the others of its annotation."""
SECRET: Final = {"dsn", "client_options", "token", "url"}
ADDRESSES: Final = ("postgresql://ann:hunter2@127.0.0.1:9/none", "host=127.0.0.1 password=hunter2", "ann:hunter2@db")


def same(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def collects(record: InputRecord, collector: Collector) -> None:
    collector.ack(record)


class Map:
    """Stands for a user's map, which is not asked."""

    def multi_get(self, keys: Sequence[object]) -> Sequence[object]:
        raise NotImplementedError

    def multi_put(self, items: Sequence[object]) -> None:
        raise NotImplementedError


class Longest(trident.Combiner[str]):
    result_type = "string"

    def init(self, *values: object) -> str:
        return str(values[0])

    def combine(self, left: str, right: str) -> str:
        return max(left, right, key=len)


def anything(*arguments: object, **named: object) -> None:
    """Take it."""


class Latest(trident.Reducer[object]):
    result_type = "string"

    def init(self) -> object:
        return None

    def reduce(self, reduced: object, *values: object) -> object:
        return values[0]


class All(trident.Aggregator[list[object]]):
    schema = "a string"

    def init(self) -> list[object]:
        return []

    def aggregate(self, kept: list[object], *values: object) -> None:
        kept += values

    def complete(self, kept: list[object]) -> object:
        return kept


class Keeps(trident.StateUpdater):
    values = "n int"

    def update(self, stored: trident.StoredRows, rows: Sequence[object]) -> trident.StateChanges:
        return trident.StateChanges()


class Sides(trident.MultiReducer[None]):
    def init(self, group: tuple[object, ...]) -> None:
        return None

    def execute(self, kept: None, stream: int, row: dict[str, object]) -> object:
        return None


class Harness(BackingMapHarness):
    def items(self) -> list[object]:  # type: ignore[override]
        return []


ONE: Final = Topology("t")
"""Streams that are given to each other are of one topology, or they would be refused for that."""


def stream() -> Stream:
    """Return a stream that has no frame behind it: what is wrong is refused before Spark is asked."""
    fields = StructType([StructField("a", StringType()), StructField("n", LongType())])
    spout = FixedBatchSpout("a string, n bigint", [])
    return Stream(ONE, SourceNode("in", spout), SimpleNamespace(schema=fields))  # type: ignore[arg-type]


def state() -> TridentState:
    """Return a state by the key `a` that has nothing behind it."""
    persist = SimpleNamespace(aggregate=SimpleNamespace(keys=("a",), results={}))
    return TridentState(MemoryState("s"), None, persist, stream(), None)  # type: ignore[arg-type]


@cache
def local_rabbit() -> rabbitmq.LocalRabbit:
    """Return one that is never started: each has a folder, which goes with this process."""
    made = rabbitmq.LocalRabbit()
    atexit.register(made.close)
    return made


KAFKA = {"topics": "clicks", "bootstrap_servers": "127.0.0.1:9"}
SINK = {"name": "s", "bootstrap_servers": "127.0.0.1:9"}
DECIDING = {"topology": Topology("t"), "ledger": MemoryLedger(), "txid": 1}
COMMANDING = {"topology": "t", "ledger": MemoryLedger(), "within": timedelta(seconds=1)}
SPARK = SimpleNamespace(sql=same, createDataFrame=same, conf=None)
EMPTY = SimpleNamespace(name="t", compile=lambda: CompiledTopology("t", {}, ()), run=same)
TABLE = SimpleNamespace(toArrow=same, join=same, schema=None, columns=["a"])
FUNCTION = {"function": same, "schema": "n bigint"}
CALLS: Final[Mapping[str, tuple[Callable[..., object] | str, Mapping[str, object]]]] = {
    "Topology": (Topology, {"name": "t"}),
    "Topology.stream": ("stream", {"name": "in", "spout": FixedBatchSpout("n int", [])}),
    "Topology.stop": ("stop", {}),
    "Topology.ticks": ("ticks", {"name": "beat", "every": timedelta(minutes=1)}),
    "Topology.run": ("run", {"spark": SimpleNamespace(sql=same, createDataFrame=same, conf=None)}),
    "RunOptions": (RunOptions, {}),
    "Keep": (trident.Keep, {}),
    "Count": (Count, {}),
    "Sum": (trident.Sum, {"field": "n"}),
    "Min": (trident.Min, {"field": "n"}),
    "Max": (trident.Max, {"field": "n"}),
    "First": (trident.First, {"field": "a", "by": "n"}),
    "Last": (trident.Last, {"field": "a", "by": "n"}),
    "MinBy": (trident.MinBy, {"field": "a", "by": "n"}),
    "MaxBy": (trident.MaxBy, {"field": "a", "by": "n"}),
    "Mean": (trident.Mean, {"field": "n"}),
    "StdDev": (trident.StdDev, {"field": "n"}),
    "ApproxCountDistinct": (trident.ApproxCountDistinct, {"field": "n"}),
    "Quantiles": (trident.Quantiles, {"field": "n"}),
    "FirstN": (trident.FirstN, {"n": 1, "by": "a"}),
    "BoolAnd": (trident.BoolAnd, {"field": "n"}),
    "BoolOr": (trident.BoolOr, {"field": "n"}),
    "CollectList": (trident.CollectList, {"field": "n"}),
    "CollectSet": (trident.CollectSet, {"field": "n"}),
    "CountDistinct": (trident.CountDistinct, {"field": "n"}),
    "TopN": (trident.TopN, {"field": "n"}),
    "Combiner": (Longest, {"fields": "a"}),
    "Reducer": (Latest, {"fields": "a"}),
    "Aggregator": (All, {"fields": "a"}),
    "MemoryLedger": (MemoryLedger, {}),
    "PostgresLedger": (trident.PostgresLedger, {"dsn": "postgresql://127.0.0.1:9/none"}),
    "SqliteLedger": (trident.SqliteLedger, {"path": "ledger.sqlite"}),
    "retry": (trident.retry, DECIDING),
    "undo": (trident.undo, DECIDING),
    "divert": (trident.divert, {**DECIDING, "state": "s", "rows_lost": False}),
    "reapply": (trident.reapply, {**DECIDING, "state": "s"}),
    "drop": (trident.drop, {"topology": Topology("t"), "ledger": MemoryLedger(), "name": "s"}),
    "forget": (
        trident.forget,
        {"topology": Topology("t"), "ledger": MemoryLedger(), "tables": "keep", "lost_states": ()},
    ),
    "evolve": (trident.evolve, {"topology": Topology("t"), "ledger": MemoryLedger(), "rename_states": {"a": "b"}}),
    "status": (trident.status, {"topology": "t", "ledger": MemoryLedger()}),
    "reset": (trident.reset, {"topology": Topology("t"), "ledger": MemoryLedger(), "states": "clear"}),
    "activate": (trident.activate, COMMANDING),
    "deactivate": (trident.deactivate, COMMANDING),
    "rebalance": (trident.rebalance, {**COMMANDING, "max_pending": 2, "parallelism": 2}),
    "kill": (trident.kill, {**COMMANDING, "wait": timedelta(0)}),
    "batch_time": (trident.batch_time, {}),
    "recommended_options": (trident.recommended_options, {}),
    "local_session": (session.local_session, {"app_name": "a"}),
    "Stream.filter": ("filter", {"condition": same}),
    "Stream.each": ("each", FUNCTION),
    "Stream.map": ("map", FUNCTION),
    "Stream.flat_map": ("flat_map", FUNCTION),
    "Stream.project": ("project", {"fields": "a"}),
    "Stream.parallelism": ("parallelism", {"tasks": 1}),
    "Stream.resources": ("resources", {"cpus": 1}),
    "Stream.options": ("options", {"records_per_call": 1}),
    "Stream.shuffle": ("shuffle", {}),
    "Stream.partition_by": ("partition_by", {"fields": "a"}),
    "Stream.global_": ("global_", {}),
    "Stream.batch_global": ("batch_global", {}),
    "Stream.broadcast": ("broadcast", {}),
    "Stream.local_or_shuffle": ("local_or_shuffle", {}),
    "Stream.identity_partition": ("identity_partition", {}),
    "Stream.declare_direct": ("declare_direct", {"field": "n"}),
    "Stream.direct": ("direct", {}),
    "Stream.partition": ("partition", {"function": same}),
    "Stream.partition_aggregate": ("partition_aggregate", {"aggregators": Count()}),
    "Stream.name": ("name", {"name": "b"}),
    "Stream.rename": ("rename", {"names": {"a": "b"}}),
    "Stream.peek": ("peek", {"function": same}),
    "Stream.filter_row": ("filter_row", {"function": same}),
    "Stream.map_row": ("map_row", FUNCTION),
    "Stream.each_row": ("each_row", FUNCTION),
    "Stream.flat_map_row": ("flat_map_row", FUNCTION),
    "Stream.process": ("process", {**FUNCTION, "function": collects}),
    "Stream.flat_each": ("flat_each", FUNCTION),
    "Stream.apply_assembly": ("apply_assembly", {"assembly": anything}),
    "GroupedStream.apply_assembly": ("apply_assembly", {"assembly": anything}),
    "Stream.merge": ("merge", {"others": stream()}),
    "Stream.join": ("join", {"other": stream(), "on": "a"}),
    "Stream.join_static": ("join_static", {"table": TABLE, "on": "a"}),
    "Topology.explain": ("explain", {}),
    "Topology.merge": ("merge", {"streams": stream()}),
    "Topology.join": ("join", {"streams": stream(), "on": "a"}),
    "Topology.multi_reduce": ("multi_reduce", {"streams": [stream()], "reducer": Sides(), "schema": "n int"}),
    "Stream.state_query": ("state_query", {"state": state(), "query": trident.MapGet("a")}),
    "GroupedStream.state_query": ("state_query", {"state": state(), "query": trident.MapGet("a")}),
    "Stream.partition_persist": (
        "partition_persist",
        {"state": MemoryState("s"), "updater": Keeps(), "key": "a"},
    ),
    "Topology.new_static_state": ("new_static_state", {"source": TABLE, "keys": "a"}),
    "CollectionGet": (trident.CollectionGet, {"keys": "a"}),
    "MapGet": (trident.MapGet, {"keys": "a"}),
    "SnapshotGet": (trident.SnapshotGet, {}),
    "Debug": (trident.Debug, {"label": "a"}),
    "FilterNull": (trident.FilterNull, {"fields": "a"}),
    "Negate": (trident.Negate, {"condition": trident.FilterNull("a")}),
    "Split": (trident.Split, {"name": "a"}),
    "Stream.group_by": ("group_by", {"fields": "a"}),
    "Stream.to_kafka": ("to_kafka", {"topic": "t", "value": "a", "sink": KafkaSink("s", bootstrap_servers="h:9")}),
    "Stream.to_table": ("to_table", {"table": PostgresTable("s"), "write": "upsert", "key": "a"}),
    "Stream.aggregate": ("aggregate", {"aggregators": Count()}),
    "Stream.persistent_aggregate": ("persistent_aggregate", {"state": MemoryState("s"), "aggregators": Count()}),
    "GroupedStream.aggregate": ("aggregate", {"aggregators": Count()}),
    "GroupedStream.persistent_aggregate": ("persistent_aggregate", {"state": MemoryState("s"), "aggregators": Count()}),
    "FixedBatchSpout": (FixedBatchSpout, {"schema": "n int", "rows": [(1,), {"n": 2}]}),
    "FeederBatchSpout": (trident.spouts.FeederBatchSpout, {"schema": "n int"}),
    "FeederBatchSpout.feed": ("feed", {"rows": [(1,)]}),
    "ProgressiveWait": (trident.spouts.ProgressiveWait, {}),
    "SleepWait": (trident.spouts.SleepWait, {}),
    "FileSpout": (trident.spouts.FileSpout, {"folder": "in", "schema": "n int", "format": "csv"}),
    "TickSpout": (trident.spouts.TickSpout, {"every": timedelta(minutes=1)}),
    "Json": (Json, {"schema": "n int"}),
    "Raw": (trident.spouts.Raw, {}),
    "AckingKafkaSpout": (trident.spouts.AckingKafkaSpout, {**KAFKA, "group": "g"}),
    "HttpPushSpout": (trident.spouts.HttpPushSpout, {"port": 0}),
    "FieldsBody": (trident.spouts.FieldsBody, {"schema": "n int"}),
    "JsonBody": (trident.spouts.JsonBody, {"schema": "n int"}),
    "RawBody": (trident.spouts.RawBody, {}),
    "RabbitSpout": (trident.spouts.RabbitSpout, {"queue": "q", "url": "amqp://ann:hunter2@127.0.0.1:9/"}),
    "RedisStreamSpout": (
        trident.spouts.RedisStreamSpout,
        {"streams": "s", "group": "g", "url": "redis://ann:hunter2@127.0.0.1:9/0"},
    ),
    "OpaqueKafkaSpout": (OpaqueKafkaSpout, KAFKA),
    "TransactionalKafkaSpout": (TransactionalKafkaSpout, KAFKA),
    "ArrowReader": (ArrowReader, {}),
    "SparkReader": (SparkReader, {}),
    "BackingMapState": (BackingMapState, {"name": "s", "backing_map": Map()}),
    "MemoryState": (MemoryState, {"name": "s"}),
    "MemoryState.rows": ("rows", {"ledger_database": MemoryLedger().database}),
    "KafkaSink": (KafkaSink, SINK),
    "PostgresState": (PostgresState, {"name": "s"}),
    "PostgresTable": (PostgresTable, {"name": "s"}),
    "SqliteState": (SqliteState, {"name": "s"}),
    "SqliteTable": (SqliteTable, {"name": "s"}),
    "TopologyTest": (TopologyTest, {"topology": EMPTY, "spark": SPARK}),
    "TopologyTest.batch": ("batch", {"rows": {}}),
    "TopologyTest.rows": ("rows", {"name": "s"}),
    "TopologyTest.sent": ("sent", {"name": "s"}),
    "Death": (Death, {"point": CrashPoint.AFTER_PIN}),
    "check_exactly_once": (check_exactly_once, {"topology": EMPTY, "spark": SPARK, "batches": [{}]}),
    "BackingMapHarness": (Harness, {"backing_map": Map()}),
    "LocalKafka": (kafka.LocalKafka, {}),
    "LocalKafka.create_topic": ("create_topic", {"name": "t"}),
    "LocalKafkaCluster": (kafka_cluster.LocalKafkaCluster, {}),
    "LocalKafkaCluster.broker": ("broker", {"number": 1}),
    "LocalKafkaCluster.create_topic": ("create_topic", {"name": "t"}),
    "LocalKafkaCluster.leader": ("leader", {"topic": "t", "partition": 0}),
    "LocalKafkaCluster.transaction_coordinator": ("transaction_coordinator", {"transactional_id": "t.s"}),
    "LocalKafkaCluster.is_in_sync": ("is_in_sync", {"topic": "t"}),
    "LocalPostgres": (postgres.LocalPostgres, {}),
    "LocalRabbit": (rabbitmq.LocalRabbit, {}),
    "LocalRabbit.url_of": ("url_of", {"user": "trident"}),
    "LocalRedis": (redis.LocalRedis, {}),
    "LocalSparkCluster": (spark_cluster.LocalSparkCluster, {}),
}
"""How each is called rightly: a method by its name, on what is made for its class."""
MADE: Final[Mapping[str, Callable[[], object]]] = {
    "Topology": lambda: ONE,
    "Stream": stream,
    "GroupedStream": lambda: stream().group_by("a"),
    "FeederBatchSpout": lambda: trident.spouts.FeederBatchSpout("n int"),
    "MemoryState": lambda: MemoryState("s"),
    "TopologyTest": lambda: TopologyTest(EMPTY, SPARK),  # type: ignore[arg-type]
    "LocalKafka": lambda: kafka.LocalKafka(),
    "LocalRabbit": lambda: local_rabbit(),
    "LocalKafkaCluster": lambda: kafka_cluster.LocalKafkaCluster(),
}
WAITING = ("start", "stop", "launch", "wait", "close", "kill", "prepare", "create_database")
"""What takes no argument: of servers."""


def is_called(owner: str) -> bool:
    return owner in CALLS or owner.rpartition(".")[2] in WAITING


def call(argument: PublicArgument, value: object) -> object:
    """Call what the argument is of rightly but for this argument."""
    target, rest = CALLS[argument.owner]
    made = MADE[argument.owner.partition(".")[0]]() if isinstance(target, str) else None
    function = getattr(made, target) if isinstance(target, str) else target
    without = FUNCTION if argument.name == "columns" else {}  # either a function with its fields, or columns
    given = {**{name: each for name, each in rest.items() if name not in without}, argument.name: value}
    positional: list[object] = []
    named: dict[str, object] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in given:
            continue
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            positional.append(given[name])
        else:
            named["result" if parameter.kind is parameter.VAR_KEYWORD else name] = given[name]
    return function(*positional, **named)


def is_asked_for_secrets(argument: PublicArgument) -> bool:
    """Not what would start a server, nor what says by its name which field or topology is not there."""
    return not argument.owner.lower().startswith("local") and argument.name not in ("fields", "schema", "topology")


def test_everything_public_is_asked() -> None:
    missing = sorted(owner for owner in owners() if not is_called(owner))
    assert not missing, "say in CALLS how it is called, or in public.NOT_ASKED why a user gives it nothing"
    assert not sorted(set(CALLS) - owners()), "is gone, or is not public"


def test_every_annotation_is_known() -> None:
    unknown = [f"{each}: {each.annotation}" for each in arguments() if each.annotation not in REFUSED]
    assert not unknown, "say in REFUSED what such an argument must refuse"
    assert len(arguments()) > 100


@pytest.mark.parametrize("argument", arguments(), ids=str)
def test_what_an_argument_can_not_be_is_refused_by_name(argument: PublicArgument) -> None:
    taken = []
    for value in REFUSED[argument.annotation]:
        if any(value is each for each in MAY.get(str(argument), ())):
            continue
        try:
            call(argument, value)
        except ConfigurationError as error:
            said = str(error)
        else:
            taken.append(value)
            continue
        words = (argument.name, argument.name.rstrip("s"), argument.owner.rpartition(".")[2], "result")
        assert any(word in said for word in words), f"{value!r}: the text does not say which argument: {said}"
        if argument.name in SECRET and isinstance(value, str | bytes) and len(value) > 2:
            assert repr(value) not in said
    assert not taken, f"{argument} takes {taken!r}"


@pytest.mark.parametrize(
    "owner", ["Stream.merge", "Stream.join", "Topology.merge", "Topology.join", "Stream.state_query"]
)
def test_what_streams_are_given_is_right_but_for_the_argument_that_is_asked(owner: str) -> None:
    """Refused for another reason, no argument of theirs would be asked at all; here Spark is, which is not there."""
    right = next(each for each in arguments() if each.owner == owner)
    _, given = CALLS[owner]
    streams = {"others", "other", "streams"} & set(given)
    rest = {name: value for name, value in given.items() if name not in streams}
    made = [stream()] if owner.startswith("Topology") else []
    method = getattr(MADE[right.owner.partition(".")[0]](), owner.rpartition(".")[2])
    positional = [*made, *(given[name] for name in streams)]
    if owner.endswith("join"):
        rest["fields"] = ["a", "n", "other"]
    if owner.endswith("state_query"):
        positional, rest = list(given.values()), {}
    with pytest.raises(AttributeError):
        method(*positional, **rest)


@pytest.mark.parametrize("argument", [each for each in arguments() if is_asked_for_secrets(each)], ids=str)
@pytest.mark.parametrize("address", ADDRESSES)
def test_a_password_that_is_given_in_the_wrong_place_is_not_shown(argument: PublicArgument, address: str) -> None:
    """An address where a ledger, a name or a policy is meant; also the second time, when a name is taken."""
    for _ in range(2):
        said = ""
        try:
            call(argument, address)
        except ConfigurationError as error:
            said = str(error)
        assert "hunter2" not in said


@pytest.mark.parametrize("owner", sorted(owner for owner, (target, _) in CALLS.items() if inspect.isclass(target)))
def test_what_is_right_is_taken(owner: str, tmp_path: object) -> None:
    target, given = CALLS[owner]
    assert callable(target)
    many = {name: value for name, value in given.items() if name in ("fields", "keys")}
    made = target(*many.values(), **{name: value for name, value in given.items() if name not in many})
    close = getattr(made, "close", None)
    if close is not None:
        close()


def test_an_option_that_is_given_to_run_itself_is_refused_with_how_it_is_given() -> None:
    topology = Topology("t")
    with pytest.raises(ConfigurationError, match=r"max_tries is an option .* options=RunOptions\(max_tries=…\)"):
        topology.run(SPARK, max_tries=3)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"Topology.run has no argument 'max_trys'; nothing was started"):
        topology.run(SPARK, max_trys=3)  # type: ignore[arg-type]


def test_percents_are_refused_as_what_they_are() -> None:
    with pytest.raises(ConfigurationError, match=r"of percents their hundredths: at=\(0.5, 0.95,\)"):
        trident.Quantiles("n", at=(50, 95))
    with pytest.raises(ConfigurationError, match=r"such as \(0.5, 0.99\)"):
        trident.Quantiles("n", at=(0.5, 1.1))


@pytest.mark.parametrize(
    ("options", "until", "end"),
    [
        (None, None, "stopped"),
        (RunOptions(until="caught_up"), None, "caught_up"),  # type: ignore[arg-type]
        (RunOptions(until="caught_up"), "stopped", "stopped"),  # type: ignore[arg-type]
        (None, "caught_up", "caught_up"),
    ],
)
def test_what_the_options_say_counts_unless_the_call_says_otherwise(
    options: RunOptions | None, until: Literal["stopped", "caught_up"] | None, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Options that end a run when it has caught up were outvoted by a default that nobody had given."""
    seen: list[RunOptions] = []

    def keep(_: object, __: object, ___: object, chosen: RunOptions, *____: object) -> None:
        seen.append(chosen)

    topology = Topology("t")
    monkeypatch.setattr(topology, "compile", lambda: None)
    monkeypatch.setattr("trident.language.topology.make_run", keep)
    monkeypatch.setattr("trident.language.topology.run_to_end", lambda _: None)
    spark = SimpleNamespace(sql=same, createDataFrame=same, conf=None)
    topology.run(spark, until=until, options=options)  # type: ignore[arg-type]
    assert [chosen.until.value for chosen in seen] == [end]


@pytest.mark.parametrize("name", ["kind", "on_bad_record", "on_lost_offsets"])
def test_a_spout_of_ones_own_says_policies_by_members(name: str) -> None:
    """A text there would be compared with members by identity, and be none of them."""
    theirs = {"kind": SpoutKind.OPAQUE, "on_bad_record": BadRecord.FAIL, "on_lost_offsets": LostOffsets.STOP}
    spout = SimpleNamespace(open=same, description=dict, limits=None, **{**theirs, name: theirs[name].value})
    with pytest.raises(ConfigurationError, match=f"{name} of the spout of stream 'in' must be a"):
        Topology("t").stream("in", spout)


@pytest.mark.parametrize("staging", [Staging.DRIVER, "driver"])
def test_a_text_that_names_a_policy_is_that_policy(staging: str) -> None:
    """A run gets as far as its graph, which has nothing in it: the policy was taken."""
    with pytest.raises(ConfigurationError, match="ends in no state"):
        Topology("t").run(SimpleNamespace(sql=same, createDataFrame=same, conf=None), staging=staging)  # type: ignore[arg-type]


@pytest.mark.parametrize("lease", [timedelta(microseconds=1), timedelta(microseconds=49_999)])
def test_a_lease_too_short_for_a_round_trip_is_refused(lease: timedelta) -> None:
    with pytest.raises(ConfigurationError, match=r"lease must be at least 0\.05 s"):
        RunOptions(lease=lease)
    assert RunOptions(lease=timedelta(milliseconds=50)).lease == timedelta(milliseconds=50)
