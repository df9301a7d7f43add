"""A spout whose messages a test says: each has an id of its own, and may be given back by itself, as a queue's may."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql.types import StructType

from trident.base.failure import Failure
from trident.base.ranges import OffsetRange, PartitionId
from trident.spouts.row_logs import Row
from trident.testing.scripted import Given, Script, ScriptedSource, ScriptedSpout


@dataclass(frozen=True, slots=True)
class FailedRecord:
    """A record that a test gave to a stream of messages, and that its batch was tried again without."""

    record: Row
    """As it was given."""
    reason: Failure
    """An operation has failed it, or has left it without an ack."""


class MessageScript(Script):
    """The same of a stream of messages; what is given back is gone, since the test is the queue that may give it again.

    A run's threads change it too, so it has a lock. It outlives coordinators, but for words that none acted on.
    """

    def __init__(self, stream: str, schema: StructType) -> None:
        super().__init__(stream, schema)
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._ids: list[str] = []
        self._reasons: dict[str, Failure] = {}
        self._failed: list[FailedRecord] = []

    @property
    def failed(self) -> tuple[FailedRecord, ...]:
        """What the batch under way was tried again without."""
        with self._lock:
            return tuple(self._failed)

    def offer(self, rows: Given) -> None:
        """Have these read next, behind all that was read before."""
        super().offer(rows)
        self._failed.clear()

    def replace(self, rows: Given) -> None:
        """Have these read where the batch under way stands: they are other messages, also where they look the same."""
        super().replace(rows)
        self._ids = [str(next(self._numbers)) for _ in rows.rows]

    def begin(self) -> None:
        """Forget what a coordinator heard that died before it planned again: its queue gives those messages again."""
        with self._lock:
            self._reasons.clear()

    def ids(self, start: int, stop: int) -> tuple[str, ...]:
        """Return the ids of a range, which is of the batch under way."""
        with self._lock:
            return tuple(self._ids[start - self._base : stop - self._base])

    def fail(self, reasons: Mapping[str, Failure]) -> None:
        """Hear of messages that can't be in their batch: they stand where they are until it is planned again."""
        with self._lock:
            self._reasons.update(reasons)

    def give_back(self, position: int) -> None:
        """Let go of what has failed from a position on, where a plan begins: what was behind it moves up."""
        with self._lock:
            first, standing = position - self._base, self._standing
            going = [index for index, id_ in enumerate(self._ids) if index >= first and id_ in self._reasons]
            if not going:
                return
            self._failed += [FailedRecord(standing.rows[index], self._reasons[self._ids[index]]) for index in going]
            staying = sorted(set(range(len(self._ids))) - set(going))
            rows = tuple(standing.rows[index] for index in staying)
            self._standing = Given(rows, standing.table.take(pa.array(staying, pa.int64())))
            self._ids = [self._ids[index] for index in staying]


@dataclass(frozen=True, slots=True)
class ScriptedMessages(ScriptedSpout):
    """See `ScriptedSpout`; for one that takes its messages back."""

    script: MessageScript

    def open(self, name: str) -> ScriptedMessageSource:
        """Return the source over them."""
        return ScriptedMessageSource(self.script)


class ScriptedMessageSource(ScriptedSource):
    """See `TakesMessagesBack`: all that it is asked and told is of its script, which other lives have as well."""

    given_again: Final = 0
    horizon: Final = 0
    """Nothing that is done is ever given again."""
    is_caught_up: Final = True
    """What the test has given is all that there is."""

    def __init__(self, script: MessageScript) -> None:
        super().__init__(script)
        self._messages = script

    def belong_to(self, line: str, birth: int) -> None:
        """Do nothing: a test keeps nothing at its source."""

    def begin_from(
        self, positions: Mapping[PartitionId, int], done: Mapping[str, str], pinned: Mapping[str, str]
    ) -> None:
        """Begin with what the script has: what is done or pinned lies before the next plan."""
        self._messages.begin()

    def set_active(self, active: bool) -> None:
        """Do nothing: a test's topology is always active."""

    def receive(self, positions: Mapping[PartitionId, int]) -> None:
        """Give back what has failed; nothing more comes."""
        self.give_back(positions)

    def give_back(self, positions: Mapping[PartitionId, int]) -> None:
        """See `TakesMessagesBack`."""
        self._messages.give_back(positions.get(self._id, 0))

    def fills_a_batch(self, positions: Mapping[PartitionId, int]) -> bool:
        """Return that nothing waits to be received: what the test has given stands there."""
        return False

    def ids(self, range_: OffsetRange) -> tuple[str, ...]:
        """Return the ids of the messages of a range."""
        return self._messages.ids(range_.start, range_.stop)

    def digests(self, range_: OffsetRange) -> tuple[str, ...]:
        """Return nothing: each message of a test is the only one with its id."""
        return ()

    def planned(self, range_: OffsetRange) -> None:
        """Do nothing: no message is ever too old, so no plan has to be known again."""

    def fail_messages(self, reasons: Mapping[str, Failure]) -> None:
        """See `TakesMessagesBack`."""
        self._messages.fail(reasons)
