"""The proxies in front of all brokers, as one: what becomes of the next request that ends a transaction."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from trident.testing.kafka_proxy import Fate, KafkaProxy


class EndsOfTransactions:
    """Lets the next end that comes by meet a fate, at whichever broker; may be called from any thread."""

    def __init__(self, proxies: Sequence[KafkaProxy]) -> None:
        self._proxies = proxies
        self._lock = threading.Lock()
        self._next = Fate.PASSED
        for proxy in proxies:
            proxy.decide(self._decide)

    @property
    def bootstrap_servers(self) -> str:
        """The way to the brokers through the proxies."""
        return ",".join(proxy.bootstrap_servers for proxy in self._proxies)

    def next_meets(self, fate: Fate) -> None:
        """Let the next end meet this fate; those behind it pass."""
        with self._lock:
            self._next = fate

    def is_met(self) -> bool:
        """Whether the fate has been met."""
        with self._lock:
            return self._next is Fate.PASSED

    def deliver(self) -> int:
        """Pass on what is kept to come late; returns how many requests."""
        return sum(proxy.deliver() for proxy in self._proxies)

    def _decide(self, _: int) -> Fate:
        with self._lock:
            fate, self._next = self._next, Fate.PASSED
            return fate
