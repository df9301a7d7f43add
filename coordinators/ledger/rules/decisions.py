"""What a person may decide, and when a decision is carried out: pure checks, as in `rules`."""

from __future__ import annotations

from collections.abc import Sequence

from trident.base.errors import MismatchError
from trident.coordinators.decided import Decision, DecisionKind, Refusal, StopKind
from trident.coordinators.ledger.rules.progress import Progress
from trident.coordinators.pinned import Pin, StatePin


def is_repeated_refusal(progress: Progress, stored: Refusal | None, refusal: Refusal) -> bool:
    """Tell whether this very refusal is recorded by this epoch already; an epoch stops once, at a txid not done."""
    if stored is not None and stored != refusal:
        raise MismatchError(
            f"this epoch has stopped at txid {stored.txid} attempt {stored.attempt} before; it can't stop at txid "
            f"{refusal.txid} attempt {refusal.attempt} too. Nothing was written."
        )
    if stored is None and refusal.txid <= progress.done:
        raise MismatchError(f"txid {refusal.txid} can't be refused: txid {progress.done} is done. Nothing was written.")
    return stored is not None


def check_decision(
    progress: Progress, decision: Decision, refusal: Refusal | None, open_decisions: Sequence[Decision]
) -> None:
    """Refuse a decision about what is done, what nobody refused, or another attempt than the one there is."""
    if decision.txid <= progress.done:
        raise _refused(decision, f"txid {progress.done} is done")
    if decision in open_decisions:
        raise _refused(decision, "it was decided before and is not finished")
    match decision.kind:
        case DecisionKind.UNDO:
            _check_undo(progress, decision)
        case DecisionKind.RETRY:
            _check_refused(decision, refusal)
        case DecisionKind.DIVERT:
            _check_divert(progress, decision, refusal)


def check_carried_out(progress: Progress, decision: Decision, open_decisions: Sequence[Decision]) -> None:
    """Refuse to finish what was not decided, or what speaks of another attempt than the pinned one."""
    if decision not in open_decisions:
        raise _refused(decision, "nobody decided it")
    if (progress.pinned, progress.pinned_attempt) != (decision.txid, decision.attempt):
        raise _refused(decision, f"attempt {decision.attempt} is not pinned")


def held_states(decisions: Sequence[Decision], txid: int) -> frozenset[str]:
    """Return the states whose rows are to be diverted from a txid."""
    return frozenset(item.state for item in decisions if item.kind is DecisionKind.DIVERT and item.txid == txid)


def without_rows_of(pin: Pin, state: str) -> tuple[StatePin, ...]:
    """Return what a pin says of its states once one of them has no rows to apply any more."""
    return tuple(StatePin(item.state, 0) if item.state == state else item for item in pin.states)


def is_held(progress: Progress, decision: Decision) -> bool:
    """Tell whether a decision waits for the attempt that commits: nothing of its txid is pinned."""
    return decision.kind is DecisionKind.DIVERT and progress.pinned != decision.txid


def _check_undo(progress: Progress, decision: Decision) -> None:
    if progress.pinned != decision.txid:
        raise _refused(decision, "nothing of it is pinned, so nothing of it was applied and there is nothing to undo")
    if progress.pinned_attempt != decision.attempt:
        raise _refused(decision, f"attempt {progress.pinned_attempt} is pinned, not {decision.attempt}")


def _check_refused(decision: Decision, refusal: Refusal | None) -> Refusal:
    if refusal is None or refusal.txid != decision.txid:
        raise _refused(decision, "nothing of it was refused, or that was decided before")
    return refusal


def _check_divert(progress: Progress, decision: Decision, refusal: Refusal | None) -> None:
    refusal = _check_refused(decision, refusal)
    if refusal.kind is not StopKind.REFUSED or (refusal.state and refusal.state != decision.state):
        by = f"state {refusal.state!r}" if refusal.state else "no state"
        raise _refused(decision, f"it was {by} that refused it")
    attempt = progress.pinned_attempt if progress.pinned == decision.txid else refusal.attempt
    if attempt != decision.attempt or not decision.state:
        raise _refused(decision, f"attempt {attempt} was refused, not {decision.attempt}")


def _refused(decision: Decision, why: str) -> MismatchError:
    return MismatchError(f"no {decision}: {why}. Nothing was written.")
