"""A user's source that can't be read again: its rows are kept in this process, and are a log there."""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import ClassVar, Final, Protocol

from trident.base.errors import ConfigurationError, FatalError, RetryableError, TridentError
from trident.base.ranges import OffsetRange, PartitionBounds, PartitionId
from trident.spouts.base import OffsetsLostError, Start
from trident.spouts.offsets import StartOffsets, no_offsets
from trident.spouts.python.held_rows import HeldRowsSource
from trident.spouts.python.positions import checked_partitions
from trident.spouts.python.raising import in_spout
from trident.spouts.python.received import ReceivedRows, Row
from trident.spouts.python.watching import Watched

_log = logging.getLogger("trident.coordinator")
TOPIC_ID: Final = "received"
_GONE_WITH_THE_RUN: Final = (
    "What it gave before and is not done when the run ends is lost, unless its source gives it again"
)
_LAST_PAUSES: Final = (0.1, 0.5, 2.0)
"""Seconds between the tries to tell what is done when a run ends."""


class GivesRows(Protocol):
    """What is asked of a user's spout; see `NonTransactionalSpout`."""

    schema: ClassVar[str]
    max_records_per_batch: int

    def partitions(self) -> Iterable[int]:
        """Return the partitions' numbers; what it says is not believed before it was looked at."""

    def receive(self, partition: int, most: int) -> Iterable[Row]:
        """Return the rows that have come."""

    def done(self, partition: int, rows: Sequence[Row]) -> None:
        """Hear which rows are done."""

    def close(self) -> None:
        """Hear that a run ends."""


class ReceivingSource(HeldRowsSource):
    """See `Source`, `ReceivesRows`, `KnowsOrder`, `ReadsSmallBatches`.

    The spout is asked and told by the thread that plans, and at last by the one that closes; the rest only changes or
    reads what is held, under a lock that no user's code is called under.
    """

    def __init__(self, name: str, spout: GivesRows) -> None:
        super().__init__(name, spout, "receive()")
        self._spout = spout
        self._held: dict[int, ReceivedRows] = {}
        self._turns = itertools.count()
        self._has_received = False
        self._broken: FatalError | None = None
        self._pause = threading.Event()
        self._watched = Watched(name)
        self._lock = threading.Lock()

    def begin(self, used: Mapping[PartitionId, int]) -> None:
        """Put what comes behind all that was ever planned: rows that stood there are gone, and stay what they were."""
        with self._lock:
            self._held = {id_.partition: ReceivedRows(stop) for id_, stop in used.items()}

    def receive(self, positions: Mapping[PartitionId, int]) -> None:
        """Tell the spout what is done, then take in as many rows as the next batch has room for.

        The room is one for all partitions, and each goes first in turn: what is received is planned at once, and waits
        nowhere where a run that ends would lose it.
        """
        with self._watched.calls():
            self._receive(positions)

    def _receive(self, positions: Mapping[PartitionId, int]) -> None:
        self._tell_what_is_done()
        if self._broken is not None:
            raise self._broken
        self._watched.begins("partitions()")
        with in_spout(self._name, "partitions()", "Nothing was received"):
            numbers = checked_partitions(self._name, self._spout.partitions())
        with self._lock:
            behind = {id_.partition: stop for id_, stop in positions.items()}
            held = {number: self._held.setdefault(number, ReceivedRows()) for number in numbers}
            room = self._spout.max_records_per_batch - sum(
                rows.behind(behind.get(number, 0)) for number, rows in self._held.items()
            )
        first = next(self._turns) % len(numbers) if numbers else 0
        for number in (*numbers[first:], *numbers[:first]):
            if room <= 0:
                return
            try:
                room -= self._take_in(number, held[number], room)
            except TridentError as error:
                if not self._waits_behind(behind):
                    raise
                # what was received is planned first: nobody knows of it before
                self._broken = error if isinstance(error, FatalError) else None
                return

    def _waits_behind(self, positions: Mapping[int, int]) -> bool:
        with self._lock:
            return any(rows.behind(positions.get(number, 0)) for number, rows in self._held.items())

    def bounds(self) -> tuple[PartitionBounds, ...]:
        """Return what is held, of every partition that was ever known; asks nobody."""
        with self._lock:
            return tuple(self._bound(number, rows.first, rows.stop) for number, rows in sorted(self._held.items()))

    def starts(self, policy: Start | None = None) -> tuple[PartitionBounds, ...]:
        """Start at 0, whatever the policy: nothing has been received yet, so there is nothing older or newer."""
        if isinstance(policy, StartOffsets):
            raise no_offsets(self._name)
        if isinstance(policy, datetime):
            raise ConfigurationError(f"stream {self._name!r} has no timestamps to start at; nothing was changed")
        with in_spout(self._name, "partitions()", "Nothing was changed"):
            numbers = checked_partitions(self._name, self._spout.partitions())
        return tuple(self._bound(number, 0, 0) for number in numbers)

    def standing(self, range_: OffsetRange) -> Sequence[Row]:
        """Return the rows of a range as the spout gave them; raises OffsetsLostError when they are let go of."""
        with self._lock:
            held = self._held.get(range_.id.partition)
            if held is None or not held.holds(range_.start, range_.stop):
                raise OffsetsLostError((range_,))
            return held.between(range_.start, range_.stop)

    def committed(self, txid: int, ranges: Sequence[OffsetRange]) -> None:
        """Note it, for the thread that plans to tell the spout: who calls this must not wait for users' code."""
        with self._lock:
            for item in ranges:
                held = self._held.get(item.id.partition)
                if held is not None:
                    held.finish(item.stop)

    def close(self) -> None:
        """Tell the spout what is done, and that the run is over; what is held besides is gone, and the log says so."""
        if not self._has_received:
            return
        self._has_received = False
        with self._watched.calls():
            self._close()

    def _close(self) -> None:
        try:
            self._tell_at_last()
        finally:
            with self._lock:
                untold = sum(len(rows.finished()) for rows in self._held.values())
                left = sum(rows.stop - rows.first for rows in self._held.values()) - untold
                self._held = {}
            if untold:
                _log.warning(
                    "stream %r: %d rows are in every result, and their source could not be told so when the run ended: "
                    "if it gives them again, they are counted again",
                    self._name,
                    untold,
                )
            if left:
                _log.warning(
                    "stream %r: %d rows were received and are not done when the run ends; this process forgets them. "
                    "Those of a batch that is pinned are applied by the next start; the others are in no result, "
                    "unless the source gives them again",
                    self._name,
                    left,
                )
            self._watched.begins("close()")
            with in_spout(self._name, "close()", "What is done stays"):
                self._spout.close()

    def _take_in(self, number: int, held: ReceivedRows, most: int) -> int:
        self._has_received = True
        before = held.stop
        self._watched.begins(f"receive() of partition {number}")
        with in_spout(self._name, "receive()", _GONE_WITH_THE_RUN):
            given = self._spout.receive(number, most)
            if given is None or isinstance(given, str | bytes | Mapping):
                kind = "None (a missing return?)" if given is None else f"a value of the type {type(given).__name__}"
                raise FatalError(
                    f"stream {self._name!r}: receive() returned {kind}, where an iterable of rows is wanted"
                )
            for row in given:
                with self._lock:
                    held.add(row)
        return held.stop - before

    def _tell_at_last(self) -> None:
        for pause in _LAST_PAUSES:
            try:
                return self._tell_what_is_done()
            except RetryableError:
                self._pause.wait(pause)
        return self._tell_what_is_done()

    def _tell_what_is_done(self) -> None:
        """Tell each partition's, also when another one's could not be told; raises what was wrong first."""
        with self._lock:
            finished = [(number, held, held.finished()) for number, held in sorted(self._held.items())]
        wrong: list[TridentError] = []
        for number, held, rows in finished:
            if not rows:
                continue
            self._watched.begins(f"done() of partition {number}")
            try:
                with in_spout(self._name, "done()", "The rows that it was told of are in every result and stay"):
                    self._spout.done(number, rows)
            except TridentError as error:
                wrong.append(error)
                continue
            with self._lock:
                held.let_go(len(rows))
        if wrong:
            raise wrong[0]

    def _bound(self, number: int, first: int, stop: int) -> PartitionBounds:
        return PartitionBounds(PartitionId(self._name, number), TOPIC_ID, first, stop)
