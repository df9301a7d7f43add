"""What a person may decide, and when a decision is carried out: pure checks, as in `rules`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from trident.base.errors import MismatchError
from trident.coordinators.decided import Decision, DecisionKind, Refusal, StopKind
from trident.coordinators.ledger.rules.progress import PlanStatus, Progress, StoredPlan
from trident.coordinators.pinned import Pin, StatePin
from trident.coordinators.planned import Plan


def is_repeated_refusal(progress: Progress, stored: Refusal | None, refusal: Refusal) -> bool:
    """Tell whether this very refusal is recorded by this epoch already; an epoch stops once."""
    if stored is not None and stored != refusal:
        raise MismatchError(
            f"this epoch has stopped at txid {stored.txid} attempt {stored.attempt} before; it can't stop at txid "
            f"{refusal.txid} attempt {refusal.attempt} too. Nothing was written."
        )
    return stored is not None


def check_refusal(progress: Progress, live: StoredPlan | None, refusal: Refusal) -> None:
    """Refuse a refusal of what is not the live attempt after the txid that is done: it is about nothing, or void."""
    if refusal.txid != progress.done + 1:
        raise MismatchError(
            f"txid {refusal.txid} can't be refused while txid {progress.done} is done: it is done too, or what comes "
            "before it may still make it void. Nothing was written."
        )
    if live is None or live.status is not PlanStatus.LIVE or live.plan.txid != refusal.txid:
        raise MismatchError(
            f"attempt {refusal.attempt} at txid {refusal.txid} is not live and can't be refused. Nothing was written."
        )


def check_decision(
    done: int,
    pinned: tuple[int, int] | None,
    decision: Decision,
    refusal: Refusal | None,
    open_decisions: Sequence[Decision],
) -> None:
    """Refuse a decision about what is done, what nobody refused, or another attempt than the one there is.

    A drop, a rename or a forget is none: it is about what is done (`check_drop`). Nor is a reapply, which its pin
    carries (`check_reapplied`).

    `pinned` are the txid and the attempt of what is pinned.
    """
    if decision.kind.is_of_topology or decision.kind in (DecisionKind.FORGET, DecisionKind.REAPPLY):
        raise _refused(decision, "it is no decision about a txid")
    if decision.txid <= done:
        raise _refused(decision, f"txid {done} is done")
    if decision in open_decisions:
        raise _refused(decision, "it was decided before and is not finished")
    match decision.kind:
        case DecisionKind.UNDO:
            _check_undo(pinned, decision)
        case DecisionKind.RETRY:
            _check_refused(decision, refusal)
        case DecisionKind.DIVERT | DecisionKind.DIVERT_REFUSED:
            if not is_widened(decision, refusal, open_decisions):
                _check_divert(pinned, decision, refusal)


def check_drop(progress: Progress, decision: Decision, open_decisions: Sequence[Decision]) -> None:
    """Refuse to drop or rename a state, or to let go of all, but behind the txid that is done with nothing open."""
    if progress.pinned is not None:
        raise _refused(decision, f"txid {progress.pinned} is pinned and not done")
    if (decision.txid, decision.attempt) != (progress.done, progress.done_attempt):
        raise _refused(decision, f"txid {progress.done} attempt {progress.done_attempt} is done")
    if open_decisions:
        raise _refused(decision, f"a {open_decisions[0]} was decided and is not finished")


def check_carried_out(progress: Progress, decision: Decision, open_decisions: Sequence[Decision]) -> None:
    """Refuse to finish what was not decided, or what speaks of another attempt than the pinned one."""
    if decision not in open_decisions:
        raise _refused(decision, "nobody decided it")
    if progress.pinned_batch != (decision.txid, decision.attempt):
        raise _refused(decision, f"attempt {decision.attempt} is not pinned")


def held_for(plan: Plan, decisions: Sequence[Decision], refused: Mapping[int, Plan]) -> tuple[Decision, ...]:
    """Return the decisions that wait for a plan's txid and are about the records that it reads.

    `refused` are the plans that were refused, by attempt. A decision about other records is void: nobody has looked
    at these.
    """
    held = (item for item in decisions if item.kind.diverts and item.txid == plan.txid)
    return tuple(item for item in held if item.attempt in refused and plan.has_records_of(refused[item.attempt]))


def made_void(plan: Plan, decisions: Sequence[Decision], refused: Mapping[int, Plan]) -> tuple[Decision, ...]:
    """Return the decisions that a plan makes void; refuses one that does not say of itself what is held for it."""
    held = held_for(plan, decisions, refused)
    if {item.state for item in held} != set(plan.diverts) or len(held) != len(plan.diverts):
        raise MismatchError(
            f"the plan of txid {plan.txid} diverts the rows of {shown_states(plan.diverts)}, decided was "
            f"{shown_states(item.state for item in held)}. Nothing was written."
        )
    return tuple(item for item in decisions if item.txid == plan.txid and item not in held)


def shown_states(states: Iterable[str]) -> str:
    """Return states as a text shows them."""
    return ", ".join(repr(state) for state in sorted(states)) or "no state"


def replaced(decision: Decision, open_decisions: Sequence[Decision]) -> Decision | None:
    """Return the held decision in whose place a new one comes: of the same rows, which were refused again since."""
    if not decision.kind.diverts:
        return None
    about = (decision.txid, decision.state)
    return next((item for item in open_decisions if item.kind.diverts and (item.txid, item.state) == about), None)


def is_widened(decision: Decision, refusal: Refusal | None, open_decisions: Sequence[Decision]) -> bool:
    """Tell whether all rows are to go where a held divert takes those of the same records that the state refuses.

    Nothing has to be refused again for that: what is held may be something that can't be carried out.
    """
    if decision.kind is not DecisionKind.DIVERT or (refusal is not None and refusal.blocks):
        return False
    return replace(decision, kind=DecisionKind.DIVERT_REFUSED) in open_decisions


def without_rows_of(pin: Pin, state: str) -> tuple[StatePin, ...]:
    """Return what a pin says of its states once one of them has no rows to apply any more."""
    return tuple(StatePin(item.state, 0) if item.state == state else item for item in pin.states)


def check_parted(progress: Progress, pin: Pin, decision: Decision, kept: StatePin, taken: int) -> None:
    """Refuse to take some rows out of anything but the pin, and to keep more or fewer of it than the others."""
    if progress.pinned_batch != (decision.txid, decision.attempt):
        raise _refused(decision, f"attempt {decision.attempt} is not pinned")
    item = pin.of(decision.state)
    if item is None or kept.state != decision.state or kept.rows + taken != item.rows:
        has = 0 if item is None else item.rows
        raise _refused(decision, f"{taken} rows to take out and {kept.rows} to keep are not the {has} of the pin")


def with_rows_of(pin: Pin, kept: StatePin) -> tuple[StatePin, ...]:
    """Return what a pin says of its states once one of them has other rows to apply."""
    return tuple(kept if item.state == kept.state else item for item in pin.states)


def is_held(progress: Progress, decision: Decision) -> bool:
    """Tell whether a decision waits for the attempt that commits: nothing of its txid is pinned."""
    return decision.kind.diverts and progress.pinned != decision.txid


def _check_undo(pinned: tuple[int, int] | None, decision: Decision) -> None:
    if pinned is None or pinned[0] != decision.txid:
        raise _refused(decision, "nothing of it is pinned, so nothing of it was applied and there is nothing to undo")
    if pinned[1] != decision.attempt:
        raise _refused(decision, f"attempt {pinned[1]} is pinned, not {decision.attempt}")


def _check_refused(decision: Decision, refusal: Refusal | None) -> Refusal:
    if refusal is None or refusal.txid != decision.txid:
        raise _refused(decision, "nothing of it was refused, or that was decided before")
    return refusal


def _check_divert(pinned: tuple[int, int] | None, decision: Decision, refusal: Refusal | None) -> None:
    refusal = _check_refused(decision, refusal)
    if refusal.kind is not StopKind.REFUSED or refusal.state != decision.state:
        by = f"state {refusal.state!r}" if refusal.state else "no state"
        raise _refused(decision, f"it was {by} that refused it")
    attempt = pinned[1] if pinned is not None and pinned[0] == decision.txid else refusal.attempt
    if attempt != decision.attempt or not decision.state:
        raise _refused(decision, f"attempt {attempt} was refused, not {decision.attempt}")


def _refused(decision: Decision, why: str) -> MismatchError:
    return MismatchError(f"no {decision}: {why}. Nothing was written.")
