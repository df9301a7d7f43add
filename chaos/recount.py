"""The whole topic, read once with nothing of the library: what every prefix of every partition must come to."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

_PATIENCE_SECONDS = 60
_POLL_SECONDS = 0.5

Totals = dict[str, tuple[int, int, int]]
"""By account: how many payments above zero, the sum of their amounts, the sum of their ids."""


@dataclass(frozen=True)
class Topic:
    """What the topic holds."""

    totals: Totals
    prefixes: dict[int, np.ndarray]
    """By partition, row n: count, amounts and ids of the payments above zero below offset n."""

    @property
    def records(self) -> int:
        """How many records there are, those that are filtered out included."""
        return sum(len(prefix) - 1 for prefix in self.prefixes.values())

    def below(self, stops: dict[int, int]) -> tuple[int, int, int]:
        """Return count, amounts and ids of all payments above zero below the given offsets."""
        count, amounts, ids = np.sum([self.prefixes[p][stop] for p, stop in stops.items()], axis=0).tolist()
        return count, amounts, ids


def read_topic(bootstrap_servers: str, topic: str) -> Topic:
    """Read every record that is in the topic now; raises RuntimeError when its end can't be reached."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "recount",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    try:
        return _read(consumer, topic)
    finally:
        consumer.close()


def _read(consumer: Consumer, topic: str) -> Topic:
    partitions = consumer.list_topics(topic, timeout=_PATIENCE_SECONDS).topics[topic].partitions
    ends = {
        p: consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=_PATIENCE_SECONDS)[1] for p in partitions
    }
    rows = {p: np.zeros((end + 1, 3), np.int64) for p, end in ends.items()}
    totals: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    left = sum(ends.values())
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in partitions])
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while left > 0:
        messages = consumer.consume(10_000, timeout=_POLL_SECONDS)  # it waits for so many as long as it may
        if messages:
            deadline = time.monotonic() + _PATIENCE_SECONDS
        elif time.monotonic() > deadline:
            raise RuntimeError(f"the recount could not read the last {left} records of {topic}")
        for message in messages:
            if message.error():
                raise KafkaException(message.error())
            value, offset = message.value(), message.offset()
            assert value is not None
            assert offset is not None
            payment = json.loads(value)
            if payment["amount"] > 0:
                seen = (1, payment["amount"], payment["id"])
                rows[message.partition()][offset + 1] = seen
                of_account = totals[payment["account"]]
                for index, number in enumerate(seen):
                    of_account[index] += number
        left -= len(messages)
    prefixes = {p: np.cumsum(each, axis=0) for p, each in rows.items()}
    return Topic({account: (n, total, ids) for account, (n, total, ids) in totals.items()}, prefixes)
