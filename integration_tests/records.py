"""Producing to and counting topics, independently of the library."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping

import psycopg
from confluent_kafka import Producer

Balances = Mapping[str | None, tuple[int, int]]
Payment = tuple[str, int]


def payments(count: int, accounts: int = 97, first: int = 0) -> list[Payment]:
    """Return payments with every eleventh amount below zero."""
    return [(f"a{n * 31 % accounts}", n % 1000 - (2000 if n % 11 == 0 else 0)) for n in range(first, first + count)]


def produce(bootstrap_servers: str, topic: str, records: Iterable[Payment], partitions: int = 4) -> None:
    """Deal payments to the partitions in turn, as JSON; returns when the broker has them all."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 5})
    for number, (account, amount) in enumerate(records):
        producer.produce(topic, json.dumps({"account": account, "amount": amount}), partition=number % partitions)
        producer.poll(0)
    assert producer.flush(30) == 0


def expected(records: Iterable[Payment]) -> Balances:
    """Return count and sum of the positive amounts per account."""
    sums: dict[str | None, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for account, amount in records:
        if amount > 0:
            n, total = sums[account]
            sums[account] = (n + 1, total + amount)
    return dict(sums)


def balances(dsn: str, table: str = "balances") -> Balances:
    """Return what a user's query sees."""
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(f"SELECT account, n, total FROM {table}").fetchall()
    return {account: (n, int(total)) for account, n, total in rows}
