"""What a user subclasses for a source whose messages have ids and want an ack each, such as a queue."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from difflib import get_close_matches
from typing import ClassVar, Final

from trident.base.errors import ConfigurationError
from trident.base.failure import Failure
from trident.spouts.queue.message import Message
from trident.spouts.queue.received import other_message
from trident.spouts.queue.waits import ProgressiveWait, WaitStrategy

_PUT_RIGHT: Final = (
    "It comes again with the next run: take it out there, and have it sent with an id of its own; or have the spout's "
    "`refuse` put such a message aside"
)


@dataclass(frozen=True, slots=True)
class StreamProgress:
    """How many messages of a stream are done, all told, as its ledger says.

    It only grows as long as `life` is the same. Who keeps it at the source beside what is acked, and finds more there
    than the ledger has, knows that the ledger was put back to an earlier moment: what was acked since is in no result.
    """

    life: str
    """Another one for each stream of each topology and ledger; the same behind a restore, and behind a reset."""
    birth: int
    """The txid after which the topology's last reset let it begin anew, which also lets `done` begin anew; else 0."""
    done: int
    txid: int = 0
    """The txid of the newest of them; 0 where none of them is of the spout's process, which does not know it then."""

    def is_behind(self, other: StreamProgress) -> bool:
        """Tell whether the same stream was further when the other one was noted.

        It was as well where the other one is of before the last reset, but of a txid that came behind it: none did in
        the ledger that is read now.
        """
        is_further = (self.birth, self.done) < (other.birth, other.done) or other.birth < self.birth < other.txid
        return self.life == other.life and is_further


@dataclass(frozen=True, slots=True)
class SpoutContext:
    """Where an instance of a spout runs."""

    stream: str
    instance: int
    """Counts the processes that the stream has had in its run, from 1 on."""
    known: Sequence[str] = field(default=(), repr=False)
    """The ids of messages that are done, or held by the coordinator, within the horizon, oldest first.

    Each of them that its source gives again counts once, as long as it is among the last `horizon` that are done.
    """
    held: Sequence[str] = field(default=(), repr=False)
    """Which of these are not done yet: an earlier process of the run has given them, and they may be failed still."""
    progress: StreamProgress | None = None
    """How far the stream was when the process was started; None where it is only asked where it starts, and ended."""
    is_new: bool = True
    """Whether the stream has begun in this run: what is said of where to begin is for it, and not for any later run."""


class SpoutHook:
    """Hears, in the spout's process and by its thread, what becomes of messages; what it raises, the spout has raised.

    As Storm's task hooks; a subclass overrides what it wants to hear.
    """

    def emitted(self, message: Message) -> None:
        """Hear that `next_tuple` has returned a message."""

    def acked(self, id_: str | None, latency_s: float) -> None:
        """Hear that a message is in every result, so long after it was emitted (the complete latency)."""

    def failed(self, id_: str | None, reason: Failure) -> None:
        """Hear that a message was failed."""

    def refused(self, id_: str | None) -> None:
        """Hear that a message was refused, since another one has its id; of a `refuse` that does not raise."""


_OPTIONS: Final = ("max_batch_size", "max_pending", "message_timeout", "horizon", "wait", "hooks")
_NEAR: Final = 0.85
_SHORTEST: Final = 5


def _refuse_misspelt(kind: type[AckingSpout], name: str) -> None:
    """Raise `ConfigurationError` for an attribute that is one letter from an option, or its beginning.

    It would be no error to Python, and the option would be as before.
    """
    if name.startswith("_") or name in _OPTIONS or hasattr(AckingSpout, name):
        return
    begun = [option for option in _OPTIONS if len(name) >= _SHORTEST and option.startswith(name)]
    for option in begun or get_close_matches(name, _OPTIONS, 1, _NEAR):
        raise ConfigurationError(
            f"{kind.__name__}.{name}: a spout over a queue has no such option; did you mean {option!r}? Nothing was "
            "started or changed"
        )


class AckingSpout(ABC):
    """Base of a spout over a queue: it gives messages one by one, each with an id, and is told what became of each.

    Guarantee: a message is acked when its batch is durably in every state and sink, never before. One that was not is
    failed, or left to the source, which gives it again: nothing is lost that the source keeps until its ack. A message
    that is given again is recognized by its id within the `horizon` and is not applied again: with states that are
    exactly once on their own, each message counts once. What comes again from behind the horizon counts as new. One
    that has the id of another one there, by their digests (`Message.digest`), is refused, never acked.

    The object is pickled to a process of its own beside the coordinator, and only that process calls what is below, by
    one thread. When it dies (with its connection, so that the source gives again what it had not acked) another one
    takes its place, with a copy of the object as the driver has it. When the coordinator dies, it ends too.

    What a method, a hook or `wait` raises ends the run, of `refuse` once all else is settled; what may pass by itself
    is to be raised as `RetryableError`: the process is ended then and another one opened.
    """

    schema: ClassVar[str]
    """The fields of a message's values, as Spark DDL; a subclass must set it."""
    max_batch_size: int = 10_000
    """How many messages a batch has at most."""
    max_pending: int = 50_000
    """How many messages may be emitted and not acked or failed: beyond that `next_tuple` is not called."""
    message_timeout: timedelta = timedelta(seconds=30)
    """A message that is older when the attempt at its batch fails is failed, not tried again by itself."""
    horizon: int = 100_000
    """How many ids of done messages are remembered, if the ledger keeps their txids (`Keep`).

    Some 150 bytes each, and 65 for a digest beside it.

    No more than half of it is under way, whatever `max_pending` says. 0: none, then a redelivery counts again (at least
    once), and a message may have no id.
    """
    wait: WaitStrategy = ProgressiveWait()
    hooks: Sequence[SpoutHook] = ()

    @property
    def most_under_way(self) -> int:
        """How many messages may be emitted and have no end: each has to be known when it comes again."""
        return min(self.max_pending, max(1, self.horizon // 2)) if self.horizon else self.max_pending

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in vars(cls):
            _refuse_misspelt(cls, name)

    def __setattr__(self, name: str, value: object) -> None:
        _refuse_misspelt(type(self), name)
        super().__setattr__(name, value)

    @abstractmethod
    def open(self, context: SpoutContext) -> None:
        """Connect; called once in each process, before everything else."""

    @abstractmethod
    def next_tuple(self) -> Message | None:
        """Return the next message, soon; None when there is none."""

    def is_waiting(self) -> bool:
        """Return whether there may be messages although `next_tuple` returned None: a group is not joined yet, say.

        Meanwhile a run with until="caught_up" does not end. Called behind a `next_tuple` that returned None.
        """
        return False

    def holds_back(self) -> str:
        """Return why no message is given although there are some, for the log; empty otherwise.

        Called behind a `next_tuple` that returned None or a message again; the run warns of what lasts.
        """
        return ""

    def reached(self, progress: StreamProgress) -> None:  # noqa: B027 - who keeps it nowhere does nothing
        """Hear how far the stream is, before the acks that belong to it; it may be no more than was heard before."""

    def ack(self, id_: str | None) -> None:  # noqa: B027 - who can't acknowledge says nothing
        """Hear that a message is in every result. Called once for each time that this process has emitted it."""

    def fail(self, id_: str | None) -> None:  # noqa: B027 - as above
        """Hear that a message is in no result and is held no more: give it again, here or in another process."""

    def refuse(self, id_: str | None) -> None:
        """Hear that another message with the id of this one is done or under way, by their digests.

        It is in no result, and is held no more. Raises, which ends the run as soon as all else that was given is done:
        the message stays at its source, and so does the other one if it is under way, since an `ack` of their id would
        not say whose it is. One that can tell the sender, or put the message aside, does that instead; to ack it at its
        source is to lose it. Called before any later `ack` or `fail` of the id.
        """
        raise other_message(type(self).__qualname__, id_ or "", _PUT_RIGHT)

    def activate(self) -> None:  # noqa: B027 - as above
        """Hear that `next_tuple` will be called from now on; after `open`, and after each `deactivate`."""

    def deactivate(self) -> None:  # noqa: B027 - as above
        """Hear that `next_tuple` will not be called until `activate`; acks and fails still come."""

    def close(self) -> None:  # noqa: B027 - as above
        """Hear that the process ends; not called when it is killed."""

    def identity(self) -> Mapping[str, str]:
        """Return what must stay the same over restarts, such as a queue's name; kept in the ledger, so no secrets."""
        return {}

    def shared_out(self) -> Sequence[str]:
        """Return what gives each message to one of its readers alone, as errors may name it: a queue at a server.

        A topology with two streams that have one of these in common is refused.
        """
        return ()
