"""Kafka to Kafka on real servers, exactly once: sets, counts and order per key, over runs, faults and decisions."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from confluent_kafka import Message, Producer
from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration_tests.fix_kafka import Kafka
from integration_tests.records import Payment, payments, produce
from integration_tests.sinks.reading import committed
from trident import (
    ConfigurationError,
    Count,
    DecisionNeededError,
    FatalError,
    RunOptions,
    SqliteLedger,
    Sum,
    Topology,
    divert,
    reset,
    retry,
)
from trident.base.crash_points import CrashPoint, armed
from trident.spouts import Json, OpaqueKafkaSpout
from trident.state import KafkaSink, SqliteState

OPTIONS = RunOptions(lease=timedelta(seconds=5), retry_pause=timedelta(milliseconds=10))
JSON = Json("account string, amount bigint")


class Scene:
    """Payments in, those above zero out again, and their sums beside."""

    def __init__(self, kafka: Kafka, folder: Path, **configs: str) -> None:
        self.kafka = kafka
        self.folder = folder
        self.source = kafka.create_topic(4, name="payments")
        self.target = kafka.create_topic(3, configs, name="positive")

    @property
    def ledger(self) -> SqliteLedger:
        return SqliteLedger(self.folder / "ledger.sqlite")

    def topology(self, *, limit: int = 400) -> Topology:
        topology = Topology(f"of {self.target}")
        servers = self.kafka.bootstrap_servers
        spout = OpaqueKafkaSpout(self.source, bootstrap_servers=servers, value=JSON, max_records_per_batch=limit)
        positive = topology.stream("payments", spout).filter(F.col("amount") > 0)
        positive.to_kafka(
            self.target,
            key="account",
            value=F.to_json(F.struct("account", "amount")),
            sink=KafkaSink("positive", bootstrap_servers=servers),
        )
        positive.group_by("account").persistent_aggregate(SqliteState("sums"), n=Count(), total=Sum("amount"))
        return topology

    def run(self, spark: SparkSession, **options: int) -> int:
        return self.topology(**options).run(spark, ledger=self.ledger, until="caught_up", options=OPTIONS).batches

    def produce(self, records: Sequence[Payment]) -> None:
        produce(self.kafka.bootstrap_servers, self.source, records)

    def sent(self) -> list[Message]:
        return committed(self.kafka.bootstrap_servers, self.target)


def pairs(messages: Sequence[Message]) -> list[Payment]:
    found = [json.loads(message.value() or b"") for message in messages]
    return [(each["account"], each["amount"]) for each in found]


def lineage(message: Message) -> dict[str, str]:
    headers = cast("list[tuple[str, bytes]]", message.headers())
    return {name: value.decode() for name, value in headers}


def place(message: Message) -> tuple[int, int, int]:
    """Return txid, source partition and offset."""
    found = lineage(message)
    partition, offset = found["trident-source"].rpartition("[")[2].split("]@")
    return int(found["trident-txid"]), int(partition), int(offset)


def check(scene: Scene, records: Sequence[Payment]) -> None:
    """Hold what readers see against what was produced: every payment above zero once, in order for each account."""
    messages = scene.sent()
    assert sorted(pairs(messages)) == sorted(pair for pair in records if pair[1] > 0)
    by_key: dict[bytes | None, list[tuple[int, int, int]]] = defaultdict(list)
    for message in messages:
        by_key[message.key()].append(place(message))
    assert all(places == sorted(places) for places in by_key.values())


@pytest.fixture
def scene(kafka: Kafka, tmp_path: Path) -> Scene:
    return Scene(kafka, tmp_path)


def test_each_record_arrives_once_and_in_order(spark: SparkSession, scene: Scene) -> None:
    first, second = payments(1_500), payments(700, first=1_500)
    scene.produce(first)
    assert scene.run(spark) == 4
    check(scene, first)
    scene.produce(second)
    assert scene.run(spark) == 2
    check(scene, [*first, *second])
    assert scene.run(spark) == 0
    message = scene.sent()[0]
    assert lineage(message)["trident-topology"] == f"of {scene.target}"
    assert lineage(message)["trident-source"].startswith(f"{scene.source}[")


def test_what_a_parser_is_needed_for_keeps_its_place(spark: SparkSession, scene: Scene) -> None:
    """Records that only Spark's own parser decodes are decoded after all others of their block."""
    producer = Producer({"bootstrap.servers": scene.kafka.bootstrap_servers})
    for number in range(1, 301):
        amount = f"{number}" if number % 3 else f'"{number}", "more": [1.0e1]'.replace('"', "", 2)
        producer.produce(scene.source, f'{{"account": "one", "amount": {amount}}}', partition=0)
    assert producer.flush(30) == 0
    scene.run(spark, limit=100)
    assert [amount for _, amount in pairs(scene.sent())] == list(range(1, 301))


def test_another_topology_reads_what_was_sent(spark: SparkSession, scene: Scene) -> None:
    records = payments(900)
    scene.produce(records)
    scene.run(spark)
    reader = Topology(f"reader of {scene.target}")
    spout = OpaqueKafkaSpout(scene.target, bootstrap_servers=scene.kafka.bootstrap_servers, value=JSON)
    state = SqliteState("read", path=scene.folder / "read.sqlite")
    reader.stream("positive", spout).persistent_aggregate(state, n=Count(), total=Sum("amount"))
    ledger = SqliteLedger(scene.folder / "reader.sqlite")
    reader.run(spark, ledger=ledger, until="caught_up", options=OPTIONS)
    import sqlite3

    with sqlite3.connect(scene.folder / "read.sqlite") as file:
        found = file.execute("SELECT n, total FROM read").fetchone()
    amounts = [amount for _, amount in records if amount > 0]
    assert found == (len(amounts), sum(amounts))


class _DeathError(Exception):
    pass


@pytest.mark.parametrize(
    "point",
    [
        CrashPoint.AFTER_PIN,
        CrashPoint.BEFORE_MARKER,
        CrashPoint.BEFORE_END_OF_TRANSACTION,
        CrashPoint.AFTER_END_OF_TRANSACTION,
    ],
)
@pytest.mark.drawn(one_in=4)
def test_a_run_that_dies_in_the_middle_is_finished_by_the_next(
    spark: SparkSession, scene: Scene, point: CrashPoint
) -> None:
    records = payments(1_000)
    scene.produce(records)

    def die(reached: CrashPoint, txid: int) -> None:
        if reached is point and txid == 2:
            raise _DeathError

    with armed(die), pytest.raises(_DeathError):
        scene.run(spark)
    scene.run(spark)
    check(scene, records)


def test_a_record_that_is_too_large_waits_for_a_person(kafka: Kafka, spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(kafka, tmp_path, **{"max.message.bytes": "1000"})
    good = payments(50)
    scene.produce([*good, ("x" * 2_000, 7)])
    with pytest.raises(DecisionNeededError, match=r"is too large for topic .* which takes 1,000 at once"):
        scene.run(spark)
    assert scene.sent() == []
    with pytest.raises(DecisionNeededError, match="trident divert"):
        scene.run(spark)
    divert(scene.topology(), scene.ledger, txid=1, state="positive", options=OPTIONS)
    scene.run(spark)
    assert scene.sent() == []
    diverted = scene.ledger.view().txid(f"of {scene.target}", 1).diverted
    assert {row.state for row in diverted} == {"positive"}


def test_a_topic_that_is_missing_stops_the_start_before_anything_is_read(
    kafka: Kafka, spark: SparkSession, scene: Scene
) -> None:
    records = payments(300)
    scene.produce(records)
    scene.target = f"missing-{scene.target}"
    for _ in range(2):
        with pytest.raises(ConfigurationError, match=f"there is no topic '{scene.target}'.*Create it, or correct"):
            scene.run(spark)
    make_topic(kafka, scene.target)
    scene.run(spark)
    check(scene, records)


def test_a_topic_that_goes_while_it_runs_is_made_and_the_batch_tried_again(
    kafka: Kafka, spark: SparkSession, scene: Scene
) -> None:
    records = payments(300)
    scene.produce(records)

    def delete(reached: CrashPoint, txid: int) -> None:
        if reached is CrashPoint.AFTER_PROCESSING:
            with closing(KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)) as admin:
                admin.delete_topics([scene.target])
            time.sleep(0.5)

    said = f"there is no topic '{scene.target}'.*Create the topic(?s:.*)a topic that is not there"
    with armed(delete), pytest.raises(DecisionNeededError, match=said):
        scene.run(spark)
    make_topic(kafka, scene.target)
    retry(scene.topology(), scene.ledger, txid=1, options=OPTIONS)
    scene.run(spark)
    check(scene, records)


def make_topic(kafka: Kafka, name: str) -> None:
    with closing(KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)) as admin:
        admin.create_topics([NewTopic(name, 3, 1)])


def test_a_reset_sends_again_behind_what_was_sent(spark: SparkSession, scene: Scene) -> None:
    records = payments(300)
    scene.produce(records)
    scene.run(spark)
    once = pairs(scene.sent())
    reset(scene.topology(), scene.ledger, states="clear", start="earliest", options=OPTIONS)
    scene.run(spark)
    assert sorted(pairs(scene.sent())) == sorted([*once, *once])


def test_markers_that_are_gone_stop_the_start(spark: SparkSession, scene: Scene, kafka: Kafka) -> None:
    records = payments(300)
    scene.produce(records)
    scene.run(spark)
    elsewhere = scene.topology()
    (sink,) = (end for end in elsewhere._ends if end.name == "positive")
    object.__setattr__(sink.sink, "marker_topic", kafka.create_topic(1, {"cleanup.policy": "compact"}))  # type: ignore[union-attr]
    with pytest.raises(FatalError, match=r"'positive' is gone|markers"):
        elsewhere.run(spark, ledger=scene.ledger, until="caught_up", options=OPTIONS)
    check(scene, records)
