"""Poison in every part of a record (key, header's name, header's value, timestamp, value), read by both readers.

What one reader makes of a record the other makes too, or it is said here in which it differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from confluent_kafka import Producer
from kafka import KafkaProducer
from pyspark.sql import Row, SparkSession

from integration_tests.fix_kafka import Kafka
from integration_tests.fix_spark import connector
from integration_tests.spouts.logs import FOREVER, ReadBack, edges_of, read_back
from trident.base.ranges import BadRecordRow
from trident.spouts import Json, OpaqueKafkaSpout, Raw
from trident.spouts.decoders.base import Decoder
from trident.spouts.kafka.readers.arrow import ArrowReader
from trident.spouts.kafka.readers.base import RangeReader
from trident.spouts.kafka.readers.spark import SparkReader

ANY_TIME = {**FOREVER, "message.timestamp.after.max.ms": str(2**63 - 1)}
NOW = 1_791_536_000_000
LAST = 253_402_300_799_999
Header = tuple[str, str | bytes | None]


class Name(str):
    """A header's name whose bytes are others than its letters."""

    data: bytes

    def encode(self, *_: object) -> bytes:  # as kafka-python calls it
        return self.data


def name_of(data: bytes) -> Name:
    name = Name("x")
    name.data = data
    return name


@dataclass(frozen=True)
class Part:
    """A record that is poisoned in one part."""

    key: bytes | None = b"k"
    value: bytes | None = b'{"n": 1}'
    timestamp: int = NOW
    headers: tuple[Header, ...] = ()


PARTS = {
    "nothing": Part(),
    "no key": Part(key=None),
    "an empty key": Part(key=b""),
    "a key that is not UTF-8": Part(key=b"tr\xffce"),
    "a key with NUL": Part(key=b"a\0b"),
    "no value": Part(value=None),
    "an empty value": Part(value=b""),
    "a value that is not UTF-8": Part(value=b"\xff\xfe"),
    "a value with NUL": Part(value=b'{"n": 1}\0'),
    "an empty header": Part(headers=(("", b""),)),
    "a header without a value": Part(headers=(("h", None), ("h", b"2"))),
    "a header's value that is not UTF-8": Part(headers=(("ü", b"\xff\0"),)),
    "a header's name that is not UTF-8": Part(headers=(("ok", b"1"), (name_of(b"tr\xffce"), b"2"))),
    "two such names": Part(headers=((name_of(b"\xff"), b"1"), (name_of(b"\xfe"), b""), ("ok", b"2"))),
    "a header's name with NUL": Part(headers=((name_of(b"n\0ul"), b"1"),)),
    "the last moment": Part(timestamp=LAST),
    "a moment behind it": Part(timestamp=LAST + 1),
    "microseconds": Part(timestamp=NOW * 1000),
    "before 1970": Part(timestamp=-5000),
}
ORDER = list(PARTS)
WITH_NUL = ORDER.index("a header's name with NUL")
NO_TEXT = [ORDER.index(what) for what in ("a header's name that is not UTF-8", "two such names")]
NO_MOMENT = [ORDER.index(what) for what in ("a moment behind it", "microseconds", "before 1970")]


def produce_all(kafka: Kafka, topic: str, parts: Sequence[Part]) -> None:
    """Each by the client that can write it, in their order."""
    librdkafka = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    python = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    for part in parts:
        headers = list(part.headers)
        if any(isinstance(name, Name) for name, _ in headers):
            sent = python.send(topic, part.value, part.key, headers, partition=0, timestamp_ms=part.timestamp)
            sent.get(timeout=30)
        else:
            librdkafka.produce(
                topic, part.value, part.key, partition=0, timestamp=part.timestamp, headers=headers or None
            )
            assert librdkafka.flush(30) == 0
    python.close()


@pytest.fixture(scope="module")
def topic(kafka: Kafka) -> str:
    name = kafka.create_topic(configs=ANY_TIME)
    produce_all(kafka, name, list(PARTS.values()))
    return name


def read(kafka: Kafka, spark: SparkSession, topic: str, value: Decoder, reader: RangeReader) -> ReadBack:
    source = OpaqueKafkaSpout(topic, bootstrap_servers=kafka.bootstrap_servers, value=value, reader=reader).open("s")
    try:
        return read_back(source, spark, edges_of(source.bounds()))
    finally:
        source.close()


def in_order(rows: Sequence[Row]) -> dict[int, Row]:
    return {row["offset"]: row for row in rows}


def names_in(row: Row) -> list[str]:
    return [header["key"] for header in row["headers"]]


def check_bad(bad: Sequence[BadRecordRow], offsets: Sequence[int]) -> None:
    parts = list(PARTS.values())
    wanted = [(at, parts[at].timestamp, parts[at].key, parts[at].value) for at in offsets]
    assert [(each.offset, each.timestamp, each.key, each.value) for each in bad] == wanted


@pytest.mark.parametrize("chunk", [1, 5, 10_000])
def test_raw_records_are_what_they_are_or_bad_alone(kafka: Kafka, spark: SparkSession, topic: str, chunk: int) -> None:
    """However many the client gives out at once: a worker that looked into what it could not read would die."""
    read_ = read(kafka, spark, topic, Raw(), ArrowReader(chunk_records=chunk))
    rows = in_order(read_.rows)
    check_bad(read_.bad, [*NO_TEXT, *NO_MOMENT])
    assert sorted([*rows, *NO_TEXT, *NO_MOMENT]) == list(range(len(PARTS)))
    for offset, row in rows.items():
        part = PARTS[ORDER[offset]]
        assert (row["key"], row["value"]) == (part.key, part.value)
        if offset != WITH_NUL:
            headers = [(header["key"], header["value"]) for header in row["headers"] or ()]
            assert headers == list(part.headers)
    assert names_in(rows[WITH_NUL]) == ["n"]  # librdkafka gives out no more of it
    reasons = {each.offset: each.reason for each in read_.bad}
    assert [offset for offset, reason in reasons.items() if "header" in reason] == NO_TEXT
    assert [offset for offset, reason in reasons.items() if "timestamp" in reason] == NO_MOMENT


@connector
def test_both_readers_make_the_same_of_raw_records(kafka: Kafka, spark: SparkSession, topic: str) -> None:
    """Java reads what is no UTF-8, and what is behind a NUL, of a header's name."""
    ours, javas = (read(kafka, spark, topic, Raw(), reader) for reader in (ArrowReader(), SparkReader()))
    check_bad(javas.bad, NO_MOMENT)
    assert javas.bad == [each for each in ours.bad if each.offset not in NO_TEXT]
    mine, other = in_order(ours.rows), in_order(javas.rows)
    assert [names_in(other.pop(offset)) for offset in NO_TEXT] == [["ok", "tr\ufffdce"], ["\ufffd", "\ufffd", "ok"]]
    assert (names_in(mine.pop(WITH_NUL)), names_in(other.pop(WITH_NUL))) == (["n"], ["n\0ul"])
    assert mine == other


@connector
def test_both_readers_make_the_same_of_json_records(kafka: Kafka, spark: SparkSession, topic: str) -> None:
    """Only the value can be bad where nothing else is asked for."""
    ours, javas = (read(kafka, spark, topic, Json("n bigint"), reader) for reader in (ArrowReader(), SparkReader()))
    assert (ours.rows, ours.bad) == (javas.rows, javas.bad)
    bad = {ORDER[each.offset] for each in ours.bad}
    assert "a value that is not UTF-8" in bad
    assert bad <= {"a value that is not UTF-8", "a value with NUL", "an empty value"}
    assert len(ours.rows) == len(PARTS) - len(bad)
