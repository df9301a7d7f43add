"""Bulk rows on real servers: tasks stage and send, each key with one producer, over runs, deaths and decisions."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from confluent_kafka import Message
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration_tests.fix_kafka import Kafka
from integration_tests.fix_postgres import Postgres
from integration_tests.records import Payment, payments, produce
from integration_tests.sinks.reading import committed
from trident import (
    DecisionNeededError,
    FatalError,
    PostgresLedger,
    RunOptions,
    SqliteLedger,
    Staging,
    Topology,
    divert,
    reset,
    undo,
)
from trident.base.crash_points import CrashPoint, armed
from trident.spouts import Json, OpaqueKafkaSpout
from trident.state import KafkaSink

OPTIONS = RunOptions(lease=timedelta(seconds=5), retry_pause=timedelta(milliseconds=10))
JSON = Json("account string, amount bigint")


class Scene:
    """Payments in and out again, by way of files and three producers."""

    def __init__(self, kafka: Kafka, folder: Path, postgres: Postgres | None, **configs: str) -> None:
        self.kafka = kafka
        self.folder = folder
        self.ledger = SqliteLedger(folder / "ledger.sqlite") if postgres is None else PostgresLedger(postgres.new_dsn())
        self.source = kafka.create_topic(4, name="payments")
        self.target = kafka.create_topic(3, configs, name="sent")

    def topology(self) -> Topology:
        servers = self.kafka.bootstrap_servers
        topology = Topology(f"to {self.target}")
        spout = OpaqueKafkaSpout(self.source, bootstrap_servers=servers, value=JSON, max_records_per_batch=400)
        topology.stream("payments", spout).to_kafka(
            self.target,
            key="account",
            value=F.to_json(F.struct("account", "amount")),
            sink=KafkaSink("sent", bootstrap_servers=servers, staging_folder=self.folder / "staged", producers=3),
        )
        return topology

    def run(self, spark: SparkSession, staging: Staging = Staging.EXECUTORS) -> int:
        run = self.topology().run(spark, ledger=self.ledger, until="caught_up", options=OPTIONS, staging=staging)
        return run.batches

    def produce(self, records: Sequence[Payment]) -> None:
        produce(self.kafka.bootstrap_servers, self.source, records)

    def sent(self) -> list[Message]:
        return committed(self.kafka.bootstrap_servers, self.target)

    def check(self, records: Sequence[Payment]) -> None:
        """Hold what readers see against what was produced: each payment once, in order for each account."""
        found: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        pairs = []
        for message in self.sent():
            each = json.loads(message.value() or b"")
            headers = dict(cast("list[tuple[str, bytes]]", message.headers()))
            pairs.append((each["account"], each["amount"]))
            partition, offset = headers["trident-source"].decode().rpartition("[")[2].split("]@")
            found[each["account"]].append((int(headers["trident-txid"]), int(partition), int(offset)))
        assert sorted(pairs) == sorted(records)
        assert all(places == sorted(places) for places in found.values())

    def files(self) -> int:
        return len(list((self.folder / "staged").rglob("*.parquet")))


@pytest.fixture(params=["sent before done", "outbox"])
def scene(request: pytest.FixtureRequest, kafka: Kafka, tmp_path: Path) -> Scene:
    postgres = request.getfixturevalue("postgres") if request.param == "outbox" else None
    return Scene(kafka, tmp_path, postgres)


class _DeathError(Exception):
    pass


@pytest.mark.verify(short=True, one_in=2)
def test_each_record_arrives_once_whoever_stages_it(spark: SparkSession, scene: Scene) -> None:
    records = payments(1_800)
    scene.produce(records[:900])
    assert scene.run(spark) == 3
    scene.check(records[:900])
    scene.produce(records[900:1_200])
    scene.run(spark, Staging.DRIVER)
    scene.produce(records[1_200:])
    assert scene.run(spark) == 2
    scene.check(records)
    assert scene.run(spark) == 0
    assert scene.files() == 0


@pytest.mark.verify(short=True, one_in=4)
@pytest.mark.parametrize("point", [CrashPoint.AFTER_SHARES, CrashPoint.BEFORE_END_OF_TRANSACTION])
def test_a_run_that_dies_in_the_middle_is_finished_by_the_next(
    spark: SparkSession, scene: Scene, point: CrashPoint
) -> None:
    records = payments(900)
    scene.produce(records)

    def die(reached: CrashPoint, txid: int) -> None:
        if reached is point and txid == 2:
            raise _DeathError

    with armed(die), pytest.raises(_DeathError):
        scene.run(spark)
    if point is CrashPoint.AFTER_SHARES and isinstance(scene.ledger, SqliteLedger):
        with pytest.raises(FatalError, match="have sent their share of it"):
            undo(scene.topology(), scene.ledger, txid=2, options=OPTIONS)
    scene.run(spark)
    scene.check(records)


def test_a_record_that_is_too_large_is_refused_by_a_task(kafka: Kafka, spark: SparkSession, tmp_path: Path) -> None:
    scene = Scene(kafka, tmp_path, None, **{"max.message.bytes": "1000"})
    good = payments(50)
    scene.produce([*good, ("x" * 2_000, 7)])
    for _ in range(2):
        with pytest.raises(DecisionNeededError, match=r"is too large for topic .* which takes 1,000 at once"):
            scene.run(spark)
    assert scene.sent() == []
    divert(scene.topology(), scene.ledger, txid=1, state="sent", options=OPTIONS)
    scene.run(spark)
    assert scene.sent() == []
    assert len(scene.ledger.view().txid(f"to {scene.target}", 1).diverted) == 51


@pytest.mark.parametrize("scene", ["outbox"], indirect=True)
def test_a_reset_sends_again_behind_what_was_sent(spark: SparkSession, scene: Scene) -> None:
    records = payments(300)
    scene.produce(records)
    scene.run(spark)
    reset(scene.topology(), scene.ledger, states="clear", start="earliest", options=OPTIONS)
    scene.run(spark)
    sent = [message.value() for message in scene.sent()]
    assert len(sent) == 600
    assert set(Counter(sent).values()) == {2}


@pytest.mark.parametrize("scene", ["sent before done"], indirect=True)
def test_another_number_of_producers_is_refused(spark: SparkSession, scene: Scene) -> None:
    scene.produce(payments(50))
    scene.run(spark)
    topology = scene.topology()
    (sink,) = (end.sink for end in topology._ends)  # type: ignore[union-attr]
    object.__setattr__(sink, "producers", 2)
    with pytest.raises(FatalError, match="producers"):
        topology.run(spark, ledger=scene.ledger, until="caught_up", options=OPTIONS)
