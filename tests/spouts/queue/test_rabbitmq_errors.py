"""What RabbitMQ's errors mean: those that no test can have a broker say in time, and that none quotes an address."""

from __future__ import annotations

import re
import socket
import struct

import pytest
from pika import exceptions

from trident.base.errors import FatalError, RetryableError
from trident.spouts.queue.rabbitmq.errors import RabbitPlace, cancelled, classify
from trident.spouts.queue.rabbitmq.spout import RabbitSpout

PLACE = RabbitPlace("127.0.0.1:9", "/", "q")


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (
            exceptions.ChannelClosedByBroker(
                406, "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out"
            ),
            RetryableError,
            "consumer_timeout",
        ),
        (
            exceptions.ChannelClosedByBroker(
                404, "NOT_FOUND - home node 'a@b' of durable queue is down or inaccessible"
            ),
            RetryableError,
            "the node that has the queue is away",
        ),
        (exceptions.ChannelClosedByBroker(406, "PRECONDITION_FAILED - unknown delivery tag 1"), FatalError, "406"),
        (
            exceptions.ConnectionClosedByBroker(530, "NOT_ALLOWED - vhost '/': connection limit (1) is reached"),
            RetryableError,
            "lets no further connection in",
        ),
        (
            exceptions.ProbableAccessDeniedError("ConnectionClosedByBroker: (530) 'connection limit (1) is reached'"),
            RetryableError,
            "lets no further connection in",
        ),
        (exceptions.ProbableAccessDeniedError("(530) 'vhost limit not found'"), FatalError, "no such vhost"),
        (exceptions.ConnectionClosedByBroker(320, "CONNECTION_FORCED"), RetryableError, "320"),
        (exceptions.ConnectionClosedByBroker(541, "INTERNAL_ERROR - vhost 'a' is down"), RetryableError, "541"),
        (exceptions.ConnectionClosedByBroker(505, "UNEXPECTED_FRAME"), FatalError, "505"),
        (exceptions.AMQPHeartbeatTimeout("no activity"), RetryableError, "AMQPHeartbeatTimeout"),
        (exceptions.StreamLostError("gone"), RetryableError, "StreamLostError"),
        (exceptions.StreamLostError("Transport indicated EOF"), RetryableError, "StreamLostError"),
        (exceptions.StreamLostError(f"Stream connection lost: {BrokenPipeError('x')!r}"), RetryableError, "was lost"),
        (exceptions.StreamLostError(f"Stream connection lost: {EOFError('x')!r}"), RetryableError, "was lost"),
        (exceptions.StreamLostError(f"Stream connection lost: {ValueError('hunter2')!r}"), FatalError, "ValueError"),
        (exceptions.StreamLostError(f"Stream connection lost: {struct.error('hunter2')!r}"), FatalError, "client pika"),
        (OSError("hunter2"), RetryableError, "OSError"),
        (exceptions.ProtocolSyntaxError("hunter2"), FatalError, "the client pika failed"),
    ],
)
def test_an_error_is_named_by_what_to_do(error: exceptions.AMQPError, kind: type[Exception], said: str) -> None:
    found = classify(error, PLACE)
    assert type(found) is kind
    assert said in str(found)
    assert "hunter2" not in str(found)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (socket.gaierror("hunter2"), "there is no such host.*Check the host in url"),
        (exceptions.AMQPConnectionError("hunter2"), "the broker can't be reached, or refuses the connection"),
    ],
)
def test_what_was_never_connected_has_delivered_nothing(error: OSError | exceptions.AMQPError, said: str) -> None:
    found = str(classify(error, PLACE, was_open=False))
    assert re.search(said, found)
    assert "Nothing was read" in found
    assert "in the queue again" not in found
    assert "hunter2" not in found


def test_a_consumer_that_was_ended_is_opened_anew() -> None:
    assert isinstance(cancelled(PLACE), RetryableError)


def test_an_address_is_no_name() -> None:
    with pytest.raises(FatalError, match="queue must be the name of a queue, and no address") as caught:
        RabbitSpout("amqp://ann:hunter2@h/q", url="amqp://h/")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["http://h/", "amqp://", "amqp://ann:hunter2@h:port/", "amqp://[ann:hunter2", "hunter2"]
)
def test_what_is_no_address_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(FatalError, match="url must be an address") as caught:
        RabbitSpout("q", url=url)
    assert "hunter2" not in str(caught.value)
