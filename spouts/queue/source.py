"""A spout of messages as a source: its process is asked and told, its messages are a log here, known by their ids."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol

from trident.base.clock import Clock, SystemClock
from trident.base.errors import ConfigurationError, RetryableError, TridentError
from trident.base.failure import Failure
from trident.base.latency import CompleteLatency
from trident.base.ranges import OffsetRange, PartitionBounds, PartitionId
from trident.spouts.base import OffsetsLostError, Start
from trident.spouts.offsets import StartOffsets, no_offsets
from trident.spouts.python.held_rows import HeldRowsSource
from trident.spouts.queue.acking import AckingSpout, SpoutContext, StreamProgress
from trident.spouts.queue.message import Message, Values
from trident.spouts.queue.pending import Delivery, GivenBack, Known, PendingMessages
from trident.spouts.queue.process.lasting import STARTING
from trident.spouts.queue.redelivered import Redelivered

_log = logging.getLogger("trident.coordinator")
TOPIC_ID: Final = "messages"
_FIRST_ANSWER_S: Final = 10.0
"""How long is waited for a process that is the first, or follows one that has failed, to know whether it fails too."""
_Told = tuple[Sequence[str], Sequence[str], StreamProgress | None]
"""What a process is told when it is started; see `SpoutContext`."""


class Instance(Protocol):
    """One process of a spout; see `SpoutInstance`."""

    @property
    def number(self) -> int:
        """Which of the stream's processes it is."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing more is there or on its way."""

    def latency(self) -> CompleteLatency | None:
        """Return how long its messages take."""

    def set_active(self, active: bool) -> None:
        """Let it call `next_tuple`, or not."""

    @property
    def has_begun(self) -> bool:
        """Whether it calls the spout; before that it is only starting."""

    def wait_for_first(self, seconds: float) -> bool:
        """Wait until it has answered, or is gone; whether it has, or is."""

    @property
    def waiting(self) -> int:
        """How many messages it has emitted that were not taken."""

    def take(self, most: int) -> list[tuple[Message, Delivery]]:
        """Return what it has emitted."""

    def ack(self, serials: tuple[int, ...], progress: StreamProgress | None = None) -> None:
        """Tell it of emissions that are done, and how far their stream is with them."""

    def fail(self, serials: tuple[int, ...], reason: Failure) -> None:
        """Tell it of emissions that are held no more."""

    def refuse(self, serials: tuple[int, ...]) -> None:
        """Tell it of emissions that have the ids of other messages."""

    def check(self) -> None:
        """Raise what the spout has raised, or RetryableError when its process is gone."""

    def close(self) -> bool:
        """End it after all that it was told; returns whether it has carried it out."""


class AckingSource(HeldRowsSource):
    """See `Source`, `NamesMessages`, `MeasuresLatency`, `KnowsOrder`, `ReadsSmallBatches`.

    No call here waits for a user's code, but for the first answer of a process. Its messages are taken in by the thread
    that plans; the others read and finish what is held, under a lock.
    """

    def __init__(
        self, name: str, spout: AckingSpout, begin: Callable[[SpoutContext], Instance], clock: Clock | None = None
    ) -> None:
        """`begin` starts a process of the spout."""
        super().__init__(name, spout, "next_tuple()")
        self._id = PartitionId(name, 0)
        self._spout = spout
        self._begin = begin
        self._clock = clock or SystemClock()
        self._pending = PendingMessages(horizon=spout.horizon)
        self._instance: Instance | None = None
        self._instances = 0
        self._told: _Told | None = None
        self._life: tuple[str, int] | None = None
        self._txid = 0
        self._is_active = True
        self._is_new = False
        self._has_failed = False
        self._told_of_old = False
        self._redelivered = Redelivered(name)
        self._lock = threading.Lock()

    @property
    def horizon(self) -> int:
        """How many ids of done messages are remembered."""
        return self._spout.horizon

    @property
    def given_again(self) -> int:
        """How many messages came again although they were done, and were acked without effect."""
        return self._redelivered.count

    def belong_to(self, line: str, birth: int) -> None:
        """See `NamesMessages`; a source keeps what comes of the line, which is no name of anybody's."""
        self._life = hashlib.blake2b(f"{line}/{self._name}".encode(), digest_size=8).hexdigest(), birth

    def begin_from(
        self, positions: Mapping[PartitionId, int], done: Mapping[str, str], pinned: Mapping[str, str]
    ) -> None:
        """Put what comes behind what is done and pinned, and start the process.

        One that was asked where it starts goes on if it was told all this.
        """
        with self._lock:
            self._pending = PendingMessages(
                positions.get(self._id, 0), done=done, pinned=pinned, horizon=self._spout.horizon
            )
        self._informed()
        self._told = None  # nobody is asked where it begins any more; it may have all ids of the horizon

    def set_active(self, active: bool) -> None:
        """Have the spout activated or deactivated; acks and fails still come."""
        with self._lock:
            self._is_active = active
            if self._instance is not None:
                self._instance.set_active(active)

    def receive(self, positions: Mapping[PartitionId, int]) -> None:
        """Take in what the process has emitted, as much as the next batch has room for; start one if none is there.

        Raises RetryableError when the process is gone: the next call starts another one.
        """
        position = positions.get(self._id, 0)
        failed = self._given_back(position)
        with self._lock:
            room = 0 if self._pending.is_closed else self._spout.max_batch_size - (self._pending.stop - position)
        instance = self._instance or self._start()
        self._give_back(failed)
        # one that is not active has nothing to say
        has_answered = not (self._has_failed and self._is_active) or instance.wait_for_first(_FIRST_ANSWER_S)
        self._take_in(instance.take(room))
        self._check(instance)
        if not has_answered:  # else each one that takes so long to fail would be the first that does
            waits = "open() of the one behind it has not returned for %.0f s"
            starts = f"the one behind it is still starting after %.0f s: {STARTING}"
            raise RetryableError(
                f"stream {self._name!r}: a process of its spout has failed, and "
                f"{(waits if instance.has_begun else starts) % _FIRST_ANSWER_S}. Nothing more is received"
            )
        self._has_failed = False

    def _check(self, instance: Instance) -> None:
        """Raise what it has raised; the next one takes its place."""
        try:
            instance.check()
        except TridentError:
            self._instance, self._has_failed = None, True
            instance.close()
            raise

    def give_back(self, positions: Mapping[PartitionId, int]) -> None:
        """See `TakesMessagesBack`."""
        self._give_back(self._given_back(positions.get(self._id, 0)))

    def _given_back(self, position: int) -> Sequence[GivenBack]:
        with self._lock:
            oldest = self._clock.monotonic() - self._spout.message_timeout.total_seconds()
            return self._pending.plan_from(position, oldest)

    def bounds(self) -> tuple[PartitionBounds, ...]:
        """Return what is held."""
        with self._lock:
            return (self._bound(self._pending.first, self._pending.planned_to),)

    @property
    def is_caught_up(self) -> bool:
        """Whether the process has said that there was nothing more, and all before that was taken in."""
        return self._instance is not None and self._instance.is_idle

    def fills_a_batch(self, positions: Mapping[PartitionId, int]) -> bool:
        """See `NamesMessages`; what may be under way at most is a full batch, too, where that is less."""
        with self._lock:
            instance = None if self._pending.is_closed else self._instance
            held = self._pending.stop - positions.get(self._id, 0)
        waiting = 0 if instance is None else instance.waiting
        return held + waiting >= min(self._spout.max_batch_size, self._spout.most_under_way)

    def starts(self, policy: Start | None = None) -> tuple[PartitionBounds, ...]:
        """Start at 0, whatever the policy: what there is, its source says, which is opened at once.

        A spout that can't be opened is known before anything of it is stored.
        """
        if isinstance(policy, StartOffsets):
            raise no_offsets(self._name)
        if isinstance(policy, datetime):
            raise ConfigurationError(f"stream {self._name!r} has no timestamps to start at; nothing was changed")
        self._is_new = True
        instance = self._informed()
        if self._is_active:
            instance.wait_for_first(_FIRST_ANSWER_S)
        self._check(instance)
        return (self._bound(0, 0),)

    def ids(self, range_: OffsetRange) -> tuple[str, ...]:
        """Return the ids of the messages of a range that is held."""
        with self._lock:
            return self._pending.ids(range_.start, range_.stop)

    def digests(self, range_: OffsetRange) -> tuple[str, ...]:
        """Return what tells each from another message with its id."""
        with self._lock:
            return self._pending.digests(range_.start, range_.stop)

    def planned(self, range_: OffsetRange) -> None:
        """Note the batch, to know it if it is planned again: then its attempt has failed."""
        with self._lock:
            self._pending.plan(range_.start, range_.stop)

    def standing(self, range_: OffsetRange) -> Sequence[Values]:
        """Return the values of the messages of a range; raises OffsetsLostError when they are let go of."""
        with self._lock:
            values = self._pending.between(range_.start, range_.stop)
        if values is None:
            raise OffsetsLostError((range_,))
        return values

    def names(self, range_: OffsetRange) -> Sequence[str]:
        """Return the messages by their ids."""
        return [f"the message {id_!r}" for id_ in self.ids(range_)]

    def fail_messages(self, reasons: Mapping[str, Failure]) -> None:
        """See `TakesMessagesBack`."""
        with self._lock:
            self._pending.fail(reasons)

    def latency(self) -> CompleteLatency | None:
        """Return how long messages of the process take, from emission to ack; another process begins anew."""
        instance = self._instance
        return instance.latency() if instance is not None else None

    def committed(self, txid: int, ranges: Sequence[OffsetRange]) -> None:
        """Have the messages acked: it is said at once, and waited for by nobody."""
        with self._lock:
            before = self._pending.first
            acked = [delivery for item in ranges if item.id == self._id for delivery in self._pending.finish(item.stop)]
            self._txid = txid if self._pending.first > before else self._txid
        self._ack(acked)

    def close(self) -> None:
        """Fail what is held and not done, end the process, and say what its source could not be told."""
        instance = self._instance
        if instance is None:
            return
        with self._lock:
            left = self._pending.give_back()
        self._fail(left, Failure.RUN_ENDED)
        self._instance = None
        is_told = instance.close()
        self._redelivered.tell_all()
        if left:
            _log.info("stream %r: %d messages are in no result and go back to their source", self._name, len(left))
        if not is_told:
            _log.warning(
                "stream %r: the process of its spout ended before it had told its source all%s: what the source gives "
                "again of it is known by its id, and not applied again within the horizon of %d messages",
                self._name,
                _why(instance),
                self._spout.horizon,
            )

    def _informed(self) -> Instance:
        """Return a process that was told what is known now: what another one found at its source it did not check."""
        instance, told = self._instance, self._what_is_known()
        if instance is not None and self._told == told:
            return instance
        if instance is not None:
            self._instance = None
            instance.close()
        self._told = told
        return self._start()

    def _start(self) -> Instance:
        self._instances += 1
        instance = self._begin(SpoutContext(self._name, self._instances, *self._what_is_known(), self._is_new))
        with self._lock:
            self._instance = instance
            instance.set_active(self._is_active)
        return instance

    def _take_in(self, taken: Iterable[tuple[Message, Delivery]]) -> None:
        """Hold what is new, ack what is done already, refuse what has the id of another message.

        Refused first, and before another thread can have any of it acked: a spout that keeps its deliveries by id would
        take the ack of one for that of the other.
        """
        again: list[Message] = []
        known: list[Delivery] = []
        others: list[Delivery] = []
        now = self._clock.monotonic()
        with self._lock:
            for message, delivery in taken:
                what = self._pending.add(message, delivery, now)
                if what is Known.DONE:
                    again.append(message)
                    known.append(delivery)
                elif what is Known.OTHER:
                    others.append(delivery)
                elif what is Known.NEW and message.is_redelivered:
                    self._tell_of_old()
            self._refuse(others)
        self._redelivered.add(again)
        self._ack(known)

    def _tell_of_old(self) -> None:
        """Say once that some of what is done is forgotten: it can't be told from a new message."""
        if self._told_of_old or self._pending.remembers_all:
            return
        self._told_of_old = True
        _log.warning(
            "stream %r: its source gives messages again that are not among the %d done ones that are remembered. They "
            "count as new: right for those that no batch has finished, twice for one that was done longer ago. If acks "
            "may be lost for so long, give the spout's class a larger horizon, and the run a longer Keep",
            self._name,
            self._pending.remembered,
        )

    def _ack(self, deliveries: Iterable[Delivery]) -> None:
        instance = self._instance
        if instance is not None and (serials := _serials(deliveries, instance)):
            with self._lock:
                progress = self._progress()
            instance.ack(serials, progress)

    def _what_is_known(self) -> _Told:
        with self._lock:
            return self._pending.known(), self._pending.undecided(), self._progress()

    def _progress(self) -> StreamProgress | None:
        """Return how far the stream is: each message has a position, and all are done that lie before the first."""
        return None if self._life is None else StreamProgress(*self._life, self._pending.first, self._txid)

    def _refuse(self, deliveries: Iterable[Delivery]) -> None:
        instance = self._instance
        if instance is not None and (serials := _serials(deliveries, instance)):
            instance.refuse(serials)

    def _give_back(self, given: Sequence[GivenBack]) -> None:
        for reason in Failure:
            self._fail((each.delivery for each in given if each.reason is reason), reason)

    def _fail(self, deliveries: Iterable[Delivery], reason: Failure) -> None:
        instance = self._instance
        if instance is not None and (serials := _serials(deliveries, instance)):
            instance.fail(serials, reason)

    def _bound(self, first: int, stop: int) -> PartitionBounds:
        return PartitionBounds(self._id, TOPIC_ID, first, stop)


def _serials(deliveries: Iterable[Delivery], instance: Instance) -> tuple[int, ...]:
    """Return which emissions of an instance they are: what another one gave ended with its process."""
    return tuple(each.serial for each in deliveries if each.instance == instance.number)


def _why(instance: Instance) -> str:
    """Return what it has raised, in brackets, if it has."""
    try:
        instance.check()
    except TridentError as error:
        return f" ({error})"
    return ""
