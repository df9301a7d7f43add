"""Taking a topology over, in the one order that is safe: fences first, then reading, then deciding.

1. raise the epoch in the ledger (`Ledger.acquire`); 2. raise it in every state's own database;
3. only then read pins and positions; 4. finish a recorded reset; 5. check every state against the
ledger; 6. hand the protocol its first step: roll a pin forward, drop the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import FencedError, MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.protocol import Live, ProtocolState, Step, take_over
from trident.coordinators.records import ResetDecision, Snapshot, TopologySpec
from trident.coordinators.retrying import Repeater
from trident.coordinators.transitions import Status
from trident.state.base import StateStore


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
    ledger: Ledger, stores: Mapping[str, StateStore], spec: TopologySpec, epoch: Epoch, repeater: Repeater
) -> Snapshot:
    """Register or check the topology, raise its epoch in every store, then read what is open.

    `epoch` was raised in the ledger before. May be repeated as a whole. Raises `LedgerBehindError` when a
    state holds a later epoch although nobody has taken the ledger over.
    """
    first = repeater.call("reading the ledger", lambda: ledger.register(epoch, spec))
    reached(CrashPoint.AFTER_REGISTRATION)
    together = all(store.beside_ledger for store in stores.values())
    for name, store in stores.items():
        repeater.call(f"preparing state {name!r}", partial(store.prepare, together))
        reached(CrashPoint.AFTER_PREPARATION)
        _raise_fence(ledger, store, first.owner, epoch, repeater)
    snapshot = repeater.call("reading the ledger", lambda: ledger.register(epoch, spec))
    reached(CrashPoint.AFTER_READING_LEDGER)
    return snapshot


def _raise_fence(ledger: Ledger, store: StateStore, owner: Owner, epoch: Epoch, repeater: Repeater) -> None:
    try:
        repeater.call(f"raising the fence of state {store.name!r}", lambda: store.raise_fence(owner, epoch))
    except FencedError as error:
        repeater.call("renewing the lease", lambda: ledger.renew(owner.topology, epoch))  # a newer owner says so here
        raise LedgerBehindError(_behind(store, owner, epoch)) from error
    reached(CrashPoint.AFTER_FENCE)


def _behind(store: StateStore, owner: Owner, epoch: Epoch) -> str:
    return (
        f"state {store.name!r} knows a later epoch than {epoch.number}, the latest that the ledger of topology "
        f"{owner.topology!r} has given out: the ledger was lost or restored from a backup, or another ledger has a "
        "topology of this name with this state. Nothing was changed. Restore the ledger and all states to the same "
        "point, or decide with trident.reset(topology, ledger, states='adopt' or 'clear')."
    )


def finish_reset(
    ledger: Ledger, stores: Mapping[str, StateStore], spec: TopologySpec, epoch: Epoch, decision: ResetDecision
) -> Snapshot:
    """Carry a recorded reset out: every state, then the ledger; each step is idempotent."""
    owner = Owner(spec.name, decision.incarnation)
    for store in stores.values():
        change = store.clear if decision.states == "clear" else store.adopt
        change(owner, epoch, decision.birth_txid)
        reached(CrashPoint.AFTER_RESETTING_STATE)
    ledger.finish_reset(epoch, spec.name, decision)
    reached(CrashPoint.AFTER_RESET)
    return ledger.register(epoch, spec)


def check_positions(snapshot: Snapshot, stores: Mapping[str, StateStore], epoch: Epoch) -> frozenset[str]:
    """Register new states, check all others; returns those that still wait for the pinned batch.

    Raises `MismatchError` for a state that is behind, ahead, or another incarnation's: nothing has
    been changed then, and the text says what was found where.
    """
    waiting = set()
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
            waiting.add(name)
    return frozenset(waiting)


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
        "point, or decide with trident.reset(topology, ledger, states='adopt' or 'clear')."
    )
