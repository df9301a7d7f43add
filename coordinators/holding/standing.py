"""Where the states of a topology stand, held against what the ledger says; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trident.base.advice import RESET, RESET_CLEARING
from trident.base.errors import MismatchError
from trident.coordinators.decided import DecisionKind
from trident.coordinators.pinned import Pin
from trident.coordinators.registered import Birth, Snapshot
from trident.state.positions import Position
from trident.state.staged import AppliedUpdates


@dataclass(frozen=True, slots=True)
class Standing:
    """What a take-over finds of its states."""

    waiting: frozenset[str]
    """These still wait for the pinned batch."""
    unborn: frozenset[str]
    """These have no position yet and are born at the txid that is done: new, or cut off before they were registered."""
    births: tuple[Birth, ...]
    """What the ledger does not know yet of all of them."""


def where_they_stand(snapshot: Snapshot, positions: Mapping[str, Position | None]) -> Standing:
    """Hold every state's position against the ledger.

    Raises `MismatchError` for a state that is behind, ahead, gone or another incarnation's, with what was found
    where. New is what the ledger has never heard of, never what merely holds nothing. A state that is new while a
    txid is pinned without it is in none of the sets: it is born when that one is done. A state whose rows went
    with the pin has what is pinned, unless an undo has begun to take it back; of one that was staged for, also
    beside the ledger by an older version, the pin names the writes, and it waits for them.
    """
    born = {birth.state: birth.txid for birth in snapshot.births}
    waiting, unborn, births = set(), set(), []
    for name, position in positions.items():
        if position is None:
            if _is_for_later(snapshot, name):
                continue
            _check_nothing_is_lost(snapshot, name, name in born, born.get(name))
            position = Position(snapshot.owner, snapshot.done, 0, snapshot.done)
            unborn.add(name)
        _check_birth(snapshot, name, position, born.get(name))
        if _waits(snapshot, name, position):
            waiting.add(name)
        if born.get(name) is None:
            births.append(Birth(name, position.birth_txid))
    return Standing(frozenset(waiting), frozenset(unborn), tuple(births))


def require_all(snapshot: Snapshot, positions: Mapping[str, Position | None]) -> None:
    """Raise MismatchError for a state whose rows are to be kept and are gone."""
    born = {birth.state: birth.txid for birth in snapshot.births}
    for name, position in positions.items():
        if position is None:
            _check_nothing_is_lost(snapshot, name, name in born, born.get(name))


def _is_for_later(snapshot: Snapshot, name: str) -> bool:
    is_known = name in {birth.state for birth in snapshot.births}
    return snapshot.pin is not None and snapshot.pin.of(name) is None and not is_known


def _check_nothing_is_lost(snapshot: Snapshot, name: str, is_known: bool, born: int | None) -> None:
    """A state that the ledger knows may be registered anew only while nothing can have been in it."""
    if not is_known:
        return
    since = snapshot.birth_txid if born is None else born
    pinned = snapshot.pin.of(name) if snapshot.pin is not None else None
    went_with_the_pin = pinned is not None and isinstance(pinned.updates, AppliedUpdates)
    if since == snapshot.done and not went_with_the_pin:
        return
    raise MismatchError(
        f"state {name!r} is gone: the ledger of topology {snapshot.owner.topology!r} (incarnation "
        f"{snapshot.owner.incarnation}) has had it since txid {since}, and has txid {snapshot.done} "
        f"done{_pinned(snapshot)}, but where it lives there is nothing of it. It was moved, emptied or restored "
        "without its tables, or its address is another one. Nothing was changed. Correct the address, restore it to "
        f"the same point as the ledger, or {RESET_CLEARING}."
    )


def _check_birth(snapshot: Snapshot, name: str, position: Position, born: int | None) -> None:
    if position.owner != snapshot.owner:
        raise MismatchError(_wrong(snapshot, name, f"belongs to incarnation {position.owner.incarnation}"))
    if born is not None and position.birth_txid != born:
        found = f"holds what came after txid {position.birth_txid}, though it was born at txid {born}"
        raise MismatchError(_wrong(snapshot, name, found))


def _waits(snapshot: Snapshot, name: str, position: Position) -> bool:
    """Whether a state that stands right waits for the pinned batch."""
    pin = snapshot.pin
    if pin is not None and (position.txid, position.attempt) == (pin.txid, pin.attempt):
        return False
    born_here = position.txid == position.birth_txid and position.attempt == 0
    found = f"stands at txid {position.txid} attempt {position.attempt}"
    if position.txid != snapshot.done or not (born_here or position.attempt == snapshot.done_attempt):
        raise MismatchError(_wrong(snapshot, name, found))
    pinned = pin.of(name) if pin is not None else None
    if pin is None or pinned is None:
        return False
    went_with_the_pin = isinstance(pinned.updates, AppliedUpdates)
    if went_with_the_pin and not _is_undone(snapshot, pin):
        raise MismatchError(_wrong(snapshot, name, f"{found} and was written with that pin"))
    return True


def _is_undone(snapshot: Snapshot, pin: Pin) -> bool:
    undo = DecisionKind.UNDO, pin.txid, pin.attempt
    return undo in {(each.kind, each.txid, each.attempt) for each in snapshot.decisions}


def _pinned(snapshot: Snapshot) -> str:
    pin = snapshot.pin
    return f", txid {pin.txid} attempt {pin.attempt} pinned" if pin else ""


def _wrong(snapshot: Snapshot, name: str, found: str) -> str:
    return (
        f"state {name!r} {found}, but the ledger of topology {snapshot.owner.topology!r} (incarnation "
        f"{snapshot.owner.incarnation}) has txid {snapshot.done} attempt {snapshot.done_attempt} "
        f"done{_pinned(snapshot)}. One of them was restored from a backup or changed by hand. Nothing was changed. "
        f"Restore both to the same point, or {RESET}."
    )
