"""A stream of messages with ids: the product's own source in each process, over a queue outside of all of them.

A record of the simulation is arithmetic of its position, so that a message counts by where it stands in the plan that
is done; which message that was is the account's affair (`messages_account.py`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, cast

from tests.simulation.data import TopicProcessor, TopicSpout
from tests.simulation.message_broker import Broker, Consumer, Habits, SimulatedInstance
from trident.base.clock import Clock
from trident.base.errors import RetryableError
from trident.base.failure import Failure
from trident.base.identity import BatchId
from trident.base.ranges import OffsetRange, PartitionId
from trident.coordinators.batches.processor import MessagesFailedError, ProcessRequest, ProcessResult
from trident.spouts.base import Limits, LostOffsets, SpoutKind
from trident.spouts.queue.acking import AckingSpout, SpoutContext
from trident.spouts.queue.message import Message, Values
from trident.spouts.queue.source import AckingSource

_SHARE = 0.14
_HORIZONS = (0, 4, 20, 1_000)
_TIMEOUTS_MS = (20, 200, 100_000)


class MessageSpout(TopicSpout):
    """The description of such a stream; each process opens a source of its own over the queue."""

    has_moments = False
    takes_messages_back = True


@dataclass(frozen=True)
class Drawn:
    """Of which partition the messages are, and what is promised of them."""

    name: str
    partition: int
    broker: Broker
    horizon: int
    message_timeout: timedelta
    prefetch: int
    """How many batches a process of the spout may have emitted that have no end."""
    partitions: Callable[[], Sequence[int]]
    """All that the stream's share of the topic would have; only the first one has messages."""


def draw_messages(
    seed: int, spouts: Iterable[str], partitions: Callable[[], int], is_over: Callable[[], bool]
) -> Drawn | None:
    """Return which stream of a world is one of messages; what else is drawn does not depend on it."""
    rng = random.Random(seed ^ 0xACC)
    if rng.random() >= _SHARE:
        return None
    names = list(spouts)
    share = int(rng.random() * len(names))
    return Drawn(
        names[share],
        share,
        Broker(rng, Habits.drawn(rng), is_over),
        rng.choice(_HORIZONS),
        timedelta(milliseconds=rng.choice(_TIMEOUTS_MS)),
        rng.randint(1, 4),
        lambda: [number for number in range(partitions()) if number % len(names) == share],
    )


def message_spout(of: TopicSpout) -> MessageSpout:
    """Return the description of a stream that takes the place of another one, with its limit."""
    return MessageSpout(SpoutKind.OPAQUE, Limits(max_records=of.limits.max_records), LostOffsets.STOP)


class _Described(AckingSpout):
    """What the source asks of the spout itself; its calls are the simulated process's affair."""

    schema = "n bigint"

    def __init__(self, drawn: Drawn, most: int) -> None:
        self.max_batch_size = most
        self.horizon = drawn.horizon
        self.message_timeout = drawn.message_timeout

    def open(self, context: SpoutContext) -> None:
        raise NotImplementedError("no process is started here")

    def next_tuple(self) -> Message | None:
        raise NotImplementedError("no process is started here")


class Hears(Protocol):
    """What the account is told."""

    def read(self, attempt: int, numbers: Sequence[int]) -> None:
        """Hear which messages an attempt has processed."""


class MessagesHere(AckingSource):
    """The product's source as one process has it; which messages it has named for which range is known."""

    def __init__(self, stream: MessageStream, process: str) -> None:
        super().__init__(stream.drawn.name, _Described(stream.drawn, stream.most), self._begun, stream.clock)
        self._id = PartitionId(stream.drawn.name, stream.drawn.partition)
        self.stream = stream
        self.process = process
        self._begun_last: SimulatedInstance | None = None
        self._is_gone = False
        self.built: dict[tuple[int, int], tuple[int, ...]] = {}
        """By the bounds of a range that was planned: which messages stood there then."""

    def begin_from(
        self, positions: Mapping[PartitionId, int], done: Mapping[str, str], pinned: Mapping[str, str]
    ) -> None:
        if not self._is_gone:  # a call in a process that has died meanwhile
            super().begin_from(positions, done, pinned)

    def receive(self, positions: Mapping[PartitionId, int]) -> None:
        if self._is_gone:
            raise RetryableError("the process is gone")  # a call in it, which can't come late
        super().receive(positions)

    def ids(self, range_: OffsetRange) -> tuple[str, ...]:
        self.built[range_.start, range_.stop] = self.numbers(range_)
        return super().ids(range_)

    def numbers(self, range_: OffsetRange) -> tuple[int, ...]:
        """Return which messages would be read of a range now."""
        return tuple(number_of(values) for values in cast("Sequence[Values]", self.rows(range_)))

    def committed(self, txid: int, ranges: Sequence[OffsetRange]) -> None:
        self.stream.when_told(txid)
        super().committed(txid, ranges)

    def close(self) -> None:
        if not self._is_gone:
            super().close()
            self.lose()

    def lose(self) -> None:
        """Go with the process, and its spout's process with it."""
        self._is_gone = True
        if self._begun_last is not None:
            self._begun_last.kill()

    def _begun(self, context: SpoutContext) -> SimulatedInstance:
        consumer: Consumer = (self.process, context.instance)
        most = self.stream.drawn.prefetch * self.stream.most
        self._begun_last = SimulatedInstance(self.stream.drawn.broker, consumer, most)
        return self._begun_last


@dataclass(frozen=True)
class MessageStream:
    """What a process opens such a stream by."""

    drawn: Drawn
    most: int
    clock: Clock
    when_told: Callable[[int], None]
    hears: Hears

    def opened(self, process: str) -> MessagesHere:
        return MessagesHere(self, process)


@dataclass
class ReadsMessages:
    """A processor over another one, whose operations read the messages of an attempt and fail some of them."""

    inner: TopicProcessor
    source: MessagesHere

    def process(self, request: ProcessRequest) -> ProcessResult:
        drawn, hears = self.source.stream.drawn, self.source.stream.hears
        edges = request.edges.get(drawn.name, ())
        numbers = [number for edge in edges for number in self.source.numbers(edge.range)]
        bad = drawn.broker.bad(numbers)
        if bad:
            self.source.fail_messages({f"m{number}": Failure.OPERATION for number in bad})
            raise MessagesFailedError(f"messages {bad} can't be in their batch")
        hears.read(request.batch.attempt, numbers)
        return self.inner.process(request)

    def cancel(self, batch: BatchId) -> None:
        self.inner.cancel(batch)


def number_of(values: Values) -> int:
    """Return which message it is, by its values."""
    return cast("Sequence[int]", values)[0]
