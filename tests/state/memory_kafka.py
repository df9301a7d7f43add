"""Kafka's transactions in memory, as clients without KIP-890 meet them: a commit may come late, and end what is open.

A cluster keeps logs with open, committed and aborted records, and for each transactional id the newest producer epoch.
What a commit names is an epoch and no transaction, so one that comes late ends whatever that epoch has open by then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import takewhile

from trident.base.errors import MismatchError, OutcomeUnknownError, RefusedError, RetryableError
from trident.state.kafka.bulk.sending import BulkSender
from trident.state.kafka.clients.cluster import FoundMarker, StillOpenError, TopicSettings
from trident.state.kafka.clients.limits import MessageLimits
from trident.state.kafka.markers import Markers
from trident.state.kafka.records import Record
from trident.state.kafka.sender import KafkaSender


class End(Enum):
    """What becomes of a commit on its way."""

    ANSWERED = "it takes effect, and the client hears of it"
    ANSWER_LOST = "it takes effect, and the client does not hear of it"
    REQUEST_LOST = "it takes no effect, and the client does not hear of that"
    LATE = "the client does not hear of it; it takes effect when it is delivered"
    SENT_TWICE = "it was sent again, the second one is answered; the first one is still to be delivered"


@dataclass
class Entry:
    """A record in a log; `committed` is None while its transaction is open."""

    record: Record
    committed: bool | None = None


@dataclass(eq=False)
class Producer:
    """What the transaction coordinator knows of one transactional id, until that expires."""

    epoch: int = 0
    open: list[Entry] = field(default_factory=list)

    def end(self, epoch: int, *, commit: bool) -> bool:
        """End what is open; returns whether that epoch may."""
        if epoch != self.epoch:
            return False
        for entry in self.open:
            entry.committed = commit
        self.open = []
        return True


def seen_in(log: Iterable[Entry]) -> list[Record]:
    """Return what a read_committed reader sees of one partition."""
    readable = takewhile(lambda entry: entry.committed is not None, log)
    return [entry.record for entry in readable if entry.committed]


class MemoryKafka:
    """One cluster, and the clients that reach it; also the `Cluster` and the `Producers` of a sink."""

    def __init__(self, *topics: str, partitions: int = 2) -> None:
        self.name = "cluster-1"
        self.policy = "compact"
        """Of the marker topic; the outputs' own is "delete"."""
        self._outputs = frozenset(topics)
        self.logs: dict[str, list[list[Entry]]] = {topic: [[] for _ in range(partitions)] for topic in topics}
        self.partitions = partitions
        self.largest = 1_000_000
        self.producers: dict[str, Producer] = {}
        self.ends: list[End] = []
        """What becomes of the next commits; all others are answered."""
        self.refuses = b""
        """A value that no topic takes."""
        self.late: list[tuple[Producer, int]] = []
        """Commits that are still on their way, with their epoch."""

    def deliver(self) -> None:
        """Let all late commits arrive."""
        late, self.late = self.late, []
        for producer, epoch in late:
            self.end(producer, epoch)

    def end(self, producer: Producer, epoch: int) -> bool:
        """Let a commit arrive; returns whether that epoch may."""
        ended = producer.open
        is_newest = producer.end(epoch, commit=True)
        if is_newest and ended:
            self.took_effect(producer, ended)
        return is_newest

    def took_effect(self, producer: Producer, entries: list[Entry]) -> None:
        """Hear of all that one commit has ended."""

    def expire(self, transactional_id: str) -> bool:
        """Forget an id that has nothing open: it begins again as another producer, whose epochs were there before."""
        found = self.producers.get(transactional_id)
        if found is None or found.open:
            return False
        del self.producers[transactional_id]
        return True

    def seen(self, topic: str) -> list[Record]:
        """Return what a read_committed reader sees, partition by partition."""
        return [record for log in self.logs[topic] for record in seen_in(log)]

    def partition_of(self, key: bytes | None, topic: str) -> int:
        """Return where a record goes."""
        return len(key or b"") % len(self.logs[topic])

    def id(self) -> str:
        return self.name

    def settings(self, topics: Collection[str]) -> Mapping[str, TopicSettings]:
        return {
            topic: TopicSettings(
                len(self.logs[topic]), "delete" if topic in self._outputs else self.policy, self.largest
            )
            for topic in topics
            if topic in self.logs
        }

    def make_marker_topic(self, topic: str) -> None:
        self.logs.setdefault(topic, [[] for _ in range(self.partitions)])

    def newest(self, topic: str, key: str, *, briefly: bool = False) -> FoundMarker:
        if topic not in self.logs:
            raise MismatchError(f"the marker topic {topic!r} is gone")
        for number, log in enumerate(self.logs[topic]):
            if any(entry.committed is None for entry in log):
                raise StillOpenError("a transaction is open")
            of_key = [entry.record for entry in log if entry.committed and entry.record.key == key.encode()]
            if of_key:
                return FoundMarker(of_key[-1].value, number)
        return FoundMarker(None, len(key) % len(self.logs[topic]))

    def open(self, transactional_id: str, limits: Mapping[str, int]) -> MemorySession:
        return MemorySession(self, self.begun(transactional_id))

    def begun(self, transactional_id: str) -> Producer:
        """Let a session begin: what is open is aborted, whoever had the id before is fenced."""
        producer = self.producers.setdefault(transactional_id, Producer())
        producer.end(producer.epoch, commit=False)
        producer.epoch += 1
        return producer

    def close(self) -> None:
        """Nothing is open."""


class MemorySession:
    """See `Session`."""

    def __init__(self, kafka: MemoryKafka, producer: Producer) -> None:
        self._kafka = kafka
        self._producer = producer
        self._epoch = producer.epoch

    def cluster_id(self) -> str:
        return self._kafka.name

    def begin(self) -> None:
        """Nothing is sent for that."""

    def send(self, record: Record, partition: int | None = None) -> None:
        producer = self._producer
        if producer.epoch != self._epoch or producer not in self._kafka.producers.values():
            raise RetryableError("another session was begun")
        if self._kafka.refuses and record.value == self._kafka.refuses:
            raise RefusedError("a record is refused")
        entry = Entry(record)
        to = self._kafka.partition_of(record.key, record.topic) if partition is None else partition
        self._kafka.logs[record.topic][to].append(entry)
        producer.open.append(entry)

    def commit(self) -> None:
        kafka, producer = self._kafka, self._producer
        end = kafka.ends.pop(0) if kafka.ends else End.ANSWERED
        if end in (End.LATE, End.SENT_TWICE):
            kafka.late.append((producer, self._epoch))
        if end in (End.LATE, End.REQUEST_LOST):
            raise OutcomeUnknownError("no answer")
        is_newest = kafka.end(producer, self._epoch)
        if end is End.ANSWER_LOST or not is_newest:
            raise OutcomeUnknownError("no answer")

    def close(self) -> None:
        """What is open is aborted by the next one."""


def memory_sender(kafka: MemoryKafka, bulk: BulkSender | None = None, sink: str = "alerts") -> KafkaSender:
    """Return what a sink has in a cluster in memory."""
    markers = Markers(sink, "markers", kafka, kafka)
    return KafkaSender(sink, kafka, markers, MessageLimits(kafka, lineage=True), lineage=True, bulk=bulk)
