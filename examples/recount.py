"""An independent recount: what is in the topic, and what the table says, compared account by account.

It shares no code with the library: a Kafka consumer, the standard JSON decoder and one SELECT.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass

import psycopg
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

Balances = dict[str, tuple[int, int]]
"""Count and sum of the amounts above zero, by account."""

_PATIENCE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Recount:
    """What the topic holds, and how many accounts the table has otherwise."""

    records: int
    accounts: int
    difference: int


def recount(bootstrap_servers: str, topic: str, dsn: str) -> Recount:
    """Read the whole topic and the whole table, and compare every account of either."""
    records, expected = balances_in_topic(bootstrap_servers, topic)
    stored = balances_in_table(dsn)
    wrong = [account for account in expected.keys() | stored.keys() if expected.get(account) != stored.get(account)]
    return Recount(records, len(expected), len(wrong))


def balances_in_topic(bootstrap_servers: str, topic: str) -> tuple[int, Balances]:
    """Read every record that is in the topic now; returns their number and the balances.

    Raises `RuntimeError` when the topic can't be read to its end.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "recount",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "fetch.message.max.bytes": 4_194_304,
            "queued.min.messages": 500_000,
        }
    )
    try:
        return _read(consumer, topic)
    finally:
        consumer.close()


def balances_in_table(dsn: str) -> Balances:
    """Read the table as any user would."""
    with psycopg.connect(dsn) as connection:
        rows = connection.execute("SELECT account, n, total FROM balances").fetchall()
    return {account: (int(count), int(total)) for account, count, total in rows}


def _read(consumer: Consumer, topic: str) -> tuple[int, Balances]:
    counts: defaultdict[str, int] = defaultdict(int)
    totals: defaultdict[str, int] = defaultdict(int)
    partitions = consumer.list_topics(topic, timeout=_PATIENCE_SECONDS).topics[topic].partitions
    ends = {p: consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=_PATIENCE_SECONDS) for p in partitions}
    left = sum(high - low for low, high in ends.values())  # the topic was produced without transactions: no holes
    records = left
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in partitions])
    while left > 0:
        messages = consumer.consume(10_000, timeout=_PATIENCE_SECONDS)
        if not messages:
            raise RuntimeError(f"the recount could not read the last {left} records of {topic}")
        for message in messages:
            if message.error():
                raise KafkaException(message.error())
            payment = json.loads(message.value() or "{}")
            if payment.get("amount", 0) > 0:
                counts[payment["account"]] += 1
                totals[payment["account"]] += payment["amount"]
        left -= len(messages)
    return records, {account: (count, totals[account]) for account, count in counts.items()}
