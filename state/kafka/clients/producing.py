"""Sessions by confluent-kafka: a producer of its own for every transaction.

librdkafka speaks the protocol without KIP-890: an EndTxn that timed out may be sent again inside the client and be
answered with success, while the first one, late on the wire, ends the *next* transaction of the same producer epoch
half-way. So no two transactions share an epoch, and the late one is refused.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from trident.base.errors import ConfigurationError, RefusedError, TridentError
from trident.base.kafka.clients import for_librdkafka
from trident.state.kafka.checking import COMPRESSIBLE
from trident.state.kafka.clients.errors import GIVEN_UP, of_beginning, of_ending, of_sending
from trident.state.kafka.clients.limits import is_compressed
from trident.state.kafka.records import Record

_BATCH_BYTES: Final = 1_000_000
_QUEUE_BYTES: Final = 256 << 20
_DEFAULTS: Final = {
    # the Java client's way, so that topics that others write are partitioned alike; null keys go anywhere
    "partitioner": "murmur2_random",
    "linger.ms": "5",
    "queue.buffering.max.messages": "200000",
    "socket.nagle.disable": "true",
}
_SHORTEST_TRANSACTION: Final = timedelta(minutes=1)
_LONGEST_TRANSACTION: Final = timedelta(minutes=15)
"""What brokers allow unless they are told otherwise (`transaction.max.timeout.ms`)."""
_QUIET: Final = {"log_level": "2"}
"""What a session meets is an error of its own."""
OURS: Final[Mapping[str, str | bool]] = {
    "enable.idempotence": "true",
    "acks": "all",
}
_TIMEOUT: Final = "transaction.timeout.ms"
_ANY: Final = -1
"""The partitioner decides."""
_POLL_SECONDS: Final = 0.05
_ABORT_SECONDS: Final = 2.0
_CONNECTING_SECONDS: Final = 1.0


class ConfluentProducers:
    """See `Producers`; `patience` is how long each call to the brokers may take, `longest` a whole transaction.

    A transaction that takes longer is given up by the brokers, and would be again: what is pinned could never be sent.
    """

    def __init__(
        self,
        sink: str,
        servers: str,
        options: Mapping[str, str],
        patience: timedelta,
        longest: timedelta = _SHORTEST_TRANSACTION,
    ) -> None:
        self._sink = sink
        self._servers = servers
        self._options = options
        self._seconds = patience.total_seconds()
        self._longest = min(max(longest, _SHORTEST_TRANSACTION), _LONGEST_TRANSACTION)

    def open(self, transactional_id: str, limits: Mapping[str, int]) -> ConfluentSession:
        """Begin a session: when this returns, no transaction of an older one is open, or will ever be committed."""
        configuration = self._configuration(transactional_id, limits)
        try:
            producer = Producer(configuration)
        except KafkaException as error:
            raise ConfigurationError(
                f"sink {self._sink!r}: client_options are not what the Kafka client takes "
                f"({error.args[0].str()}); nothing was sent"
            ) from None
        _connect(producer, next(iter(limits), None), min(_CONNECTING_SECONDS, self._seconds))
        try:
            producer.init_transactions(self._seconds)
        except KafkaException as error:
            raise of_beginning(error.args[0], self._sink, transactional_id) from None
        return ConfluentSession(self._sink, producer, self._seconds, int(configuration[_TIMEOUT]) / 1000)

    def _configuration(self, transactional_id: str, limits: Mapping[str, int]) -> dict[str, str | bool]:
        """Return a producer's options."""
        return {
            **base_configuration(self._options, limits),
            _TIMEOUT: str(int(self._longest.total_seconds() * 1000)),
            # a topic that is gone has to be told before a call gives up: by itself the client waits for half a minute
            "topic.metadata.propagation.max.ms": str(max(1, int(self._seconds * 500))),
            **for_librdkafka(self._options),
            **OURS,
            "delivery.report.only.error": True,
            "bootstrap.servers": self._servers,
            "transactional.id": transactional_id,
        }


def base_configuration(options: Mapping[str, str], limits: Mapping[str, int]) -> dict[str, str | bool]:
    """Return options that users may replace: a batch that the smallest topic takes, a record that the largest does.

    The client counts a record before it compresses it: there it has to take all that `check_rows` lets pass.
    """
    largest = max(limits.values(), default=_BATCH_BYTES)
    if is_compressed(options):
        largest = max(largest, COMPRESSIBLE)
    return {
        **_QUIET,
        **_DEFAULTS,
        "batch.size": str(min([_BATCH_BYTES, *limits.values()])),
        "message.max.bytes": str(largest),
        "queue.buffering.max.kbytes": str(max(_QUEUE_BYTES, 2 * largest) >> 10),
    }


def _connect(producer: Producer, topic: str | None, seconds: float) -> None:
    """Wait until there is a connection: librdkafka lets who asks for an epoch before that wait for half a second.

    The first answer may come from a connection that is not yet known as a broker's; the second one does not.
    """
    with suppress(KafkaException):  # what is wrong the next call says
        for _ in range(2):
            producer.list_topics(topic, timeout=seconds)


class ConfluentSession:
    """See `Session`."""

    def __init__(self, sink: str, producer: Producer, seconds: float, longest: float) -> None:
        self._sink = sink
        self._producer = producer
        self._seconds = seconds
        self._longest = longest
        self._began = 0.0
        self._refused: TridentError | None = None
        self._topics: set[str] = set()
        self._is_open = False

    def cluster_id(self) -> str:
        """Return the id of the cluster that it is of."""
        return str(self._producer.cluster_id(self._seconds))

    def begin(self) -> None:
        """Begin its transaction."""
        try:
            self._producer.begin_transaction()
        except KafkaException as error:
            raise of_beginning(error.args[0], self._sink, "a transaction") from None
        self._is_open = True
        self._began = time.monotonic()

    def send(self, record: Record, partition: int | None = None) -> None:
        """Add a record, waiting while the client's queue is full."""
        self._topics.add(record.topic)
        headers: list[tuple[str, str | bytes | None]] | None = list(record.headers) or None
        was_empty = False
        while True:
            try:
                self._producer.produce(
                    record.topic,
                    record.value,
                    record.key,
                    partition=_ANY if partition is None else partition,
                    on_delivery=self._refuse,
                    headers=headers,
                )
                return
            except BufferError:
                if was_empty:
                    raise ConfigurationError(
                        f"sink {self._sink!r}: a record for topic {record.topic!r} does not fit into the client's "
                        "queue (queue.buffering.max.kbytes in client_options); nothing was sent: let it be larger"
                    ) from None
                was_empty = not len(self._producer)
                self._hear(_POLL_SECONDS)
            except KafkaException as error:
                if error.args[0].code() in (KafkaError._STATE, KafkaError._FATAL):
                    self._raise_cause()
                raise of_sending(error.args[0], self._sink, record.topic, self._overdue()) from None

    def commit(self) -> None:
        """Flush, then commit; raises what made the brokers refuse a record, if any did."""
        try:
            self._producer.commit_transaction(self._seconds)
        except KafkaException as error:
            self._raise_refused()
            raise of_ending(error.args[0], self._sink, self._topics, self._overdue()) from None
        self._is_open = False

    def close(self) -> None:
        """Abort what is open, as far as that is quick: whoever comes next under this id aborts it in any case."""
        if not self._is_open:
            return
        self._is_open = False
        self._producer.purge()
        with suppress(KafkaException):
            self._producer.abort_transaction(_ABORT_SECONDS)

    def _raise_cause(self) -> None:
        """Raise why the transaction has failed, if it has: to begin another one is refused with the word for that."""
        self._hear(0)
        try:
            self._producer.begin_transaction()
        except KafkaException as error:
            raise of_ending(error.args[0], self._sink, self._topics, self._overdue()) from None

    def _hear(self, seconds: float) -> None:
        """Let the client say what brokers have answered, and raise what they refused.

        A fatal error it raises itself, from whatever call hears of it first.
        """
        try:
            self._producer.poll(seconds)
        except KafkaException as error:
            self._raise_refused()
            raise of_ending(error.args[0], self._sink, self._topics, self._overdue()) from None
        self._raise_refused()

    def _refuse(self, error: KafkaError | None, message: Message) -> None:
        """Keep the first error, or the one that says what is refused for good: the others are only given up with it."""
        if error is None or error.code() in GIVEN_UP:
            return
        if not isinstance(self._refused, RefusedError):
            self._refused = of_sending(error, self._sink, str(message.topic()), self._overdue())

    def _overdue(self) -> float | None:
        """Return how many seconds a transaction may take, where this one has taken longer."""
        return self._longest if time.monotonic() - self._began > self._longest else None

    def _raise_refused(self) -> None:
        if self._refused is not None:
            raise self._refused
