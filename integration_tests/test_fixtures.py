"""The fixtures themselves: each test gets what their texts say."""

from __future__ import annotations

import psycopg
from confluent_kafka import Consumer, Producer
from pyspark.sql import SparkSession

from integration_tests.fix_kafka import Kafka
from integration_tests.fix_postgres import Postgres
from integration_tests.fix_spark import connector
from trident.local.postgres import LocalPostgres


def test_postgres_is_empty_and_utf8(postgres: Postgres) -> None:
    with psycopg.connect(postgres.dsn) as connection:
        assert connection.execute("SHOW server_encoding").fetchone() == ("UTF8",)
        tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
        assert tables == (0,)
    assert postgres.new_dsn() != postgres.dsn


def test_a_local_server_is_durable_unless_it_is_for_tests() -> None:
    with LocalPostgres() as server, psycopg.connect(server.dsn) as connection:
        shown = [connection.execute(f"SHOW {name}").fetchone() for name in ("fsync", "full_page_writes")]  # type: ignore[call-overload, unused-ignore]
    assert shown == [("on",), ("on",)]


def test_kafka_keeps_what_was_produced(kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=2)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce(topic, b"here", partition=1)
    assert producer.flush(30) == 0
    consumer = Consumer(
        {"bootstrap.servers": kafka.bootstrap_servers, "group.id": topic, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    message = consumer.poll(30)
    consumer.close()
    assert message is not None
    assert message.value() == b"here"


@connector
def test_spark_has_the_connector_where_a_test_wants_it(spark: SparkSession, kafka: Kafka) -> None:
    topic = kafka.create_topic()
    options = {"kafka.bootstrap.servers": kafka.bootstrap_servers, "subscribe": topic}
    assert spark.read.format("kafka").options(**options).load().count() == 0
