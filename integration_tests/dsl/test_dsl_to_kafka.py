"""What a stream hands to a Kafka sink: records made of its fields, in the order of those that they are of."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration_tests.dsl.fakes import UnopenedState, held_rows, rows_spout, run
from trident import ConfigurationError, Count, FieldError, Topology, batch_time
from trident.base.order import ORDER, origin_of
from trident.language.stream import Stream
from trident.spouts import FixedBatchSpout, OpaqueKafkaSpout
from trident.state import KafkaSink
from trident.state.kafka.records import in_order
from trident.state.staged import HeldUpdates

PAYMENTS = "account string, amount bigint"
ROWS: list[tuple[Any, ...]] = [
    ("a", 5),
    ("b", -1),
    ("a", 7),
    (None, 2),
    ("c", None),
    *((f"k{n}", n) for n in range(300)),
]
SINK = KafkaSink("out", bootstrap_servers="127.0.0.1:1")
Step = Callable[[Stream], Stream]


def payments(rows: list[tuple[Any, ...]] = ROWS) -> tuple[Topology, Stream]:
    topology = Topology("t")
    return topology, topology.stream("payments", FixedBatchSpout(PAYMENTS, rows))


def sent(topology: Topology, spark: SparkSession, sink: str = "out") -> list[dict[str, Any]]:
    """Return what the sink would be given, in its order."""
    updates = run(topology.compile(), spark).updates[sink]
    assert isinstance(updates, HeldUpdates)
    rows: list[dict[str, Any]] = in_order(updates.rows).to_pylist()
    return rows


def test_a_record_is_made_of_columns(spark: SparkSession) -> None:
    topology, stream = payments(ROWS[:5])
    stream.to_kafka(
        "alerts",
        key="account",
        value=F.to_json(F.struct("account", "amount")),
        headers={"who": "account", "when": F.lit("now"), "at": batch_time().cast("string")},
        sink=SINK,
    )
    found = sent(topology, spark)
    assert [row["topic"] for row in found] == ["alerts"] * 5
    assert [row["key"] for row in found] == [b"a", b"b", b"a", None, b"c"]
    shown = [dict(zip(("account", "amount"), row, strict=True)) for row in ROWS[:5]]
    expected = [{name: value for name, value in row.items() if value is not None} for row in shown]
    assert [json.loads(row["value"]) for row in found] == expected
    first = {header["key"]: header["value"] for header in found[0]["headers"]}
    assert (first["who"], first["when"]) == (b"a", b"now")
    assert [origin_of(row[ORDER]).offset for row in found] == [0, 1, 2, 3, 4]


def test_a_null_value_is_a_tombstone_and_a_topic_may_be_a_column(spark: SparkSession) -> None:
    topology, stream = payments(ROWS[:3])
    topic = F.when(F.col("amount") > 0, "plus").otherwise("minus")
    stream.to_kafka(topic, key="account", value=None, sink=SINK)
    assert [(row["topic"], row["value"], row["headers"]) for row in sent(topology, spark)] == [
        ("plus", None, None),
        ("minus", None, None),
        ("plus", None, None),
    ]


def test_a_function_makes_values_of_batches(spark: SparkSession) -> None:
    def doubled(batch: pa.RecordBatch) -> pa.Array:  # type: ignore[type-arg]
        return pc.cast(pc.multiply(batch["amount"], 2), pa.string())

    def shouted(batch: pa.RecordBatch) -> pa.Array:  # type: ignore[type-arg]
        return pc.utf8_upper(batch["account"])

    topology, stream = payments(ROWS[:3])
    stream.to_kafka("out", key=shouted, value=doubled, sink=SINK)
    assert [(row["key"], row["value"]) for row in sent(topology, spark)] == [
        (b"A", b"10"),
        (b"B", b"-2"),
        (b"A", b"14"),
    ]


def twice(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.take(pa.array([number for row in range(batch.num_rows) for number in (row, row)]))


STEPS: dict[str, tuple[Step, Callable[[Any, Any], list[Any]]]] = {
    "nothing": (lambda s: s, lambda a, n: [n]),
    "filter": (lambda s: s.filter(F.col("amount") > 3), lambda a, n: [n] if n is not None and n > 3 else []),
    "filter by function": (
        lambda s: s.filter(lambda batch: pc.is_valid(batch["amount"])),
        lambda a, n: [] if n is None else [n],
    ),
    "each": (lambda s: s.each(more=F.col("amount") + 1), lambda a, n: [n]),
    "each by function": (lambda s: s.each(lambda batch: batch["amount"], "more bigint"), lambda a, n: [n]),
    "map": (lambda s: s.map(amount=F.col("amount")), lambda a, n: [n]),
    "map by function": (lambda s: s.map(lambda batch: batch["amount"], "amount bigint"), lambda a, n: [n]),
    "project": (lambda s: s.project("amount"), lambda a, n: [n]),
    "flat_map": (
        lambda s: s.flat_map(amount=F.array(F.col("amount"), F.col("amount") + 1000)),
        lambda a, n: [n, None if n is None else n + 1000],
    ),
    "flat_map by function": (lambda s: s.flat_map(twice, PAYMENTS), lambda a, n: [n, n]),
    "flat_map twice": (
        lambda s: s.flat_map(twice, PAYMENTS).flat_map(amount=F.array(F.col("amount"), F.lit(-7).cast("bigint"))),
        lambda a, n: [n, -7, n, -7],
    ),
}


@pytest.mark.parametrize("case", STEPS)
@pytest.mark.drawn(one_in=2)
def test_records_keep_the_order_of_their_source(spark: SparkSession, case: str) -> None:
    step, expected = STEPS[case]
    topology, stream = payments()
    step(stream).to_kafka("out", value=F.col("amount").cast("string"), sink=SINK)
    rows = sent(topology, spark)
    wanted = [(number, each) for number, row in enumerate(ROWS) for each in expected(*row)]
    assert [row["value"] for row in rows] == [None if each is None else str(each).encode() for _, each in wanted]
    assert len({row[ORDER] for row in rows}) == len(rows)
    if case not in ("flat_map by function", "flat_map twice"):  # nobody knows which record such a row is of
        assert [origin_of(row[ORDER]).offset for row in rows] == [number for number, _ in wanted]


def test_a_sink_beside_a_state_leaves_it_as_it_was(spark: SparkSession) -> None:
    topology, stream = payments()
    stream.group_by("account").persistent_aggregate(UnopenedState("counts"), n=Count())
    stream.flat_map(twice, PAYMENTS).to_kafka("out", value="account", sink=SINK)
    result = run(topology.compile(), spark)
    assert sorted(held_rows(result, "counts"), key=repr)[:2] == [("a", 2), ("b", 1)]
    assert len(sent(topology, spark)) == 2 * len(ROWS)


def test_groups_can_be_sent_too(spark: SparkSession) -> None:
    topology, stream = payments(ROWS[:5])
    counted = stream.group_by("account").aggregate(n=Count())
    counted.to_kafka("out", key="account", value=F.col("n").cast("string"), sink=SINK)
    found = sent(topology, spark)
    assert {row["key"]: row["value"] for row in found} == {b"a": b"2", b"b": b"1", b"c": b"1", None: b"1"}
    assert {row[ORDER] for row in found} == {None}


def test_the_cluster_is_the_one_that_the_stream_is_read_from(spark: SparkSession) -> None:
    topology = Topology("t")
    options = {"security.protocol": "PLAINTEXT", "fetch.wait.max.ms": "5"}
    spout = OpaqueKafkaSpout("in", bootstrap_servers="127.0.0.1:9", client_options=options)
    topology.stream("payments", spout).to_kafka("alerts", value="value")
    (end,) = topology.compile().ends
    expected = KafkaSink("alerts", bootstrap_servers="127.0.0.1:9", client_options={"security.protocol": "PLAINTEXT"})
    assert end.sink == expected  # type: ignore[union-attr]
    assert topology.compile().spec().states == {
        "alerts": {"store": "kafka", "kind": "sink", "markers": "trident-markers", "topic": "alerts"}
    }


WRONG: dict[str, tuple[Callable[[Stream], object], type[Exception], str]] = {
    "a number as key": (
        lambda s: s.to_kafka("out", key="amount", value="account", sink=SINK),
        ConfigurationError,
        "the key is bigint",
    ),
    "a struct as value": (
        lambda s: s.to_kafka("out", value=F.struct("account"), sink=SINK),
        ConfigurationError,
        r"the value is struct.*F.to_json",
    ),
    "a number as header": (
        lambda s: s.to_kafka("out", value="account", headers={"n": "amount"}, sink=SINK),
        ConfigurationError,
        "the header 'n' is bigint",
    ),
    "a field that is not there": (
        lambda s: s.to_kafka("out", value="nobody", sink=SINK),
        FieldError,
        "to_kafka: the value names .* 'nobody'",
    ),
    "a header's text": (
        lambda s: s.to_kafka("out", value="account", headers={"kind": "limit"}, sink=SINK),
        FieldError,
        r"header 'kind' \(F.lit for a text of its own\) names",
    ),
    "a column that is not there": (lambda s: s.to_kafka("out", value=F.col("nobody"), sink=SINK), FieldError, "nobody"),
    "a topic that is none": (
        lambda s: s.to_kafka("a b", value="account", sink=SINK),
        ConfigurationError,
        "a topic's name",
    ),
    "a topic of bytes": (
        lambda s: s.to_kafka(F.lit(b"x"), value="account", sink=SINK),
        ConfigurationError,
        "the topic is binary",
    ),
    "no sink for many topics": (
        lambda s: s.to_kafka(F.col("account"), value="account"),
        ConfigurationError,
        "gives the sink no name",
    ),
    "a topic of markers": (
        lambda s: s.to_kafka(
            "marks", value="account", sink=KafkaSink("s", bootstrap_servers="k:1", marker_topic="marks")
        ),
        ConfigurationError,
        "topic 'marks' holds the markers of sinks",
    ),
    "no cluster": (lambda s: s.to_kafka("out", value="account"), ConfigurationError, "read from no Kafka cluster"),
    "our own header": (
        lambda s: s.to_kafka("out", value="account", headers={"trident-txid": "account"}, sink=SINK),
        ConfigurationError,
        "does not begin with 'trident-'",
    ),
    "a sink that is none": (lambda s: s.to_kafka("out", value="account", sink="out"), ConfigurationError, "sink"),  # type: ignore[arg-type]
    "a value that is none": (lambda s: s.to_kafka("out", value=7, sink=SINK), ConfigurationError, "the value must be"),  # type: ignore[arg-type]
    "chance": (
        lambda s: s.to_kafka("out", value=F.rand().cast("string"), sink=SINK),
        ConfigurationError,
        "not deterministic",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_can_be_no_record_is_refused_when_the_topology_is_built(spark: SparkSession, case: str) -> None:
    build, error, pattern = WRONG[case]
    topology, stream = payments()
    with pytest.raises(error, match=pattern):
        build(stream)
    with pytest.raises(ConfigurationError, match="ends in no state or sink"):
        topology.compile()


def test_two_sinks_of_one_name_are_refused(spark: SparkSession) -> None:
    _, stream = payments()
    stream.to_kafka("out", value="account", sink=SINK)
    with pytest.raises(ConfigurationError, match="has a sink 'out' already"):
        stream.to_kafka("other", value="account", sink=SINK)


def test_a_source_that_knows_no_order_is_refused_by_name(spark: SparkSession) -> None:
    topology = Topology("t")
    topology.stream("rows", rows_spout(PAYMENTS, ROWS)).to_kafka("out", value="account", sink=SINK)
    with pytest.raises(ConfigurationError, match=r"stream 'rows' has no read_in_order.*Nothing was read"):
        run(topology.compile(), spark)
