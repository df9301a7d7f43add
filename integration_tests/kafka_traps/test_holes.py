"""Offsets that are no records: aborted ones, markers, what compaction took away; batches end on them and in them."""

from __future__ import annotations

import time
from itertools import count
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import SparkSession

from integration_tests.fix_kafka import Kafka
from integration_tests.fix_postgres import Postgres
from integration_tests.kafka_traps.jobs import (
    Totals,
    count_of,
    counting,
    crosswise,
    every_pair,
    first_attempts_fail,
    meddling,
    payments,
    run,
    totals,
)
from integration_tests.spouts.logs import produce, produce_aborted, produce_committed, transaction, wait_until_stable
from trident.spouts.kafka.readers.arrow import ArrowReader


@every_pair
def test_aborted_records_and_markers_count_for_nothing(
    spark: SparkSession, kafka: Kafka, postgres: Postgres, spout: Any, reader: Any
) -> None:
    """Batches of 7 positions: some hold aborted records only, some end on a marker."""
    topic, servers = kafka.create_topic(2), kafka.bootstrap_servers
    produce_committed(servers, topic, payments(*range(5)))
    produce_aborted(servers, topic, payments(*range(100, 116)))
    produce(servers, topic, payments(*range(5, 10)))
    produce_committed(servers, topic, payments(*range(10, 13)))
    produce_aborted(servers, topic, payments(*range(200, 206)), partition=1)
    topology = counting(kafka, topic, spout, limit=7, reader=reader)
    with meddling(first_attempts_fail(2, 3)):
        summary = run(topology, spark, postgres)
    assert summary.batches == 6  # 39 positions, 13 of them records
    assert totals(postgres) == count_of(range(13))
    assert run(topology, spark, postgres).batches == 0


@crosswise
def test_an_open_transaction_is_not_read_past(
    spark: SparkSession,
    kafka: Kafka,
    postgres: Postgres,
    spout: Any,
    reader: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    topic, servers = kafka.create_topic(), kafka.bootstrap_servers
    produce(servers, topic, payments(0, 1))
    topology = counting(kafka, topic, spout, reader=reader)
    with transaction(servers, topic, payments(2, 3)) as open_one:
        produce(servers, topic, payments(4, 5))
        run(topology, spark, postgres)
        assert totals(postgres) == count_of(range(2))
        assert f"4 offsets more lie behind transactions that are still open ({topic}[0])" in caplog.text
        open_one.commit_transaction(30)
    wait_until_stable(servers, topic)
    caplog.clear()
    run(topology, spark, postgres)
    assert totals(postgres) == count_of(range(6))
    assert "more lie behind" not in caplog.text


def test_a_transaction_that_was_read_while_it_was_open_is_waited_for_once_only_committed_records_are(
    spark: SparkSession, kafka: Kafka, postgres: Postgres
) -> None:
    topic, servers = kafka.create_topic(), kafka.bootstrap_servers
    produce(servers, topic, payments(0, 1))
    with transaction(servers, topic, payments(2, 3)) as open_one:
        produce(servers, topic, payments(4, 5))
        run(counting(kafka, topic, read_committed=False), spark, postgres)
        assert totals(postgres) == count_of(range(6))
        assert run(counting(kafka, topic), spark, postgres).batches == 0
        open_one.abort_transaction(30)
    wait_until_stable(servers, topic)
    produce(servers, topic, payments(6))
    run(counting(kafka, topic), spark, postgres)
    assert totals(postgres) == count_of(range(7))


def test_a_gap_that_takes_longer_than_a_stall_is_read_to_its_end(
    spark: SparkSession, kafka: Kafka, postgres: Postgres
) -> None:
    """Ten fetches and more, each of which the broker holds back for a while: two seconds without a record."""
    topic, servers = kafka.create_topic(), kafka.bootstrap_servers
    produce_aborted(servers, topic, [b"x" * 1_000] * 12_000)
    produce(servers, topic, payments(*range(5)))
    slow = {"fetch.min.bytes": "100000000", "fetch.wait.max.ms": "200", "max.partition.fetch.bytes": "100000"}
    reader = ArrowReader(stall_seconds=1)
    run(counting(kafka, topic, reader=reader, limit=None, client_options=slow), spark, postgres)
    assert totals(postgres) == count_of(range(5))


COMPACTED = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "segment.ms": "100",
    "min.compaction.lag.ms": "0",
    "max.compaction.lag.ms": "100",
}


_LATEST = 7 + 10
"""Records that compaction leaves: the last one of each of seven keys, and ten that have a key of their own."""


@pytest.fixture(scope="module")
def compacted(kafka: Kafka) -> tuple[str, Totals]:
    """A topic of which the cleaner has taken most records away, and a plain consumer's count of it."""
    topic = kafka.create_topic(configs=COMPACTED)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for number in range(60):
        producer.produce(topic, payments(number)[0], key=f"k{number % 7}" if number < 50 else f"last {number}")
    producer.produce(topic, None, key="k3")
    assert producer.flush(30) == 0
    deadline = time.monotonic() + 60
    rolling = payments(1000)[0]
    for number in count():
        # a key of its own each: what is counted here is what every later reader finds
        producer.produce(topic, rolling, key=f"rolls a segment {number}")
        assert producer.flush(30) == 0
        time.sleep(0.3)
        values = everything(kafka.bootstrap_servers, topic)
        if len([value for value in values if value != rolling]) == _LATEST:
            return topic, plain_count(values)
        assert time.monotonic() < deadline, "the broker's cleaner did nothing"
    raise AssertionError


@crosswise
def test_a_compacted_topic_is_counted_as_it_is(
    spark: SparkSession, kafka: Kafka, postgres: Postgres, compacted: Any, spout: Any, reader: Any
) -> None:
    """Whole batches of 8 positions have no record at all; a tombstone is a record without fields."""
    topic, expected = compacted
    with meddling(first_attempts_fail(1, 2)):
        run(counting(kafka, topic, spout, limit=8, reader=reader), spark, postgres)
    assert totals(postgres) == expected
    assert expected[None] == (1, None)


def everything(servers: str, topic: str) -> list[bytes | None]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "plain", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: list[bytes | None] = []
    try:
        while True:
            message = consumer.poll(10)
            assert message is not None
            if message.error() is not None:
                return values
            values.append(message.value())
    finally:
        consumer.close()


def plain_count(values: list[bytes | None]) -> Totals:
    import json

    found = [json.loads(value)["amount"] for value in values if value is not None]
    counted = count_of(found)
    if None in values:
        counted[None] = (values.count(None), None)
    return counted
