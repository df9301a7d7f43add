"""The contract of a sink, held by a real Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pytest

from integration_tests.fix_kafka import Kafka
from integration_tests.sinks.reading import values
from tests.state.arrays import array
from trident.base.crash_points import CrashPoint
from trident.base.order import order_of
from trident.state import KafkaSink
from trident.state.kafka.records import ROWS
from trident.state.memory.database import MemoryDatabase
from trident.state.target import Target
from trident.testing import SessionSinkContract, SinkHarness


class KafkaHarness(SinkHarness):
    """A topic of its own, and markers in the topic that all tests share."""

    points: tuple[CrashPoint, ...] = (
        CrashPoint.AFTER_SESSION,
        CrashPoint.AFTER_READING_MARKER,
        CrashPoint.BEFORE_MARKER,
        CrashPoint.BEFORE_END_OF_TRANSACTION,
        CrashPoint.AFTER_END_OF_TRANSACTION,
    )

    def __init__(self, servers: str, topic: str) -> None:
        self.servers = servers
        self.topic = topic
        self.ledger = MemoryDatabase()
        self.name = f"sink-{uuid4().hex[:8]}"
        self.opened: list[Target] = []

    def open(self) -> Target:
        self.opened.append(KafkaSink(self.name, bootstrap_servers=self.servers).open(self.ledger))
        return self.opened[-1]

    def rows(self, *words: str) -> pa.Table:
        count = len(words)
        columns: list[list[object]] = [[self.topic] * count, [b"k"] * count, [word.encode() for word in words]]
        columns.append([None] * count)
        arrays = [array(column, field.type) for column, field in zip(columns, ROWS, strict=False)]
        return pa.table([*arrays, order_of("in", 0, np.arange(count, dtype=np.int64))], schema=ROWS)

    def words(self) -> list[str]:
        return values(self.servers, self.topic)


@pytest.fixture
def harness(kafka: Kafka) -> Iterator[KafkaHarness]:
    found = KafkaHarness(kafka.bootstrap_servers, kafka.create_topic())
    yield found
    for sink in found.opened:
        sink.close()


class TestKafkaSink(SessionSinkContract):
    """The contract."""
