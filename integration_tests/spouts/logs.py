"""Topics with known contents, and what a source reads of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Final

from confluent_kafka import Producer
from kafka import KafkaAdminClient, TopicPartition
from kafka.protocol.consumer.offsets import IsolationLevel, OffsetSpec
from pyspark.sql import Row, SparkSession

from trident.base.control import CONTROL, BadRecordWord, decode
from trident.base.ranges import BadRecordRow, Edge, OffsetRange, PartitionBounds, RangeManifest
from trident.spouts.base import Source

FOREVER: Final = {"retention.ms": "-1"}
"""For topics whose records carry old timestamps: the broker would delete them within a minute."""


def produce(
    servers: str, topic: str, values: Sequence[bytes | None], partition: int = 0, timestamp: int | None = None
) -> None:
    """Write values without a transaction, waiting for each to be stored."""
    producer = Producer({"bootstrap.servers": servers, "message.max.bytes": 4_000_000})
    for value in values:
        producer.produce(topic, value, partition=partition, timestamp=0 if timestamp is None else timestamp)
    assert producer.flush(30) == 0


@contextmanager
def transaction(servers: str, topic: str, values: Sequence[bytes], partition: int = 0) -> Iterator[Producer]:
    """Write values in a transaction that is still open inside the block; the block ends it, or it is aborted."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": f"{topic}-{partition}-{len(values)}"})
    producer.init_transactions(30)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(30) == 0
    yield producer


def wait_until_stable(servers: str, topic: str, partition: int = 0) -> None:
    """Wait for the markers: the broker answers a commit before they are in the topic."""
    place = TopicPartition(topic, partition)
    deadline = time.monotonic() + 30
    with admin_of(servers) as admin:
        while True:
            stable, end = (
                admin.list_partition_offsets({place: OffsetSpec.LATEST}, level)[place].offset
                for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)
            )
            if stable == end:
                return
            assert time.monotonic() < deadline
            time.sleep(0.02)


def produce_aborted(servers: str, topic: str, values: Sequence[bytes], partition: int = 0) -> None:
    with transaction(servers, topic, values, partition) as producer:
        producer.abort_transaction(30)
    wait_until_stable(servers, topic, partition)


def produce_committed(servers: str, topic: str, values: Sequence[bytes], partition: int = 0) -> None:
    with transaction(servers, topic, values, partition) as producer:
        producer.commit_transaction(30)
    wait_until_stable(servers, topic, partition)


@contextmanager
def admin_of(servers: str) -> Iterator[KafkaAdminClient]:
    with closing(KafkaAdminClient(bootstrap_servers=servers)) as admin:
        yield admin


def edges_of(bounds: Sequence[PartitionBounds], *, also_empty: bool = False) -> list[Edge]:
    """Return an edge for all that every partition holds."""
    ranges = [OffsetRange(item.id, item.topic_id, item.earliest, item.stop) for item in bounds]
    return [Edge(1000 + index, item) for index, item in enumerate(ranges) if item.width or also_empty]


@dataclass(frozen=True)
class ReadBack:
    """What one run of a source's frame returned, in an order that does not depend on tasks."""

    rows: list[Row]
    manifests: list[RangeManifest]
    bad: list[BadRecordRow]


def read_back(
    source: Source, spark: SparkSession, edges: Sequence[Edge], tasks: int = 2, *, quick: bool = False
) -> ReadBack:
    rows: list[Row] = []
    manifests: list[RangeManifest] = []
    bad: list[BadRecordRow] = []
    for row in source.read(spark, edges, tasks, quick).collect():
        if row[CONTROL] is None:
            rows.append(row)
            continue
        assert all(value is None for name, value in row.asDict().items() if name != CONTROL)
        word = decode(row[CONTROL])
        if isinstance(word, RangeManifest):
            manifests.append(word)
        else:
            assert isinstance(word, BadRecordWord)
            assert {edge.range.id for edge in edges if edge.id == word.edge} == {word.record.id}
            bad.append(word.record)
    return ReadBack(
        sorted(rows, key=repr), sorted(manifests, key=lambda m: m.edge), sorted(bad, key=lambda b: (b.id, b.offset))
    )
