"""Sending without transactions: a producer whose own retries double nothing, and who waits for every answer.

Each call has a producer to itself, since what it waits for must be its own: it takes an idle one, or makes one. One
that failed is not used again. A producer is made with what the topics of its call take, so an idle one goes on only
with a call of the same limits: else a record that its topic takes would be refused by the client.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from trident.base.errors import ConfigurationError, FatalError, OutcomeUnknownError, RefusedError, TridentError
from trident.base.kafka.clients import for_librdkafka
from trident.state.kafka.clients.errors import NOT_ALLOWED, REFUSED, UNKNOWN
from trident.state.kafka.clients.producing import OURS, base_configuration
from trident.state.kafka.records import Record

_POLL_SECONDS: Final = 0.05
_MOST_IDLE: Final = 8
_Limits = tuple[int, int] | None
"""The least and the greatest of what topics take: all that a producer is made with."""


class PlainProducers:
    """Sends records to the topics of one sink; may be called from several threads.

    `patience` is how long brokers that are away are waited for by the client itself, which then doubles nothing.
    """

    def __init__(self, sink: str, servers: str, options: Mapping[str, str], patience: timedelta) -> None:
        self._sink = sink
        self._servers = servers
        self._options = options
        self._patience = patience
        self._idle: list[tuple[_Limits, Producer]] = []
        """The one that was used last is the last one."""
        self._lock = threading.Lock()

    def send(self, records: Iterable[Record], limits: Mapping[str, int]) -> None:
        """Send all records and wait until the brokers have them.

        Raises OutcomeUnknownError when some may be there and others not, RefusedError for one that never will be, with
        others of the same call before and behind it.
        """
        producer = self._take(limits)
        heard = _Heard(self._sink)
        try:
            for record in records:
                self._produce(producer, record, heard)
            if producer.flush(self._patience.total_seconds()):
                raise OutcomeUnknownError(
                    f"sink {self._sink!r}: Kafka at {self._servers} did not confirm all records; some may be there"
                )
            heard.check()
        except BaseException:
            producer.purge()
            raise
        with self._lock:
            self._idle.append((_of(limits), producer))
            del self._idle[:-_MOST_IDLE]

    def check(self) -> None:
        """Raise ConfigurationError for options that no producer can be made with; connects to nothing."""
        self._make({})

    def close(self) -> None:
        """Let go of idle producers."""
        with self._lock:
            self._idle.clear()

    def _take(self, limits: Mapping[str, int]) -> Producer:
        with self._lock:
            for number, (made_for, producer) in enumerate(self._idle):
                if made_for == _of(limits):
                    del self._idle[number]
                    return producer
        return self._make(limits)

    def _make(self, limits: Mapping[str, int]) -> Producer:
        try:
            return Producer(
                {
                    **base_configuration(self._options, limits),
                    "message.timeout.ms": str(int(self._patience.total_seconds() * 1000)),
                    **for_librdkafka(self._options),
                    **OURS,
                    "bootstrap.servers": self._servers,
                }
            )
        except KafkaException as error:
            raise ConfigurationError(
                f"sink {self._sink!r}: client_options are not what the Kafka client takes ({error.args[0].str()}); "
                "nothing was sent"
            ) from None

    def _produce(self, producer: Producer, record: Record, heard: _Heard) -> None:
        headers: list[tuple[str, str | bytes | None]] | None = list(record.headers) or None
        while True:
            try:
                producer.produce(record.topic, record.value, record.key, on_delivery=heard.hear, headers=headers)
                return
            except BufferError:
                with suppress(KafkaException):  # what a poll raises is said of the records, too
                    producer.poll(_POLL_SECONDS)
                heard.check()
            except KafkaException as error:
                raise meaning_of(error.args[0], self._sink, record.topic) from None


class _Heard:
    """What brokers have refused of one call."""

    def __init__(self, sink: str) -> None:
        self._sink = sink
        self._wrong: TridentError | None = None

    def hear(self, error: KafkaError | None, message: Message) -> None:
        """Keep the first error."""
        if error is not None and self._wrong is None:
            self._wrong = meaning_of(error, self._sink, str(message.topic()))

    def check(self) -> None:
        """Raise it."""
        if self._wrong is not None:
            raise self._wrong


def _of(limits: Mapping[str, int]) -> _Limits:
    return (min(limits.values()), max(limits.values())) if limits else None


def meaning_of(error: KafkaError, sink: str, topic: str) -> TridentError:
    """Return what it means that a record was not taken, while others of the same call may have been."""
    name, code = error.name(), error.code()
    if code in REFUSED or code in UNKNOWN:
        return RefusedError(
            f"sink {sink!r}: topic {topic!r} refuses a record for good, or is gone ({name}); others may be sent"
        )
    if code in NOT_ALLOWED:
        return FatalError(
            f"Kafka refused topic {topic!r} to sink {sink!r} ({name}). Check the ACLs: WRITE, DESCRIBE and "
            "DESCRIBE_CONFIGS on its topics"
        )
    return OutcomeUnknownError(f"sink {sink!r} could not send to topic {topic!r} ({name}); some may be sent")
