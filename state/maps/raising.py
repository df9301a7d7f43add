"""What a user's map raises: told by state, method, type and place, never by its text, which may hold rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from trident.base.errors import FatalError, RefusedError, TridentError
from trident.base.identity import BatchId
from trident.base.user_code import type_and_place
from trident.state.layout import StateKind

Result = TypeVar("Result")

_MEND = "Mend what raises (what may pass is to be raised as RetryableError)"
_AGAIN = f"{_MEND}, then do the same again"
_FINISH = f"{_MEND}, then start the topology or give the same command again: that finishes it"


@dataclass(frozen=True, slots=True)
class Aim:
    """What a call is for: whose it is, and what is to be said of the data when it raises."""

    about: str
    said: str
    error: type[FatalError] = FatalError


def reading(about: str = "") -> Aim:
    """Return the aim of a `multi_get`."""
    return Aim(about, f"Reading changes nothing: what is stored, pinned or decided stays. {_AGAIN}")


def placing(about: str) -> Aim:
    """Return the aim of a put under a reserved key."""
    return Aim(about, f"No row is changed by it; which value the key has is looked up each time. {_AGAIN}")


def applying(batch: BatchId, kind: StateKind) -> Aim:
    """Return the aim of putting a batch's rows: the same rows would raise again, so that a person decides."""
    found = (
        "Some of its keys may have the txid all the same, and a retry gives it to those twice"
        if kind is StateKind.NON_TRANSACTIONAL
        else "Each of its keys has the txid or not, which a retry, an undo and a divert find out"
    )
    late = "a put that the map has only ceased to wait for may still come: be sure that it is over before you decide"
    return Aim(str(batch), f"{found}; {late}. What may pass is to be raised as RetryableError", RefusedError)


def removing_expired(batch: BatchId) -> Aim:
    """Return the aim of taking keys away that have expired before the batch."""
    found = "Keys that have expired count as not there, whether they are removed or not; nothing else was changed by it"
    return Aim(f"expired keys before {batch}", f"{found}. The batch is pinned, and applied by the next start. {_AGAIN}")


def undoing(batch: BatchId) -> Aim:
    """Return the aim of bringing a batch's keys back, for an undo or before its rows are diverted."""
    found = "What was decided is recorded; some of the txid's keys may be as they were before it, others not yet"
    return Aim(f"the undo of {batch}", f"{found}. {_FINISH}")


def emptying(topology: str) -> Aim:
    """Return the aim of a `clear`, and of what is put into the empty map."""
    found = "The reset is recorded; keys of this map may be gone, others not yet, and other states may have followed it"
    return Aim(f"the reset of {topology!r}", f"{found}. {_FINISH}")


def told(what: str, aim: Aim, call: Callable[[], Result]) -> Result:
    """Make the call; raises the aim's error for what is none of this library's, and nothing that was raised before it.

    What runs out of memory is no refusal: the rows may be as good as any.
    """
    try:
        return call()
    except TridentError as error:
        raise error from None  # its own text is meant to be read; that of a client's error before it is not
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - not every client's errors are Exceptions
        kind = FatalError if isinstance(error, MemoryError) else aim.error
        raise kind(f"{what} raised {type_and_place(error)}. {aim.said}") from None
