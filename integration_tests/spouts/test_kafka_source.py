"""What a Kafka source tells the coordinator: bounds, starts, and what has changed under a plan."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from kafka import TopicPartition

from integration_tests.conftest import Kafka
from integration_tests.spouts.logs import (
    FOREVER,
    admin_of,
    edges_of,
    produce,
    produce_committed,
    transaction,
    wait_until_stable,
)
from trident.base.errors import ConfigurationError, FatalError, RetryableError
from trident.spouts import OpaqueKafkaSpout, StartAt, TransactionalKafkaSpout
from trident.spouts.base import OffsetsLostError, Source, Start

VALUES = [b"1", b"2", b"3"]


@contextmanager
def opened(
    kafka: Kafka, *topics: str, start: Start = StartAt.EARLIEST, read_committed: bool = True
) -> Iterator[Source]:
    spout = TransactionalKafkaSpout(
        topics, bootstrap_servers=kafka.bootstrap_servers, start=start, read_committed=read_committed
    )
    source = spout.open("s")
    try:
        yield source
    finally:
        source.close()
        source.close()


def test_bounds_name_every_partition_of_every_topic(kafka: Kafka) -> None:
    one, two = kafka.create_topic(partitions=2), kafka.create_topic(partitions=1)
    produce(kafka.bootstrap_servers, one, VALUES, partition=1)
    with opened(kafka, one, two) as source:
        bounds = {(item.id.topic, item.id.partition): (item.earliest, item.stop) for item in source.bounds()}
        ids = {item.id.topic: item.topic_id for item in source.bounds()}
    assert bounds == {(one, 0): (0, 0), (one, 1): (0, 3), (two, 0): (0, 0)}
    assert len(set(ids.values())) == 2
    assert all(ids.values())


def test_open_transaction_holds_the_stop_back(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    produce(kafka.bootstrap_servers, topic, VALUES)
    with opened(kafka, topic) as source, opened(kafka, topic, read_committed=False) as dirty:
        with transaction(kafka.bootstrap_servers, topic, VALUES) as producer:
            assert [item.stop for item in source.bounds()] == [3]
            assert [item.stop for item in dirty.bounds()] == [6]
            producer.commit_transaction(30)
        wait_until_stable(kafka.bootstrap_servers, topic)
        assert [item.stop for item in source.bounds()] == [7]


def test_new_partitions_appear(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    with opened(kafka, topic) as source:
        assert len(source.bounds()) == 1
        with admin_of(kafka.bootstrap_servers) as admin:
            admin.create_partitions({topic: 3})
        deadline = time.monotonic() + 20
        while len(source.bounds()) < 3:
            assert time.monotonic() < deadline


def test_starts_follow_the_policy(kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=2, configs=FOREVER)
    servers = kafka.bootstrap_servers
    produce(servers, topic, [b"1"], timestamp=1_700_000_000_000)
    produce(servers, topic, [b"2"], timestamp=1_700_000_010_000)
    produce(servers, topic, [b"3"], timestamp=1_700_000_020_000)
    found = {}
    for start in (
        StartAt.EARLIEST,
        StartAt.LATEST,
        datetime.fromtimestamp(1_700_000_010, UTC),
        datetime.fromtimestamp(1_700_000_010.001, UTC),
        datetime.fromtimestamp(1_800_000_000, UTC),
    ):
        with opened(kafka, topic, start=start) as source:
            found[start] = [(item.earliest, item.stop) for item in source.starts()]
    assert list(found.values()) == [
        [(0, 3), (0, 0)],
        [(3, 3), (0, 0)],
        [(1, 3), (0, 0)],
        [(2, 3), (0, 0)],
        [(3, 3), (0, 0)],
    ]


def test_verify_accepts_what_is_still_there(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    produce_committed(kafka.bootstrap_servers, topic, VALUES)
    with opened(kafka, topic) as source:
        source.verify([edge.range for edge in edges_of(source.bounds())])
        source.verify([])


def test_verify_finds_lost_offsets(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    produce(kafka.bootstrap_servers, topic, VALUES)
    with opened(kafka, topic) as source:
        whole = edges_of(source.bounds())[0].range
        with admin_of(kafka.bootstrap_servers) as admin:
            admin.delete_records({TopicPartition(topic, 0): 2})
        assert [(item.earliest, item.stop) for item in source.bounds()] == [(2, 3)]
        with pytest.raises(OffsetsLostError) as caught:
            source.verify([whole])
        source.verify([replace(whole, start=2), replace(whole, stop=0)])
    assert caught.value.ranges == (whole,)
    assert f"{topic}[0] 0..3" in str(caught.value)


def test_verify_finds_a_topic_that_was_created_anew(kafka: Kafka) -> None:
    topic = kafka.create_topic()
    produce(kafka.bootstrap_servers, topic, VALUES)
    with opened(kafka, topic) as source:
        before = edges_of(source.bounds())[0].range
        with admin_of(kafka.bootstrap_servers) as admin:
            admin.delete_topics([topic])
            create_again(admin, topic)
        produce(kafka.bootstrap_servers, topic, VALUES)
        assert source.bounds()[0].topic_id != before.topic_id
        with pytest.raises(FatalError, match="created anew"):
            source.verify([before])


def create_again(admin: object, topic: str) -> None:
    from kafka.errors import TopicAlreadyExistsError

    deadline = time.monotonic() + 20
    while True:
        try:
            admin.create_topics({topic: {"num_partitions": 1, "replication_factor": 1}})  # type: ignore[attr-defined]
        except TopicAlreadyExistsError:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        else:
            return


def test_unknown_topic_is_named(kafka: Kafka) -> None:
    with opened(kafka, "no-such-topic") as source, pytest.raises(ConfigurationError) as caught:
        source.bounds()
    assert "'no-such-topic'" in str(caught.value)
    assert kafka.bootstrap_servers in str(caught.value)


def test_unreachable_broker_is_retryable() -> None:
    spout = OpaqueKafkaSpout("t", bootstrap_servers="127.0.0.1:1", connect_timeout=0.5)
    with pytest.raises(RetryableError, match=r"127\.0\.0\.1:1"):
        spout.open("s").bounds()
