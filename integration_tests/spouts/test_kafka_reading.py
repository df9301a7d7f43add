"""What both readers read of a real Kafka: the same rows and digests, ends that are ends, holes included."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from confluent_kafka import Producer
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from integration_tests.conftest import Kafka
from integration_tests.fix_spark import connector
from integration_tests.spouts.logs import (
    FOREVER,
    admin_of,
    edges_of,
    produce,
    produce_aborted,
    produce_committed,
    read_back,
)
from trident.base.ranges import Edge
from trident.spouts import Json, OpaqueKafkaSpout, Raw
from trident.spouts.base import Source
from trident.spouts.decoders.base import Decoder
from trident.spouts.kafka.readers.arrow import ArrowReader
from trident.spouts.kafka.readers.base import RangeReader
from trident.spouts.kafka.readers.spark import SparkReader

NUMBER = Json("n bigint")
ARROW = ArrowReader()
SMALL_CHUNKS = ArrowReader(chunk_records=7)
each_reader = pytest.mark.parametrize(
    "reader",
    [
        pytest.param(ARROW, id="arrow"),
        pytest.param(SMALL_CHUNKS, id="arrow-small-chunks"),
        pytest.param(SparkReader(), marks=connector, id="spark"),
    ],
)


@contextmanager
def opened(kafka: Kafka, topic: str, value: Decoder = NUMBER, reader: RangeReader = ARROW) -> Iterator[Source]:
    source = OpaqueKafkaSpout(topic, bootstrap_servers=kafka.bootstrap_servers, value=value, reader=reader).open("s")
    try:
        yield source
    finally:
        source.close()


def numbers(start: int, stop: int) -> list[bytes]:
    return [b'{"n":%d}' % number for number in range(start, stop)]


@pytest.mark.parametrize(
    ("other", "tasks"),
    [
        pytest.param(ARROW, 3, id="arrow"),
        pytest.param(SMALL_CHUNKS, 2, id="arrow-small-chunks"),
        pytest.param(SparkReader(), 2, marks=connector, id="spark"),
    ],
)
def test_readers_return_equal_rows_and_digests(
    kafka: Kafka, spark: SparkSession, other: RangeReader, tasks: int
) -> None:
    topic = kafka.create_topic(partitions=4)
    for partition in range(3):
        produce(kafka.bootstrap_servers, topic, numbers(partition * 1000, partition * 1000 + 500), partition)
    found = []
    for reader, count in ((ARROW, 1), (other, tasks)):
        with opened(kafka, topic, reader=reader) as source:
            found.append(read_back(source, spark, edges_of(source.bounds()), count))
    assert sorted(row["n"] for row in found[0].rows) == sorted(
        n for p in range(3) for n in range(p * 1000, p * 1000 + 500)
    )
    assert [(item.edge, item.count, item.position) for item in found[0].manifests] == [
        (1000 + partition, 500, 500) for partition in range(3)
    ]
    assert found[1].rows == found[0].rows
    assert [replace(item, position=500) for item in found[1].manifests] == found[0].manifests


@each_reader
def test_raw_keeps_keys_nulls_headers_and_large_records(kafka: Kafka, spark: SparkSession, reader: RangeReader) -> None:
    topic = kafka.create_topic(configs={"max.message.bytes": "3000000", **FOREVER})
    large = bytes(range(256)) * 4096
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "message.max.bytes": 3_000_000})
    stamp = 1_700_000_000_123
    producer.produce(topic, b"v", key=b"k", headers=[("h", b"1"), ("h", None), ("", b"")], timestamp=stamp, partition=0)
    producer.produce(topic, None, key=b"tombstone", timestamp=stamp, partition=0)
    producer.produce(topic, b"", timestamp=stamp, partition=0)
    producer.produce(topic, large, timestamp=stamp + 1, partition=0)
    assert producer.flush(30) == 0
    with opened(kafka, topic, Raw(), reader) as source:
        assert source.schema(spark) == Raw().compile(spark).schema
        read = read_back(source, spark, edges_of(source.bounds()))
    rows = sorted((row.asDict(recursive=True) for row in read.rows), key=lambda row: row["offset"])
    assert [(row["key"], row["value"]) for row in rows] == [
        (b"k", b"v"),
        (b"tombstone", None),
        (None, b""),
        (None, large),
    ]
    assert rows[0]["headers"] == [{"key": "h", "value": b"1"}, {"key": "h", "value": None}, {"key": "", "value": b""}]
    assert rows[1]["headers"] is None
    assert {(row["topic"], row["partition"]) for row in rows} == {(topic, 0)}
    assert rows[0]["timestamp"].astimezone(UTC) == datetime.fromtimestamp(stamp / 1000, UTC)
    assert (read.manifests[0].size_bytes, read.manifests[0].newest) == (1 + len(large), stamp + 1)


@each_reader
@pytest.mark.drawn(one_in=2)
def test_aborted_records_and_markers_end_a_range(kafka: Kafka, spark: SparkSession, reader: RangeReader) -> None:
    topic = kafka.create_topic()
    servers = kafka.bootstrap_servers
    produce_committed(servers, topic, numbers(0, 5))  # 0..4, marker at 5
    produce_aborted(servers, topic, numbers(100, 106))  # 6..11, marker at 12
    with opened(kafka, topic, reader=reader) as source:
        (whole,) = edges_of(source.bounds())
        assert (whole.range.start, whole.range.stop) == (0, 13)
        read = read_back(source, spark, [whole])
        only_aborted = Edge(7, replace(whole.range, start=6))
        nothing = read_back(source, spark, [only_aborted])
        inside = read_back(source, spark, [Edge(8, replace(whole.range, start=2, stop=4))])
    assert sorted(row["n"] for row in read.rows) == [0, 1, 2, 3, 4]
    assert [row["n"] for row in inside.rows] == [2, 3]
    assert nothing.rows == []
    (manifest,) = nothing.manifests
    if isinstance(reader, SparkReader):
        # a task without rows can't name its range; the number of manifests stands for it
        assert (manifest.edge < 0, manifest.id, manifest.position, manifest.count) == (True, None, None, 0)
    else:
        assert (manifest.edge, manifest.id, manifest.position, manifest.count) == (7, whole.range.id, 13, 0)
        assert read.manifests[0].position == 13


@each_reader
def test_range_without_rows_beside_others_gives_one_manifest_each(
    kafka: Kafka, spark: SparkSession, reader: RangeReader
) -> None:
    topic = kafka.create_topic(partitions=3)
    servers = kafka.bootstrap_servers
    produce_aborted(servers, topic, numbers(0, 4), partition=0)
    produce(servers, topic, numbers(0, 3), partition=1)
    produce(servers, topic, numbers(3, 5), partition=2)
    with opened(kafka, topic, reader=reader) as source:
        read = read_back(source, spark, edges_of(source.bounds()), tasks=1)
    assert len(read.manifests) == 3
    assert sorted(item.count for item in read.manifests) == [0, 2, 3]
    assert sorted(row["n"] for row in read.rows) == [0, 1, 2, 3, 4]


@each_reader
def test_nothing_to_read_is_an_empty_frame(kafka: Kafka, spark: SparkSession, reader: RangeReader) -> None:
    topic = kafka.create_topic()
    with opened(kafka, topic, reader=reader) as source:
        assert source.read(spark, [], 2).collect() == []


def test_empty_range_gives_a_manifest_without_asking_kafka(kafka: Kafka, spark: SparkSession) -> None:
    topic = kafka.create_topic()
    with opened(kafka, topic) as source:
        read = read_back(source, spark, edges_of(source.bounds(), also_empty=True))
    assert [(item.edge, item.position, item.count) for item in read.manifests] == [(1000, 0, 0)]


@each_reader
def test_bad_record_is_alone(kafka: Kafka, spark: SparkSession, reader: RangeReader) -> None:
    topic = kafka.create_topic(partitions=2, configs=FOREVER)
    values = numbers(0, 50)
    values[20] = b'{"n":"twenty"}'
    values[30] = b'{"n":30.0}'
    values[40] = b'{"n":4'
    produce(kafka.bootstrap_servers, topic, values, partition=1, timestamp=1_700_000_000_000)
    with opened(kafka, topic, reader=reader) as source:
        read = read_back(source, spark, edges_of(source.bounds()))
    assert sorted(row["n"] for row in read.rows) == [n for n in range(50) if n not in (20, 30, 40)]
    found = [(item.id.topic, item.id.partition, item.offset, item.timestamp, item.value) for item in read.bad]
    assert found == [(topic, 1, at, 1_700_000_000_000, values[at]) for at in (20, 30, 40)]
    assert read.manifests[0].count == 50
    assert values[20].decode() not in repr(read.bad[0])


@each_reader
def test_null_value_is_a_row_of_nulls(kafka: Kafka, spark: SparkSession, reader: RangeReader) -> None:
    topic = kafka.create_topic()
    produce(kafka.bootstrap_servers, topic, [None, b'{"n":1}', b"{}"])
    with opened(kafka, topic, reader=reader) as source:
        read = read_back(source, spark, edges_of(source.bounds()))
    assert sorted((row["n"] is None, row["n"]) for row in read.rows)[0] == (False, 1)
    assert len(read.rows) == 3
    assert read.bad == []


@each_reader
@pytest.mark.drawn(one_in=2)
def test_compacted_topic_has_holes(kafka: Kafka, spark: SparkSession, reader: RangeReader) -> None:
    """Aborted records in the middle leave the same holes as compaction, without waiting for the cleaner."""
    topic = kafka.create_topic()
    servers = kafka.bootstrap_servers
    produce_committed(servers, topic, numbers(0, 3))
    produce_aborted(servers, topic, numbers(3, 30))
    produce_committed(servers, topic, numbers(30, 32))
    produce(servers, topic, numbers(32, 40))
    with opened(kafka, topic, reader=reader) as source:
        (edge,) = edges_of(source.bounds())
        read = read_back(source, spark, [edge])
        in_hole = read_back(source, spark, [Edge(1, replace(edge.range, stop=10))])
    assert sorted(row["n"] for row in read.rows) == [0, 1, 2, *range(30, 40)]
    assert sorted(row["n"] for row in in_hole.rows) == [0, 1, 2]
    assert in_hole.manifests[0].count == 3


def test_compaction_removes_records_inside_a_range(kafka: Kafka, spark: SparkSession) -> None:
    topic = kafka.create_topic(
        configs={
            "cleanup.policy": "compact",
            "min.cleanable.dirty.ratio": "0.01",
            "segment.ms": "100",
            "min.compaction.lag.ms": "0",
            "max.compaction.lag.ms": "100",
        }
    )
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for number in range(20):
        producer.produce(topic, b'{"n":%d}' % number, key=b"same", partition=0)
    assert producer.flush(30) == 0
    deadline = time.monotonic() + 60
    with opened(kafka, topic) as source:
        while True:
            time.sleep(0.5)
            producer.produce(topic, b'{"n":99}', key=b"other", partition=0)  # rolls the segment
            assert producer.flush(30) == 0
            edge = Edge(1, replace(edges_of(source.bounds())[0].range, start=0, stop=20))
            read = read_back(source, spark, [edge])
            if len(read.rows) < 20:
                break
            assert time.monotonic() < deadline, "the broker's cleaner did nothing"
    assert [row["n"] for row in read.rows] == [19]
    assert read.manifests[0].position is not None
    assert read.manifests[0].position >= 20


@each_reader
def test_lost_offsets_fail_the_read(kafka: Kafka, spark: SparkSession, reader: RangeReader) -> None:
    from kafka import TopicPartition

    topic = kafka.create_topic()
    produce(kafka.bootstrap_servers, topic, numbers(0, 20))
    with opened(kafka, topic, reader=reader) as source:
        edge = Edge(1, replace(edges_of(source.bounds())[0].range, start=0))
        with admin_of(kafka.bootstrap_servers) as admin:
            admin.delete_records({TopicPartition(topic, 0): 10})
        with pytest.raises((PySparkException, Py4JJavaError)) as caught:
            read_back(source, spark, [edge])
    expected = "OffsetsLostError" if isinstance(reader, ArrowReader) else "Some data may have been lost"
    assert expected in str(caught.value)
