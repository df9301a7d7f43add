"""A person's decision under an epoch that was just raised: take over, record it, carry it out.

Every fence is raised first, so that a running coordinator is fenced. A decision is recorded before its
first effect; one that was cut off is finished by the next decision or the next start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError
from trident.base.identity import Epoch
from trident.coordinators.decided import Decision, DecisionKind, ResetDecision
from trident.coordinators.holding.carrying_out import check_divert, check_undo, pinned_batch
from trident.coordinators.holding.keeping import holder_name
from trident.coordinators.holding.takeover import TakeOver
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.registered import Snapshot
from trident.coordinators.retrying import Repeater
from trident.state.capabilities import check_resettable, diverting_of
from trident.state.target import Target


@dataclass(frozen=True, slots=True)
class WantedDecision:
    """What a person asks for about a txid."""

    kind: DecisionKind
    txid: int
    state: str = ""

    def is_met_by(self, decision: Decision) -> bool:
        """Tell whether that decision is this one."""
        return (decision.kind, decision.txid, decision.state) == (self.kind, self.txid, self.state)


@dataclass(frozen=True, slots=True)
class WantedReset:
    """What a person asks for of a reset, with the id of the incarnation to open."""

    incarnation: str
    keep_rows: bool
    start: str | None


def decide_retry(ledger: Ledger, topology: str, epoch: Epoch, txid: int, repeater: Repeater) -> Decision:
    """Record that a refused txid is to be tried again; needs no state, and nothing is left to carry out."""
    snapshot = repeater.call("reading the ledger", lambda: ledger.snapshot(epoch, topology))
    attempt = snapshot.refusal.attempt if snapshot.refusal else 0
    decision = Decision(DecisionKind.RETRY, txid, attempt, decided_by=holder_name())
    repeater.call("recording a decision", lambda: ledger.decide(snapshot.owner, epoch, decision))
    reached(CrashPoint.AFTER_DECIDING_RETRY, txid)
    return decision


def decide(taking: TakeOver, wanted: WantedDecision) -> Decision:
    """Decide a divert or an undo; returns the decision.

    Raises CannotUndoError or MismatchError when it can't be done: nothing was changed then. One that was
    cut off before is finished and returned.
    """
    taking.raise_fences()
    taking.finish_reset()
    finished = taking.finish_decisions()
    for known in (*finished, *taking.snapshot.decisions):
        if wanted.is_met_by(known):
            return known
    snapshot = taking.snapshot
    decision = Decision(wanted.kind, wanted.txid, _attempt(snapshot, wanted.txid), wanted.state, holder_name())
    waiting = taking.where_states_stand()
    _check_possible(taking, decision, waiting)
    taking.repeater.call("recording a decision", lambda: taking.ledger.decide(snapshot.owner, taking.epoch, decision))
    reached(_DECIDED[decision.kind], decision.txid)
    taking.read()
    taking.finish_decisions()
    return decision


def decide_reset(taking: TakeOver, wanted: WantedReset) -> ResetDecision:
    """Decide a reset; returns the decision.

    A pinned batch is rolled forward, or undone if that was decided, before states are adopted; clearing
    states makes it void. An open reset that is found is finished and returned instead.
    """
    taking.raise_fences()
    decision = taking.snapshot.open_reset
    if decision is None:
        check_resettable(taking.stores, wanted.keep_rows)
        if wanted.keep_rows:
            taking.finish_decisions()
            _roll_forward(taking)
        birth = taking.repeater.call("reading the states", lambda: _birth_txid(taking.snapshot, taking.stores))
        states = "adopt" if wanted.keep_rows else "clear"
        decision = ResetDecision(wanted.incarnation, birth, states, wanted.start)
        record = partial(taking.ledger.decide_reset, taking.epoch, taking.spec.name, decision)
        taking.repeater.call("recording a reset", record)
        reached(CrashPoint.AFTER_DECIDING_RESET)
    taking.carry_out_reset(decision)
    return decision


_DECIDED: Mapping[DecisionKind, CrashPoint] = {
    DecisionKind.DIVERT: CrashPoint.AFTER_DECIDING_DIVERT,
    DecisionKind.UNDO: CrashPoint.AFTER_DECIDING_UNDO,
}


def _attempt(snapshot: Snapshot, txid: int) -> int:
    if snapshot.pin is not None and snapshot.pin.txid == txid:
        return snapshot.pin.attempt
    return snapshot.refusal.attempt if snapshot.refusal is not None else 0


def _check_possible(taking: TakeOver, decision: Decision, waiting: frozenset[str]) -> None:
    """Refuse, before anything is recorded, what one of the states could not follow."""
    if decision.state and decision.state not in taking.stores:
        raise MismatchError(f"no {decision}: there is no such state. Nothing was written.")
    if decision.state:
        diverting_of(taking.stores[decision.state])
    pinned = pinned_batch(taking.snapshot, taking.epoch)
    if pinned is None or pinned.batch.txid != decision.txid:
        return
    if decision.kind is DecisionKind.UNDO:
        check_undo(taking.stores, pinned)
    else:
        check_divert(taking.stores, pinned, decision, waiting)


def _birth_txid(snapshot: Snapshot, stores: Mapping[str, Target]) -> int:
    """Return the highest txid that is known anywhere: a ledger from an old backup knows fewer than the states."""
    positions = [store.position(snapshot.owner.topology) for store in stores.values()]
    return max([snapshot.last_txid, *(position.txid for position in positions if position is not None)])


def _roll_forward(taking: TakeOver) -> None:
    """Apply the pinned batch, if there is one, to the states that wait for it: adopted rows hold whole txids."""
    if taking.snapshot.pin is None:
        return
    try:
        waiting = taking.where_states_stand()
    except MismatchError as error:
        raise MismatchError(f"{error} While a batch is pinned, only states='clear' can be carried out.") from error
    taking.require_no_refusal(waiting)
    taking.roll_forward(waiting)
