"""A read that brings no record although the client fetches is no stall; one in which nothing is fetched is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, count
from unittest.mock import Mock

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, Message

from trident.base.errors import RetryableError
from trident.base.ranges import Edge, OffsetRange, PartitionId
from trident.spouts.decoders.raw import RawTaskDecoder
from trident.spouts.kafka.hiding import ConsumerOptions
from trident.spouts.kafka.progress import Fetched, TellingConsumer, telling
from trident.spouts.kafka.readers import arrow_task
from trident.spouts.kafka.readers.arrow_task import ReadRanges

ID = PartitionId("t", 3)
_ASKED = 40


def told(next_offset: int) -> str:
    return json.dumps({"topics": {"t": {"partitions": {"3": {"next_offset": next_offset}, "-1": {}}}}})


def read(monkeypatch: pytest.MonkeyPatch, offsets: Iterator[int]) -> int:
    """Read a range whose records are behind a gap; each fetch takes a second, and the client tells of the offsets."""
    silent, telling_one, asked = Mock(spec=Consumer), Mock(spec=TellingConsumer), count(1)
    telling_one.fetched = Fetched()
    record = Message(topic="t", partition=3, offset=10**6, value=b"x", timestamp=(1, 1_700_000_000_000))

    def consume(*_: object) -> list[Message]:
        telling_one.fetched(told(next(offsets)))
        return [record] if next(asked) >= _ASKED else []

    silent.consume.return_value = []
    telling_one.consume.side_effect = consume

    @contextmanager
    def lent(options: dict[str, str], topics: dict[str, str]) -> Iterator[Mock]:
        assert (options, topics) == ({}, {"t": "id"})
        yield silent

    @contextmanager
    def made(options: dict[str, str], stall_seconds: float) -> Iterator[Mock]:
        assert (options, stall_seconds) == ({}, 10.0)
        assert silent.consume.call_count in (1, 2, 3)
        yield telling_one

    seconds = count(0)
    monkeypatch.setattr(arrow_task, "borrowed_consumer", lent)
    monkeypatch.setattr(arrow_task, "telling_consumer", made)
    monkeypatch.setattr("trident.spouts.kafka.progress.time.monotonic", lambda: float(next(seconds)))
    edge = Edge(1, OffsetRange(ID, "id", 0, 100))
    list(ReadRanges(ConsumerOptions({}, {}, None), ((edge,),), RawTaskDecoder(), 100, 10.0)([_row()]))
    return int(telling_one.consume.call_count)


def _row() -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"group": [0]})


def test_a_gap_that_takes_longer_than_a_stall_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(monkeypatch, count(500, 500)) == _ASKED


@pytest.mark.parametrize("offsets", [(0,), (700,), (500, 300)], ids=["nothing", "then nothing", "to and fro"])
def test_a_client_that_gets_no_further_is_given_up(monkeypatch: pytest.MonkeyPatch, offsets: tuple[int, ...]) -> None:
    again = chain.from_iterable(offsets for _ in range(_ASKED))
    with pytest.raises(RetryableError, match=r"Kafka sent nothing for 10 s while reading t\[3\] at 0 of 100"):
        read(monkeypatch, again)


@pytest.mark.parametrize(("seconds", "told_ms"), [(0.001, "10"), (30, "7500"), (10**9, "86400000")])
def test_the_client_tells_of_itself_several_times_within_a_stall(seconds: float, told_ms: str) -> None:
    assert telling(seconds) == {"statistics.interval.ms": told_ms}


def test_of_what_was_never_told_nothing_is_fetched() -> None:
    fetched = Fetched()
    assert fetched.positions([ID]) == 0
    fetched(json.dumps({"topics": {"t": {"partitions": {"3": {"next_offset": -1001}}}}}))
    assert fetched.positions([ID, PartitionId("u", 0)]) == 0
    fetched(told(8))
    assert (fetched.positions([ID]), fetched.positions([ID])) == (8, 8)
