"""What the Arrow reader does with a partition whose range has ended while others of its task go on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import Mock

import pyarrow as pa
import pytest
from confluent_kafka import Message, TopicPartition

from trident.base.control import CONTROL, decode
from trident.base.ranges import Edge, OffsetRange, PartitionId, RangeManifest
from trident.spouts.decoders.raw import RawTaskDecoder
from trident.spouts.kafka.hiding import ConsumerOptions
from trident.spouts.kafka.progress import Fetched, TellingConsumer
from trident.spouts.kafka.readers import arrow_task
from trident.spouts.kafka.readers.arrow_task import ReadRanges


def message(partition: int, offset: int) -> Message:
    return Message(topic="t", partition=partition, offset=offset, value=b"x", timestamp=(1, 1_700_000_000_000))


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """What three fetches bring: all of partition 0 and more, then more of it still, then all of partition 1."""
    fake = Mock(spec=TellingConsumer)
    fake.fetched = Fetched()
    fake.consume.side_effect = [
        [message(0, 0), message(0, 1), message(0, 2)],
        [message(0, 3), message(1, 0)],
        [message(1, 1), message(1, 2)],
    ]

    @contextmanager
    def lent(options: dict[str, str], topics: dict[str, str]) -> Iterator[Mock]:
        yield fake

    monkeypatch.setattr(arrow_task, "borrowed_consumer", lent)
    return fake


def read() -> tuple[list[tuple[int, int]], list[tuple[int, int | None, int]]]:
    edges = tuple(Edge(number, OffsetRange(PartitionId("t", number), "id", 0, 2)) for number in range(2))
    task = ReadRanges(ConsumerOptions({}, {}, None), (edges,), RawTaskDecoder(), 100, 1.0)
    table = pa.Table.from_batches(task([pa.RecordBatch.from_pydict({"group": [0]})]))
    rows = [(row["partition"], row["offset"]) for row in table.to_pylist() if row[CONTROL] is None]
    words = [decode(str(word)) for word in table.column(CONTROL).drop_null().to_pylist()]
    return rows, [(word.edge, word.position, word.count) for word in words if isinstance(word, RangeManifest)]


def test_records_behind_the_stop_are_not_counted_whenever_they_come(consumer: Mock) -> None:
    rows, manifests = read()
    assert rows == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert manifests == [(0, 2, 2), (1, 2, 2)]


def test_a_finished_partition_leaves_the_assignment_and_is_never_paused(consumer: Mock) -> None:
    """A pause outlives the range: the worker's next task was held up by it for a second now and then."""
    read()
    assert [call.args[0] for call in consumer.incremental_unassign.call_args_list] == [[TopicPartition("t", 0)]]
    consumer.pause.assert_not_called()
    consumer.resume.assert_not_called()
