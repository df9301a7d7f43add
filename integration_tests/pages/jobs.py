"""The tutorial's topology and its payments, for pages that begin where it ends."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Final

import psycopg
from confluent_kafka import Producer

from integration_tests.pages.walking import Walk, file_of
from tests.pages.blocks import blocks_of

TUTORIAL: Final = "docs/tutorial.md"
RUN: Final = "trident run payments.py:topology --until caught_up"
Payment = tuple[str, int]


def payments_of(version: int) -> str:
    """Return the tutorial's `payments.py`, the first or the second one."""
    found = [block.text for block in blocks_of(TUTORIAL) if file_of(block) == "payments.py"]
    return found[version - 1]


def write(walking: Walk, text: str) -> None:
    """Put a version of the topology where commands look for it."""
    (walking.folder / "payments.py").write_text(text)


def send(values: Iterable[bytes], partitions: int = 4) -> None:
    """Deal values to the partitions of the topic in turn."""
    producer = Producer({"bootstrap.servers": os.environ["KAFKA"], "linger.ms": 5})
    for number, value in enumerate(values):
        producer.produce("payments", value, partition=number % partitions)
    assert producer.flush(30) == 0


def encoded(payments: Iterable[Payment]) -> list[bytes]:
    """Return payments as they are sent."""
    return [json.dumps({"account": account, "amount": amount}).encode() for account, amount in payments]


def sums_of(
    payments: Iterable[Payment], before: Mapping[str, tuple[int, int]] | None = None
) -> dict[str, tuple[int, int]]:
    """Return count and sum of the amounts above zero, by account."""
    found = dict(before or {})
    for account, amount in payments:
        if amount > 0:
            n, total = found.get(account, (0, 0))
            found[account] = (n + 1, total + amount)
    return found


def sums_in(dsn: str, table: str = "balances") -> dict[str, tuple[int, int]]:
    """Return what a query sees."""
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(f"SELECT account, n, total FROM {table}").fetchall()  # type: ignore[call-overload, unused-ignore]
    return {account: (n, int(total)) for account, n, total in rows}
