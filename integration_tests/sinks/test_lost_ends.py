"""Ends of transactions that are lost, late or answered twice, through a proxy in front of a real Kafka.

librdkafka sends such a request again by itself: what it tells then is that all is well. Several sinks send at once;
a reader of each that runs all the time holds it to what it had to send, as the chaos does.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from chaos.sent import Expected, gone, wrongs
from chaos.sink_reader import Sink, SinkReader, read_sent
from integration_tests.sinks.test_kafka_sink_contract import KafkaHarness
from tests.effort import base_seed, effort
from tests.state.arrays import array
from trident.base.errors import OutcomeUnknownError, RetryableError
from trident.base.order import order_of
from trident.local.kafka import LocalKafka
from trident.state import KafkaSink
from trident.state.kafka.records import ROWS
from trident.state.kafka.sink import MARKER_TOPIC
from trident.state.staged import HeldUpdates, StagedUpdates
from trident.state.target import Target
from trident.testing.kafka_proxy import Fate, KafkaProxy
from trident.testing.sink_harness import begun
from trident.testing.state_harness import OWNER, batch_of

_IN_TROUBLE = 0.06
"""How many of the ends, beside the first ones of each kind."""
_SIDE_BY_SIDE = 8
_AT_LEAST = 10
"""Transactions of one sink."""
_RECORDS = 5
_KEYS = 3


class ProxiedHarness(KafkaHarness):
    """Reaches Kafka through the proxy, with a client that soon asks again."""

    def open(self) -> Target:
        options = {"socket.timeout.ms": "1000"}
        sink = KafkaSink(self.name, bootstrap_servers=self.servers, client_options=options)
        self.opened.append(sink.open(self.ledger))
        return self.opened[-1]

    def batch(self, txid: int) -> pa.Table:
        """Return the rows of a txid: five records of three keys, which are in several partitions."""
        first = txid * _RECORDS
        columns: list[list[object]] = [
            [self.topic] * _RECORDS,
            [f"{(first + n) % _KEYS}".encode() for n in range(_RECORDS)],
            [f"{txid} {first + n}".encode() for n in range(_RECORDS)],
            [None] * _RECORDS,
        ]
        arrays = [array(column, field.type) for column, field in zip(columns, ROWS, strict=False)]
        return pa.table([*arrays, order_of("in", 0, np.arange(first, first + _RECORDS, dtype=np.int64))], schema=ROWS)


def expected(txid: int) -> Expected:
    """Return what a reader has to find of it."""
    first = txid * _RECORDS
    values = {(0, first + n): (txid, first + n) for n in range(_RECORDS)}
    return Expected(txid, batch_of(txid).attempt, values)


def value_of(data: bytes) -> tuple[int, int]:
    txid, number = data.split()
    return int(txid), int(number)


@dataclass(frozen=True)
class Sender:
    """A sink with who reads it."""

    harness: ProxiedHarness
    target: Target
    reader: SinkReader

    def send(self, txids: int) -> None:
        for txid in range(1, txids + 1):
            until_known(self.target, txid, self.target.stage(batch_of(txid), HeldUpdates(self.harness.batch(txid))))

    def problems(self, servers: str, txids: int) -> list[str]:
        """Return what is wrong with what its reader has seen."""
        records, ends = read_sent(servers, self.reader.sink)
        self.reader.read_to(ends)
        seen = self.reader.seen()
        assert seen.glances
        return wrongs([expected(txid) for txid in range(1, txids + 1)], seen) + gone(seen.records, records)


@pytest.fixture(scope="module")
def proxied() -> Iterator[tuple[KafkaProxy, LocalKafka]]:
    with KafkaProxy(delay_seconds=1.3) as proxy, LocalKafka(proxy_port=proxy.port) as kafka:
        proxy.lead_to(kafka.proxied_port)
        yield proxy, kafka


def fates(proxy: KafkaProxy) -> None:
    """Let each kind of trouble come once, with quiet ends between them, then some that are drawn."""
    rng = random.Random(base_seed())
    troubles = [fate for fate in Fate if fate is not Fate.PASSED]
    first = [fate for each in rng.sample(troubles, len(troubles)) for fate in (each, Fate.PASSED)]

    def fate(_: int) -> Fate:
        if first:
            return first.pop()
        return rng.choice(troubles) if rng.random() < _IN_TROUBLE else Fate.PASSED

    proxy.decide(fate)


@pytest.mark.verify(short=True)
@pytest.mark.timeout(3600)
def test_whatever_becomes_of_ends_each_txid_is_there_once(proxied: tuple[KafkaProxy, LocalKafka]) -> None:
    proxy, kafka = proxied
    side_by_side = max(1, min(_SIDE_BY_SIDE, effort().sink_transactions // _AT_LEAST))
    txids = -(-effort().sink_transactions // side_by_side)
    with ExitStack() as stack:
        senders = [stack.enter_context(sending(proxy, kafka, f"out-{number}")) for number in range(side_by_side)]
        fates(proxy)
        with ThreadPoolExecutor(side_by_side) as pool:
            list(pool.map(lambda sender: sender.send(txids), senders))
        proxy.decide(lambda _: Fate.PASSED)
        proxy.deliver()
        problems = [text for sender in senders for text in sender.problems(kafka.bootstrap_servers, txids)]
    assert problems == []
    assert all(proxy.met.values()), proxy.met


@contextmanager
def sending(proxy: KafkaProxy, kafka: LocalKafka, topic: str) -> Iterator[Sender]:
    kafka.create_topic(topic, _KEYS)
    harness = ProxiedHarness(proxy.bootstrap_servers, topic)
    sink = Sink(topic, MARKER_TOPIC, f"{OWNER.topology}.{harness.name}", value_of)
    with closing(begun(harness)) as target, SinkReader(kafka.bootstrap_servers, sink) as reader:
        yield Sender(harness, target, reader)


def until_known(sink: Target, txid: int, updates: StagedUpdates) -> None:
    """Apply a batch as the coordinator does: again until the outcome is known."""
    for _ in range(20):
        try:
            sink.apply(batch_of(txid), updates)
        except (OutcomeUnknownError, RetryableError):
            continue
        return
    raise AssertionError(f"the outcome of txid {txid} never became known")
