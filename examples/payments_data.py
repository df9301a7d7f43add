"""Seeded payments as JSON, produced to a Kafka topic.

    python examples/payments_data.py --bootstrap-servers HOST:PORT --count 1000000

The same seed and count give the same records in the same partitions. About one amount in fifty is
zero or below.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

ACCOUNTS = 100_000
_FIRST_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z
_CHUNK = 50_000


def payments(count: int, seed: int, accounts: int = ACCOUNTS) -> Iterator[list[bytes]]:
    """Yield `count` payments in chunks, each an encoded JSON object with id, account, amount and ts."""
    random = np.random.default_rng(seed)
    for first in range(0, count, _CHUNK):
        size = min(_CHUNK, count - first)
        ids = np.arange(first, first + size)
        owners = random.integers(0, accounts, size)
        amounts = random.integers(1, 1_000_000, size)
        refused = random.random(size) < 0.02
        amounts[refused] = -(amounts[refused] % 3)
        yield _json(ids, owners, amounts)


def produce(
    bootstrap_servers: str, topic: str, count: int, seed: int, partitions: int, accounts: int = ACCOUNTS
) -> None:
    """Produce the payments, dealt to the partitions in turn; returns when the broker has every one of them.

    Raises `RuntimeError` when a record could not be delivered.
    """
    failed: list[KafkaError] = []
    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "enable.idempotence": True,
            "linger.ms": 20,
            "batch.size": 1_000_000,
            "queue.buffering.max.messages": 1_000_000,
            "queue.buffering.max.kbytes": 262_144,
            "log_level": 3,  # a fresh broker makes its coordinator first, which is no reason for a warning
            "error_cb": failed.append,
            "delivery.report.only.error": True,
            "on_delivery": lambda error, _: failed.append(error) if error else None,
        }
    )
    number = 0
    for chunk in payments(count, seed, accounts):
        for value in chunk:
            producer.produce(topic, value, partition=number % partitions)
            number += 1
        while len(producer) > 500_000:
            producer.poll(0.05)
    left = producer.flush(120)
    if failed or left:
        raise RuntimeError(f"{left} payments were not delivered; first error: {failed[0] if failed else 'time is up'}")


def create_topic(bootstrap_servers: str, topic: str, partitions: int) -> None:
    """Create the topic; a no-op when it is there."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    (outcome,) = admin.create_topics([NewTopic(topic, partitions, 1)]).values()
    try:
        outcome.result(60)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


def _json(ids: np.ndarray, owners: np.ndarray, amounts: np.ndarray) -> list[bytes]:
    numbers = pc.utf8_lpad(pa.array(owners).cast(pa.string()), 6, "0")
    joined = pc.binary_join_element_wise(
        '{"id":',
        pa.array(ids).cast(pa.string()),
        ',"account":"account-',
        numbers,
        '","amount":',
        pa.array(amounts).cast(pa.string()),
        ',"ts":',
        pa.array(ids + _FIRST_MS).cast(pa.string()),
        "}",
        "",
    )
    encoded: list[bytes] = joined.cast(pa.binary()).to_pylist()
    return encoded


def main() -> None:
    """Produce payments to a topic."""
    parser = argparse.ArgumentParser(description="Produce seeded payments as JSON")
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--topic", default="payments")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--create", action="store_true", help="create the topic if it is not there")
    arguments = parser.parse_args()
    if arguments.create:
        create_topic(arguments.bootstrap_servers, arguments.topic, arguments.partitions)
    produce(arguments.bootstrap_servers, arguments.topic, arguments.count, arguments.seed, arguments.partitions)


if __name__ == "__main__":
    main()
