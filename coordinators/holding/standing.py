"""Where the states of a topology stand, held against what the ledger says; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trident.base.advice import RESET_ANEW, RESET_CLEARING, RESET_LOST, RESET_LOST_CLEARING
from trident.base.errors import MismatchError
from trident.coordinators.decided import DecisionKind, ResetDecision, ResetStart
from trident.coordinators.pinned import Pin
from trident.coordinators.registered import Birth, Snapshot
from trident.state.positions import Position
from trident.state.staged import AppliedUpdates


class ApartError(MismatchError):
    """Ledger and state are not of one moment, or a state is gone; carries what was found and what a person can do."""

    def __init__(self, found: str, ways: str) -> None:
        super().__init__(found, ways)
        self.found = found
        self.ways = ways

    def __str__(self) -> str:
        return f"{self.found} {self.ways}"


@dataclass(frozen=True, slots=True)
class Standing:
    """What a take-over finds of its states."""

    waiting: frozenset[str]
    """These still wait for the pinned batch."""
    unborn: frozenset[str]
    """These have no position yet and are born at the txid that is done: new, or cut off before they were registered."""
    births: tuple[Birth, ...]
    """What the ledger does not know yet of all of them."""


def where_they_stand(
    snapshot: Snapshot, positions: Mapping[str, Position | None], unplaced: frozenset[str] = frozenset()
) -> Standing:
    """Hold every state's position against the ledger; `unplaced` are those that have rows and no position.

    Raises `ApartError` for a state that is behind, ahead, gone or another incarnation's, with what was found
    where. New is what the ledger has never heard of, never what merely holds nothing. A state that is new while a
    txid is pinned without it is in none of the sets: it is born when that one is done. A state whose rows went
    with the pin has what is pinned, unless an undo has begun to take it back; of one that was staged for, also
    beside the ledger by an older version, the pin names the writes, and it waits for them.
    """
    born = _births(snapshot)
    waiting, unborn, births = set(), set(), []
    for name, position in positions.items():
        if position is None:
            if _is_for_later(snapshot, name):
                continue
            if name in unplaced:
                raise _without_position(snapshot, name)
            _check_nothing_is_lost(snapshot, name)
            position = Position(snapshot.owner, snapshot.done, 0, snapshot.done)
            unborn.add(name)
        birth = born.get(name, Birth(name, None))
        _check_birth(snapshot, name, position, birth.txid)
        if _waits(snapshot, name, position):
            waiting.add(name)
        if birth.txid is None:
            with_rows = name in born and _was_born_with_rows(snapshot, birth)
            births.append(Birth(name, position.birth_txid, with_rows))
    return Standing(frozenset(waiting), frozenset(unborn), tuple(births))


def require_known(snapshot: Snapshot, positions: Mapping[str, Position | None]) -> None:
    """Raise MismatchError for a state of an incarnation that the ledger has never had: it is another ledger's.

    Where a reset has begun that was decided because the ledger was lost, it has named what it had found.
    """
    named = snapshot.open_reset.foreign if snapshot.open_reset is not None else ()
    foreign = set(foreign_incarnations(snapshot, positions)).difference(named)
    for name, position in positions.items():
        if position is not None and position.owner.incarnation in foreign:
            raise MismatchError(
                f"state {name!r} belongs to incarnation {position.owner.incarnation} of topology "
                f"{snapshot.owner.topology!r}, which this ledger has never had: it was filled with another ledger, or "
                "with one that was lost and made anew, or it was left behind when this one forgot the topology (it is "
                "given free by hand then: drop its table, and delete its row of trident_applied). Nothing was changed, "
                "and whoever runs with that ledger goes on. "
                "Correct the ledger's address, or the state's; two topologies of one name (of two environments, say) "
                "need places of their own, and where both send to one cluster one of them needs another name. If the "
                f"ledger is lost for good, stop what runs with it and {RESET_LOST}."
            )


def foreign_incarnations(snapshot: Snapshot, positions: Mapping[str, Position | None]) -> tuple[str, ...]:
    """Return the incarnations of these states that the ledger has never had."""
    found = {position.owner.incarnation for position in positions.values() if position is not None}
    return tuple(sorted(found - snapshot.incarnations))


def known_without_position(snapshot: Snapshot, positions: Mapping[str, Position | None]) -> frozenset[str]:
    """Return the states that the ledger knows and that do not say where they stand: gone, or not registered yet."""
    born = _births(snapshot)
    return frozenset(name for name, position in positions.items() if position is None and name in born)


def require_all(
    snapshot: Snapshot, positions: Mapping[str, Position | None], unplaced: frozenset[str] = frozenset()
) -> None:
    """Raise MismatchError for a state whose rows are to be kept and are gone; `unplaced` have theirs."""
    for name, position in positions.items():
        if position is None and name not in unplaced:
            _check_nothing_is_lost(snapshot, name)


def require_kept(
    snapshot: Snapshot,
    positions: Mapping[str, Position | None],
    decision: ResetDecision,
    unplaced: frozenset[str] = frozenset(),
) -> None:
    """Raise MismatchError unless the rows that a recorded reset keeps are there, and are what it resumes from.

    States that have followed it already are not asked again.
    """
    others = {
        name: position
        for name, position in positions.items()
        if position is None or position.owner.incarnation != decision.incarnation
    }
    require_all(snapshot, others, unplaced)
    if decision.start == ResetStart.RESUME:
        where_they_stand(snapshot, others, unplaced)


def _births(snapshot: Snapshot) -> dict[str, Birth]:
    """Return every state that the ledger knows, with what is recorded of its birth."""
    return {birth.state: birth for birth in snapshot.births}


def _is_for_later(snapshot: Snapshot, name: str) -> bool:
    return snapshot.pin is not None and snapshot.pin.of(name) is None and name not in _births(snapshot)


def _check_nothing_is_lost(snapshot: Snapshot, name: str) -> None:
    """A state that the ledger knows may be registered anew only while nothing can have been in it."""
    birth = _births(snapshot).get(name)
    if birth is None:
        return
    pinned = snapshot.pin.of(name) if snapshot.pin is not None else None
    went_with_the_pin = pinned is not None and isinstance(pinned.updates, AppliedUpdates)
    if _since(snapshot, birth) == snapshot.done and not went_with_the_pin and not _was_born_with_rows(snapshot, birth):
        return
    if name in snapshot.added.back:
        raise ApartError(
            f"state {name!r} is gone: it was taken out of topology {snapshot.owner.topology!r}, and where it lived "
            "there is nothing of it any more. Nothing was changed.",
            "Start the version without it; to take it back, put back what it held, or correct its address.",
        )
    raise ApartError(
        f"state {name!r} is gone: {_known(snapshot, birth)}, but where it lives there is nothing of it. It was moved, "
        "emptied or restored without its tables, or its address is another one. Nothing was changed.",
        f"Correct the address, restore it to the same point as the ledger, or {RESET_CLEARING}.",
    )


def _without_position(snapshot: Snapshot, name: str) -> ApartError:
    ways = RESET_CLEARING if _must_clear(snapshot) else RESET_ANEW
    return ApartError(
        f"state {name!r} has rows, and their position is gone: {_known(snapshot, _births(snapshot)[name])}, but where "
        "it lives nothing says how far its rows have read. The position was deleted, or restored without its row, or "
        "the address is another one. Nothing was changed, and the rows are there.",
        f"Correct the address, restore it to the same point as the ledger, or {ways}.",
    )


def _known(snapshot: Snapshot, birth: Birth) -> str:
    """Say what the ledger knows of a state."""
    return (
        f"the ledger of topology {snapshot.owner.topology!r} (incarnation {snapshot.owner.incarnation}) has had it "
        f"since txid {_since(snapshot, birth)}, and has txid {snapshot.done} done{_pinned(snapshot)}"
    )


def _since(snapshot: Snapshot, birth: Birth) -> int:
    return snapshot.birth_txid if birth.txid is None else birth.txid


def _was_born_with_rows(snapshot: Snapshot, birth: Birth) -> bool:
    """Whether a reset kept its rows: then it was there, registered, before anything was done in this incarnation."""
    by_reset = birth.txid is None and snapshot.reset is not None and snapshot.reset.states == "adopt"
    return birth.with_rows or by_reset


def _check_birth(snapshot: Snapshot, name: str, position: Position, born: int | None) -> None:
    if position.owner != snapshot.owner:
        raise _wrong(snapshot, name, f"belongs to incarnation {position.owner.incarnation}")
    if born is not None and position.birth_txid != born:
        found = f"holds what came after txid {position.birth_txid}, though it was born at txid {born}"
        raise _wrong(snapshot, name, found)


def _waits(snapshot: Snapshot, name: str, position: Position) -> bool:
    """Whether a state that stands right waits for the pinned batch."""
    pin = snapshot.pin
    if pin is not None and (position.txid, position.attempt) == (pin.txid, pin.attempt):
        return False
    born_here = position.txid == position.birth_txid and position.attempt == 0
    found = f"stands at txid {position.txid} attempt {position.attempt}"
    if position.txid != snapshot.done or not (born_here or position.attempt == snapshot.done_attempt):
        raise _wrong(snapshot, name, found, knows_more=position.txid > snapshot.done)
    pinned = pin.of(name) if pin is not None else None
    if pin is not None and pinned is None and name not in _births(snapshot):
        raise _taken_out_once(snapshot, name, found)  # what is pinned it would never get
    if pin is None or pinned is None:
        return False
    went_with_the_pin = isinstance(pinned.updates, AppliedUpdates)
    if went_with_the_pin and not _is_undone(snapshot, pin):
        raise _wrong(snapshot, name, f"{found} and was written with that pin")
    return True


def _is_undone(snapshot: Snapshot, pin: Pin) -> bool:
    undo = DecisionKind.UNDO, pin.txid, pin.attempt
    return undo in {(each.kind, each.txid, each.attempt) for each in snapshot.decisions}


def _must_clear(snapshot: Snapshot) -> bool:
    """Whether no moment helps.

    While a batch is pinned that can't be rolled forward, rows can't be kept: some states may have it, others not. And
    a recorded reset gives way to one that clears, to no other.
    """
    return snapshot.pin is not None or snapshot.open_reset is not None


def _pinned(snapshot: Snapshot) -> str:
    pin = snapshot.pin
    return f", txid {pin.txid} attempt {pin.attempt} pinned" if pin else ""


def _taken_out_once(snapshot: Snapshot, name: str, found: str) -> ApartError:
    return ApartError(
        f"state {name!r} is new to the ledger of topology {snapshot.owner.topology!r} (incarnation "
        f"{snapshot.owner.incarnation}), which has txid {snapshot.done} done{_pinned(snapshot)}, but where it lives it "
        f"{found}: one of that name was taken out of the topology, or its address is another one. Nothing was changed.",
        "Give the new one another name, and a table of its own; or correct the address.",
    )


def _wrong(snapshot: Snapshot, name: str, found: str, *, knows_more: bool = False) -> ApartError:
    if name not in _births(snapshot) and not knows_more:
        return _taken_out_once(snapshot, name, found)
    clears = _must_clear(snapshot)
    lost = RESET_LOST_CLEARING if clears else RESET_LOST
    way = f"if the ledger can't be, {lost}" if knows_more else f"or {RESET_CLEARING if clears else RESET_ANEW}"
    return ApartError(
        f"state {name!r} {found}, but the ledger of topology {snapshot.owner.topology!r} (incarnation "
        f"{snapshot.owner.incarnation}) has txid {snapshot.done} attempt {snapshot.done_attempt} "
        f"done{_pinned(snapshot)}. One of them was restored from a backup or changed by hand, or the address of state "
        f"{name!r} is another one. Nothing was changed.",
        f"Correct the address, restore both to the same point, {way}.",
    )
