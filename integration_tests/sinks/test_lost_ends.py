"""Ends of transactions that are lost, late or answered twice, through a proxy in front of a real Kafka.

librdkafka sends such a request again by itself: what it tells then is that all is well.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from integration_tests.sinks.reading import values
from integration_tests.sinks.test_kafka_sink_contract import KafkaHarness
from tests.effort import base_seed, effort
from trident.base.errors import OutcomeUnknownError, RetryableError
from trident.local.kafka import LocalKafka
from trident.state import KafkaSink
from trident.state.staged import StagedUpdates
from trident.state.target import Target
from trident.testing.kafka_proxy import Fate, KafkaProxy
from trident.testing.sink_harness import begun, staged
from trident.testing.state_harness import batch_of

_IN_TROUBLE = 0.06
"""How many of the ends, beside the first ones of each kind."""


class ProxiedHarness(KafkaHarness):
    """Reaches Kafka through the proxy, with a client that soon asks again."""

    def open(self) -> Target:
        options = {"socket.timeout.ms": "1000"}
        sink = KafkaSink(self.name, bootstrap_servers=self.servers, client_options=options)
        self.opened.append(sink.open(self.ledger))
        return self.opened[-1]


@pytest.fixture(scope="module")
def proxied() -> Iterator[tuple[KafkaProxy, LocalKafka]]:
    with KafkaProxy(delay_seconds=1.3) as proxy, LocalKafka(proxy_port=proxy.port) as kafka:
        proxy.lead_to(kafka.proxied_port)
        yield proxy, kafka


@pytest.mark.verify(short=True)
@pytest.mark.timeout(900)
def test_whatever_becomes_of_ends_each_txid_is_there_once(proxied: tuple[KafkaProxy, LocalKafka]) -> None:
    proxy, kafka = proxied
    kafka.create_topic("out")
    harness = ProxiedHarness(proxy.bootstrap_servers, "out")
    sink = begun(harness)
    rng = random.Random(base_seed())
    troubles = [fate for fate in Fate if fate is not Fate.PASSED]
    first = [fate for each in rng.sample(troubles, len(troubles)) for fate in (each, Fate.PASSED)]

    def fate(_: int) -> Fate:
        if first:
            return first.pop()
        return rng.choice(troubles) if rng.random() < _IN_TROUBLE else Fate.PASSED

    proxy.decide(fate)
    expected = []
    for txid in range(1, effort().sink_transactions + 1):
        updates = staged(harness, sink, batch_of(txid), f"{txid}a", f"{txid}b", f"{txid}c")
        until_known(sink, txid, updates)
        expected += [f"{txid}a", f"{txid}b", f"{txid}c"]
    proxy.deliver()
    proxy.decide(lambda _: Fate.PASSED)
    assert values(kafka.bootstrap_servers, "out") == expected
    assert all(proxy.met[fate] for fate in troubles), proxy.met
    sink.close()


def until_known(sink: Target, txid: int, updates: StagedUpdates) -> None:
    """Apply a batch as the coordinator does: again until the outcome is known."""
    for _ in range(20):
        try:
            sink.apply(batch_of(txid), updates)
        except (OutcomeUnknownError, RetryableError):
            continue
        return
    raise AssertionError(f"the outcome of txid {txid} never became known")
