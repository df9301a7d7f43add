"""The path of the study on real servers: Kafka, an operation, Kafka, a table of PostgreSQL."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import psycopg
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from reliability.cases import MAX_PENDING, Case, Outcome
from reliability.faults import Operation, Strikes, striking
from trident import Level, PostgresLedger, RunOptions, Topology
from trident.coordinators.options import Until
from trident.spouts import AckingKafkaSpout, JsonBody, OpaqueKafkaSpout, Raw
from trident.state import KafkaSink, PostgresTable

_PARTITIONS = 4
_TABLE = "arrived"
_WAITS: Final = {Level.AT_MOST_ONCE: timedelta(seconds=1), Level.AT_LEAST_ONCE: None, Level.EXACTLY_ONCE: None}
"""How long messages wait for a fuller batch: of millions without acks, full batches take the least time."""


class NumbersSpout(AckingKafkaSpout):
    """Numbers of a topic."""

    message_timeout = timedelta(seconds=30)


class FewPendingSpout(NumbersSpout):
    """As many under way as the study had where messages are acked; without ackers Storm has no such bound."""

    max_pending = MAX_PENDING
    max_batch_size = MAX_PENDING


@dataclass
class Scene:
    """Servers and a session, for one case after the other."""

    bootstrap_servers: str
    make_topic: Callable[[str, int], str]
    """Makes a topic with so many partitions; returns its name, in which the given one stands."""
    make_database: Callable[[], str]
    """Makes an empty database; returns its address."""
    spark: SparkSession
    _cases: int = 0
    _produced: dict[int, str] = field(default_factory=dict)

    def play(self, case: Case) -> Outcome:
        """Send the numbers through the path while the faults strike; returns what arrived in the table."""
        self._cases += 1
        source, target = self._numbers(case.numbers), self.make_topic(f"passed{self._cases}", _PARTITIONS)
        dsn = self.make_database()
        with TemporaryDirectory() as folder:
            strikes, started = Strikes(Path(folder)), time.monotonic()
            with striking(case, strikes, Arrived(self.bootstrap_servers, target)):
                self._pass_on(case, source, target, dsn, Operation(strikes, case.fault, case.strikes_at()))
            seconds = time.monotonic() - started
            self._keep(target, dsn)
            return _outcome(case, dsn, strikes.count, seconds)

    def _numbers(self, count: int) -> str:
        """Return a topic with the numbers from 1 on; made once for each count."""
        if count not in self._produced:
            topic = self._produced[count] = self.make_topic(f"numbers{count}", _PARTITIONS)
            producer = Producer({"bootstrap.servers": self.bootstrap_servers, "linger.ms": 50})
            for number in range(1, count + 1):
                producer.produce(topic, f'{{"n": {number}}}'.encode(), partition=number % _PARTITIONS)
                if number % 10_000 == 0:
                    producer.poll(0)
                    producer.flush()
            producer.flush()
        return self._produced[count]

    def _pass_on(self, case: Case, source: str, target: str, dsn: str, operation: Operation) -> None:
        topology = Topology(f"study{self._cases}", level=case.level)
        spout = (NumbersSpout if case.level is Level.AT_MOST_ONCE else FewPendingSpout)(
            source,
            group=f"study{self._cases}",
            bootstrap_servers=self.bootstrap_servers,
            body=JsonBody("n bigint"),
            client_options={"session.timeout.ms": "6000"},  # for so long a group waits for a spout that was killed
        )
        passed = topology.stream("numbers", spout).process(operation, "n bigint")
        sink = KafkaSink("passed", bootstrap_servers=self.bootstrap_servers)
        passed.to_kafka(target, value=F.col("n").cast("string"), sink=sink)
        options = RunOptions(
            until=Until.CAUGHT_UP, retry_pause=timedelta(milliseconds=10), max_tries=100, max_wait=_WAITS[case.level]
        )
        topology.run(self.spark, ledger=PostgresLedger(dsn), options=options)

    def _keep(self, topic: str, dsn: str) -> None:
        """Bring what was passed on into the table, each record once."""
        topology = Topology("table")
        spout = OpaqueKafkaSpout(topic, bootstrap_servers=self.bootstrap_servers, value=Raw())
        numbers = topology.stream("passed", spout).map(n=F.col("value").cast("string").cast("bigint"))
        numbers.to_table(PostgresTable(_TABLE))
        topology.run(self.spark, ledger=PostgresLedger(dsn), until="caught_up")


@dataclass
class Arrived:
    """How many records have arrived in a topic."""

    servers: str
    topic: str
    _consumer: Consumer | None = None

    def __call__(self) -> int:
        """Ask the broker."""
        if self._consumer is None:
            self._consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "arrived"})
        places = [TopicPartition(self.topic, number) for number in range(_PARTITIONS)]
        return sum(self._consumer.get_watermark_offsets(place, timeout=10)[1] for place in places)


def _outcome(case: Case, dsn: str, struck: int, seconds: float) -> Outcome:
    with psycopg.connect(dsn) as connection:
        counts = "SELECT n, count(*) AS times, coalesce(n BETWEEN 1 AND %s, false) AS was_sent FROM arrived GROUP BY n"
        row = connection.execute(
            f"SELECT count(*) FILTER (WHERE was_sent), count(*) FILTER (WHERE was_sent AND times = 2), "
            f"count(*) FILTER (WHERE was_sent AND times > 2), coalesce(sum(n * times), 0)::bigint, "
            f"coalesce(sum(times) FILTER (WHERE NOT was_sent), 0)::bigint FROM ({counts}) AS counted",
            [case.numbers],
        ).fetchone()
    assert row is not None
    distinct, twice, oftener, total, strangers = row
    return Outcome(case, distinct, twice, oftener, total, struck if case.faults else 0, seconds, strangers)
