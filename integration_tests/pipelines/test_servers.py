"""Pipelines from a real Kafka into a real PostgreSQL, and back to Kafka."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration_tests.fix_kafka import Kafka
from integration_tests.fix_postgres import Postgres
from integration_tests.pipelines.desk import Payment, Row, grouped, payments
from integration_tests.sinks.reading import committed
from trident import Count, PostgresLedger, Stream, Sum, Topology, reset
from trident.spouts import Json, OpaqueKafkaSpout
from trident.state import KafkaSink, PostgresState, PostgresTable

RECORDS = payments(200, seed=6)
VALUE = Json("number bigint, account string NOT NULL, shop struct<name: string, at: timestamp>, amount bigint")
BAD = (b"no json", b'{"number": 1, "amount": 5}')


@dataclass(frozen=True, slots=True)
class Cluster:
    """A topic with the payments, and an empty database."""

    kafka: Kafka
    postgres: Postgres
    topic: str

    def stream(self, topology: Topology, **options: Any) -> Stream:
        servers = self.kafka.bootstrap_servers
        return topology.stream(
            "payments",
            OpaqueKafkaSpout(self.topic, bootstrap_servers=servers, value=VALUE, max_records_per_batch=70, **options),
        )

    def run(self, topology: Topology, spark: SparkSession) -> None:
        topology.run(spark, ledger=PostgresLedger(self.postgres.dsn), until="caught_up")

    def send(self, values: Sequence[bytes]) -> None:
        producer = Producer({"bootstrap.servers": self.kafka.bootstrap_servers, "linger.ms": 5})
        for number, value in enumerate(values):
            producer.produce(self.topic, value, partition=number % 2)
        assert producer.flush(30) == 0

    def ask(self, query: str) -> Sequence[Row]:
        with psycopg.connect(self.postgres.dsn) as connection:
            return connection.execute(query.encode()).fetchall()


def encoded(each: Payment) -> bytes:
    shop = {"name": each.merchant, "at": each.at.isoformat()}
    return json.dumps({"number": each.number, "account": each.account, "shop": shop, "amount": each.amount}).encode()


@pytest.fixture
def cluster(kafka: Kafka, postgres: Postgres) -> Cluster:
    made = Cluster(kafka, postgres, kafka.create_topic(2, name="payments"))
    made.send([encoded(each) for each in RECORDS])
    return made


def sums(records: Sequence[Payment]) -> list[Row]:
    by_account = sorted(grouped(records, lambda each: each.account).items())
    return [(account, len(own), sum(each.amount for each in own)) for account, own in by_account]


def balances(cluster: Cluster) -> Topology:
    topology = Topology("balances")
    groups = cluster.stream(topology).group_by("account")
    groups.persistent_aggregate(PostgresState("balances"), n=Count(), total=Sum("amount"))
    return topology


def test_balances_in_postgres_go_on_with_what_comes_and_are_counted_anew_after_a_reset(
    spark: SparkSession, cluster: Cluster
) -> None:
    query = "SELECT account, n, total::bigint FROM balances ORDER BY account"
    cluster.run(balances(cluster), spark)
    assert cluster.ask(query) == sums(RECORDS)
    more = payments(30, seed=7)
    cluster.send([encoded(each) for each in more])
    cluster.run(balances(cluster), spark)
    assert cluster.ask(query) == sums([*RECORDS, *more])
    ends = {number: (len(RECORDS) + len(more)) // 2 - 5 for number in range(2)}
    reset(balances(cluster), PostgresLedger(cluster.postgres.dsn), states="clear", start={cluster.topic: ends})
    cluster.run(balances(cluster), spark)
    assert cluster.ask(query) == sums(more[-10:])  # the last five of each partition


def test_nested_json_becomes_rows_of_a_table(spark: SparkSession, cluster: Cluster) -> None:
    topology = Topology("rows")
    shops = cluster.stream(topology).filter(F.col("amount") > 150)
    shops.map(number=F.col("number"), shop=F.col("shop.name"), at=F.col("shop.at")).to_table(PostgresTable("large"))
    cluster.run(topology, spark)
    found = [
        (number, shop, at.astimezone(UTC))
        for number, shop, at in cluster.ask("SELECT number, shop, at FROM large ORDER BY number")
        if isinstance(at, datetime)
    ]
    assert found == [(each.number, each.merchant, each.at) for each in RECORDS if each.amount > 150]


def test_records_leave_for_a_topic_in_the_order_of_their_partitions(spark: SparkSession, cluster: Cluster) -> None:
    target = cluster.kafka.create_topic(1, name="large")
    topology = Topology(f"to {target}")
    cluster.stream(topology).filter(F.col("amount") > 100).to_kafka(
        target,
        key="account",
        value=F.to_json(F.struct("number", "amount")),
        sink=KafkaSink("large", bootstrap_servers=cluster.kafka.bootstrap_servers),
    )
    cluster.run(topology, spark)
    sent = [
        ((message.key() or b"").decode(), json.loads(message.value() or b""))
        for message in committed(cluster.kafka.bootstrap_servers, target)
    ]
    for partition in range(2):
        own = [(key, value) for key, value in sent if value["number"] % 2 == partition]
        assert own == [
            (each.account, {"number": each.number, "amount": each.amount})
            for each in RECORDS
            if each.amount > 100 and each.number % 2 == partition
        ]


def test_what_does_not_decode_is_in_the_ledger_and_the_rest_counts(spark: SparkSession, cluster: Cluster) -> None:
    cluster.send(BAD)
    topology = Topology("letters")
    groups = cluster.stream(topology, on_bad_record="dead_letter").group_by("account")
    groups.persistent_aggregate(PostgresState("letters"), n=Count(), total=Sum("amount"))
    cluster.run(topology, spark)
    assert cluster.ask("SELECT account, n, total::bigint FROM letters ORDER BY account") == sums(RECORDS)
    kept = cluster.ask("SELECT convert_from(record_value, 'UTF8') FROM trident_dead_letter ORDER BY partition")
    assert kept == [(value.decode(),) for value in BAD]
