"""Messages that fail by themselves, over the real coordinator: a queue that gives them again holds up no other."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from tests.coordinators.fakes import LAYOUT
from tests.coordinators.receiving import CountingProcessor, Queue, Taking, nothing
from tests.coordinators.test_run import OPTIONS, memory_place
from tests.spouts.queue.file_queue import FileQueueSpout
from trident.base.errors import RetryableError
from trident.base.failure import Failure
from trident.base.latency import CompleteLatency
from trident.coordinators.batches.processor import MessagesFailedError, ProcessRequest, ProcessResult
from trident.coordinators.holding.run import RunnableTopology, TopologyRun
from trident.coordinators.registered import RECEIVED, TopologySpec
from trident.spouts.base import Source, Spout
from trident.spouts.queue.acking import SpoutContext, StreamProgress
from trident.spouts.queue.message import Message
from trident.spouts.queue.pending import Delivery
from trident.spouts.queue.source import AckingSource
from trident.spouts.queue.spout import QueueSpout

LIMIT = 25
"""More deliveries than a topology has tries."""
Attempts = Callable[[ProcessRequest], None]


@dataclass
class Broker:
    """Messages wait, and what has failed waits again at once, until it was given so often."""

    waiting: list[str]
    limit: int = LIMIT
    message_timeout: timedelta = timedelta(minutes=1)
    given: Counter[str] = field(default_factory=Counter)
    acked: list[str] = field(default_factory=list)
    aside: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


class BrokersInstance:
    def __init__(self, broker: Broker, context: SpoutContext) -> None:
        self.broker = broker
        self.number = context.instance
        self.out: list[str] = []

    @property
    def is_idle(self) -> bool:
        return not self.broker.waiting

    def set_active(self, active: bool) -> None: ...

    @property
    def has_begun(self) -> bool:
        return True

    def wait_for_first(self, seconds: float) -> bool:
        return True

    @property
    def waiting(self) -> int:
        return len(self.broker.waiting)

    def take(self, most: int) -> list[tuple[Message, Delivery]]:
        with self.broker.lock:
            waiting = self.broker.waiting
            taken, waiting[:] = waiting[: max(0, most)], waiting[max(0, most) :]
            self.broker.given.update(taken)
        first = len(self.out)
        self.out += taken
        return [(Message((id_,), id_), Delivery(self.number, first + place)) for place, id_ in enumerate(taken)]

    def ack(self, serials: tuple[int, ...], progress: StreamProgress | None = None) -> None:
        self.broker.acked += [self.out[serial] for serial in serials]

    def fail(self, serials: tuple[int, ...], reason: Failure) -> None:
        with self.broker.lock:
            for id_ in (self.out[serial] for serial in serials):
                is_over = self.broker.given[id_] >= self.broker.limit
                (self.broker.aside if is_over else self.broker.waiting).append(id_)

    def refuse(self, serials: tuple[int, ...]) -> None:
        raise AssertionError("each message has an id of its own")

    def check(self) -> None: ...

    def latency(self) -> CompleteLatency | None:
        return None

    def close(self) -> bool:
        return True


class BrokersSpout(QueueSpout):
    def __init__(self, broker: Broker) -> None:
        self._spout = FileQueueSpout(Path("unused"))
        self._spout.message_timeout = broker.message_timeout
        self.broker = broker

    def open(self, name: str) -> AckingSource:
        return AckingSource(name, self._spout, partial(BrokersInstance, self.broker))


@dataclass
class Judge(CountingProcessor):
    """Fails all messages that are called bad."""

    attempted: Attempts = lambda request: None

    def process(self, request: ProcessRequest) -> ProcessResult:
        self.attempted(request)
        named = [(self.sources[name], edges) for name, edges in request.edges.items()]
        failed: set[Source] = set()
        for source, edges in named:
            ids = [id_ for edge in edges for id_ in source.ids(edge.range)] if isinstance(source, AckingSource) else []
            bad = {id_: Failure.OPERATION for id_ in ids if id_.startswith("bad")}
            if bad:
                cast("AckingSource", source).fail_messages(bad)
                failed.add(source)
        for source in self.sources.values() if failed else ():
            if isinstance(source, AckingSource) and source not in failed:
                source.fail_messages({})
        if failed:
            raise MessagesFailedError("some messages are bad")
        return super().process(request)


def run(
    brokers: Mapping[str, Broker], attempted: Attempts = lambda request: None, beside: Taking | None = None
) -> Mapping[str, int]:
    """Run until all is there; returns how often each account counts."""
    place = memory_place()
    state = place.state("counts")
    spouts: dict[str, Spout] = {name: BrokersSpout(broker) for name, broker in brokers.items()}
    described = {name: {**spout.description(), "kind": "opaque"} for name, spout in spouts.items()}
    if beside is not None:
        spouts["rows"] = beside
        described["rows"] = {**beside.description(), "kind": RECEIVED}

    def make(sources: Mapping[str, Source], _: object) -> Judge:
        return Judge(sources, [state.name], nothing, attempted)

    spec = TopologySpec("queued", described, {state.name: state.description()})
    topology = RunnableTopology(spec, spouts, {state.name: partial(state.open, LAYOUT)}, make)
    started = TopologyRun(topology, place.ledger(), replace(OPTIONS, max_tries=10))
    RUNS.append(started)
    started.run()
    return {account: n for account, (n, _) in place.rows("counts").items()}


RUNS: list[TopologyRun] = []


def test_a_bad_message_alone_in_its_batch_uses_up_no_tries() -> None:
    broker = Broker(["a", "b", "bad"])
    assert run({"q": broker}) == {"a": 1, "b": 1}
    assert (sorted(broker.acked), broker.aside, broker.given["bad"]) == (["a", "b"], ["bad"], LIMIT)


def test_bad_messages_of_two_streams_hold_up_neither() -> None:
    """The second one comes while the first one's batch is tried for the first time."""
    one, other = Broker(["a1", "a2", "bad1"]), Broker(["b1", "b2"])

    def attempted(request: ProcessRequest) -> None:
        if request.batch.attempt == 1:
            other.waiting.append("bad2")

    assert run({"one": one, "other": other}, attempted) == dict.fromkeys(("a1", "a2", "b1", "b2"), 1)
    assert (one.aside, other.aside) == (["bad1"], ["bad2"])


@pytest.mark.parametrize("is_beside", [False, True], ids=["in one stream", "in another one"])
def test_attempts_that_take_longer_than_a_message_may_hold_up_no_good_one_beside_a_bad_one(is_beside: bool) -> None:
    """Given back as too late it would meet the bad one again, and be put aside by its queue together with it."""
    at_once = timedelta(microseconds=1)
    one, other = Broker(["a1", "a2", "bad1"], message_timeout=at_once), Broker(["b1"], message_timeout=at_once)
    brokers = {"one": one, "other": other} if is_beside else {"one": one}
    good = ("a1", "a2", "b1") if is_beside else ("a1", "a2")
    assert run(brokers, lambda request: time.sleep(0.001)) == dict.fromkeys(good, 1)
    assert [one.given[id_] + other.given[id_] for id_ in good] == [1] * len(good)
    assert (one.aside, other.aside) == (["bad1"], [])


def test_a_batch_that_fails_for_another_reason_meanwhile_stays_without_what_is_bad() -> None:
    broker, attempts = Broker(["a", "bad"]), Counter[int]()

    def attempted(request: ProcessRequest) -> None:
        attempts[request.batch.txid] += 1
        if request.batch.txid == 1 and attempts[1] in (2, 3, 4):
            raise RetryableError("an executor was lost")

    assert run({"q": broker}, attempted) == {"a": 1}
    assert attempts[1] == 5, "one with the bad message, three that were lost, one that did it"


def test_a_run_that_is_stopped_ends_without_a_bad_message_and_loses_no_row_beside_it() -> None:
    broker, queue = Broker(["a", "bad"]), Queue({0: ["r1", "r2"]})

    def attempted(request: ProcessRequest) -> None:
        if request.batch.attempt == 1:
            RUNS[-1].stop()

    assert run({"q": broker}, attempted, beside=Taking(queue)) == {"a": 1, "r1": 1, "r2": 1}
    assert (broker.acked, broker.waiting, queue.acknowledged) == (["a"], ["bad"], ["r1", "r2"])


@pytest.fixture(autouse=True)
def _nothing_stays() -> None:
    RUNS.clear()
