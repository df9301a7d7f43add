"""An independent recount: what is in the topic, and what each output says, compared one by one.

It shares no code with the library: a Kafka consumer, the standard JSON decoder and one SELECT.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import psycopg
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

Balances = dict[str, tuple[int, int]]
"""Count and sum of the amounts above zero, by account."""
LIMIT = 990_000
"""Payments above it are alerts."""

_PATIENCE_SECONDS = 30
_LOOK_SECONDS = 0.2


@dataclass(slots=True)
class InTopic:
    """What the topic of payments holds."""

    records: int = 0
    balances: Balances = field(default_factory=dict)
    large: Counter[int] = field(default_factory=Counter)
    """The ids of payments above the limit."""
    refused: Counter[int] = field(default_factory=Counter)
    """The ids of payments of zero or below."""


@dataclass(frozen=True, slots=True)
class Recount:
    """What the topic holds, and how many accounts, rows and alerts are otherwise than they should be."""

    records: int
    accounts: int
    suspicious: int
    alerts: int
    difference: int


def recount(bootstrap_servers: str, topic: str, alerts: str, dsn: str) -> Recount:
    """Read topic, tables and alerts, and compare every account, row and alert: each has to be there once."""
    expected, stored = payments_in_topic(bootstrap_servers, topic), balances_in_table(dsn)
    accounts = expected.balances.keys() | stored.keys()
    wrong = sum(expected.balances.get(account) != stored.get(account) for account in accounts)
    rows, sent = suspicious_in_table(dsn), alerts_in_topic(bootstrap_servers, alerts)
    for found, due in ((rows, expected.refused), (sent, expected.large)):
        wrong += sum(((found - due) + (due - found)).values())
    return Recount(expected.records, len(expected.balances), rows.total(), sent.total(), wrong)


def payments_in_topic(bootstrap_servers: str, topic: str) -> InTopic:
    """Read every payment that is in the topic now; raises `RuntimeError` when it can't be read to its end."""
    found = InTopic()
    counts: defaultdict[str, int] = defaultdict(int)
    totals: defaultdict[str, int] = defaultdict(int)
    for value in _values(bootstrap_servers, topic):
        payment = json.loads(value)
        found.records += 1
        if payment["amount"] > 0:
            counts[payment["account"]] += 1
            totals[payment["account"]] += payment["amount"]
        else:
            found.refused[payment["id"]] += 1
        if payment["amount"] > LIMIT:
            found.large[payment["id"]] += 1
    found.balances = {account: (count, totals[account]) for account, count in counts.items()}
    return found


def alerts_in_topic(bootstrap_servers: str, topic: str) -> Counter[int]:
    """Return how often each payment was told, as a reader of committed records sees it."""
    return Counter(json.loads(value)["id"] for value in _values(bootstrap_servers, topic))


def _values(bootstrap_servers: str, topic: str) -> Iterator[bytes]:
    """Yield every committed record's value that is in the topic now."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "recount",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "fetch.message.max.bytes": 4_194_304,
            "queued.min.messages": 500_000,
            "enable.partition.eof": True,
        }
    )
    try:
        yield from _read(consumer, topic)
    finally:
        consumer.close()


def balances_in_table(dsn: str) -> Balances:
    """Read the table as any user would."""
    with psycopg.connect(dsn) as connection:
        rows = connection.execute("SELECT account, n, total FROM balances").fetchall()
    return {account: (int(count), int(total)) for account, count, total in rows}


def suspicious_in_table(dsn: str) -> Counter[int]:
    """Return how often each payment has a row."""
    with psycopg.connect(dsn) as connection:
        return Counter(int(row[0]) for row in connection.execute("SELECT id FROM suspicious"))


def _read(consumer: Consumer, topic: str) -> Iterator[bytes]:
    partitions = consumer.list_topics(topic, timeout=_PATIENCE_SECONDS).topics[topic].partitions
    open_ones = set(partitions)
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in partitions])
    heard_at = time.monotonic()
    while open_ones:
        messages = consumer.consume(10_000, timeout=_LOOK_SECONDS)
        heard_at = time.monotonic() if messages else heard_at
        if time.monotonic() > heard_at + _PATIENCE_SECONDS:
            raise RuntimeError(f"the recount could not read partitions {sorted(open_ones)} of {topic} to their ends")
        for message in messages:
            error = message.error()
            if error is None:
                yield message.value() or b"{}"
            elif error.code() == KafkaError._PARTITION_EOF:
                open_ones.discard(message.partition())
            else:
                raise KafkaException(error)
