"""Records of every shape, through whole topologies: what Kafka stores is what is counted, once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from integration_tests.fix_kafka import Kafka
from integration_tests.fix_postgres import Postgres
from integration_tests.fix_spark import connector
from integration_tests.kafka_traps.jobs import (
    count_of,
    counting,
    crosswise,
    first_attempts_fail,
    meddling,
    payments,
    query,
    run,
    totals,
)
from integration_tests.spouts.logs import FOREVER, produce
from integration_tests.spouts.test_poison_parts import ANY_TIME, Part, name_of, produce_all
from trident import Count, FatalError, Max, Min, Sum, Topology
from trident.spouts import BadRecord, OpaqueKafkaSpout, Raw
from trident.spouts.kafka.readers.spark import SparkReader
from trident.state import PostgresState

MEGABYTE = bytes(range(256)) * 4096
NOON = 1_700_000_000_000
LARGE = {"max.message.bytes": "3000000", **FOREVER}


def shapes(kafka: Kafka, spout: Any, reader: Any, topic: str, limit: int = 4) -> Topology:
    """Return the topology that describes records by key, kind of value and first header."""
    topology = Topology("shapes")
    source = spout(
        topic,
        bootstrap_servers=kafka.bootstrap_servers,
        value=Raw(),
        reader=reader,
        max_records_per_batch=limit,
    )
    described = topology.stream("records", source).each(
        name=F.decode("key", "UTF-8"),
        tombstone=F.col("value").isNull(),
        bytes=F.length("value"),
        header=F.decode(F.col("headers")[0]["value"], "UTF-8"),
    )
    described.group_by("name", "tombstone", "header").persistent_aggregate(
        PostgresState("shapes"), n=Count(), bytes=Sum("bytes"), first=Min("timestamp"), last=Max("timestamp")
    )
    return topology


@crosswise
def test_keys_values_headers_and_times_of_every_shape(
    spark: SparkSession, kafka: Kafka, postgres: Postgres, spout: Any, reader: Any
) -> None:
    """Nulls are groups of their own; times run backwards; a record of a megabyte is one record."""
    topic = kafka.create_topic(2, configs=LARGE)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "message.max.bytes": 3_000_000})
    records: list[tuple[bytes | None, bytes | None, Headers | None, int]] = [
        (b"k", b"one", [("h", b"x")], 5),
        (b"k", b"three", [("h", b"x"), ("h", b"y")], -7),
        (b"k", None, None, 1),
        (None, b"", [("h", None)], 0),
        (None, b"v", None, 9),
        (None, None, None, -9),
        (b"", MEGABYTE, None, 2),
        (b"", MEGABYTE, None, -2),
        (b"k", None, None, 3),
    ]
    for number, (key, value, headers, seconds) in enumerate(records):
        stamp = NOON + 1000 * seconds
        producer.produce(topic, value, key, partition=number % 2, timestamp=stamp, headers=headers or [])
    assert producer.flush(30) == 0
    with meddling(first_attempts_fail(1, 2)):
        run(shapes(kafka, spout, reader, topic), spark, postgres)
    found = {
        (name, tombstone, header): (n, size, seconds_of(first), seconds_of(last))
        for name, tombstone, header, n, size, first, last in query(
            postgres, "SELECT name, tombstone, header, n, bytes, first, last FROM shapes"
        )
    }
    assert found == {
        ("k", False, "x"): (2, 8, -7, 5),
        ("k", True, None): (2, None, 1, 3),
        (None, False, None): (2, 1, 0, 9),
        (None, True, None): (1, None, -9, -9),
        ("", False, None): (2, 2 * len(MEGABYTE), -2, 2),
    }


def seconds_of(stamp: object) -> float:
    assert isinstance(stamp, datetime)
    return (stamp.astimezone(UTC) - datetime.fromtimestamp(NOON / 1000, UTC)) / timedelta(seconds=1)


@crosswise
def test_a_start_time_counts_all_behind_the_first_record_of_that_time(
    spark: SparkSession, kafka: Kafka, postgres: Postgres, spout: Any, reader: Any
) -> None:
    """Times out of order: what lies behind it is counted although it is older, what lies before it is not."""
    topic = kafka.create_topic(configs=FOREVER)
    for number, seconds in enumerate([1, 8, 2, 10, 3, 12, 1]):
        produce(kafka.bootstrap_servers, topic, payments(number), timestamp=NOON + 1000 * seconds)
    start = datetime.fromtimestamp(NOON / 1000 + 9, UTC)
    run(counting(kafka, topic, spout, reader=reader, limit=2, start=start), spark, postgres)
    assert totals(postgres) == count_of(range(3, 7))


Headers = list[tuple[str, str | bytes | None]]
POISON = {13: b'{"account": "hidden", "amo', 14: b'{"account": 7, "amount": "x"}', 26: b"\xff\xfe", 31: b"[1]"}


def poisoned(kafka: Kafka, poison: Any = POISON) -> str:
    topic: str = kafka.create_topic()
    produce(kafka.bootstrap_servers, topic, [poison.get(n, payments(n)[0]) for n in range(40)])
    return topic


@crosswise
def test_a_poison_record_in_the_middle_of_a_batch_stops_there(
    spark: SparkSession, kafka: Kafka, postgres: Postgres, spout: Any, reader: Any
) -> None:
    topic = poisoned(kafka)
    where = f"offset 13 of partition 0 of topic '{topic}' does not decode"
    for _ in range(2):  # the next run comes to the same place, and to nothing else
        with pytest.raises(FatalError, match=where) as stopped:
            run(counting(kafka, topic, spout, reader=reader), spark, postgres)
        assert "hidden" not in str(stopped.value)
        assert totals(postgres) == count_of(range(10))
    assert query(postgres, "SELECT count(*) FROM trident_dead_letter") == [(0,)]


@crosswise
def test_poison_records_are_kept_and_all_others_counted(
    spark: SparkSession, kafka: Kafka, postgres: Postgres, spout: Any, reader: Any
) -> None:
    """Letters of an attempt that fails are not kept, and those of the one that counts are kept once."""
    topic = poisoned(kafka)
    with meddling(first_attempts_fail(2, 3)):
        kept = counting(kafka, topic, spout, reader=reader, on_bad_record=BadRecord.DEAD_LETTER)
        run(kept, spark, postgres)
    assert totals(postgres) == count_of(n for n in range(40) if n not in POISON)
    statement = "SELECT record_offset, record_value, txid, attempt FROM trident_dead_letter ORDER BY record_offset"
    letters = query(postgres, statement)
    assert {offset: bytes(value) for offset, value, *_ in letters} == POISON
    assert len(letters) == len(POISON)
    commits = dict(query(postgres, "SELECT txid, attempt FROM trident_commit"))
    assert all(commits[txid] == attempt for _, _, txid, attempt in letters)
    with psycopg.connect(postgres.dsn) as connection:
        counts = connection.execute("SELECT txid, records, dead_letters FROM trident_commit ORDER BY txid").fetchall()
    assert counts == [(1, 10, 0), (2, 10, 2), (3, 10, 1), (4, 10, 1)]


def test_poison_beside_the_value_is_diverted_with_its_place(
    spark: SparkSession, kafka: Kafka, postgres: Postgres
) -> None:
    """A timestamp in nanoseconds would have been a moment of 2030, and a header's name had stopped every start."""
    topic = kafka.create_topic(configs=ANY_TIME)
    named = Part(timestamp=NOON, headers=((name_of(b"tr\xffce"), b"1"),))
    late = Part(timestamp=1_660_208_866_633_859_646)
    produce_all(kafka, topic, [Part(timestamp=NOON), named, late, Part(timestamp=NOON + 1)])
    for policy in BadRecord:
        topology = Topology("raw")
        source = OpaqueKafkaSpout(topic, bootstrap_servers=kafka.bootstrap_servers, on_bad_record=policy)
        grouped = topology.stream("records", source).group_by("topic")
        grouped.persistent_aggregate(PostgresState("shapes"), n=Count(), last=Max("timestamp"))
        if policy is BadRecord.FAIL:
            with pytest.raises(FatalError, match=f"offset 1 of partition 0 of topic '{topic}'.*headers is not UTF-8"):
                run(topology, spark, postgres)
        else:
            run(topology, spark, postgres)
    ((n, last),) = query(postgres, "SELECT n, last FROM shapes")
    assert (n, seconds_of(last)) == (2, 0.001)
    letters = query(postgres, "SELECT record_offset, record_timestamp FROM trident_dead_letter ORDER BY 1")
    assert letters == [(1, NOON), (2, late.timestamp)]


@connector
def test_a_timestamp_that_the_connector_can_not_hold_is_named_with_the_reader_that_can(
    spark: SparkSession, kafka: Kafka, postgres: Postgres
) -> None:
    """Java's connector makes a row of all of a record, also of a timestamp that nobody asks for."""
    topic = kafka.create_topic(configs=ANY_TIME)
    values = payments(1, 2)
    produce_all(kafka, topic, [Part(value=values[0]), Part(value=values[1], timestamp=1_660_208_866_633_859_646)])
    with pytest.raises(FatalError, match=r"stream 'payments'.*timestamp of a record.*ArrowReader"):
        run(counting(kafka, topic, reader=SparkReader()), spark, postgres)
    run(counting(kafka, topic), spark, postgres)
    assert totals(postgres) == count_of([1, 2])
