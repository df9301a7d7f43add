"""Taking a topology over, in the one order that is safe: fences first, then reading, then deciding.

1. raise the epoch in the ledger (`Ledger.acquire`); 2. raise it in every state's own database;
3. only then read pins and positions; 4. finish a recorded reset, or a recorded undo or divert; 5. check
every state against the ledger, and that no refusal waits for a person; 6. hand the protocol its first
step: roll a pin forward, drop the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from trident.base.advice import RESET, UNDO
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import FencedError, MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.coordinators.decisions.records import Decision, DecisionKind
from trident.coordinators.decisions.refusing import decision_needed, refused_by_state, ways_on
from trident.coordinators.holding.retrying import Repeater
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.protocol.state import Live, ProtocolState
from trident.coordinators.protocol.step import Step, take_over
from trident.coordinators.protocol.transitions import Status
from trident.coordinators.records import Pin, ResetDecision, Snapshot, TopologySpec
from trident.state.capabilities import CannotUndoError, diverting_of, names_beside, resetting_of, undoing_of
from trident.state.rows import json_rows
from trident.state.staged import AppliedUpdates, WrittenUpdates
from trident.state.target import Target


class LedgerBehindError(MismatchError):
    """A state was fenced by an epoch that the ledger, which gave out the newest one, does not know."""


@dataclass(frozen=True)
class TakenOver:
    """What a new owner knows once every fence is raised and every position checked."""

    epoch: Epoch
    snapshot: Snapshot
    waiting: frozenset[str]
    """States that do not have the pinned txid yet; empty when nothing is pinned."""


def raise_fences(
    ledger: Ledger, stores: Mapping[str, Target], spec: TopologySpec, epoch: Epoch, repeater: Repeater
) -> Snapshot:
    """Register or check the topology, raise its epoch in every store, then read what is open.

    `epoch` was raised in the ledger before. May be repeated as a whole. Raises `LedgerBehindError` when a
    state holds a later epoch although nobody has taken the ledger over.
    """
    first = repeater.call("reading the ledger", lambda: ledger.register(epoch, spec))
    reached(CrashPoint.AFTER_REGISTRATION)
    beside = names_beside(stores)
    for name, store in stores.items():
        repeater.call(f"preparing state {name!r}", partial(store.prepare, name in beside))
        reached(CrashPoint.AFTER_PREPARATION)
        _raise_fence(ledger, store, first.owner, epoch, repeater)
    snapshot = repeater.call("reading the ledger", lambda: ledger.register(epoch, spec))
    reached(CrashPoint.AFTER_READING_LEDGER)
    return snapshot


def _raise_fence(ledger: Ledger, store: Target, owner: Owner, epoch: Epoch, repeater: Repeater) -> None:
    try:
        repeater.call(f"raising the fence of state {store.name!r}", lambda: store.raise_fence(owner, epoch))
    except FencedError as error:
        repeater.call("renewing the lease", lambda: ledger.renew(owner.topology, epoch))  # a newer owner says so here
        raise LedgerBehindError(_behind(store, owner, epoch)) from error
    reached(CrashPoint.AFTER_FENCE)


def _behind(store: Target, owner: Owner, epoch: Epoch) -> str:
    return (
        f"state {store.name!r} knows a later epoch than {epoch.number}, the latest that the ledger of topology "
        f"{owner.topology!r} has given out: the ledger was lost or restored from a backup, or another ledger has a "
        "topology of this name with this state. Nothing was changed. Restore the ledger and all states to the same "
        f"point, or {RESET}."
    )


def fence_and_finish(
    ledger: Ledger, stores: Mapping[str, Target], spec: TopologySpec, epoch: Epoch, repeater: Repeater
) -> tuple[Snapshot, tuple[Decision, ...]]:
    """Raise every fence, then finish the reset and the decisions that were cut off.

    Returns what is open then, and the decisions about the pinned txid that were carried out.
    """
    snapshot = raise_fences(ledger, stores, spec, epoch, repeater)
    reset = snapshot.open_reset
    if reset is not None:
        snapshot = repeater.call("finishing a reset", lambda: finish_reset(ledger, stores, spec, epoch, reset))
    return finish_decisions(ledger, stores, spec, snapshot, epoch, repeater)


def finish_reset(
    ledger: Ledger, stores: Mapping[str, Target], spec: TopologySpec, epoch: Epoch, decision: ResetDecision
) -> Snapshot:
    """Carry a recorded reset out: every state, then the ledger; each step is idempotent."""
    owner = Owner(spec.name, decision.incarnation)
    for store in stores.values():
        resetting = resetting_of(store)
        change = resetting.clear if decision.states == "clear" else resetting.adopt
        change(owner, epoch, decision.birth_txid)
        reached(CrashPoint.AFTER_RESETTING_STATE)
    ledger.finish_reset(epoch, spec.name, decision)
    reached(CrashPoint.AFTER_RESET)
    return ledger.register(epoch, spec)


def finish_decisions(
    ledger: Ledger,
    stores: Mapping[str, Target],
    spec: TopologySpec,
    snapshot: Snapshot,
    epoch: Epoch,
    repeater: Repeater,
) -> tuple[Snapshot, tuple[Decision, ...]]:
    """Carry out what a person decided about the pinned txid; returns what is open then, and what was carried out.

    Decisions that are held for the next attempt stay open. Each step is idempotent.
    """
    pin = snapshot.pin
    due = [each for each in snapshot.decisions if pin and (each.txid, each.attempt) == (pin.txid, pin.attempt)]
    for decision in due:
        where_states_stand(ledger, stores, spec, snapshot, epoch, repeater)
        carry_out = _undo if decision.kind is DecisionKind.UNDO else _divert
        repeater.call(f"carrying out the {decision}", partial(carry_out, ledger, stores, snapshot, epoch, decision))
    if due:
        snapshot = repeater.call("reading the ledger", lambda: ledger.register(epoch, spec))
    return snapshot, tuple(due)


def _undo(ledger: Ledger, stores: Mapping[str, Target], snapshot: Snapshot, epoch: Epoch, decision: Decision) -> None:
    pin = snapshot.pin
    assert pin is not None
    batch = BatchId(snapshot.owner, epoch, pin.txid, pin.attempt)
    for item in pin.states:
        undoing_of(stores[item.state], batch).undo(batch, snapshot.done_attempt, staged_of(pin, item.state))
        reached(CrashPoint.AFTER_UNDOING_STATE, pin.txid)
    ledger.unpin(snapshot.owner, epoch, decision)
    reached(CrashPoint.AFTER_UNPINNING, pin.txid)


def _divert(ledger: Ledger, stores: Mapping[str, Target], snapshot: Snapshot, epoch: Epoch, decision: Decision) -> None:
    pin, store = snapshot.pin, stores[decision.state]
    assert pin is not None
    batch, staged = BatchId(snapshot.owner, epoch, pin.txid, pin.attempt), written_of(pin, decision.state)
    # a store without transactions may have been cut off in the middle: part of the rows is in
    if store.capabilities.undoing is not None:
        store.capabilities.undoing.undo(batch, snapshot.done_attempt, staged)
    ledger.divert(snapshot.owner, epoch, decision, json_rows(diverting_of(store).staged_rows(batch, staged)))
    reached(CrashPoint.AFTER_DIVERTING, pin.txid)


def written_of(pin: Pin, state: str) -> WrittenUpdates:
    """Return what a pin says is to be applied to one state after it."""
    return WrittenUpdates(next((item.writes for item in pin.states if item.state == state), ()))


def staged_of(pin: Pin, state: str) -> WrittenUpdates | AppliedUpdates:
    """Return what a pin says of one state's rows: the writes, or how many it applied itself."""
    return next((item.updates for item in pin.states if item.state == state), WrittenUpdates(()))


def check_refusal(snapshot: Snapshot, stores: Mapping[str, Target], epoch: Epoch, waiting: frozenset[str]) -> None:
    """Raise DecisionNeededError while a refusal waits for a person; says what is where and which commands go on."""
    refusal, pin = snapshot.refusal, snapshot.pin
    if refusal is None or not refusal.blocks:
        return
    topology = snapshot.owner.topology
    found = refused_by_state(topology, refusal)
    if pin is None or pin.txid != refusal.txid:
        text = f"{found} Nothing of it is pinned or applied; txid {snapshot.done} is done."
        raise decision_needed(topology, text, refusal, ways_on(topology, refusal))
    holders = ", ".join(repr(name) for name in sorted(stores.keys() - waiting)) or "no state"
    names = ", ".join(repr(name) for name in sorted(waiting)) or "none"
    text = f"{found} It is pinned: {holders} has it, waiting for it: {names}; txid {snapshot.done} is done."
    raise decision_needed(topology, text, refusal, ways_on(topology, refusal, undo=_undo_way(snapshot, stores, epoch)))


def _undo_way(snapshot: Snapshot, stores: Mapping[str, Target], epoch: Epoch) -> str:
    pin = snapshot.pin
    assert pin is not None
    batch = BatchId(snapshot.owner, epoch, pin.txid, pin.attempt)
    try:
        for item in pin.states:
            undoing_of(stores[item.state], batch).check_undo(batch, staged_of(pin, item.state))
    except CannotUndoError as error:
        return f"(an undo is not possible: {error})"
    return f"{UNDO} {pin.txid}  (every state goes back to txid {pin.txid - 1}, the batch is read again)"


def where_states_stand(
    ledger: Ledger,
    stores: Mapping[str, Target],
    spec: TopologySpec,
    snapshot: Snapshot,
    epoch: Epoch,
    repeater: Repeater,
) -> frozenset[str]:
    """Check every position, and return the states that wait for the pinned batch; see `check_positions`."""
    try:
        return repeater.call("checking the states", lambda: check_positions(snapshot, stores, epoch))
    except MismatchError:
        # a newer owner may have moved the states on since the ledger was read: then it says so
        repeater.call("reading the ledger", lambda: ledger.register(epoch, spec))
        raise


def check_positions(snapshot: Snapshot, stores: Mapping[str, Target], epoch: Epoch) -> frozenset[str]:
    """Register new states, check all others; returns those that still wait for the pinned batch.

    Raises `MismatchError` for a state that is behind, ahead, or another incarnation's: nothing has
    been changed then, and the text says what was found where. A state beside the ledger has what is
    pinned, unless an undo has begun to take it back.
    """
    beside, waiting = names_beside(stores), set()
    for name, store in stores.items():
        position = store.position(snapshot.owner.topology)
        if position is None:
            store.register(snapshot.owner, epoch, snapshot.done)
            position = store.position(snapshot.owner.topology)
            assert position is not None
        reached(CrashPoint.AFTER_CHECKING)
        if position.owner != snapshot.owner:
            raise MismatchError(_wrong(snapshot, name, f"belongs to incarnation {position.owner.incarnation}"))
        pin = snapshot.pin
        if pin is not None and (position.txid, position.attempt) == (pin.txid, pin.attempt):
            continue
        born_here = position.txid == position.birth_txid and position.attempt == 0
        if position.txid != snapshot.done or not (born_here or position.attempt == snapshot.done_attempt):
            raise MismatchError(_wrong(snapshot, name, f"stands at txid {position.txid} attempt {position.attempt}"))
        if pin is not None and name in {state.state for state in pin.states}:
            if name in beside and not _is_undone(snapshot, pin):
                found = f"stands at txid {position.txid} attempt {position.attempt} and is beside the ledger"
                raise MismatchError(_wrong(snapshot, name, found))
            waiting.add(name)
    return frozenset(waiting)


def _is_undone(snapshot: Snapshot, pin: Pin) -> bool:
    undo = DecisionKind.UNDO, pin.txid, pin.attempt
    return undo in {(each.kind, each.txid, each.attempt) for each in snapshot.decisions}


def first_step(taken: TakenOver, fresh: ProtocolState) -> Step:
    """Return the protocol's first state and commands for what was found."""
    snapshot = taken.snapshot
    unpinned = [plan for plan in snapshot.live if snapshot.pin is None or plan.attempt != snapshot.pin.attempt]
    pinned = None
    if snapshot.pin is not None:
        batch = BatchId(snapshot.owner, taken.epoch, snapshot.pin.txid, snapshot.pin.attempt)
        pinned = Live(batch, snapshot.pin.plan.tries, Status.APPLYING, taken.waiting)
    return take_over(fresh, pinned, bool(unpinned))


def _wrong(snapshot: Snapshot, name: str, found: str) -> str:
    pinned = f", txid {snapshot.pin.txid} attempt {snapshot.pin.attempt} pinned" if snapshot.pin else ""
    return (
        f"state {name!r} {found}, but the ledger of topology {snapshot.owner.topology!r} (incarnation "
        f"{snapshot.owner.incarnation}) has txid {snapshot.done} attempt {snapshot.done_attempt} done{pinned}. "
        "One of them was restored from a backup or changed by hand. Nothing was changed. Restore both to the same "
        f"point, or {RESET}."
    )
