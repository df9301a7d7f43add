"""Errors, named by what the caller must do.

    TridentError
    ├── RetryableError        nothing was changed: do it again
    ├── OutcomeUnknownError   the answer was lost: ask the store by txid (or repeat the idempotent call)
    ├── FencedError           another coordinator owns the topology: stop, do not write again
    └── FatalError            a person has to decide; the text says what happened to the data
        ├── ConfigurationError   the topology or an option is wrong; nothing was started
        │   └── FieldError       a field is not there; carries the field and the known ones
        ├── DecisionNeededError  a txid was refused for good; the text names the commands that go on
        ├── LeaseHeldError       another coordinator runs this topology now
        ├── RefusedError         a store refused the staged updates of a batch for good
        └── MismatchError        what is stored is not what this topology expects
            └── RowsGoneError    a state's rows are not those of its position

Every error can be pickled, and none carries a payload or a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from trident.base.identity import BatchId


class TridentError(Exception):
    """Base of all errors of this library; catch it to catch them all."""

    place: str = ""
    """The stream, operation, state or sink that it is about, as people name it; empty where nobody has said."""
    raised: str = ""
    """The class of what a user's code has raised, of an error that tells of that."""
    batch: BatchId | None = None
    """The attempt that it is about, where somebody has said."""


class RetryableError(TridentError):
    """Nothing was changed and the same call may succeed later."""


class OutcomeUnknownError(TridentError):
    """A commit was sent and its answer was lost: it may or may not have happened.

    The calls that raise it are idempotent per (epoch, txid, attempt): repeating the call on a new
    connection waits for the lost one under its row lock and then finds, or makes, its effect.
    """


class FencedError(TridentError):
    """A newer coordinator holds the topology; this one has written nothing and must stop.

    `stored` is the number of the epoch that was found, where that is known.
    """

    def __init__(self, problem: str, stored: int | None = None) -> None:
        super().__init__(problem, stored)
        self.problem = problem
        self.stored = stored

    def __str__(self) -> str:
        return self.problem


class FatalError(TridentError):
    """Work can't go on until a person decides; the text says what happened to the data."""


class ConfigurationError(FatalError):
    """The topology or one of its options is wrong; nothing was started and nothing was written."""


class FieldError(ConfigurationError):
    """A field that is not there was named, or one that is there already."""

    def __init__(self, problem: str, field: str, known: tuple[str, ...]) -> None:
        super().__init__(problem, field, known)
        self.problem = problem
        self.field = field
        self.known = known

    def __str__(self) -> str:
        return f"{self.problem}: {self.field!r}; known fields: {', '.join(self.known) or 'none'}"


class LeaseHeldError(FatalError):
    """Another coordinator runs this topology now; this one has changed nothing.

    `epoch` is the number of its epoch, 0 where that is not known.
    """

    def __init__(self, problem: str, epoch: int = 0) -> None:
        super().__init__(problem, epoch)
        self.problem = problem
        self.epoch = epoch

    def __str__(self) -> str:
        return self.problem


class DecisionNeededError(FatalError):
    """A txid was refused for good, and nothing runs until a person has decided; the text names the commands."""


class RefusedError(FatalError):
    """A store refused a batch's staged updates for good (constraint, overflow, size)."""


class UncomputableError(FatalError):
    """Some records can't be read, or what the topology computes of them: whatever is tried, of these and no others.

    No state has refused it, and no divert leads around it.
    """


class MismatchError(FatalError):
    """What a store or the ledger holds is not what this topology expects; nothing was changed."""


class RowsGoneError(MismatchError):
    """A state's rows are not those of its position; carries what was found, for whoever knows other ways on."""

    def __init__(self, found: str, ways: str) -> None:
        super().__init__(found, ways)
        self.found = found
        self.ways = ways

    def __str__(self) -> str:
        return f"{self.found} {self.ways}"


@contextmanager
def about(place: str | Callable[[], str], batch: BatchId | None = None) -> Iterator[None]:
    """Say of an error of this library's that leaves the block what it is about; who was nearer has said it before."""
    try:
        yield
    except TridentError as error:
        error.place = error.place or (place if isinstance(place, str) else place())
        error.batch = error.batch or batch
        raise
