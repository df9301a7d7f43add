"""The same job without Spark, as a plain Python loop: what Kafka, one Python process and Postgres allow.

One thread reads and counts batch T + 1 while another merges batch T. It commits positions and
results in one transaction and goes on from there, so it is exactly once too; what it lacks is
everything else: several machines, supervision, fencing, other operations.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from benchmarks.systems.arguments import Arguments, parse
from benchmarks.systems.merge import Merger, Offsets, connect

_TYPES: dict[str, pa.DataType] = {"account": pa.string(), "amount": pa.int64()}
_FIELDS = pa.schema(_TYPES)
_CHUNK = 50_000
_WAIT_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class _Batch:
    number: int
    updates: pa.Table
    offsets: tuple[Offsets, ...]


class Reader:
    """Reads the topic batch by batch; for one thread."""

    def __init__(self, arguments: Arguments, positions: dict[int, int]) -> None:
        self._limit = arguments.max_records
        self._consumer = Consumer(
            {
                "bootstrap.servers": arguments.bootstrap_servers,
                "group.id": "floor",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 10,
                "fetch.queue.backoff.ms": 5,
                "max.partition.fetch.bytes": 4 << 20,
                "queued.min.messages": 500_000,
            }
        )
        partitions = self._consumer.list_topics(arguments.topic, timeout=30).topics[arguments.topic].partitions
        self._places = [TopicPartition(arguments.topic, part, positions.get(part, 0)) for part in partitions]
        self._positions = {place.partition: place.offset for place in self._places}
        self._consumer.assign(self._places)

    def batches(self, first: int, records: int) -> Iterator[_Batch]:
        """Yield batches until so many records have been read."""
        for number, (values, offsets) in enumerate(self.values(records), first):
            yield _Batch(number, _counted(values), offsets)

    def values(self, records: int) -> Iterator[tuple[list[bytes], tuple[Offsets, ...]]]:
        """Yield what was read, batch by batch, until there are so many."""
        while records > 0:
            values, offsets = self._read(min(self._limit, records))
            records -= len(values)
            yield values, offsets
        self._consumer.close()

    def _read(self, limit: int) -> tuple[list[bytes], tuple[Offsets, ...]]:
        """Read until the batch is full, or holds something and there is no more in Kafka now."""
        values: list[bytes] = []
        while len(values) < limit:
            messages = self._consumer.consume(min(limit - len(values), _CHUNK), _WAIT_SECONDS)
            for error in filter(None, map(Message.error, messages)):
                raise KafkaException(error)
            values.extend(message.value() or b"" for message in messages)
            if values and self._is_at_end():
                break
        return values, self._move()

    def _is_at_end(self) -> bool:
        places = self._consumer.position(self._places)
        ends = (self._consumer.get_watermark_offsets(place, cached=True)[1] for place in places)
        return all(self._offset(place) >= end for place, end in zip(places, ends, strict=True))

    def _move(self) -> tuple[Offsets, ...]:
        moved = []
        for place in self._consumer.position(self._places):
            start, stop = self._positions[place.partition], self._offset(place)
            if start < stop:
                moved.append(Offsets(place.partition, start, stop))
                self._positions[place.partition] = stop
        return tuple(moved)

    def _offset(self, place: TopicPartition) -> int:
        """Return the next offset of a partition; it is below zero as long as none of its records came."""
        return place.offset if place.offset >= 0 else self._positions[place.partition]


def _counted(values: list[bytes]) -> pa.Table:
    return paid(values, _FIELDS).group_by("account").aggregate([("amount", "count"), ("amount", "sum")])


def paid(values: list[bytes], fields: pa.Schema) -> pa.Table:
    """Decode, and leave out amounts up to zero, in Arrow's own threads, which leave the interpreter to others."""
    lines = pa.BufferReader(b"\n".join(values))
    parsing = pj.ParseOptions(explicit_schema=fields, unexpected_field_behavior="ignore")
    payments = pj.read_json(
        lines,  # type: ignore[arg-type]  # the stubs leave Arrow's own files out
        pj.ReadOptions(block_size=4 << 20),
        parsing,
    )
    return payments.filter(pc.field("amount") > 0)


def _state(connection: psycopg.Connection) -> tuple[int, dict[int, int]]:
    """Return the number of the next batch and the positions to go on from."""
    with connection.transaction():
        newest = connection.execute("SELECT max(id) FROM batches").fetchone()
        stops = connection.execute(
            "SELECT partition, max(stop_offset) FROM batch_offsets GROUP BY partition"
        ).fetchall()
    number = newest[0] + 1 if newest and newest[0] is not None else 0
    return number, dict(stops)


def main() -> None:
    """Run to the end."""
    arguments = parse("a plain Python loop")
    with connect(arguments.dsn) as connection, ThreadPoolExecutor(1) as committer:
        first, positions = _state(connection)
        reader = Reader(arguments, positions)
        merger = Merger(connection)
        merging: Future[bool] | None = None
        for batch in reader.batches(first, arguments.expected_records - sum(positions.values())):
            if merging is not None:
                merging.result()
            merging = committer.submit(merger.merge, batch.number, batch.updates, batch.offsets)
        if merging is not None:
            merging.result()


if __name__ == "__main__":
    main()
