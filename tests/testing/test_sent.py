"""The cluster in memory under a test's Kafka sinks: held to the contract of sinks, by the sink's own target."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tests.state.arrays import array
from trident.base.crash_points import CrashPoint
from trident.base.errors import RefusedError, RetryableError
from trident.base.order import order_of
from trident.base.timeouts import DEFAULT_TIMEOUTS
from trident.state import KafkaSink
from trident.state.kafka.records import ROWS, Record
from trident.state.memory.database import MemoryDatabase
from trident.state.staged import HeldUpdates
from trident.state.target import Target
from trident.testing import SessionSinkContract, SinkHarness
from trident.testing.lives import Life
from trident.testing.places import TopicPlace
from trident.testing.sent import SentRecords
from trident.testing.sink_harness import begun
from trident.testing.state_harness import batch_of


class SentHarness(SinkHarness):
    points: tuple[CrashPoint, ...] = (
        CrashPoint.AFTER_SESSION,
        CrashPoint.AFTER_READING_MARKER,
        CrashPoint.SENDING,
        CrashPoint.BEFORE_MARKER,
        CrashPoint.BEFORE_END_OF_TRANSACTION,
        CrashPoint.AFTER_END_OF_TRANSACTION,
    )

    def __init__(self) -> None:
        self.place = TopicPlace(KafkaSink("alerts", bootstrap_servers="nobody:9"), SentRecords("trident-markers"))
        self.ledger = MemoryDatabase()

    def open(self) -> Target:
        return self.place.opens(Life())(self.ledger, DEFAULT_TIMEOUTS)

    def rows(self, *words: str) -> pa.Table:
        count = len(words)
        columns: list[list[object]] = [
            ["out"] * count,
            [b"k"] * count,
            [word.encode() for word in words],
            [None] * count,
        ]
        arrays = [array(column, field.type) for column, field in zip(columns, ROWS, strict=False)]
        return pa.table([*arrays, order_of("in", 0, np.arange(count, dtype=np.int64))], schema=ROWS)

    def words(self) -> list[str]:
        return [(record.value or b"").decode() for record in self.place.cluster.seen]


@pytest.fixture
def harness() -> SentHarness:
    return SentHarness()


class TestSentRecords(SessionSinkContract):
    """The contract."""


def test_a_record_that_no_broker_takes_is_refused_before_the_pin(harness: SentHarness) -> None:
    sink = begun(harness)
    with pytest.raises(RefusedError, match="'out'"):
        sink.stage(batch_of(1), HeldUpdates(harness.rows("a" * (1 << 20))))


def test_an_older_session_commits_nothing() -> None:
    cluster = SentRecords("markers")
    older, newer = cluster.open("t.s", {}), cluster.open("t.s", {})
    for session, word in ((older, b"old"), (newer, b"new")):
        session.begin()
        session.send(Record("out", None, word, ()))
    with pytest.raises(RetryableError):
        older.commit()
    assert not cluster.seen
    newer.commit()
    assert [record.value for record in cluster.seen] == [b"new"]
