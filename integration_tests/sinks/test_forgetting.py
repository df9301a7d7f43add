"""A topology on real servers that is let go of: its marker stands nowhere, and its name begins anew behind it."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import trident
from integration_tests.fix_kafka import Kafka
from integration_tests.fix_postgres import Postgres
from integration_tests.records import Payment, payments, produce
from integration_tests.sinks.reading import committed
from integration_tests.sinks.test_to_kafka import JSON, OPTIONS, lineage
from tests.coordinators.test_decisions import dying_at
from trident import Count, MismatchError, PostgresLedger, SqliteLedger, Sum, Topology
from trident.base.crash_points import CrashPoint
from trident.base.errors import FencedError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.timeouts import Timeouts
from trident.spouts import OpaqueKafkaSpout
from trident.state import KafkaSink, PostgresState
from trident.state.kafka.records import ROWS
from trident.state.staged import HeldUpdates

NAME = "letting go"


class Scene:
    """Payments to Kafka and to sums; the ledger is in PostgreSQL, with an outbox, or a file, where the sink sends."""

    def __init__(self, kafka: Kafka, postgres: Postgres, folder: Path, *, has_outbox: bool) -> None:
        self.kafka = kafka
        self.dsn = postgres.dsn
        self.folder = folder
        self.has_outbox = has_outbox
        self.source = kafka.create_topic(4, name="payments")
        self.target = kafka.create_topic(2, name="positive")

    @property
    def ledger(self) -> PostgresLedger | SqliteLedger:
        return PostgresLedger(self.dsn) if self.has_outbox else SqliteLedger(self.folder / "ledger.sqlite")

    @property
    def sink(self) -> KafkaSink:
        return KafkaSink("positive", bootstrap_servers=self.kafka.bootstrap_servers, marker_topic=f"m-{self.target}")

    def topology(self) -> Topology:
        topology = Topology(NAME)
        servers = self.kafka.bootstrap_servers
        spout = OpaqueKafkaSpout(self.source, bootstrap_servers=servers, value=JSON, max_records_per_batch=100)
        stream = topology.stream("payments", spout)
        stream.to_kafka(self.target, key="account", value=F.to_json(F.struct("account", "amount")), sink=self.sink)
        dsn = None if self.has_outbox else self.dsn
        stream.group_by("account").persistent_aggregate(PostgresState("sums", dsn=dsn), n=Count(), total=Sum("amount"))
        return topology

    def run(self, spark: SparkSession) -> None:
        self.topology().run(spark, ledger=self.ledger, until="caught_up", options=OPTIONS)

    def forget(self) -> None:
        trident.forget(self.topology(), self.ledger, tables="drop", options=OPTIONS)

    def sent(self) -> Counter[Payment]:
        found = [json.loads(each.value() or b"") for each in committed(self.kafka.bootstrap_servers, self.target)]
        return Counter((each["account"], each["amount"]) for each in found)

    def sums(self) -> dict[str, tuple[int, int]]:
        with psycopg.connect(self.dsn) as connection:
            rows = connection.execute("SELECT account, n, total FROM sums").fetchall()
        return {account: (n, int(total)) for account, n, total in rows}


def summed(records: list[Payment]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for account, amount in records:
        n, total = found.get(account, (0, 0))
        found[account] = n + 1, total + amount
    return found


@pytest.mark.parametrize("has_outbox", [True, False], ids=["outbox", "sent first"])
def test_a_name_begins_anew_behind_what_it_has_sent(
    spark: SparkSession, kafka: Kafka, postgres: Postgres, tmp_path: Path, has_outbox: bool
) -> None:
    """It dies once its sink is let go of; the old owner wakes up when the new topology has begun."""
    scene = Scene(kafka, postgres, tmp_path, has_outbox=has_outbox)
    records = payments(300)
    produce(kafka.bootstrap_servers, scene.source, records)
    scene.run(spark)
    assert (scene.sent(), scene.sums()) == (Counter(records), summed(records))
    with dying_at(CrashPoint.AFTER_FORGETTING_TARGET):
        scene.forget()
    release(scene)
    with pytest.raises(MismatchError, match=r"is being forgotten, with its tables: drop"):
        scene.run(spark)
    scene.forget()
    scene.run(spark)
    twice = Counter(records) + Counter(records)
    assert (scene.sent(), scene.sums()) == (twice, summed(records))
    txids = {int(lineage(each)["trident-txid"]) for each in committed(kafka.bootstrap_servers, scene.target)}
    assert len(txids) == 2 * len({txid for txid in txids if txid <= max(txids) // 2}), "a txid was used twice"
    wake_up(scene)
    assert scene.sent() == twice
    more = payments(50)
    produce(kafka.bootstrap_servers, scene.source, more)
    scene.run(spark)
    assert scene.sent() == twice + Counter(more)
    assert scene.sums() == summed([*records, *more])


def release(scene: Scene) -> None:
    """Let the lease of who died be free at once."""
    statement = "UPDATE trident_heartbeat SET released = TRUE"
    if scene.has_outbox:
        with psycopg.connect(scene.dsn) as connection:
            connection.execute(statement)
        return
    with sqlite3.connect(scene.folder / "ledger.sqlite") as connection:
        connection.execute(statement)


def wake_up(scene: Scene) -> None:
    """Let an owner of the first life send: the marker is above its epoch, of this line."""
    ledger = scene.ledger
    ledger.open(Timeouts(OPTIONS.lease))
    target = scene.sink.open(ledger.database, Timeouts(OPTIONS.lease))
    try:
        assert target.look(NAME) is not None
        old = BatchId(Owner(NAME, "first-life"), Epoch(1, "first"), 4, 4)
        rows = HeldUpdates(ROWS.empty_table())
        for call in (lambda: target.apply(old, rows), lambda: target.register(old.owner, old.epoch, 0)):
            with pytest.raises((FencedError, MismatchError)):
                call()
    finally:
        target.close()
        ledger.close()
