"""Processes that are killed while they take and ack: each message is taken at least once, and acked ones are gone."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable

import pika
import pytest
from redis import Redis

from integration_tests.queues.spouts import acked_by_a_process_that_is_killed, opened
from tests.effort import base_seed
from trident.local.rabbitmq import LocalRabbit
from trident.local.redis import LocalRedis
from trident.spouts import RabbitSpout, RedisStreamSpout
from trident.spouts.queue.acking import AckingSpout

MESSAGES = 3_000
KILLS = 3
QUIET_S = 1.0


def left(spout: AckingSpout) -> list[str]:
    """Take and ack until there is nothing for a second."""
    found: list[str] = []
    with opened(spout):
        until = time.monotonic() + QUIET_S
        while time.monotonic() < until:
            message = spout.next_tuple()
            if message is None:
                time.sleep(0.002)
                continue
            assert message.id is not None
            found.append(message.id)
            spout.ack(message.id)
            until = time.monotonic() + QUIET_S
    return found


def nothing_is_lost(made: str, spout: Callable[[], AckingSpout], ids: set[str]) -> None:
    drawn = random.Random(base_seed())
    taken = [acked_by_a_process_that_is_killed(made, drawn.uniform(0, 0.3)) for _ in range(KILLS)]
    taken.append(left(spout()))
    found = {id_ for some in taken for id_ in some}
    assert found == ids, f"{len(ids - found)} of {len(ids)} were never given, after {[len(some) for some in taken]}"
    assert left(spout()) == []


@pytest.mark.timeout(120)
def test_rabbitmq(rabbitmq: LocalRabbit) -> None:
    queue = f"q-{uuid.uuid4().hex[:12]}"
    with pika.BlockingConnection(pika.URLParameters(rabbitmq.url)) as connection:
        channel = connection.channel()
        channel.queue_declare(queue, durable=True)
        for number in range(MESSAGES):
            channel.basic_publish("", queue, b"", pika.BasicProperties(message_id=str(number)))
        channel.queue_declare(queue, passive=True)
    made = f"__import__('trident.spouts', fromlist=['RabbitSpout']).RabbitSpout({queue!r}, url={rabbitmq.url!r})"
    nothing_is_lost(made, lambda: RabbitSpout(queue, url=rabbitmq.url), {str(number) for number in range(MESSAGES)})


@pytest.mark.timeout(120)
def test_redis(redis_server: LocalRedis) -> None:
    stream = f"s-{uuid.uuid4().hex[:12]}"
    with Redis.from_url(redis_server.url, protocol=2) as client:
        client.xgroup_create(stream, "g", id="0", mkstream=True)
        with client.pipeline() as several:
            for number in range(MESSAGES):
                several.xadd(stream, {"n": number})
            ids = {id_.decode() for id_ in several.execute()}
        made = (
            "__import__('trident.spouts', fromlist=['RedisStreamSpout'])"
            f".RedisStreamSpout({stream!r}, 'g', url={redis_server.url!r})"
        )
        nothing_is_lost(made, lambda: RedisStreamSpout(stream, "g", url=redis_server.url), ids)
        client.delete(stream)
