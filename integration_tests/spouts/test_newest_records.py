"""Ranges at the very end of a log that grows: what a topology that keeps up reads all day."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
from confluent_kafka import KafkaError, Message, Producer

from integration_tests.conftest import Kafka
from trident.base.control import CONTROL, decode
from trident.base.ranges import Edge, OffsetRange, PartitionId, RangeManifest
from trident.spouts.decoders.raw import RawTaskDecoder
from trident.spouts.kafka.options import KafkaOptions
from trident.spouts.kafka.readers.arrow_task import ReadRanges

PARTITIONS = 4
READS = 100
STALL = 0.9
"""librdkafka's threads wake up after a second by themselves: whatever waits for that takes longer than this."""


class Growing:
    """A topic that gets some 2,000 records a second; `ends` are the partitions' ends as its producer knows them."""

    def __init__(self, servers: str, topic: str) -> None:
        self.topic = topic
        self.ends = [0] * PARTITIONS
        self.over = threading.Event()
        self._producer = Producer({"bootstrap.servers": servers, "linger.ms": 2})

    def grow(self) -> None:
        while not self.over.wait(0.004):
            for partition in range(PARTITIONS):
                for _ in range(2):
                    self._producer.produce(self.topic, b"x" * 95, partition=partition, on_delivery=self._stored)
            self._producer.poll(0)
        assert self._producer.flush(30) == 0

    def _stored(self, error: KafkaError | None, message: Message) -> None:
        partition, offset = message.partition(), message.offset()
        if error is None and partition is not None and offset is not None:
            self.ends[partition] = offset + 1


@contextmanager
def growing(kafka: Kafka) -> Iterator[Growing]:
    log = Growing(kafka.bootstrap_servers, kafka.create_topic(partitions=PARTITIONS))
    thread = threading.Thread(target=log.grow)
    thread.start()
    try:
        deadline = time.monotonic() + 30
        while not all(log.ends):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield log
    finally:
        log.over.set()
        thread.join()


def read(kafka: Kafka, topic: str, starts: Sequence[int], stops: Sequence[int]) -> float:
    """Read the ranges in one task of this process, check what came, and return the seconds that it took."""
    edges = tuple(
        Edge(number, OffsetRange(PartitionId(topic, number), "id", start, stop))
        for number, (start, stop) in enumerate(zip(starts, stops, strict=True))
    )
    task = ReadRanges(KafkaOptions(kafka.bootstrap_servers).for_librdkafka(), (edges,), RawTaskDecoder(), 10_000, 30.0)
    began = time.monotonic()
    table = pa.Table.from_batches(task([pa.RecordBatch.from_pydict({"group": [0]})]))
    seconds = time.monotonic() - began
    words = [decode(str(word)) for word in table.column(CONTROL).drop_null().to_pylist()]
    found = {word.edge: (word.position, word.count) for word in words if isinstance(word, RangeManifest)}
    for number, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        position, count = found[number]
        assert count == stop - start
        assert position is not None
        assert position >= stop
    assert table.num_rows == sum(stops) - sum(starts) + PARTITIONS
    return seconds


def stalls(kafka: Kafka) -> list[float]:
    """Return the reads, of a hundred behind one another, that took as long as a stall does."""
    with growing(kafka) as log:
        starts = list(log.ends)
        times = []
        for _ in range(READS):
            time.sleep(0.03)
            stops = list(log.ends)
            times.append(read(kafka, log.topic, starts, stops))
            starts = stops
    return [seconds for seconds in times[1:] if seconds > STALL]


def test_no_read_of_the_newest_records_waits_for_a_second(kafka: Kafka) -> None:
    """With a partition that was paused and resumed 3 to 10 of 100 reads did; a slow machine gets a second chance."""
    assert stalls(kafka) == [] or stalls(kafka) == []
