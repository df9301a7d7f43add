"""Raising a state's fence: what older epochs left open is ended, and the state made ready, before it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from trident.base.advice import RESET_LOST
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import FencedError, MismatchError
from trident.base.identity import Epoch, Owner
from trident.coordinators.retrying import Repeater
from trident.state.target import Target


class LedgerBehindError(MismatchError):
    """A state was fenced by an epoch, `known`, that the ledger, which gave out the newest one, does not know."""

    def __init__(self, problem: str, known: int) -> None:
        super().__init__(problem, known)
        self.problem = problem
        self.known = known

    def __str__(self) -> str:
        return self.problem


def raise_fence(
    store: Target, owner: Owner, epoch: Epoch, repeater: Repeater, require_newest: Callable[[], None]
) -> None:
    """Raise the topology's epoch in one state; may be repeated.

    Where the state holds a later epoch, `require_newest` raises FencedError if a newer owner took over; else this
    raises `LedgerBehindError`.
    """
    ending = store.capabilities.ending
    if ending is not None:
        end_older = partial(ending.end_older, owner.topology, epoch)
        repeater.call(f"ending what older epochs left open in state {store.name!r}", end_older)
    prepare(store, repeater)
    try:
        repeater.call(f"raising the fence of state {store.name!r}", lambda: store.raise_fence(owner, epoch))
    except FencedError as error:
        require_newest()
        known = epoch.number if error.stored is None else error.stored
        raise LedgerBehindError(_behind(store.name, owner, epoch), known) from error
    reached(CrashPoint.AFTER_FENCE)


def prepare(store: Target, repeater: Repeater) -> None:
    """Let one state make its tables, or what is missing of them."""
    repeater.call(f"preparing state {store.name!r}", store.prepare)
    reached(CrashPoint.AFTER_PREPARATION)


def refuse_later_epoch(name: str, noted: Epoch, owner: Owner, epoch: Epoch, require_newest: Callable[[], None]) -> None:
    """Raise what `raise_fence` raises where an epoch is only noted, and this one is not above it."""
    if noted.number < epoch.number or noted == epoch:
        return
    require_newest()
    raise LedgerBehindError(_behind(name, owner, epoch), noted.number)


def _behind(name: str, owner: Owner, epoch: Epoch) -> str:
    return (
        f"state {name!r} knows a later epoch than {epoch.number}, the latest that the ledger of topology "
        f"{owner.topology!r} has given out: the ledger was lost or restored from a backup, or another ledger has a "
        "topology of this name with this state. Nothing was changed. Restore the ledger and all states to the same "
        f"point; if the ledger is lost for good, {RESET_LOST}."
    )
