"""A run that ends when it is caught up has read a queue to its end: longer than a prefetch, and over a slow line."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Iterator
from functools import partial
from urllib.parse import urlsplit

import pika
import pytest

from integration_tests.queues.rabbit_queues import channel, publish, queue_of, waiting
from integration_tests.queues.slow_line import Line, through
from integration_tests.queues.spouts import ids, opened, taken
from trident.base.ranges import OffsetRange
from trident.local.rabbitmq import LocalRabbit
from trident.spouts.queue.bodies.body import JsonBody
from trident.spouts.queue.process.instance import SpoutInstance
from trident.spouts.queue.rabbitmq import line
from trident.spouts.queue.rabbitmq.spout import RabbitSpout
from trident.spouts.queue.source import AckingSource

KINDS: dict[str, dict[str, object]] = {"classic": {}, "quorum": {"x-queue-type": "quorum"}}


@pytest.fixture(params=KINDS)
def queue(rabbitmq: LocalRabbit, request: pytest.FixtureRequest) -> Iterator[str]:
    with queue_of(rabbitmq, **KINDS[request.param]) as name:
        yield name


def read_by(spout: RabbitSpout, *, batch_s: float = 0.05) -> int:
    """Return how many messages a run has done when it is caught up."""
    source = AckingSource("s", spout, partial(SpoutInstance, pickle.dumps(spout)))
    done = 0
    source.begin_from({}, {}, {})
    source.set_active(True)
    try:
        while not source.is_caught_up:
            (bound,) = source.bounds()
            source.receive({bound.id: done})
            (bound,) = source.bounds()
            if bound.stop > done:
                batch = OffsetRange(bound.id, bound.topic_id, done, bound.stop)
                source.planned(batch)
                time.sleep(batch_s)
                source.committed(1, [batch])
                done = bound.stop
            time.sleep(0.01)
    finally:
        source.close()
    return done


@pytest.mark.parametrize("way", [Line(), Line(delay_s=0.06)], ids=["near", "far"])
def test_a_queue_that_is_longer_than_a_prefetch(rabbitmq: LocalRabbit, queue: str, way: Line) -> None:
    publish(rabbitmq, queue, [(f"m{n}", json.dumps({"n": n}).encode()) for n in range(40)])
    with through(way, urlsplit(rabbitmq.url).port or 0) as port:
        url = rabbitmq.url.replace(f":{urlsplit(rabbitmq.url).port}", f":{port}")
        assert read_by(RabbitSpout(queue, url=url, body=JsonBody("n int"), max_pending=4)) == 40
    assert waiting(rabbitmq, queue) == 0


def test_what_is_kept_back_until_acks_come_is_waited_for(rabbitmq: LocalRabbit, queue: str) -> None:
    publish(rabbitmq, queue, [(f"m{n}", json.dumps({"n": n}).encode()) for n in range(5)])
    with opened(RabbitSpout(queue, url=rabbitmq.url, body=JsonBody("n int"), max_pending=4)) as spout:
        first, *_ = taken(spout, 4)
        assert all(_is_waiting_for(spout, 0.5))
        spout.ack(first.id)
        taken(spout, 1)
        assert not all(_is_waiting_for(spout, 5))


def _is_waiting_for(spout: RabbitSpout, seconds: float) -> Iterator[bool]:
    """Return what it says for so long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        yield spout.is_waiting()
        time.sleep(0.01)


def test_messages_that_take_long_on_their_way(rabbitmq: LocalRabbit, queue: str) -> None:
    publish(rabbitmq, queue, [(f"m{n}", json.dumps({"n": n, "more": "x" * 200_000}).encode()) for n in range(6)])
    with through(Line(bytes_per_s=400_000), urlsplit(rabbitmq.url).port or 0) as port:
        url = rabbitmq.url.replace(f":{urlsplit(rabbitmq.url).port}", f":{port}")
        assert read_by(RabbitSpout(queue, url=url, body=JsonBody("n int, more string"))) == 6
    assert waiting(rabbitmq, queue) == 0


MANY = 20_000


def test_what_a_queue_has_taken_out_and_not_sent_yet(rabbitmq: LocalRabbit, queue: str) -> None:
    body = json.dumps({"n": 1, "more": "x" * 2_000}).encode()
    publish(rabbitmq, queue, [(f"m{n}", body) for n in range(MANY)])
    assert read_by(RabbitSpout(queue, url=rabbitmq.url, body=JsonBody("n int"))) == MANY


@pytest.mark.parametrize("ends_at_once", [True, False])
def test_a_broker_that_reads_for_long_before_it_sends_the_first(
    rabbitmq: LocalRabbit, ends_at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line, "_LEFT_S", 0.1)  # it takes a second or two here
    body = json.dumps({"n": 1, "more": "x" * 2_000}).encode()
    with queue_of(rabbitmq, **{"x-queue-type": "quorum"}) as name:
        publish(rabbitmq, name, [(f"m{n}", body) for n in range(MANY)])
        with opened(RabbitSpout(name, url=rabbitmq.url, body=JsonBody("n int"))) as spout:
            if ends_at_once:
                spout.deactivate()
            found, quiet = 0, 0
            while quiet < 20:  # looks, and no time: this process may stand still on a busy machine
                if spout.next_tuple() is not None:
                    found += 1
                elif not (spout._opened().is_draining if ends_at_once else spout.is_waiting()):
                    quiet += 1
                    time.sleep(0.01)
            assert found == MANY


def test_what_is_on_its_way_comes_before_the_consumer_ends(rabbitmq: LocalRabbit) -> None:
    body = json.dumps({"n": 1, "more": "x" * 2_000}).encode()
    with queue_of(rabbitmq, **{"x-queue-type": "quorum", "x-delivery-limit": 1}) as name:
        publish(rabbitmq, name, [(f"m{n}", body) for n in range(MANY)])
        spout = RabbitSpout(name, url=rabbitmq.url, body=JsonBody("n int"))
        with opened(spout):
            taken(spout, 1)
            spout.deactivate()
            found = taken(spout, MANY - 1)
            assert not any(message.is_redelivered for message in found)
            until = time.monotonic() + 30
            while spout._opened().is_draining:
                assert time.monotonic() < until
                time.sleep(0.1)
            spout.ack("m0")
            spout.activate()
            publish(rabbitmq, name, [("later", body)])
            assert ids(taken(spout, 1)) == ["later"]


@pytest.mark.parametrize("is_cut_short", [True, False])
def test_who_goes_on_publishing_does_not_keep_a_consumer_that_is_to_end(
    rabbitmq: LocalRabbit, queue: str, is_cut_short: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line, "_LEFT_S", 1.0)
    with channel(rabbitmq) as publisher, opened(RabbitSpout(queue, url=rabbitmq.url)) as spout:
        publish(rabbitmq, queue, [("first", b"x")])
        taken(spout, 1)
        if is_cut_short:  # something is owed that never comes, as where it has expired
            monkeypatch.setattr(line, "_DRAIN_S", 2.0)
            spout._opened()._to_come = 1_000
        spout.deactivate()
        until = time.monotonic() + 20
        while spout._opened().is_draining:
            assert time.monotonic() < until
            publisher.basic_publish("", queue, b"y", pika.BasicProperties(message_id=f"{time.monotonic()}"))
            time.sleep(0.2)
        spout.ack("first")
        while spout.next_tuple() is not None:
            pass
        publisher.basic_publish("", queue, b"y", pika.BasicProperties(message_id="later"))
        assert not any(message.id == "later" for message in iter(spout.next_tuple, None))


def test_what_another_consumer_keeps_is_not_waited_for_without_end(rabbitmq: LocalRabbit) -> None:
    messages = [(f"m{n}", json.dumps({"n": n}).encode()) for n in range(3)]
    with queue_of(rabbitmq, **{"x-single-active-consumer": True}) as name, channel(rabbitmq) as other:
        other.basic_qos(prefetch_count=1)
        other.basic_consume(name, lambda *_: None)
        publish(rabbitmq, name, messages)
        began = time.monotonic()
        assert read_by(RabbitSpout(name, url=rabbitmq.url, body=JsonBody("n int"))) == 0
        assert time.monotonic() - began < 30
