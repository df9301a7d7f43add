"""What a task of `ArrowReader` does: fetch its ranges to their ends, decode, yield rows and manifests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from confluent_kafka import Consumer, Message, TopicPartition

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import RetryableError
from trident.base.ranges import Edge, PartitionId
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.decoders.base import Headers, TaskDecoder, UnreadableHeaders
from trident.spouts.kafka.consumers import borrowed_consumer, telling_consumer
from trident.spouts.kafka.errors import PARTITION_EOF, raise_for_event
from trident.spouts.kafka.hiding import ConsumerOptions
from trident.spouts.kafka.progress import Patience
from trident.spouts.kafka.readers.pause import collector_paused
from trident.spouts.rows import control_batch, groups_of
from trident.spouts.tally import RangeTally

_WAIT_SECONDS = 0.02
"""How long a fetch waits to be full: what a range with holes at its end costs at most."""
_UNTOLD = 0.25
_LEAST_UNTOLD_SECONDS = 2.0
"""After which part of a stall a consumer that tells nothing of itself is replaced; a new one needs time to begin."""


Taken = Callable[[Sequence[Message]], None]


class _SilentError(Exception):
    """Ends the loan of a consumer that hands nothing out: it is not kept for another task."""


@dataclass(frozen=True, slots=True)
class ReadRanges:
    """The function given to `mapInArrow`; `groups[i]` are the ranges of the task that gets row i."""

    options: ConsumerOptions
    groups: tuple[tuple[Edge, ...], ...]
    decoder: TaskDecoder
    chunk_records: int
    stall_seconds: float

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the ranges of every row that comes in; a row comes in once per run of its task."""
        with collector_paused():
            for group in groups_of(batches):
                yield from self.read(self.groups[group])

    def read(self, edges: Sequence[Edge], taken: Taken = lambda _: None) -> Iterator[pa.RecordBatch]:
        """Read ranges to their ends, in whichever process this is; the last batch has their manifests.

        `taken` hears of all that is fetched before it is decoded, and of each fetch that brings nothing; what it raises
        ends the read.
        """
        schema = arrow_schema(self.decoder.task_schema)
        open_ranges = {edge.range.id: _OpenRange(edge) for edge in edges}
        unfinished = {id_: item for id_, item in open_ranges.items() if not item.ended}
        if unfinished:
            topics = {edge.range.id.topic: edge.range.topic_id for edge in edges}
            with suppress(_SilentError), borrowed_consumer(self.options.whole(), topics) as kept:
                yield from self._decoded(kept, unfinished, Patience(self._untold_seconds), taken)
                if unfinished:
                    raise _SilentError
        if unfinished:  # it is silent, or fetches what it hands out nothing of: one that tells is asked
            with telling_consumer(self.options.whole(), self.stall_seconds) as own:
                yield from self._decoded(own, unfinished, Patience(self.stall_seconds, own.fetched), taken)
        if unfinished:
            raise RetryableError(_stalled(unfinished, self.stall_seconds))
        yield control_batch(schema, [item.tally.manifest(item.position) for item in open_ranges.values()])

    @property
    def _untold_seconds(self) -> float:
        return min(self.stall_seconds, max(self.stall_seconds * _UNTOLD, _LEAST_UNTOLD_SECONDS))

    def _decoded(
        self, consumer: Consumer, unfinished: dict[PartitionId, _OpenRange], patience: Patience, taken: Taken
    ) -> Iterator[pa.RecordBatch]:
        _assign(consumer, unfinished.values())
        for records in self._fetch(consumer, unfinished, patience, taken):
            yield from self.decoder.decode(records)
            reached(CrashPoint.READING)

    def _fetch(
        self, consumer: Consumer, unfinished: dict[PartitionId, _OpenRange], patience: Patience, taken: Taken
    ) -> Iterator[MessageRecords]:
        """Yield records until every range has ended, or patience has."""
        # all that was assigned: records of a finished range may still be on their way
        assigned = frozenset(unfinished)
        while unfinished:
            remaining = sum(item.remaining for item in unfinished.values())
            if patience.is_over(remaining, unfinished):
                return
            messages = consumer.consume(min(remaining, self.chunk_records), _WAIT_SECONDS)
            taken(messages)
            yield from _take(consumer, unfinished, assigned, messages)


class _OpenRange:
    """A range while it is read; `position` is the next offset to fetch."""

    __slots__ = ("edge", "position", "tally")

    def __init__(self, edge: Edge) -> None:
        self.edge = edge
        self.position = edge.range.start
        self.tally = RangeTally(edge)

    @property
    def ended(self) -> bool:
        return self.position >= self.edge.range.stop

    @property
    def remaining(self) -> int:
        return self.edge.range.stop - self.position

    def accept(self, messages: list[Message]) -> MessageRecords | None:
        """Count the records before the stop and return them; the first one behind it only moves the position."""
        offsets = np.fromiter(map(Message.offset, messages), np.int64, len(messages))
        if int(offsets[0]) < self.position or bool((offsets[1:] <= offsets[:-1]).any()):
            raise RetryableError(f"{self.edge.range.id}: records came out of order; nothing of the batch was applied")
        inside = int(np.searchsorted(offsets, self.edge.range.stop))
        self.position = int(offsets[inside]) if inside < len(messages) else int(offsets[-1]) + 1
        if not inside:
            return None
        records = MessageRecords(self.edge, messages[:inside], offsets[:inside])
        self.tally.add(records.offsets, records.timestamps, records.values)
        return records


class MessageRecords:
    """Messages of one partition; see `RawRecords`. Keys and headers are only looked at when asked for."""

    def __init__(self, edge: Edge, messages: list[Message], offsets: npt.NDArray[np.int64]) -> None:
        self.edge = edge.id
        self.topic = edge.range.id.topic
        self.partition = edge.range.id.partition
        self.offsets = offsets
        self._messages = messages

    @cached_property
    def timestamps(self) -> npt.NDArray[np.int64]:
        """Milliseconds since the epoch, -1 for none."""
        stamps = map(itemgetter(1), map(Message.timestamp, self._messages))
        return np.fromiter(stamps, np.int64, len(self._messages))

    @cached_property
    def values(self) -> list[bytes | None]:
        """One value per offset."""
        return list(map(Message.value, self._messages))

    def keys(self, rows: Sequence[int]) -> list[bytes | None]:
        """Return the keys of the given rows."""
        return [self._messages[row].key() for row in rows]

    def headers(self, rows: Sequence[int]) -> list[Headers | UnreadableHeaders]:
        """Return the headers of the given rows; may be asked once of each."""
        return _headers([self._messages[row] for row in rows])


def _headers(messages: Sequence[Message]) -> list[Headers | UnreadableHeaders]:
    """Return what the client makes of each message's headers, which it can be asked once.

    It makes texts of their names. Where one is no UTF-8 it returns a list with holes in memory while an exception is
    set. `map` looks for that, and raises SystemError; a call of the method that the interpreter has made quick does
    not, and whoever looks into that list, or asks again, ends the process.
    """
    found: list[Headers | UnreadableHeaders] = []
    asked = map(Message.headers, messages)
    while len(found) < len(messages):
        try:
            for item in asked:
                # The client's types allow more than a received message ever has: it has a list of (str, bytes or None).
                found.append(cast("Headers", item or None))
        except (SystemError, UnicodeDecodeError) as error:
            if not _is_of_a_text(error):
                raise
            found.append(UnreadableHeaders("the name of one of its headers is not UTF-8"))
    return found


def _is_of_a_text(error: BaseException) -> bool:
    """Whether the client could not make a text; of several in one message the first is the cause of the others."""
    cause: BaseException | None = error
    while isinstance(cause, SystemError):
        cause = cause.__cause__
    return isinstance(cause, UnicodeDecodeError)


def _assign(consumer: Consumer, ranges: Iterable[_OpenRange]) -> None:
    places = [TopicPartition(item.edge.range.id.topic, item.edge.range.id.partition, item.position) for item in ranges]
    consumer.assign(places)


def _take(
    consumer: Consumer,
    unfinished: dict[PartitionId, _OpenRange],
    assigned: frozenset[PartitionId],
    messages: list[Message],
) -> Iterator[MessageRecords]:
    """Yield the records of the ranges that are still open, and close those that have ended."""
    events: list[Message] = []
    if any(map(Message.error, messages)):
        events = [message for message in messages if message.error() is not None]
        messages = [message for message in messages if message.error() is None]
    parts = _by_partition(messages, assigned)
    for id_, part in parts.items():
        item = unfinished.get(id_)
        if item is not None and part:
            records = item.accept(part)
            if records is not None:
                yield records
    for event in events:
        _handle_event(unfinished, event)
    for item in [item for item in unfinished.values() if item.ended]:
        del unfinished[item.edge.range.id]
        if unfinished:
            # Not `pause`: a partition that is paused, and resumed for the next task, is at times only fetched
            # a second later, when librdkafka's broker thread wakes up by itself.
            consumer.incremental_unassign([TopicPartition(item.edge.range.id.topic, item.edge.range.id.partition)])


def _by_partition(messages: list[Message], assigned: frozenset[PartitionId]) -> dict[PartitionId, list[Message]]:
    """Split what one fetch returned; where one topic is assigned only the borders of its long runs are looked at."""
    if len(assigned) == 1:
        return {next(iter(assigned)): messages}
    parts: dict[PartitionId, list[Message]] = {}
    if len({id_.topic for id_ in assigned}) > 1:
        for (topic, number), run in groupby(messages, key=lambda message: (message.topic(), message.partition())):
            parts.setdefault(PartitionId(topic, number), []).extend(run)
        return parts
    topic = next(iter(assigned)).topic
    numbers = np.fromiter(map(Message.partition, messages), np.int64, len(messages))
    starts = [0, *(int(border) + 1 for border in np.flatnonzero(np.diff(numbers)))] if messages else []
    for start, stop in zip(starts, [*starts[1:], len(messages)], strict=False):
        parts.setdefault(PartitionId(topic, int(numbers[start])), []).extend(messages[start:stop])
    return parts


def _handle_event(unfinished: Mapping[PartitionId, _OpenRange], event: Message) -> None:
    error, topic, partition, offset = event.error(), event.topic(), event.partition(), event.offset()
    place = None if topic is None or partition is None else PartitionId(topic, partition)
    if error is not None and error.code() != PARTITION_EOF:
        raise_for_event(error, place, [item.edge.range for item in unfinished.values()])
    elif place is not None and offset is not None and place in unfinished:
        item = unfinished[place]
        item.position = max(item.position, offset)


def _stalled(unfinished: Mapping[PartitionId, _OpenRange], seconds: float) -> str:
    where = ", ".join(
        f"{id_.topic}[{id_.partition}] at {item.position} of {item.edge.range.stop}" for id_, item in unfinished.items()
    )
    return f"Kafka sent nothing for {seconds:g} s while reading {where}; nothing of the batch was applied"
