"""A person's decision about a txid, carried out as a take-over: retry, divert or undo.

Every fence is raised first, so that a running coordinator is fenced. The decision is recorded before
its first effect; one that was cut off is finished by the next decision or the next start.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError
from trident.base.identity import BatchId, Epoch
from trident.coordinators.decisions.records import Decision, DecisionKind
from trident.coordinators.holding.lease import held_for_decision, holder_name
from trident.coordinators.holding.retrying import Repeater
from trident.coordinators.holding.run import open_parts
from trident.coordinators.holding.takeover import (
    fence_and_finish,
    finish_decisions,
    staged_of,
    where_states_stand,
    written_of,
)
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.options import RunOptions
from trident.coordinators.records import Snapshot, TopologySpec
from trident.state.capabilities import diverting_of, undoing_of
from trident.state.layout import StateLayout
from trident.state.target import State, Target


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the person asked for."""

    kind: DecisionKind
    txid: int
    state: str = ""

    def is_met_by(self, decision: Decision) -> bool:
        """Tell whether that decision is this one."""
        return (decision.kind, decision.txid, decision.state) == (self.kind, self.txid, self.state)


def decide_topology(
    spec: TopologySpec,
    states: Mapping[str, tuple[State, StateLayout]],
    ledger: Ledger,
    wanted: Wanted,
    options: RunOptions,
) -> Decision:
    """Record a divert or an undo and carry it out; returns the decision.

    Raises LeaseHeldError while a coordinator runs the topology, CannotUndoError or MismatchError when
    it can't be done: nothing was changed then. One that was cut off before is finished and returned.
    """
    with ExitStack() as stack:
        ledger.open()
        stack.callback(ledger.close)
        _, stores = open_parts({}, states, ledger.database, stack)
        with held_for_decision(ledger, spec.name, options) as (epoch, repeater):
            return carry_out_decision(ledger, stores, spec, epoch, wanted, repeater)


def retry_topology(topology: str, ledger: Ledger, txid: int, options: RunOptions) -> Decision:
    """Record that a refused txid is to be tried again; needs no state. Raises LeaseHeldError, MismatchError."""
    ledger.open()
    with ExitStack() as stack:
        stack.callback(ledger.close)
        with held_for_decision(ledger, topology, options) as (epoch, repeater):
            return carry_out_retry(ledger, topology, epoch, txid, repeater)


def carry_out_retry(ledger: Ledger, topology: str, epoch: Epoch, txid: int, repeater: Repeater) -> Decision:
    """Record with that epoch that a refused txid is to be tried again."""
    snapshot = repeater.call("reading the ledger", lambda: ledger.snapshot(epoch, topology))
    attempt = snapshot.refusal.attempt if snapshot.refusal else 0
    decision = Decision(DecisionKind.RETRY, txid, attempt, decided_by=holder_name())
    repeater.call("recording a decision", lambda: ledger.decide(snapshot.owner, epoch, decision))
    reached(CrashPoint.AFTER_DECIDING_RETRY, txid)
    return decision


def carry_out_decision(
    ledger: Ledger,
    stores: Mapping[str, Target],
    spec: TopologySpec,
    epoch: Epoch,
    wanted: Wanted,
    repeater: Repeater,
) -> Decision:
    """Take over with that epoch, finish what is open, record the decision, carry it out."""
    snapshot, finished = fence_and_finish(ledger, stores, spec, epoch, repeater)
    for decision in (*finished, *snapshot.decisions):
        if wanted.is_met_by(decision):
            return decision
    decision = Decision(wanted.kind, wanted.txid, _attempt(snapshot, wanted.txid), wanted.state, holder_name())
    waiting = where_states_stand(ledger, stores, spec, snapshot, epoch, repeater)
    _check_possible(stores, snapshot, epoch, decision, waiting)
    repeater.call("recording a decision", lambda: ledger.decide(snapshot.owner, epoch, decision))
    reached(_DECIDED[decision.kind], decision.txid)
    snapshot = repeater.call("reading the ledger", lambda: ledger.register(epoch, spec))
    finish_decisions(ledger, stores, spec, snapshot, epoch, repeater)
    return decision


_DECIDED: Mapping[DecisionKind, CrashPoint] = {
    DecisionKind.RETRY: CrashPoint.AFTER_DECIDING_RETRY,
    DecisionKind.DIVERT: CrashPoint.AFTER_DECIDING_DIVERT,
    DecisionKind.UNDO: CrashPoint.AFTER_DECIDING_UNDO,
}


def _attempt(snapshot: Snapshot, txid: int) -> int:
    if snapshot.pin is not None and snapshot.pin.txid == txid:
        return snapshot.pin.attempt
    return snapshot.refusal.attempt if snapshot.refusal is not None else 0


def _check_possible(
    stores: Mapping[str, Target], snapshot: Snapshot, epoch: Epoch, decision: Decision, waiting: frozenset[str]
) -> None:
    """Refuse, before anything is recorded, what one of the states could not follow."""
    if decision.state and decision.state not in stores:
        raise MismatchError(f"no {decision}: there is no such state. Nothing was written.")
    if decision.state:
        diverting_of(stores[decision.state])
    pin = snapshot.pin
    if pin is None or pin.txid != decision.txid:
        return
    batch = BatchId(snapshot.owner, epoch, pin.txid, pin.attempt)
    if decision.kind is DecisionKind.UNDO:
        for item in pin.states:
            undoing_of(stores[item.state], batch).check_undo(batch, staged_of(pin, item.state))
    elif decision.state not in waiting:
        raise MismatchError(f"no {decision}: the state has this txid already. Nothing was written.")
    else:
        target, staged = stores[decision.state], written_of(pin, decision.state)
        # a store without transactions may have part of it, which has to go first
        if target.capabilities.undoing is not None:
            target.capabilities.undoing.check_undo(batch, staged)
        diverting_of(target).staged_rows(batch, staged)
