"""Several topics in one spout, by name or by pattern: new ones are found, one that goes is missed."""

from __future__ import annotations

import sqlite3
import threading
import time
import uuid
from pathlib import Path

import pytest
from kafka.errors import TopicAlreadyExistsError
from pyspark.sql import SparkSession

from integration_tests.conftest import Kafka
from integration_tests.spouts.logs import admin_of, produce
from trident import SqliteLedger, Topology
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import ConfigurationError, FatalError
from trident.spouts import Json, OpaqueKafkaSpout, SpoutKind, StartAt, TransactionalKafkaSpout
from trident.state import KafkaSink, SqliteTable

_LATEST_LOOK = 20.0


class Family:
    """Topics of one prefix, and the records that they have got."""

    def __init__(self, kafka: Kafka) -> None:
        self.kafka = kafka
        self.prefix = f"family-{uuid.uuid4().hex[:8]}"
        self.sent: list[str] = []

    @property
    def pattern(self) -> str:
        return f"{self.prefix}-.*"

    def create(self, name: str, partitions: int = 1) -> str:
        topic = f"{self.prefix}-{name}"
        deadline = time.monotonic() + 20
        with admin_of(self.kafka.bootstrap_servers) as admin:
            while True:
                try:
                    admin.create_topics({topic: {"num_partitions": partitions, "replication_factor": 1}})
                except TopicAlreadyExistsError:  # it is still being deleted
                    assert time.monotonic() < deadline
                    time.sleep(0.1)
                else:
                    return topic

    def delete(self, topic: str) -> None:
        with admin_of(self.kafka.bootstrap_servers) as admin:
            admin.delete_topics([topic])

    def send(self, topic: str, count: int, partition: int = 0) -> None:
        words = [f"{topic[len(self.prefix) :]}/{partition}/{len(self.sent) + number}" for number in range(count)]
        produce(
            self.kafka.bootstrap_servers,
            topic,
            [f'{{"word":"{word}"}}'.encode() for word in words],
            partition=partition,
        )
        self.sent += words


@pytest.fixture
def family(kafka: Kafka) -> Family:
    return Family(kafka)


def topology(family: Family, kind: SpoutKind = SpoutKind.OPAQUE, start: StartAt = StartAt.EARLIEST) -> Topology:
    spout = OpaqueKafkaSpout if kind is SpoutKind.OPAQUE else TransactionalKafkaSpout
    made = Topology("family")
    stream = made.stream(
        "all",
        spout(
            pattern=family.pattern,
            bootstrap_servers=family.kafka.bootstrap_servers,
            value=Json("word string"),
            start=start,
            max_records_per_batch=5,
        ),
    )
    stream.to_table(SqliteTable("words"))
    return made


def stored(file: Path) -> list[str]:
    with sqlite3.connect(file) as connection:
        return [word for (word,) in connection.execute("SELECT word FROM words ORDER BY word")]


def test_a_pattern_finds_its_topics_in_their_order_and_new_ones_later(family: Family) -> None:
    two, one = family.create("2", partitions=2), family.create("1")
    family.kafka.create_topic(name="other")
    spout = OpaqueKafkaSpout(pattern=family.pattern, bootstrap_servers=family.kafka.bootstrap_servers)
    source = spout.open("s")
    try:
        assert [(each.id.topic, each.id.partition) for each in source.bounds()] == [(one, 0), (two, 0), (two, 1)]
        new = family.create("0")
        deadline = time.monotonic() + _LATEST_LOOK
        while new not in [each.id.topic for each in source.bounds()]:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        source.close()


@pytest.mark.parametrize("kind", [SpoutKind.OPAQUE, SpoutKind.TRANSACTIONAL])
def test_a_topic_that_comes_later_is_read_from_its_beginning(
    spark: SparkSession, family: Family, tmp_path: Path, kind: SpoutKind
) -> None:
    """Also where the stream began at the end of the others."""
    file, first = tmp_path / "ledger.sqlite", family.create("1", partitions=2)
    family.send(first, 7)
    family.sent.clear()
    topology(family, kind, StartAt.LATEST).run(spark, ledger=SqliteLedger(file), until="caught_up")
    family.send(first, 6, partition=1)
    family.send(family.create("2"), 8)
    topology(family, kind, StartAt.LATEST).run(spark, ledger=SqliteLedger(file), until="caught_up")
    assert stored(file) == sorted(family.sent)


def test_a_topic_is_added_while_the_topology_runs(spark: SparkSession, family: Family, tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    family.send(family.create("1"), 6)
    made = topology(family)
    thread = threading.Thread(target=made.run, args=(spark,), kwargs={"ledger": SqliteLedger(file)})
    thread.start()
    try:
        _wait_for(file, len(family.sent))
        family.send(family.create("2", partitions=2), 9, partition=1)
        _wait_for(file, len(family.sent))
    finally:
        made.stop()
        thread.join()
    assert stored(file) == sorted(family.sent)


def _wait_for(file: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            if len(stored(file)) >= count:
                return
        except sqlite3.OperationalError:  # the table is not there yet
            pass
        assert time.monotonic() < deadline
        time.sleep(0.1)


class _DeathError(Exception):
    pass


@pytest.mark.parametrize("kind", [SpoutKind.OPAQUE, SpoutKind.TRANSACTIONAL])
@pytest.mark.parametrize("point", [CrashPoint.AFTER_PLAN, CrashPoint.AFTER_PROCESSING, CrashPoint.IN_PIN_TRANSACTION])
def test_a_run_that_dies_goes_on_with_the_topics_that_came_meanwhile(
    spark: SparkSession, family: Family, tmp_path: Path, kind: SpoutKind, point: CrashPoint
) -> None:
    file = tmp_path / "ledger.sqlite"
    for name in ("1", "3"):
        family.send(family.create(name), 8)

    def die(reached: CrashPoint, txid: int) -> None:
        if reached is point and txid == 2:
            raise _DeathError

    with armed(die), pytest.raises(_DeathError):
        topology(family, kind).run(spark, ledger=SqliteLedger(file), until="caught_up")
    family.send(family.create("2"), 8)
    topology(family, kind).run(spark, ledger=SqliteLedger(file), until="caught_up")
    assert stored(file) == sorted(family.sent)


def test_a_topic_that_is_gone_or_made_anew_stops_the_start(spark: SparkSession, family: Family, tmp_path: Path) -> None:
    file, first = tmp_path / "ledger.sqlite", family.create("1")
    family.send(first, 3)
    family.send(family.create("2"), 3)
    topology(family).run(spark, ledger=SqliteLedger(file), until="caught_up")
    family.delete(first)
    with pytest.raises(FatalError, match=f"topic '{first}', which this topology has positions in.*was deleted"):
        topology(family).run(spark, ledger=SqliteLedger(file), until="caught_up")
    family.create("1")
    with pytest.raises(FatalError, match=f"'{first}' was created anew"):
        topology(family).run(spark, ledger=SqliteLedger(file), until="caught_up")
    assert stored(file) == sorted(family.sent)


def test_a_topic_that_goes_while_it_is_read_stops_the_run(spark: SparkSession, family: Family, tmp_path: Path) -> None:
    file, first = tmp_path / "ledger.sqlite", family.create("1")
    family.send(first, 3)
    family.send(family.create("2"), 3)
    made, raised = topology(family), []

    def run() -> None:
        try:
            made.run(spark, ledger=SqliteLedger(file))
        except FatalError as error:
            raised.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    _wait_for(file, len(family.sent))
    family.delete(first)
    thread.join(60)
    made.stop()
    thread.join()
    assert f"'{first}' at Kafka" in raised[0]
    assert "was deleted while it was read" in raised[0]


def test_what_can_not_work_is_refused_at_the_start(spark: SparkSession, family: Family, tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    with pytest.raises(ConfigurationError, match=r"no topic at Kafka .* matches the pattern.*Nothing was read"):
        topology(family).run(spark, ledger=ledger, until="caught_up")
    family.send(family.create("1"), 1)
    servers = family.kafka.bootstrap_servers
    other = family.kafka.create_topic()
    made = Topology("circle")
    stream = made.stream("all", OpaqueKafkaSpout(pattern=family.pattern, bootstrap_servers=servers))
    sink = KafkaSink("out", bootstrap_servers=servers, marker_topic=f"{family.prefix}-markers")
    stream.to_kafka(other, value="value", sink=sink)
    with pytest.raises(ConfigurationError, match=r"reads all topics that.* in which sink 'out' keeps its markers"):
        made.run(spark, ledger=ledger, until="caught_up")


def test_topics_by_name_are_not_those_of_a_pattern(spark: SparkSession, family: Family, tmp_path: Path) -> None:
    file, first = tmp_path / "ledger.sqlite", family.create("1")
    family.send(first, 2)
    topology(family).run(spark, ledger=SqliteLedger(file), until="caught_up")
    made = Topology("family")
    spout = OpaqueKafkaSpout([first], bootstrap_servers=family.kafka.bootstrap_servers, value=Json("word string"))
    made.stream("all", spout).to_table(SqliteTable("words"))
    with pytest.raises(FatalError, match="pattern"):
        made.run(spark, ledger=SqliteLedger(file), until="caught_up")
