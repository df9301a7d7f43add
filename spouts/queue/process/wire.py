"""What a coordinator and the process of a spout say to each other, pickled, through one pipe."""

from __future__ import annotations

from dataclasses import dataclass, field

from trident.base.failure import Failure
from trident.spouts.queue.acking import StreamProgress


@dataclass(frozen=True, slots=True)
class Ack:
    """These emissions are done."""

    serials: tuple[int, ...]
    progress: StreamProgress | None = None
    """How far their stream is with them."""


@dataclass(frozen=True, slots=True)
class Fail:
    """These emissions are held no more."""

    serials: tuple[int, ...]
    reason: Failure


@dataclass(frozen=True, slots=True)
class Refuse:
    """These emissions have ids that other messages have; they are not held."""

    serials: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SetActive:
    """Call `next_tuple`, or don't."""

    active: bool


@dataclass(frozen=True, slots=True)
class Beat:
    """The coordinator's process runs: said every second in which nothing else is."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Close the spout and end, after what was said before."""


Said = Ack | Fail | Refuse | SetActive | Beat | Stop


@dataclass(frozen=True, slots=True)
class Emitted:
    """Messages in order; the serial of the first, the others' follow."""

    first: int
    messages: tuple[bytes, ...] = field(repr=False)
    """Each pickled on its own, as it was when `next_tuple` returned it."""


@dataclass(frozen=True, slots=True)
class Raised:
    """A call of the spout has raised, and the process ends."""

    what: str
    text: str
    """What the library's own errors say; of others type and place only, since their texts may hold a message."""
    may_pass: bool


@dataclass(frozen=True, slots=True)
class Closed:
    """All that was said was carried out, and the spout is closed."""


@dataclass(frozen=True, slots=True)
class Idle:
    """There is nothing more, as of a call of `next_tuple` behind all that was emitted."""

    settlings: int
    """After so many `Ack`s, `Fail`s and `Refuse`s."""


@dataclass(frozen=True, slots=True)
class Alive:
    """The process runs, whatever a call in it does: said every second."""

    took: tuple[float, ...] = ()
    """How many seconds some of the messages took that were acked since, from emission to ack."""


@dataclass(frozen=True, slots=True)
class Hangs:
    """A call has not returned for so long."""

    what: str
    seconds: float


@dataclass(frozen=True, slots=True)
class HoldsBack:
    """There are messages, and for so long none of them was given."""

    why: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Logged:
    """What the library has logged in the process, where nobody sees to a log."""

    logger: str
    level: int
    text: str


Heard = Emitted | Idle | Alive | Hangs | HoldsBack | Logged | Raised | Closed
