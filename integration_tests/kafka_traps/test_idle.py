"""A topology with nothing to do: it asks now and then, writes its heartbeat, and nothing else."""

from __future__ import annotations

import hashlib
import threading
import time
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession

from integration_tests.fix_kafka import Kafka
from integration_tests.fix_postgres import Postgres
from integration_tests.kafka_traps.jobs import OPTIONS, count_of, counting, payments, totals
from integration_tests.spouts.logs import produce
from trident import PostgresLedger
from trident.spouts.kafka.source import KafkaSource

IDLE_SECONDS = 3.0


def contents(postgres: Postgres) -> dict[str, tuple[int, str]]:
    """Return the number of rows of every table, and a digest of them."""
    found = {}
    with psycopg.connect(postgres.dsn) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        for (table,) in tables:
            rows = sorted(map(repr, connection.execute(f"SELECT * FROM {table}").fetchall()))
            found[table] = (len(rows), hashlib.sha256("\n".join(rows).encode()).hexdigest())
    return found


def test_an_idle_topology_neither_spins_nor_writes(
    spark: SparkSession, kafka: Kafka, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []
    bounds = KafkaSource.bounds

    def counted(self):
        asked.append(time.monotonic())
        return bounds(self)

    monkeypatch.setattr(KafkaSource, "bounds", counted)
    topic = kafka.create_topic(3)
    produce(kafka.bootstrap_servers, topic, payments(*range(20)))
    topology = counting(kafka, topic)
    ledger = PostgresLedger(postgres.dsn)
    thread = threading.Thread(target=lambda: topology.run(spark, ledger=ledger, options=OPTIONS))
    thread.start()
    try:
        wait_for(lambda: totals(postgres) == count_of(range(20)), thread)
        time.sleep(0.5)
        before, first, cpu = contents(postgres), len(asked), time.process_time()
        time.sleep(IDLE_SECONDS)
        spent, questions, after = time.process_time() - cpu, len(asked) - first, contents(postgres)
    finally:
        topology.stop()
        thread.join(30)
    assert not thread.is_alive()
    changed = {table for table in before if before[table] != after[table]}
    assert changed == {"trident_heartbeat"}
    assert after.keys() == before.keys()
    assert after["trident_heartbeat"][0] == 1
    assert 5 <= questions <= IDLE_SECONDS / 0.1 + 1  # RunOptions.idle_interval
    assert spent < IDLE_SECONDS / 2


def wait_for(condition: Any, thread: threading.Thread) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert thread.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_an_idle_topology_still_sees_what_comes(spark: SparkSession, kafka: Kafka, postgres: Postgres) -> None:
    topic = kafka.create_topic()
    topology = counting(kafka, topic)
    thread = threading.Thread(target=lambda: topology.run(spark, ledger=PostgresLedger(postgres.dsn), options=OPTIONS))
    thread.start()
    try:
        time.sleep(1)
        for first in (0, 3, 6):
            produce(kafka.bootstrap_servers, topic, payments(*range(first, first + 3)))
            wait_for(lambda stop=first + 3: totals(postgres) == count_of(range(stop)), thread)
    finally:
        topology.stop()
        thread.join(30)
    with psycopg.connect(postgres.dsn) as connection:
        txids = connection.execute("SELECT txid, attempt FROM trident_commit ORDER BY txid").fetchall()
    assert [txid for txid, _ in txids] == list(range(1, len(txids) + 1))
    assert [attempt for _, attempt in txids] == list(range(1, len(txids) + 1))  # idle plans use no number up
