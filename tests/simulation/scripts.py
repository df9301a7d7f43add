"""Sequences of calls that a scheduler runs one call at a time: a take-over, and a person's reset.

The product's own functions are run again from their start for every call, with the answers so far
played back; the first call without an answer is made, the next one suspends. That makes a sequence
in the middle a value (its answers), which can be delayed, lost, copied and compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from trident.base.errors import FatalError, OutcomeUnknownError, RetryableError, TridentError
from trident.base.identity import Epoch
from trident.coordinators.records import Lease, TopologySpec
from trident.coordinators.resetting import Wanted, carry_out_reset
from trident.coordinators.session import take_over_topology, with_starts
from trident.coordinators.takeover import TakenOver

GIVE_UP_AFTER = 12
"""So many failures of one call in a row are the time after which a coordinator gives up."""


class SuspendedError(BaseException):
    """The sequence wants to make another call; no part of the product catches it."""


class Answer(NamedTuple):
    """What came back from one call."""

    value: object
    error: Exception | None = None

    def get(self) -> object:
        if self.error is not None:
            raise self.error
        return self.value


class Progressed(NamedTuple):
    """One more call was made: its answer, and how the sequence ended if that was its last one."""

    answer: Answer
    finished: Answer | None


class Tape:
    """Plays answers back, then makes one call."""

    def __init__(self, answers: tuple[Answer, ...]) -> None:
        self._answers = answers
        self._next = 0
        self.fresh: Answer | None = None

    def call(self, action: Callable[[], object]) -> object:
        if self._next < len(self._answers):
            self._next += 1
            return self._answers[self._next - 1].get()
        if self.fresh is not None:
            raise SuspendedError
        try:
            self.fresh = Answer(action())
        except TridentError as error:
            self.fresh = Answer(None, error)
        return self.fresh.get()


class Taped:
    """A ledger, store or source whose calls go through the tape; its plain attributes do not."""

    def __init__(self, tape: Tape, target: object) -> None:
        self._tape = tape
        self._target = target

    def __getattr__(self, name: str) -> object:
        found = getattr(self._target, name)
        if not callable(found):
            return found
        return lambda *arguments: self._tape.call(lambda: found(*arguments))


class Repeating:
    """A `Repeater` without a clock: it repeats for a number of failures instead of for a time."""

    def call(self, what: str, action: Callable[[], object]) -> object:
        for left in range(GIVE_UP_AFTER, 0, -1):
            try:
                return action()
            except (RetryableError, OutcomeUnknownError) as error:
                if left == 1:
                    raise FatalError(f"gave up: {what}: {error}") from error
        raise AssertionError


def run_on(answers: tuple[Answer, ...], script: Callable[[Tape], object]) -> Progressed:
    """Run the script up to its next call, make that, and return what it brought."""
    tape = Tape(answers)
    finished = None
    try:
        finished = Answer(script(tape))
    except SuspendedError:
        pass
    except TridentError as error:
        finished = Answer(None, error)
    assert tape.fresh is not None
    return Progressed(tape.fresh, finished)


def take_over(
    tape: Tape, ledger: object, stores: Mapping[str, object], source: object, spec: TopologySpec, lease: Lease
) -> TakenOver:
    """Take the lease, raise every fence, check every state, resolve the start: all that comes before the first plan."""
    repeater = Repeating()
    taped = Taped(tape, ledger)
    epoch = repeater.call("taking the lease", lambda: taped.acquire(spec.name, lease)).epoch
    taken = take_over_topology(
        taped, {name: Taped(tape, store) for name, store in stores.items()}, spec, epoch, repeater
    )
    return with_starts(taped, spec, taken, {"s": Taped(tape, source)}, repeater)


def reset(
    tape: Tape, ledger: object, stores: Mapping[str, object], spec: TopologySpec, lease: Lease, wanted: Wanted
) -> Epoch:
    """Carry a person's reset out and let go of the lease."""
    repeater = Repeating()
    taped = Taped(tape, ledger)
    epoch = repeater.call("taking the lease", lambda: taped.acquire(spec.name, lease)).epoch
    try:
        carry_out_reset(
            taped, {name: Taped(tape, store) for name, store in stores.items()}, spec, epoch, wanted, repeater
        )
    finally:
        taped.release(spec.name, epoch)
    return epoch
