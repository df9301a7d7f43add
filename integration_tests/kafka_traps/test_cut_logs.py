"""A partition that lost its end and has grown again holds other records at offsets that were read: they are noticed."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer
from kafka import TopicPartition
from pyspark.sql import SparkSession

import trident
from integration_tests.fix_kafka import Kafka
from integration_tests.fix_postgres import Postgres
from integration_tests.fix_servers import or_skip
from integration_tests.kafka_traps.jobs import (
    count_of,
    counting,
    each_spout,
    every_pair,
    meddling,
    payments,
    query,
    run,
    totals,
    when_planned,
)
from integration_tests.spouts.logs import admin_of, produce, produce_committed
from trident import FatalError, PostgresLedger
from trident.local.kafka import LocalKafka
from trident.local.kafka_cluster import LocalKafkaCluster
from trident.spouts.base import LostOffsets

KEEPER = ThreadPoolExecutor(1)
"""A local server ends with the thread that has started it: a run's own threads end with the run."""
COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "100"}
UNCLEAN = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}


@pytest.fixture(scope="module")
def broker(pytestconfig: pytest.Config) -> Iterator[LocalKafka]:
    """A broker of these tests' own: they stop it and take its files away."""
    with or_skip(pytestconfig, LocalKafka) as local:
        yield local


@pytest.fixture
def own(broker: LocalKafka) -> Kafka:
    return Kafka(broker.bootstrap_servers)


def lose_disk(broker: LocalKafka, topic: str) -> None:
    """Take all records of the topic's partition away, as a disk that is replaced does."""
    broker.stop()
    shutil.rmtree(broker.data / f"{topic}-0")
    broker.start()


def lose_end(broker: LocalKafka, topic: str, share: float) -> None:
    """Cut the end of the partition's file off, as a power cut does with what was not written through."""
    broker.kill()
    (file,) = (broker.data / f"{topic}-0").glob("*.log")
    assert 0 < share < 1
    with file.open("r+b") as records:
        records.truncate(int(file.stat().st_size * share))
    for checkpoint in broker.data.glob("recovery-point-offset-checkpoint"):
        checkpoint.unlink()
    broker.start()


def one_by_one(kafka: Kafka, topic: str, *numbers: int) -> None:
    """Produce so that each record is a batch of its own: a file can be cut between any two."""
    for number in numbers:
        produce(kafka.bootstrap_servers, topic, payments(number))


@every_pair
def test_a_log_that_was_lost_and_has_grown_again_stops_the_start(
    spark: SparkSession, broker: LocalKafka, own: Kafka, postgres: Postgres, spout: Any, reader: Any
) -> None:
    topic = own.create_topic()
    produce(own.bootstrap_servers, topic, payments(*range(20)))
    topology = counting(own, topic, spout, reader=reader)
    run(topology, spark, postgres)
    lose_disk(broker, topic)
    produce(own.bootstrap_servers, topic, payments(*range(100, 150)))
    with pytest.raises(FatalError, match=f"'{topic}' was read up to offset 20, but its log was cut at 0 since"):
        run(topology, spark, postgres)
    assert totals(postgres) == count_of(range(20))
    trident.reset(topology, PostgresLedger(postgres.dsn), states="clear")
    run(topology, spark, postgres)
    assert totals(postgres) == count_of(range(100, 150))


@pytest.mark.verify
def test_a_log_that_lost_its_end_and_has_grown_again_stops_the_start(
    spark: SparkSession, broker: LocalKafka, own: Kafka, postgres: Postgres
) -> None:
    """Whatever may be done about lost offsets: how much was never counted nobody can say."""
    topic = own.create_topic()
    one_by_one(own, topic, *range(20))
    topology = counting(own, topic, on_lost_offsets=LostOffsets.RESUME_AT_EARLIEST)
    run(topology, spark, postgres)
    lose_end(broker, topic, 0.5)
    produce(own.bootstrap_servers, topic, payments(*range(100, 150)))
    with pytest.raises(FatalError, match=r"was read up to offset 20, but its log was cut at (9|10) since"):
        run(topology, spark, postgres)
    assert totals(postgres) == count_of(range(20))
    assert query(postgres, "SELECT * FROM trident_loss") == []


@pytest.mark.verify
@each_spout
def test_a_log_that_is_lost_while_a_batch_waits_stops(
    spark: SparkSession, broker: LocalKafka, own: Kafka, postgres: Postgres, spout: Any
) -> None:
    """The new log has records at the very offsets that were planned: none of them is counted."""
    topic = own.create_topic()
    produce(own.bootstrap_servers, topic, payments(*range(20)))

    def lose(_: int) -> None:
        KEEPER.submit(lose_disk, broker, topic).result()
        produce(own.bootstrap_servers, topic, payments(*range(100, 150)))

    with (
        meddling(when_planned(2, then=lose)),
        pytest.raises(FatalError, match=f"'{topic}' was read up to offset 10, but its log was cut at 0 since"),
    ):
        run(counting(own, topic, spout), spark, postgres)
    assert totals(postgres) == count_of(range(10))


@pytest.mark.verify
def test_restarts_retention_compaction_and_markers_are_no_cuts(
    spark: SparkSession, broker: LocalKafka, own: Kafka, postgres: Postgres
) -> None:
    """The record before the position may be gone, or never have been one: the log is the same all the same."""
    kept, compacted = own.create_topic(), own.create_topic(configs=COMPACTED)
    servers = own.bootstrap_servers
    produce_committed(servers, kept, payments(*range(10)))
    keyed(servers, compacted, 10)
    topology = counting(own, (kept, compacted), limit=100)
    run(topology, spark, postgres)
    with admin_of(servers) as admin:
        admin.delete_records({TopicPartition(kept, 0): -1})
    for restart in (broker.stop, broker.kill):
        restart()
        broker.start()
    produce(servers, kept, payments(*range(10, 20)))
    keyed(servers, compacted, 3)
    run(topology, spark, postgres)
    found = totals(postgres)
    assert found.pop("key")[0] >= 3, "how many there were before the topic was compacted nobody knows"
    assert found == count_of(range(20))


def keyed(servers: str, topic: str, count: int) -> None:
    """Produce records of one key, each of which makes the one before superfluous."""
    producer = Producer({"bootstrap.servers": servers})
    for value in payments(*range(count), account="key"):
        producer.produce(topic, value, b"key", partition=0)
        assert producer.flush(30) == 0


@pytest.mark.verify
def test_an_unclean_election_stops_the_start(
    spark: SparkSession, postgres: Postgres, pytestconfig: pytest.Config
) -> None:
    """Two of three brokers keep the partition: one is away while the other goes on alone, and leads after it."""
    with or_skip(pytestconfig, LocalKafkaCluster) as cluster:
        topic = "elected"
        cluster.create_topic(topic, replicas=((1, 2),), configs=UNCLEAN)
        kafka = Kafka(cluster.bootstrap_servers)
        topology = counting(kafka, topic, limit=100)
        produce(cluster.bootstrap_servers, topic, payments(*range(20)))
        cluster.broker(2).kill()
        produce(cluster.bootstrap_servers, topic, payments(*range(20, 70)))
        run(topology, spark, postgres)
        assert totals(postgres) == count_of(range(70))
        cluster.broker(1).kill()
        cluster.broker(2).start()
        wait_for_leader(cluster, topic, 2)
        produce(cluster.bootstrap_servers, topic, payments(*range(100, 160)))
        with pytest.raises(FatalError, match="was read up to offset 70, but its log was cut at 20 since"):
            run(topology, spark, postgres)
        assert totals(postgres) == count_of(range(70))


def wait_for_leader(cluster: LocalKafkaCluster, topic: str, number: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            if cluster.leader(topic, 0) == number:
                return
        except (FatalError, KafkaException):
            assert time.monotonic() < deadline
        time.sleep(0.2)
