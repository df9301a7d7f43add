"""Where the states of a topology stand, held against what the ledger says."""

from __future__ import annotations

from collections.abc import Mapping

from trident.base.advice import RESET
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError
from trident.base.identity import Epoch
from trident.coordinators.decided import DecisionKind
from trident.coordinators.pinned import Pin
from trident.coordinators.registered import Snapshot
from trident.state.positions import Position
from trident.state.staged import AppliedUpdates
from trident.state.target import Target


def check_positions(snapshot: Snapshot, stores: Mapping[str, Target], epoch: Epoch) -> frozenset[str]:
    """Register new states, check all others; returns those that still wait for the pinned batch.

    Raises `MismatchError` for a state that is behind, ahead, or another incarnation's: nothing has
    been changed then, and the text says what was found where. A state whose rows went with the pin has
    what is pinned, unless an undo has begun to take it back; of one that was staged for, also beside the
    ledger by an older version, the pin names the writes, and it waits for them.
    """
    pin = snapshot.pin
    waiting = set()
    for name, store in stores.items():
        pinned = pin.of(name) if pin is not None else None
        position = store.position(snapshot.owner.topology)
        if position is None and pin is not None and pinned is None:
            continue  # new, and what is pinned goes without it: see `TakeOver.complete`
        position = position or _born(store, snapshot, epoch)
        reached(CrashPoint.AFTER_CHECKING)
        if position.owner != snapshot.owner:
            raise MismatchError(_wrong(snapshot, name, f"belongs to incarnation {position.owner.incarnation}"))
        if pin is not None and (position.txid, position.attempt) == (pin.txid, pin.attempt):
            continue
        born_here = position.txid == position.birth_txid and position.attempt == 0
        if position.txid != snapshot.done or not (born_here or position.attempt == snapshot.done_attempt):
            raise MismatchError(_wrong(snapshot, name, f"stands at txid {position.txid} attempt {position.attempt}"))
        if pin is not None and pinned is not None:
            went_with_the_pin = isinstance(pinned.updates, AppliedUpdates)
            if went_with_the_pin and not _is_undone(snapshot, pin):
                found = f"stands at txid {position.txid} attempt {position.attempt} and was written with that pin"
                raise MismatchError(_wrong(snapshot, name, found))
            waiting.add(name)
    return frozenset(waiting)


def _is_undone(snapshot: Snapshot, pin: Pin) -> bool:
    undo = DecisionKind.UNDO, pin.txid, pin.attempt
    return undo in {(each.kind, each.txid, each.attempt) for each in snapshot.decisions}


def _born(store: Target, snapshot: Snapshot, epoch: Epoch) -> Position:
    store.register(snapshot.owner, epoch, snapshot.done)
    position = store.position(snapshot.owner.topology)
    assert position is not None
    return position


def _wrong(snapshot: Snapshot, name: str, found: str) -> str:
    pinned = f", txid {snapshot.pin.txid} attempt {snapshot.pin.attempt} pinned" if snapshot.pin else ""
    return (
        f"state {name!r} {found}, but the ledger of topology {snapshot.owner.topology!r} (incarnation "
        f"{snapshot.owner.incarnation}) has txid {snapshot.done} attempt {snapshot.done_attempt} done{pinned}. "
        "One of them was restored from a backup or changed by hand. Nothing was changed. Restore both to the same "
        f"point, or {RESET}."
    )
