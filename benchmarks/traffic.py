"""Payments that are produced at a steady rate, each with the time at which it was handed to the client."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import chain

import numpy as np
import numpy.typing as npt
from confluent_kafka import KafkaError, Producer

from benchmarks.workloads import PARTITIONS, SEED
from examples.payments_data import ACCOUNTS, payments

_TICK_SECONDS = 0.005


class SteadyTraffic:
    """Produces payments in turn to all partitions; payment k has offset k // PARTITIONS in partition k % PARTITIONS.

    That holds because one idempotent producer, which keeps the order, is all that writes to the topic.
    """

    def __init__(self, bootstrap_servers: str, topic: str, records: int, accounts: int = ACCOUNTS) -> None:
        self.produced = 0
        self.timestamps: npt.NDArray[np.int64] = np.zeros(records, np.int64)
        self._topic = topic
        self._values: Iterator[bytes] = chain.from_iterable(payments(records, SEED, accounts))
        failed: list[KafkaError] = []  # the client must not refer to this object: it then ends with it
        self._failed = failed
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "enable.idempotence": True,
                "linger.ms": 2,
                "log_level": 3,
                "queue.buffering.max.messages": 1_000_000,
                "delivery.report.only.error": True,
                "on_delivery": lambda error, _: failed.append(error) if error else None,
            }
        )

    def at_once(self, records: int) -> None:
        """Produce so many as fast as they go and wait until the broker has them."""
        self._produce(records)
        self.flush()

    def at_rate(self, records: int, per_second: float) -> float:
        """Produce so many at this rate; returns the rate that was reached, lower on a machine that is too busy."""
        started = time.monotonic()
        first = self.produced
        while (sent := self.produced - first) < records:
            wanted = min(int((time.monotonic() - started) * per_second), records)
            self._produce(wanted - sent)
            time.sleep(_TICK_SECONDS)
        self.flush()
        return records / (time.monotonic() - started)

    def flush(self) -> None:
        """Wait until the broker has all; raises RuntimeError when it does not get them."""
        left = self._producer.flush(60)
        if self._failed or left:
            raise RuntimeError(f"{left} payments were not delivered; errors: {self._failed[:1]}")

    def _produce(self, records: int) -> None:
        now = time.time_ns() // 1_000_000
        for number in range(self.produced, self.produced + records):
            while True:
                try:
                    self._producer.produce(
                        self._topic, next(self._values), partition=number % PARTITIONS, timestamp=now
                    )
                    break
                except BufferError:
                    self._producer.poll(0.1)
        self.timestamps[self.produced : self.produced + records] = now
        self.produced += records
        self._producer.poll(0)
