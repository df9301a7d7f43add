"""Topics that are deleted, made anew or grow while they are counted."""

from __future__ import annotations

import time
from typing import Any

import pytest
from pyspark.sql import SparkSession

from integration_tests.fix_kafka import Kafka
from integration_tests.fix_postgres import Postgres
from integration_tests.kafka_traps.jobs import (
    count_of,
    counting,
    crosswise,
    each_reader,
    each_spout,
    first_attempts_fail,
    meddling,
    payments,
    query,
    run,
    totals,
    when_planned,
)
from integration_tests.spouts.logs import admin_of, produce
from integration_tests.spouts.test_kafka_source import create_again
from trident import ConfigurationError, FatalError
from trident.spouts import StartAt, TransactionalKafkaSpout
from trident.spouts.kafka.readers.arrow import ArrowReader


def make_anew(kafka: Kafka, topic: str, count: int) -> None:
    with admin_of(kafka.bootstrap_servers) as admin:
        admin.delete_topics([topic])
        create_again(admin, topic)
    produce(kafka.bootstrap_servers, topic, payments(*range(count), account="new"))


@each_spout
@pytest.mark.drawn(one_in=2)
def test_a_topic_that_was_made_anew_between_two_runs_stops(
    spark: SparkSession, kafka: Kafka, postgres: Postgres, spout: Any
) -> None:
    topic = kafka.create_topic()
    produce(kafka.bootstrap_servers, topic, payments(*range(20)))
    topology = counting(kafka, topic, spout)
    run(topology, spark, postgres)
    make_anew(kafka, topic, 30)
    with pytest.raises(FatalError, match=f"topic '{topic}' was created anew.*Nothing was read.*reset the topology"):
        run(topology, spark, postgres)
    assert totals(postgres) == count_of(range(20))


def test_a_topic_that_was_deleted_between_two_runs_is_told_from_a_misspelt_one(
    spark: SparkSession, kafka: Kafka, postgres: Postgres
) -> None:
    with pytest.raises(ConfigurationError, match=r"no topic 'misspelt' at Kafka .*; create it, or correct the name"):
        run(counting(kafka, "misspelt"), spark, postgres)
    topic = kafka.create_topic()
    produce(kafka.bootstrap_servers, topic, payments(*range(20)))
    topology = counting(kafka, topic)
    run(topology, spark, postgres)
    with admin_of(kafka.bootstrap_servers) as admin:
        admin.delete_topics([topic])
    with pytest.raises(FatalError, match=f"topic '{topic}'.*was deleted.*What is done stays.*create it and reset the"):
        run(topology, spark, postgres)
    assert totals(postgres) == count_of(range(20))


@each_reader
def test_a_topic_that_is_made_anew_while_a_batch_waits_stops(
    spark: SparkSession, kafka: Kafka, postgres: Postgres, reader: Any
) -> None:
    """The new topic has records at the very offsets that were planned: none of them is counted."""
    topic = kafka.create_topic()
    produce(kafka.bootstrap_servers, topic, payments(*range(20)))
    topology = counting(kafka, topic, TransactionalKafkaSpout, reader=reader)
    with (
        meddling(when_planned(2, then=lambda _: make_anew(kafka, topic, 20))),
        pytest.raises(FatalError, match=f"topic '{topic}' was .*created anew"),
    ):
        run(topology, spark, postgres)
    assert totals(postgres) == count_of(range(10))


def test_a_topic_that_is_deleted_while_a_batch_waits_stops(
    spark: SparkSession, kafka: Kafka, postgres: Postgres
) -> None:
    topic = kafka.create_topic()
    produce(kafka.bootstrap_servers, topic, payments(*range(20)))

    def delete(_: int) -> None:
        with admin_of(kafka.bootstrap_servers) as admin:
            admin.delete_topics([topic])

    topology = counting(kafka, topic, reader=ArrowReader(stall_seconds=1))
    with (
        meddling(when_planned(2, then=delete)),
        pytest.raises(FatalError, match=f"the topic '{topic}' at Kafka .* was deleted while it was read"),
    ):
        run(topology, spark, postgres)
    assert totals(postgres) == count_of(range(10))


@crosswise
def test_partitions_that_are_added_while_it_runs_are_read_from_their_beginning(
    spark: SparkSession, kafka: Kafka, postgres: Postgres, spout: Any, reader: Any
) -> None:
    """Also with a start at the end of the topic: what comes to a partition found later came after the start."""
    topic, servers = kafka.create_topic(), kafka.bootstrap_servers
    produce(servers, topic, payments(*range(1000, 1005)))
    topology = counting(kafka, topic, spout, reader=reader, limit=6, start=StartAt.LATEST)
    run(topology, spark, postgres)
    assert totals(postgres) == {}
    produce(servers, topic, payments(*range(12)))

    def add_partitions(txid: int) -> None:
        add_partition(kafka, topic, txid + 1)
        produce(servers, topic, payments(*range(100 * txid, 100 * txid + 9)), partition=txid)

    with meddling(when_planned(1, 2, 3, then=add_partitions), first_attempts_fail(1, 2, 3, 4)):
        run(topology, spark, postgres)
    expected = [*range(12), *range(100, 109), *range(200, 209), *range(300, 309)]
    assert totals(postgres) == count_of(expected)
    assert query(postgres, "SELECT max(tries) FROM trident_commit") == [(2,)]


def add_partition(kafka: Kafka, topic: str, count: int) -> None:
    with admin_of(kafka.bootstrap_servers) as admin:
        admin.create_partitions({topic: count})
        deadline = time.monotonic() + 20
        while len(admin.describe_topics([topic])[0]["partitions"]) < count:
            assert time.monotonic() < deadline
            time.sleep(0.05)


@crosswise
def test_empty_partitions_of_a_batch_that_is_replayed_add_nothing(
    spark: SparkSession, kafka: Kafka, postgres: Postgres, spout: Any, reader: Any
) -> None:
    """Storm's transactional spout reads one old record again for each of them: 26 instead of 20."""
    topic, servers = kafka.create_topic(6), kafka.bootstrap_servers
    topology = counting(kafka, topic, spout, reader=reader, limit=100)
    for partition in range(6):
        produce(servers, topic, payments(*range(2 * partition, 2 * partition + 2)), partition=partition)
    run(topology, spark, postgres)
    produce(servers, topic, payments(*range(12, 20)), partition=3)
    with meddling(first_attempts_fail(2)):
        run(topology, spark, postgres)
    assert totals(postgres) == count_of(range(20))
