"""A connection to RabbitMQ with one consumer, kept alive by a thread of its own.

The client answers heartbeats only while it is called, and whoever uses a spout may not call it for as long as a batch
takes. So the connection belongs to one thread, which never waits for anybody: what is delivered and what is settled
goes through queues.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pika
from pika.adapters.blocking_connection import BlockingChannel, BlockingConnection
from pika.exceptions import AMQPError, ConnectionWrongStateError
from pika.spec import Basic, BasicProperties

from trident.base.errors import FatalError, RetryableError, TridentError
from trident.spouts.queue.rabbitmq.errors import (
    RabbitPlace,
    cancelled,
    channel_closed,
    classify,
    failed,
    stream_refused,
)
from trident.spouts.queue.rabbitmq.headers import read_all_headers

_TURN_S: Final = 1
"""How long one look at the connection waits; what is to be settled ends it."""
_OPEN_S: Final = 60.0
_CLOSE_S: Final = 10.0
_LEFT_S: Final = 5.0
"""For how long what is left in the queue is waited for before it counts as somebody else's."""
_READ_S: Final = 120.0
"""For how long it is waited for where nobody else consumes.

A broker reads all that a prefetch has room for out of a quorum queue's log before it sends the first: gigabytes, maybe,
on a disk that others use. What has expired meanwhile, or was purged, never comes.
"""
_BACK_EACH_S: Final = 0.001
"""For how much longer it waits for each that was put back: a broker that has put one aside does not say so."""
_DRAIN_S: Final = 300.0
"""How long a consumer may take to end at most, whatever goes on to come."""
_OF_STREAMS: Final = "x-stream-offset"


@dataclass(frozen=True, slots=True)
class Delivered:
    """One delivery of a message; `tag` is valid on this connection only."""

    tag: int
    body: bytes = field(repr=False)
    is_redelivered: bool
    routing_key: bytes
    message_id: str | None
    headers: Mapping[str, object] | Mapping[str | bytes, object] = field(repr=False)
    """A name that is not UTF-8 comes as it is."""


@dataclass(frozen=True, slots=True)
class _Left:
    """What the broker has said of the messages that it has not delivered."""

    steps: int
    """How many deliveries had been taken or settled when it was asked: it is true of then."""
    count: int
    until: float


class RabbitLine:
    """One connection, from `open` to `close`, whose consumer is there between `begin` and `pause`; for one thread.

    `take`, `settle` and `pause` never wait for the broker. What ends the connection is raised by the next call of
    `begin`, `take` or `settle`, as the error that the spout raises: the broker has then put everything that is not
    acked back into the queue.
    """

    def __init__(self, url: str, place: RabbitPlace, prefetch: int) -> None:
        self._url = url
        self._place = place
        self._prefetch = prefetch
        self._delivered: deque[Delivered] = deque()
        self._came = 0
        self._to_come = 0
        """How many had come, and were in the queue, when the consumer began: so many it was to be given at least."""
        self._put_back = self._sent_back = 0
        self._sent = 0
        self._is_alone = False
        self._came_at = self._settled_at = time.monotonic()
        self._owed_at = self._paused_at = self._came_at
        """When something was owed last, and when the consumer was told to end."""
        self._steps = 0
        self._asked_at: int | None = None
        self._left: _Left | None = None
        self._settled: deque[tuple[int, bool]] = deque()
        self._connection: BlockingConnection | None = None
        self._error: TridentError | None = None
        self._is_open = threading.Event()
        self._is_consuming = threading.Event()
        self._wants = False
        self._consumer: str | None = None
        self._is_ending = False
        self._is_woken = False
        self._was_cancelled = False
        self._is_stream = False
        self._thread = threading.Thread(target=self._serve, name=f"rabbitmq {place.queue}", daemon=True)

    def open(self) -> None:
        """Connect and look at the queue; raises what `classify` makes of what goes wrong."""
        read_all_headers()
        self._thread.start()
        self._wait_for(self._is_open)

    def begin(self) -> None:
        """Have the broker deliver; raises as `open` does."""
        self._wants = True
        self._steps += 1  # what was said of the queue before is no word on it
        self._wake()
        self._wait_for(self._is_consuming)

    def pause(self) -> None:
        """Have the broker deliver no more, until `begin`; what it has delivered stays here, and can be settled.

        What is on its way comes first: the client would give it back, and each time is one nearer to a limit of
        deliveries. Meanwhile no ack is sent, since each would have the broker send more.
        """
        if self._wants:
            self._paused_at = time.monotonic()
        self._wants = False
        self._wake()

    @property
    def is_draining(self) -> bool:
        """Whether there is a consumer that is to end: something may still be on its way."""
        return not self._wants and self._consumer is not None

    def _wait_for(self, event: threading.Event) -> None:
        if not event.wait(_OPEN_S):
            raise RetryableError(f"{self._place}: the broker did not answer within {_OPEN_S:.0f} s; nothing was read")
        self._require_alive()

    def take(self) -> Delivered | None:
        """Return the next delivery, None when there is none."""
        self._require_alive()
        if not self._delivered:
            return None
        self._steps += 1
        return self._delivered.popleft()

    def is_waiting(self) -> bool:
        """Whether the queue has messages that are not here yet, or the broker has not answered that it has none.

        It delivers no more than a prefetch before it hears of acks, and a line may be slow: that nothing comes says
        nothing. What it keeps back for long may be on its way to another consumer.
        """
        left = self._left
        if self._delivered:  # since it was last asked for one
            return True
        # a quorum queue says that it has none as soon as it has taken them out, seconds before they are here
        patience = self._patience_s(self._put_back)
        if time.monotonic() < max(self._came_at, self._settled_at) + patience:
            return True
        if left is not None and left.steps == self._steps:
            return left.count > 0 and time.monotonic() < left.until
        if self._asked_at is None:
            self._asked_at = self._steps
            self._wake()
        return True

    def settle(self, tag: int, *, is_acked: bool) -> None:
        """Ack a delivery, or have the broker put it back into the queue."""
        self._require_alive()
        self._settled.append((tag, is_acked))
        self._put_back += 0 if is_acked else 1
        self._settled_at = time.monotonic()
        self._steps += 1
        if not self._is_woken:
            self._is_woken = True
            self._wake()

    def close(self) -> None:
        """Send what is settled and end the connection; what is not settled goes back into the queue."""
        self._is_ending = True
        self._wake()
        self._thread.join(_CLOSE_S)

    def _require_alive(self) -> None:
        if self._error is not None:
            raise self._error

    def _wake(self) -> None:
        try:
            if self._connection is not None:
                self._connection.add_callback_threadsafe(_nothing)
        except ConnectionWrongStateError:  # it is lost, and its thread says so
            pass

    def _serve(self) -> None:
        try:
            with BlockingConnection(self._parameters()) as self._connection:
                channel = self._opened_channel(self._connection)
                self._is_open.set()
                while not self._is_ending:
                    self._turn_consumer(channel)
                    self._connection.process_data_events(_TURN_S)
                    self._require_channel(channel)
                    asked_at, self._asked_at = self._asked_at, None
                    if not self.is_draining:
                        self._send_settled(channel)  # all that was settled before it was asked
                    self._require_consumer(channel)
                    if asked_at is not None:
                        self._left = self._what_is_left(channel, self._connection, asked_at)
                self._send_settled(channel)
        except TridentError as error:
            self._error = error
        except (AMQPError, OSError) as error:
            self._error = classify(error, self._place, was_open=self._is_open.is_set())
        finally:
            if self._error is None and not self._is_ending:
                # the client has failed with what is no error of its own: whoever asks must not wait for ever
                self._error = failed(self._place)
            for event in (self._is_open, self._is_consuming):
                event.set()

    def _parameters(self) -> pika.URLParameters:
        try:
            return pika.URLParameters(self._url)
        except (ValueError, TypeError, AttributeError, SyntaxError):  # what it says quotes the address
            raise FatalError(
                f"{self._place}: the options in the address (url) are none that the client pika has; nothing was read"
            ) from None

    def _opened_channel(self, connection: BlockingConnection) -> BlockingChannel:
        channel = connection.channel()
        # it names what is wrong with the queue, where a consumer's answer is one for several reasons
        channel.queue_declare(self._place.queue, passive=True)
        channel.basic_qos(prefetch_count=self._prefetch)
        channel.add_on_cancel_callback(self._note_cancelled)
        return channel

    def _turn_consumer(self, channel: BlockingChannel) -> None:
        """Begin to consume or cease to, as was asked last; the client gives back what is on its way then."""
        if self._wants and self._consumer is None:
            there = channel.queue_declare(self._place.queue, passive=True).method
            self._to_come = self._came + (there.message_count or 0) - self._sent_back
            self._is_alone = not there.consumer_count
            self._came_at = time.monotonic()
            self._consumer = channel.basic_consume(self._place.queue, self._note)
        elif not self._wants and self._consumer is not None:
            self._is_consuming.clear()
            if self._may_still_come(time.monotonic()):
                return
            channel.basic_cancel(self._consumer)
            self._consumer = None
        if self._wants:
            self._is_consuming.set()

    def _may_still_come(self, now: float) -> bool:
        """Whether what the broker has taken out for this consumer may be on its way.

        Who publishes meanwhile must not keep it: what is published now comes at once, or has no room.
        """
        if now < self._came_at + self._patience_s(self._sent_back):
            self._owed_at = now
        return now < min(max(self._owed_at, self._paused_at) + _LEFT_S, self._paused_at + _DRAIN_S)

    def _patience_s(self, put_back: int) -> float:
        """Return for how long what is owed may be on its way, 0 where nothing is: what has no room is not.

        What was put back may never come: the broker has put it aside, or dropped it, if it was given too often.
        """
        owed = self._to_come + put_back - self._came
        if owed <= 0:
            return 0.0
        has_room = self._came - self._sent < self._prefetch
        if not (self._is_alone and has_room):
            return _LEFT_S
        return _READ_S if self._came < self._to_come else min(_LEFT_S + owed * _BACK_EACH_S, _READ_S)

    def _note(self, _: BlockingChannel, method: Basic.Deliver, properties: BasicProperties, body: bytes) -> None:
        assert method.delivery_tag is not None
        self._came += 1
        self._came_at = time.monotonic()
        headers = properties.headers or {}
        # nothing else tells a stream from a queue without the right to declare one, and its acks keep nothing
        self._is_stream = self._is_stream or _OF_STREAMS in headers
        self._delivered.append(
            Delivered(
                method.delivery_tag,
                body,
                bool(method.redelivered),
                key.encode() if isinstance(key := method.routing_key or "", str) else key,  # not UTF-8: as it is
                properties.message_id,
                headers,
            )
        )

    def _note_cancelled(self, _: object) -> None:
        self._was_cancelled = True

    def _require_channel(self, channel: BlockingChannel) -> None:
        """Raise why the broker has closed the channel: the client says so only to who uses it, and not the reason."""
        if channel.is_closed:
            reason = getattr(channel, "_closing_reason", None)
            raise channel_closed(self._place) if not isinstance(reason, AMQPError) else reason

    def _require_consumer(self, channel: BlockingChannel) -> None:
        if self._is_stream:
            raise stream_refused(self._place)
        if self._was_cancelled:
            channel.queue_declare(self._place.queue, passive=True)  # the broker says what has become of it
            raise cancelled(self._place)

    def _what_is_left(self, channel: BlockingChannel, connection: BlockingConnection, steps: int) -> _Left:
        """Ask on the consumer's own channel: the answer comes behind all that was delivered before it."""
        count = channel.queue_declare(self._place.queue, passive=True).method.message_count or 0
        connection.process_data_events(0)  # hands over what has come before the answer
        return _Left(steps, count, time.monotonic() + _LEFT_S)

    def _send_settled(self, channel: BlockingChannel) -> None:
        self._is_woken = False
        while self._settled:
            tag, is_acked = self._settled.popleft()
            self._sent += 1
            self._sent_back += 0 if is_acked else 1
            if is_acked:
                channel.basic_ack(tag)
            else:
                channel.basic_nack(tag, requeue=True)
            self._is_woken = False  # what woke us meanwhile is sent here, and the next one has to wake us again


def _nothing() -> None:
    """Wake whoever waits for the connection."""
