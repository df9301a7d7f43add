"""A consumer with `read_committed` that reads what a sink sends all the time, as any program may, and its markers."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from chaos.sent import Glance, Marker, Place, Record, Sightings

_POLL_SECONDS = 0.2
_MANY = 2_000
_ASK_SECONDS = 5
_PATIENCE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Sink:
    """What is read of one sink: its topic, and in the topic of markers those of its own key."""

    topic: str
    markers: str
    key: str
    """Its transactional id."""
    value: Callable[[bytes], tuple[int, int]] = field(default=lambda data: _payment(data))


class SinkReader:
    """Reads in a thread of its own until the block ends; topics that are not there yet are waited for."""

    def __init__(self, bootstrap_servers: str, sink: Sink) -> None:
        self._servers = bootstrap_servers
        self._sink = sink
        self._records: list[Record] = []
        self._markers: list[Marker] = []
        self._glances: list[Glance] = []
        self._marker_partition: int | None = None
        self._positions: dict[int, int] = {}
        self._wanted: tuple[int, dict[int, int]] | None = None
        """The txid of a transaction that has ended, and up to where has to be read to have read all of it."""
        self._over = threading.Event()
        self._failed: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=f"reads-{sink.topic}", daemon=True)

    def __enter__(self) -> SinkReader:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def sink(self) -> Sink:
        return self._sink

    @property
    def newest(self) -> Marker | None:
        """The newest marker that came; from any thread."""
        markers = self._markers
        return markers[-1] if markers else None

    @property
    def marker_partition(self) -> int:
        """In which partition of their topic the markers are."""
        return self._marker_partition or 0

    def sender_of(self, txid: int) -> int | None:
        """Return the epoch that has sent a txid, None while nobody has; from any thread."""
        return next((marker.epoch for marker in list(self._markers) if marker.txid >= txid), None)

    def read_to(self, ends: dict[int, int]) -> None:
        """Wait until it has read so far in each partition of the sink's topic; raises RuntimeError if it never does."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while any(self._positions.get(partition, 0) < end for partition, end in ends.items()):
            self.check()
            if time.monotonic() > deadline:
                raise RuntimeError(f"the reader of {self._sink.topic} has come to {self._positions}, not to {ends}")
            time.sleep(0.05)

    def check(self) -> None:
        """Raise the error that ended the reader, if one has."""
        if self._failed is not None:
            raise self._failed

    def seen(self) -> Sightings:
        """Return all that came; raises the error that ended the reader."""
        self.check()
        return Sightings(list(self._records), list(self._markers), list(self._glances))

    def _run(self) -> None:
        try:
            with closing(_consumer(self._servers)) as consumer:
                if self._assign(consumer):
                    while not self._over.is_set():
                        self._take(consumer, consumer.consume(_MANY, _POLL_SECONDS))
        except (KafkaException, ValueError, KeyError) as error:
            self._failed = error

    def _assign(self, consumer: Consumer) -> bool:
        topics = (self._sink.topic, self._sink.markers)
        while not self._over.wait(_POLL_SECONDS):
            try:
                there = consumer.list_topics(timeout=_ASK_SECONDS).topics
            except KafkaException:
                continue
            if all(topic in there for topic in topics):
                consumer.assign([TopicPartition(topic, p, 0) for topic in topics for p in there[topic].partitions])
                self._positions = dict.fromkeys(there[self._sink.topic].partitions, 0)
                return True
        return False

    def _take(self, consumer: Consumer, messages: list[Message]) -> None:
        for message in messages:
            error = message.error()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:
                self._note_position(message, 0)
            elif error is not None and not (error.retriable() or error.code() in _PASSING):
                raise KafkaException(error)
            elif error is None and message.topic() == self._sink.topic:
                self._records.append(record_of(message, self._sink.value))
                self._note_position(message, 1)
            elif error is None and (message.key() or b"").decode() == self._sink.key:
                self._note_marker(consumer, message)
        self._glance()

    def _note_position(self, message: Message, width: int) -> None:
        partition, offset = _place(message)
        if message.topic() == self._sink.topic:
            self._positions[partition] = max(self._positions[partition], offset + width)

    def _note_marker(self, consumer: Consumer, message: Message) -> None:
        """Keep it, and ask up to where has to be read: the transaction before it has ended in all partitions."""
        self._marker_partition = message.partition()
        word = json.loads(message.value() or b"")
        closed = self._markers[-1].txid if self._markers else 0
        if "txid" in word:
            self._markers.append(Marker(word["txid"], word["attempt"], word["epoch"], word["count"]))
        if self._wanted is None and closed:
            try:
                ends = {p: _end(consumer, self._sink.topic, p) for p in self._positions}
            except KafkaException:
                return  # a leader is away: another moment will do
            self._wanted = (closed, ends)

    def _glance(self) -> None:
        if self._wanted is None:
            return
        closed, ends = self._wanted
        if all(self._positions[partition] >= end for partition, end in ends.items()):
            self._glances.append(Glance(closed, dict(self._positions)))
            self._wanted = None


_PASSING = (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT, KafkaError._RESOLVE)


def read_sent(bootstrap_servers: str, sink: Sink) -> tuple[list[Record], dict[int, int]]:
    """Read all that is in a sink's topic, and where its partitions end; raises RuntimeError if that can't be had."""
    records: list[Record] = []
    with closing(_consumer(bootstrap_servers)) as consumer:
        partitions = consumer.list_topics(sink.topic, timeout=_PATIENCE_SECONDS).topics[sink.topic].partitions
        consumer.assign([TopicPartition(sink.topic, p, 0) for p in partitions])
        ends: dict[int, int] = {}
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while len(ends) < len(partitions):
            messages = consumer.consume(_MANY, _POLL_SECONDS)  # it waits for so many as long as it may
            if messages:
                deadline = time.monotonic() + _PATIENCE_SECONDS
            elif time.monotonic() > deadline:
                raise RuntimeError(f"{sink.topic} could not be read to its end")
            for message in messages:
                error = message.error()
                if error is None:
                    records.append(record_of(message, sink.value))
                elif error.code() == KafkaError._PARTITION_EOF:
                    partition, offset = _place(message)
                    ends[partition] = offset
                else:
                    raise KafkaException(error)
    return records, ends


def record_of(message: Message, value: Callable[[bytes], tuple[int, int]]) -> Record:
    """Return a record with what its headers say; raises KeyError where they say nothing."""
    headers = dict(cast("list[tuple[str, bytes]]", message.headers() or []))
    partition, _, offset = headers["trident-source"].decode().rpartition("[")[2].partition("]@")
    return Record(
        _place(message),
        (message.key() or b"").decode(),
        value(message.value() or b""),
        int(headers["trident-txid"]),
        int(headers["trident-attempt"]),
        (int(partition), int(offset)),
    )


def _payment(data: bytes) -> tuple[int, int]:
    word = json.loads(data)
    return int(word["amount"]), int(word["id"])


def _place(message: Message) -> Place:
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    assert offset is not None
    return partition, offset


def _end(consumer: Consumer, topic: str, partition: int) -> int:
    """Return the last stable offset."""
    return int(consumer.get_watermark_offsets(TopicPartition(topic, partition), _ASK_SECONDS, cached=False)[1])


def _consumer(bootstrap_servers: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": f"reader-{uuid.uuid4().hex}",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "log_level": 0,
        }
    )
