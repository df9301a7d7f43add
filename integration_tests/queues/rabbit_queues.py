"""Queues of a real RabbitMQ: made for one test, filled, and counted."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pika
from pika.adapters.blocking_connection import BlockingChannel

from trident.local.rabbitmq import LocalRabbit


@contextmanager
def channel(server: LocalRabbit) -> Iterator[BlockingChannel]:
    with pika.BlockingConnection(pika.URLParameters(server.url)) as connection:
        yield connection.channel()


def publish(server: LocalRabbit, queue: str, messages: Sequence[tuple[str | None, bytes]], **headers: object) -> None:
    with channel(server) as open_:
        for id_, body in messages:
            properties = pika.BasicProperties(message_id=id_, headers=headers or None, delivery_mode=2)
            open_.basic_publish("", queue, body, properties)
        open_.queue_declare(queue, passive=True)  # answered behind what was published


def waiting(server: LocalRabbit, queue: str) -> int:
    with channel(server) as open_:
        return open_.queue_declare(queue, passive=True).method.message_count or 0


@contextmanager
def queue_of(server: LocalRabbit, **arguments: object) -> Iterator[str]:
    name = f"q-{uuid.uuid4().hex[:12]}"
    with channel(server) as open_:
        open_.queue_declare(name, durable=True, arguments=arguments or None)
    yield name
    with channel(server) as open_:
        open_.queue_delete(name)
