"""Records that the broker deletes between a batch's plan and its reading."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from kafka import TopicPartition
from pyspark.sql import SparkSession

import trident
from integration_tests.fix_kafka import Kafka
from integration_tests.fix_postgres import Postgres
from integration_tests.kafka_traps.jobs import (
    OPTIONS,
    count_of,
    counting,
    crosswise,
    each_reader,
    losses,
    meddling,
    payments,
    query,
    run,
    totals,
    when_planned,
)
from integration_tests.spouts.logs import admin_of, produce
from trident import FatalError, PostgresLedger
from trident.spouts import LostOffsets, OpaqueKafkaSpout

RESUME = LostOffsets.RESUME_AT_EARLIEST


def deleting(kafka: Kafka, topic: str, before: int) -> Any:
    """Let retention pass over the topic when the second batch is planned and not yet read."""

    def delete(txid: int) -> None:
        with admin_of(kafka.bootstrap_servers) as admin:
            admin.delete_records({TopicPartition(topic, 0): before})

    return meddling(when_planned(2, then=delete))


@each_reader
def test_an_opaque_spout_resumes_and_records_what_was_lost(
    spark: SparkSession, kafka: Kafka, postgres: Postgres, reader: Any
) -> None:
    topic = kafka.create_topic()
    produce(kafka.bootstrap_servers, topic, payments(*range(30)))
    with deleting(kafka, topic, 15):
        run(counting(kafka, topic, reader=reader, on_lost_offsets=RESUME), spark, postgres)
    assert totals(postgres) == count_of([*range(10), *range(15, 30)])
    assert losses(postgres) == [(2, 0, 10, 15, "done")]


def test_a_loss_of_all_that_was_planned_is_recorded_without_a_further_record(
    spark: SparkSession, kafka: Kafka, postgres: Postgres
) -> None:
    topic = kafka.create_topic()
    produce(kafka.bootstrap_servers, topic, payments(*range(20)))
    with deleting(kafka, topic, 20):
        run(counting(kafka, topic, on_lost_offsets=RESUME), spark, postgres)
    assert (totals(postgres), losses(postgres)) == (count_of(range(10)), [(2, 0, 10, 20, "done")])
    produce(kafka.bootstrap_servers, topic, payments(20, 21))
    run(counting(kafka, topic, on_lost_offsets=RESUME), spark, postgres)
    assert totals(postgres) == count_of([*range(10), 20, 21])
    assert losses(postgres) == [(2, 0, 10, 20, "done")]


@crosswise
def test_without_leave_it_stops_and_says_what_is_gone(
    spark: SparkSession, kafka: Kafka, postgres: Postgres, spout: Any, reader: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A person may then decide to go on: what is still there is counted once, what was counted stays.

    All that lies before the beginning of the log was read, or is gone.
    """
    topic = kafka.create_topic()
    produce(kafka.bootstrap_servers, topic, payments(*range(30)))
    topology = counting(kafka, topic, spout, reader=reader)
    with (
        deleting(kafka, topic, 15),
        pytest.raises(FatalError, match=f"offsets 10 to 15 of partition 0 of topic '{topic}' are gone") as stopped,
    ):
        run(topology, spark, postgres)
    assert ("RESUME_AT_EARLIEST" in str(stopped.value)) is (spout is OpaqueKafkaSpout)
    assert totals(postgres) == count_of(range(10))
    assert losses(postgres) == []
    assert query(postgres, "SELECT max(txid) FROM trident_commit") == [(1,)]
    if spout is not OpaqueKafkaSpout:
        assert f"no longer holds the beginning of what was planned: {topic}[0] 10..20" in caplog.text
    trident.reset(topology, PostgresLedger(postgres.dsn), states="adopt", start="earliest")
    run(topology, spark, postgres)
    assert totals(postgres) == count_of([*range(10), *range(15, 30)])


def test_later_batches_in_flight_follow_the_loss(spark: SparkSession, kafka: Kafka, postgres: Postgres) -> None:
    topic = kafka.create_topic()
    produce(kafka.bootstrap_servers, topic, payments(*range(60)))
    with deleting(kafka, topic, 25):
        run(counting(kafka, topic, on_lost_offsets=RESUME), spark, postgres, replace(OPTIONS, max_pending=3))
    counted = sum(n for n, _ in totals(postgres).values())
    lost = sum(stop - start for _, _, start, stop, status in losses(postgres) if status == "done")
    assert counted + lost == 60
    assert totals(postgres) == count_of([*range(25 - lost), *range(25, 60)])
