"""What `Raw()` makes of each part of a record, whatever a producer has written there."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Message

from trident.base.control import CONTROL, BadRecordWord, decode
from trident.base.ranges import BadRecordRow, Edge, OffsetRange, PartitionId
from trident.spouts.decoders.raw import RawTaskDecoder
from trident.spouts.kafka.readers.arrow_task import MessageRecords

NOW = 1_791_536_000_000
LAST = 253_402_300_799_999
WRAPS = 1_660_208_866_633_859_646
"""In nanoseconds a moment of 2022; times a thousand, in 64 bits, one of 2030."""


def message(offset: int, stamp: int = NOW, key: bytes | None = b"k") -> Message:
    return Message(topic="t", partition=0, offset=offset, key=key, value=b"v%d" % offset, timestamp=(1, stamp))


def decoded(messages: list[Message]) -> tuple[dict[int, datetime | None], list[BadRecordRow]]:
    """Return the moments of the rows and the bad records."""
    edge = Edge(7, OffsetRange(PartitionId("t", 0), "id", 0, 100))
    offsets = np.array([item.offset() for item in messages], dtype=np.int64)
    table = pa.Table.from_batches(RawTaskDecoder().decode(MessageRecords(edge, messages, offsets)))
    words = [decode(str(word)) for word in table.column(CONTROL).drop_null().to_pylist()]
    assert all(isinstance(word, BadRecordWord) and word.edge == 7 for word in words)
    rows = {row["offset"]: row["timestamp"] for row in table.to_pylist() if row[CONTROL] is None}
    return rows, [word.record for word in words if isinstance(word, BadRecordWord)]


@pytest.mark.parametrize("stamp", [0, 1, NOW, LAST])
def test_milliseconds_are_the_moment_that_they_are(stamp: int) -> None:
    rows, bad = decoded([message(3, stamp)])
    (moment,) = rows.values()
    assert moment is not None
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    assert (since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000, bad) == (stamp, [])


def test_no_timestamp_is_none() -> None:
    assert decoded([message(3, -1)]) == ({3: None}, [])


@pytest.mark.parametrize("stamp", [LAST + 1, NOW * 1000, WRAPS, 2**63 - 1, -2, -5000, -WRAPS, -(2**63)])
def test_what_is_no_moment_is_a_bad_record_alone_and_never_another_moment(stamp: int) -> None:
    rows, (bad,) = decoded([message(3), message(4, stamp, b"\xff"), message(9)])
    assert set(rows) == {3, 9}
    assert (bad.id, bad.offset, bad.timestamp, bad.key, bad.value) == (PartitionId("t", 0), 4, stamp, b"\xff", b"v4")
    assert "timestamp" in bad.reason
