"""The marker topic of a real Kafka: what is read while others write to it, and what somebody has done to it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from confluent_kafka import KafkaException, Producer

from integration_tests.fix_kafka import Kafka
from integration_tests.sinks.test_kafka_sink_contract import KafkaHarness
from trident.base.errors import MismatchError, RetryableError
from trident.base.timeouts import Timeouts
from trident.state import KafkaSink
from trident.state.kafka.clients.cluster import FoundMarker
from trident.state.kafka.clients.python_cluster import PythonCluster
from trident.state.kafka.sink import MARKER_TOPIC
from trident.state.positions import Position
from trident.testing.sink_harness import begun, send
from trident.testing.state_harness import OWNER, batch_of


@pytest.fixture
def cluster(kafka: Kafka) -> Iterator[PythonCluster]:
    found = PythonCluster("alerts", kafka.bootstrap_servers, {}, 1.5)
    yield found
    found.close()


def put(kafka: Kafka, topic: str, *items: tuple[str, bytes | None], partition: int = 0) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for key, value in items:
        producer.produce(topic, value, key, partition=partition)
        producer.poll(0)
    assert producer.flush(30) == 0


def test_the_newest_of_many_is_found_wherever_it_is(kafka: Kafka, cluster: PythonCluster) -> None:
    topic = kafka.create_topic(1, {"cleanup.policy": "compact"})
    assert cluster.newest(topic, "mine") == FoundMarker(None, 0)
    put(kafka, topic, ("mine", b"1"), ("other", b"x"))
    assert cluster.newest(topic, "mine") == FoundMarker(b"1", 0)
    put(kafka, topic, *(("other", b"%d" % number) for number in range(3_000)))
    assert cluster.newest(topic, "mine") == FoundMarker(b"1", 0)
    put(kafka, topic, ("mine", b"2"), ("other", b"x"), ("mine", b"3"))
    assert cluster.newest(topic, "mine") == FoundMarker(b"3", 0)
    again = PythonCluster("alerts", kafka.bootstrap_servers, {}, 1.5)
    assert again.newest(topic, "mine") == FoundMarker(b"3", 0)
    put(kafka, topic, *(("other", b"%d" % number) for number in range(3_000)))
    assert again.newest(topic, "mine") == cluster.newest(topic, "mine") == FoundMarker(b"3", 0)
    again.close()
    anew = PythonCluster("alerts", kafka.bootstrap_servers, {}, 1.5)
    assert anew.newest(topic, "mine") == FoundMarker(b"3", 0)
    anew.close()


def test_partitions_that_were_added_hide_nothing(kafka: Kafka, cluster: PythonCluster) -> None:
    topic = kafka.create_topic(5, {"cleanup.policy": "compact"})
    put(kafka, topic, ("mine", b"1"), partition=3)
    assert cluster.newest(topic, "mine") == FoundMarker(b"1", 3)


def test_a_transaction_that_is_open_is_waited_for_and_decides_nothing(kafka: Kafka, cluster: PythonCluster) -> None:
    topic = kafka.create_topic(1, {"cleanup.policy": "compact"})
    put(kafka, topic, ("mine", b"1"))
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": f"of {topic}"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"2", "mine", partition=0)
    producer.flush(30)
    began = time.monotonic()
    with pytest.raises(RetryableError, match=r"its log ends at 2: a transaction is open there.*nothing more is"):
        cluster.newest(topic, "mine")
    assert time.monotonic() - began > 1.4
    producer.commit_transaction(30)
    assert cluster.newest(topic, "mine") == FoundMarker(b"2", 0)


def test_what_was_aborted_is_no_marker(kafka: Kafka, cluster: PythonCluster) -> None:
    topic = kafka.create_topic(1, {"cleanup.policy": "compact"})
    put(kafka, topic, ("mine", b"1"))
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": f"of {topic}"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"2", "mine", partition=0)
    producer.flush(30)
    producer.abort_transaction(30)
    assert cluster.newest(topic, "mine") == FoundMarker(b"1", 0)


def test_a_topic_that_is_not_there_is_told(cluster: PythonCluster) -> None:
    assert cluster.settings(["nowhere-at-all"]) == {}
    with pytest.raises(MismatchError, match="marker topic 'nowhere-at-all' of sink 'alerts' is gone"):
        cluster.newest("nowhere-at-all", "mine")


def test_a_marker_topic_is_made_once_and_compacted(kafka: Kafka, cluster: PythonCluster) -> None:
    name = f"{kafka.create_topic()}-markers"
    for _ in range(2):
        cluster.make_marker_topic(name)
    found = cluster.settings([name])[name]
    assert (found.partitions, found.cleanup) == (12, "compact")
    assert found.max_message_bytes > 0


def test_a_cluster_that_is_away_is_asked_again() -> None:
    away = PythonCluster("alerts", "127.0.0.1:1", {}, 0.5)
    for ask in (away.id, lambda: away.settings(["t"]), lambda: away.newest("t", "k")):
        with pytest.raises(RetryableError, match=r"no Kafka broker answers at 127\.0\.0\.1:1; nothing was sent"):
            ask()
    away.close()
    away.close()


def test_what_a_dead_owner_has_left_open_keeps_nobody_from_taking_over(kafka: Kafka) -> None:
    """Kafka itself would end it after `transaction.timeout.ms`, which is a minute."""
    harness = KafkaHarness(kafka.bootstrap_servers, kafka.create_topic())
    send(harness, begun(harness), 1, "a")
    id_ = f"{OWNER.topology}.{harness.name}"
    dead = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": id_, "log_level": 0})
    dead.init_transactions(30)
    dead.begin_transaction()
    where = PythonCluster(harness.name, kafka.bootstrap_servers, {}, 10)
    dead.produce(MARKER_TOPIC, b"2", id_, partition=where.newest(MARKER_TOPIC, id_).partition)
    dead.flush(30)
    where.close()
    began = time.monotonic()
    successor = KafkaSink(harness.name, bootstrap_servers=kafka.bootstrap_servers).open(
        harness.ledger, Timeouts(lease=timedelta(seconds=2))
    )
    assert successor.look(OWNER.topology) == Position(OWNER, 1, batch_of(1).attempt, 0)
    assert time.monotonic() - began < 20
    with pytest.raises(KafkaException):
        dead.commit_transaction(10)
    assert harness.words() == ["a"]
    for sink in (*harness.opened, successor):
        sink.close()
