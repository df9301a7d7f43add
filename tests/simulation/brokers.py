"""A Kafka cluster that a simulated sink writes to: commits that come late or are lost, calls that stop in the middle.

`KafkaTarget` with its markers is the product's own. Replaced are the brokers and the clients that speak to them
(`tests/state/memory_kafka.py`); to a scheduler each of their calls is a step at which something may happen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from tests.simulation.data import OUT, SINK
from tests.simulation.outbox_rows import MemoryOutbox
from tests.simulation.stores import Circumstances
from tests.state.memory_kafka import Entry, MemoryKafka, MemorySession, Producer, memory_sender
from trident.base.errors import OutcomeUnknownError, RefusedError, RetryableError
from trident.base.identity import Epoch
from trident.state.kafka.clients.cluster import FoundMarker, StillOpenError, TopicSettings
from trident.state.kafka.outbox.target import OutboxTarget
from trident.state.kafka.records import Record
from trident.state.kafka.target import KafkaTarget
from trident.state.maps.blobs import open_blobs
from trident.state.memory.database import MemoryDatabase

MARKERS: Final = "markers"
Watch = Callable[[Epoch | None, list[Record]], None]
Logs = dict[str, list[list[Entry]]]


class SimulatedKafka(MemoryKafka):
    """See the module's text. `watch` hears of every transaction that took effect, and of the epoch that began it."""

    def __init__(self, call: Circumstances, watch: Watch) -> None:
        super().__init__(OUT)
        self.call = call
        self.watch = watch
        self.is_away = False
        self.hangs = False
        """Whether a transaction of somebody else's is open in the marker topic."""
        self.refusing: RefusedError | None = None
        """What the next record is refused with."""
        self.at_step: Callable[[], None] | None = None
        """What happens at the next call that reaches the brokers; it may raise, or take its time."""
        self.is_late_in_the_middle = False
        """Whether what is late arrives next between records and their marker, or when the scheduler says so."""
        self.waits = False
        """Whether a transaction that hangs is waited for until it has timed out."""
        self.when_begun: Callable[[Callable[[], None]], None] | None = None
        """Hears of each transaction, with what ends it should nobody else do so in time."""
        self._writers: dict[Producer, Epoch | None] = {}
        self._newest: dict[tuple[str, str], FoundMarker] = {}

    def step(self) -> None:
        """Let happen what is to happen before a call arrives; raises when the brokers can't be reached."""
        if self.at_step is not None:
            self.at_step()
        if self.is_away:
            raise RetryableError("the brokers can't be reached")

    def settings(self, topics: Collection[str]) -> Mapping[str, TopicSettings]:
        self.step()
        return super().settings(topics)

    def make_marker_topic(self, topic: str) -> None:
        self.step()
        self.logs.setdefault(topic, [[]])

    def partition_of(self, key: bytes | None, topic: str) -> int:
        return sum(key or b"") % len(self.logs[topic])

    def newest(self, topic: str, key: str, *, briefly: bool = False) -> FoundMarker:
        self.step()
        if self.waits:
            for producer in self.producers.values():
                time_out(producer, producer.epoch)
        if self.hangs or any(entry.committed is None for entry in self.logs.get(topic, [[]])[0]):
            raise StillOpenError("a transaction is open below the end of the marker topic")
        return self._newest.get((topic, key)) or super().newest(topic, key)

    def open(self, transactional_id: str, limits: Mapping[str, int]) -> MemorySession:
        self.step()
        producer = self.begun(transactional_id)
        self._writers[producer] = self.call.epoch
        return SimulatedSession(self, producer)

    def took_effect(self, producer: Producer, entries: list[Entry]) -> None:
        records = [entry.record for entry in entries]
        for record in records:
            if record.topic == MARKERS:
                assert record.key is not None
                self._newest[MARKERS, record.key.decode()] = FoundMarker(record.value, 0)
        self.watch(self._writers[producer], records)

    def key(self) -> tuple[object, ...]:
        """Return all that decides what may happen from here on: of epochs only whether what is late still counts."""
        return (
            *(tuple(entry.record.value for entry in log if entry.committed) for log in self.logs[OUT]),
            *(found.data for found in self._newest.values()),
            sum(producer.epoch == epoch and producer in self.producers.values() for producer, epoch in self.late),
            self.is_late_in_the_middle,
            any(producer.open for producer in self.producers.values()),
        )

    # what schedulers do to it

    def backup(self) -> Logs:
        """Return all that a reader can see now, and the markers."""
        return {topic: [[each for each in log if each.committed] for log in logs] for topic, logs in self.logs.items()}

    def restore(self, backup: Logs) -> None:
        """Put the logs back; what was open is gone, and no session of before can go on."""
        self.logs = {topic: [list(log) for log in logs] for topic, logs in backup.items()}
        self.producers = {id_: Producer(producer.epoch) for id_, producer in self.producers.items()}
        self.late, self._newest = [], {}

    def copy(self, call: Circumstances, watch: Watch) -> SimulatedKafka:
        """Return an equal cluster that shares nothing that changes."""
        other = SimulatedKafka(call, watch)
        known: dict[int, Entry] = {}
        for producer in self.producers.values():
            known |= {id(entry): replace(entry) for entry in producer.open}
        other.logs = {
            topic: [[known.get(id(entry), entry) for entry in log] for log in logs] for topic, logs in self.logs.items()
        }
        mine = {
            producer: Producer(producer.epoch, [known[id(entry)] for entry in producer.open])
            for producer in {*self.producers.values(), *(late for late, _ in self.late)}
        }
        other.producers = {id_: mine[producer] for id_, producer in self.producers.items()}
        other.late = [(mine[producer], epoch) for producer, epoch in self.late]
        other.is_late_in_the_middle, other.waits = self.is_late_in_the_middle, self.waits
        other._writers = {mine[producer]: epoch for producer, epoch in self._writers.items() if producer in mine}
        other._newest = dict(self._newest)
        return other


def time_out(producer: Producer, epoch: int) -> None:
    """Do as the brokers do with a transaction that lasts too long: abort it, and fence whoever began it."""
    if producer.open and producer.end(epoch, commit=False):
        producer.epoch += 1


class SimulatedSession(MemorySession):
    """A session of which each call is a step."""

    _kafka: SimulatedKafka

    def send(self, record: Record, partition: int | None = None) -> None:
        if record.topic == MARKERS or not self._producer.open:
            self._kafka.step()
        if not self._producer.open and self._kafka.when_begun is not None:
            self._kafka.when_begun(partial(time_out, self._producer, self._epoch))
        if record.topic == MARKERS and self._producer.open and self._kafka.is_late_in_the_middle:
            self._kafka.is_late_in_the_middle = False
            self._kafka.deliver()
        if record.topic == OUT and self._kafka.refusing is not None:
            error, self._kafka.refusing = self._kafka.refusing, None
            raise error
        super().send(record, partition)

    def close(self) -> None:
        """Whoever dies here has committed, and does nothing more."""
        if self._kafka.at_step is not None:
            self._kafka.at_step()

    def commit(self) -> None:
        try:
            self._kafka.step()
        except RetryableError as error:
            raise OutcomeUnknownError(f"whether it was committed is not known: {error}") from error
        super().commit()


class SimulatedSink(KafkaTarget):
    """A sink that can be told that its topic refuses the next record."""

    kafka: SimulatedKafka

    @property
    def refuses(self) -> RefusedError | None:
        return self.kafka.refusing

    @refuses.setter
    def refuses(self, error: RefusedError | None) -> None:
        self.kafka.refusing = error


class SimulatedOutbox(OutboxTarget):
    """A sink whose records wait beside the ledger; its cluster can be told to refuse one."""

    kafka: SimulatedKafka
    refuses: RefusedError | None = None
    """Nothing is refused when it is laid down."""


def make_outbox(kafka: SimulatedKafka, database: MemoryDatabase) -> SimulatedOutbox:
    """Return a sink whose records wait in the ledger's database."""
    sink = SimulatedOutbox(memory_sender(kafka, sink=SINK), MemoryOutbox(SINK, database))
    sink.kafka = kafka
    return sink


def make_sink(kafka: SimulatedKafka, database: MemoryDatabase, draw_id: Callable[[], str]) -> SimulatedSink:
    """Return a sink that sends before a txid is done; what is staged lies in the ledger's database."""
    sink = SimulatedSink(memory_sender(kafka, sink=SINK), open_blobs(SINK, database, draw_id))
    sink.kafka = kafka
    return sink
