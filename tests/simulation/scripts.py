"""Sequences of calls that a scheduler runs a few calls at a time: a take-over, and what a person decides.

The product's own functions are run again from their start, with the answers so far played back; the
first calls without an answer are made, the one after them suspends. That makes a sequence in the
middle a value (its answers), which can be delayed, lost, copied and compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, cast

from tests.simulation.stores import LockedError
from trident.base.errors import FatalError, OutcomeUnknownError, RetryableError, TridentError
from trident.base.identity import Epoch
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions.deciding import decide as decide_about_txid
from trident.coordinators.decisions.deciding import decide_reset, decide_retry
from trident.coordinators.decisions.wanted import WantedDecision, WantedReset
from trident.coordinators.holding.taken import TakenOver
from trident.coordinators.holding.takeover import TakeOver
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.plans.receiving import begin_receiving
from trident.coordinators.registered import Acquired, Lease, TopologySpec
from trident.coordinators.retrying import Repeater, Result
from trident.spouts.base import Source
from trident.state.capabilities import Capabilities, CountsRows, Divertible, Relays, Resettable, Undoable

GIVE_UP_AFTER = 12
"""So many failures of one call in a row are the time after which a coordinator gives up."""


class SuspendedError(BaseException):
    """The sequence wants to make another call; no part of the product catches it."""


class Answer(NamedTuple):
    """What came back from one call."""

    value: Any
    error: Exception | None = None
    asked: str = ""
    """What was called, so that nothing else is answered with it."""

    def get(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


def failed(error: Exception) -> Answer:
    """Return the answer of a call that raised."""
    _let_go_of_frames(error)
    return Answer(None, error)


def _let_go_of_frames(error: BaseException | None) -> None:
    """Keep of an error what it says: frames hold errors, which hold frames, until the collector finds them."""
    while error is not None:
        error.__traceback__ = None
        error = error.__context__


class Progressed(NamedTuple):
    """Further calls were made: their answers, and how the sequence ended if it did."""

    answers: tuple[Answer, ...]
    finished: Answer | None


class Tape:
    """Plays answers back, then makes so many calls."""

    def __init__(self, answers: tuple[Answer, ...], calls: int) -> None:
        self._answers = answers
        self._next = 0
        self._left = calls
        self._stopped: BaseException | None = None
        self.fresh: list[Answer] = []

    def call(self, asked: str, action: Callable[[], object]) -> Any:
        if self._next < len(self._answers):
            self._next += 1
            answer = self._answers[self._next - 1]
            assert answer.asked == asked, f"{asked} is called where {answer.asked} was"
            return answer.get()
        if self._stopped is not None:  # what lets go of a lease on the way out does so another time
            raise self._stopped
        if not self._left:
            raise SuspendedError
        answer = self._made(action)._replace(asked=asked)
        self.fresh.append(answer)
        # what follows the lease is done under its epoch, which the host has to know first
        self._left = 0 if isinstance(answer.value, Acquired) else self._left - 1
        return answer.get()

    def _made(self, action: Callable[[], object]) -> Answer:
        try:
            return Answer(action())
        except TridentError as error:
            return failed(error)
        except LockedError as locked:
            # what was done before it stays done; this call is made again by the next request
            self._stopped = SuspendedError() if self.fresh else locked
            raise self._stopped from None


class Taped:
    """A ledger, store or source whose calls go through the tape; its plain attributes do not.

    What a store can do beside is called over the network like the store itself.
    """

    def __init__(self, tape: Tape, target: object) -> None:
        self._tape = tape
        self._target = target

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if isinstance(found, Capabilities):
            parts = self.__dict__[name] = _taped_parts(self._tape, found)  # they are asked for again and again
            return parts
        if not callable(found):
            return found
        asked = f"{getattr(self._target, 'name', type(self._target).__name__)}.{name}"
        return lambda *arguments: self._tape.call(asked, lambda: found(*arguments))


class _TapedRelays(Taped):
    """What is sent later; taking something out is part of a transaction of the ledger's, and no call of its own."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name) if name == "divert_in" else super().__getattr__(name)


def _taped_parts(tape: Tape, can: Capabilities) -> Capabilities:
    """Tape what take-overs and decisions call of it; `beside` is called by the ledger, inside a call."""
    return replace(
        can,
        undoing=can.undoing and cast(Undoable, Taped(tape, can.undoing)),
        resetting=can.resetting and cast(Resettable, Taped(tape, can.resetting)),
        diverting=can.diverting and cast(Divertible, Taped(tape, can.diverting)),
        counting=can.counting and cast(CountsRows, Taped(tape, can.counting)),
        relaying=can.relaying and cast(Relays, _TapedRelays(tape, can.relaying)),
    )


class Repeating(Repeater):
    """A `Repeater` without a clock: it repeats for a number of failures instead of for a time."""

    def __init__(self) -> None:
        pass

    def call(self, what: str, action: Callable[[], Result], at_work: Callable[[], str] = str) -> Result:
        for left in range(GIVE_UP_AFTER, 0, -1):
            try:
                return action()
            except (RetryableError, OutcomeUnknownError) as error:
                if left == 1:
                    raise FatalError(f"gave up: {what}: {error}") from error
        raise AssertionError


def run_on(answers: tuple[Answer, ...], script: Callable[[Tape], object], calls: int) -> Progressed:
    """Run the script up to its next call, make so many, and return what they brought."""
    tape = Tape(answers, calls)
    finished: Answer | None = None
    try:
        finished = Answer(script(tape))
    except SuspendedError:
        pass
    except TridentError as error:
        finished = failed(error)
    assert tape.fresh
    for answer in answers:
        _let_go_of_frames(answer.error)  # playing it back has given it new ones
    return Progressed(tuple(tape.fresh), finished)


def take_over(
    tape: Tape,
    ledger: object,
    stores: Mapping[str, object],
    sources: Mapping[str, object],
    spec: TopologySpec,
    lease: Lease,
) -> TakenOver:
    """Take the lease, raise every fence, check every state, resolve the start: all that comes before the first plan."""
    taped, repeater, epoch = _acquired(tape, ledger, spec, lease)
    taken = TakeOver(taped, _taped(tape, stores), spec, epoch, repeater).complete(_taped(tape, sources))
    begin_receiving(cast(Ledger, taped), taken.snapshot, cast("Mapping[str, Source]", sources), repeater)
    return taken


def reset(
    tape: Tape,
    ledger: object,
    stores: Mapping[str, object],
    spec: TopologySpec,
    lease: Lease,
    wanted: WantedReset,
) -> None:
    """Carry a person's reset out and let go of the lease."""
    with _held(tape, ledger, spec, lease) as (taped, repeater, epoch):
        decide_reset(TakeOver(taped, _taped(tape, stores), spec, epoch, repeater), wanted)


def decide(
    tape: Tape,
    ledger: object,
    stores: Mapping[str, object],
    spec: TopologySpec,
    lease: Lease,
    wanted: WantedDecision,
) -> None:
    """Carry a person's decision about a txid out and let go of the lease."""
    with _held(tape, ledger, spec, lease) as (taped, repeater, epoch):
        if wanted.kind is DecisionKind.RETRY:
            decide_retry(taped, spec.name, epoch, wanted.txid, repeater)
        else:
            decide_about_txid(TakeOver(taped, _taped(tape, stores), spec, epoch, repeater), wanted)


Holding = tuple[Taped, Repeating, Epoch]


def _taped(tape: Tape, stores: Mapping[str, object]) -> dict[str, Taped]:
    return {name: Taped(tape, store) for name, store in stores.items()}


def _acquired(tape: Tape, ledger: object, spec: TopologySpec, lease: Lease) -> Holding:
    taped, repeater = Taped(tape, ledger), Repeating()
    acquired = repeater.call("taking the lease", lambda: taped.acquire(spec.name, lease))
    return taped, repeater, acquired.epoch


@contextmanager
def _held(tape: Tape, ledger: object, spec: TopologySpec, lease: Lease) -> Iterator[Holding]:
    taped, repeater, epoch = _acquired(tape, ledger, spec, lease)
    try:
        yield taped, repeater, epoch
    finally:
        taped.release(spec.name, epoch)
