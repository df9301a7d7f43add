"""What may follow what: plans and drops, the one pin, done."""

from __future__ import annotations

from collections.abc import Sequence

from trident.base.errors import MismatchError
from trident.base.identity import Epoch, Owner
from trident.coordinators.ledger.rules.following import check_follows
from trident.coordinators.ledger.rules.progress import PlanStatus, Progress, StoredPlan
from trident.coordinators.records import Commit, Pin, Plan, StartPosition


def check_drop(progress: Progress, drop_from: int) -> None:
    """Refuse to drop what is decided: txids up to the done one, and the pinned one."""
    if drop_from <= progress.done:
        raise MismatchError(f"txid {drop_from} can't be dropped: txid {progress.done} is done. Nothing was written.")
    if progress.pinned is not None and drop_from <= progress.pinned:
        raise MismatchError(
            f"txid {drop_from} can't be dropped: txid {progress.pinned} is pinned (attempt {progress.pinned_attempt}) "
            "and will only be rolled forward. Nothing was written."
        )


def is_repeated_plan(stored: StoredPlan | None, owner: Owner, epoch: Epoch, plan: Plan) -> bool:
    """Tell whether this very plan is in already; another plan under its attempt number is refused."""
    if stored is None:
        return False
    if (stored.incarnation, stored.epoch, stored.plan) != (owner.incarnation, epoch.number, plan):
        raise MismatchError(
            f"attempt {plan.attempt} was used before, for txid {stored.plan.txid}; attempt numbers are never reused. "
            "Nothing was written."
        )
    if stored.status is PlanStatus.DROPPED:
        raise MismatchError(f"attempt {plan.attempt} at txid {plan.txid} was dropped before. Nothing was written.")
    return True


def check_plan(
    progress: Progress, epoch: Epoch, plan: Plan, before: StoredPlan | None, starts: Sequence[StartPosition] | None
) -> None:
    """Refuse a plan that is not the next one; `before` is the last live plan, or the done one, if there is any."""
    if plan.batch_time.tzinfo is None:
        raise MismatchError(f"the batch time of txid {plan.txid} has no time zone. Nothing was written.")
    if plan.attempt <= progress.last_attempt:
        raise MismatchError(
            f"attempt {plan.attempt} is not above {progress.last_attempt}, the last one handed out; attempt numbers "
            "are never reused. Nothing was written."
        )
    last_txid = before.plan.txid if before else progress.done
    last_attempt = before.plan.attempt if before else progress.done_attempt
    if plan.txid != last_txid + 1:
        raise MismatchError(f"txid {plan.txid} can't be planned: {last_txid + 1} is the next. Nothing was written.")
    if plan.predecessor != last_attempt:
        raise MismatchError(
            f"the plan of txid {plan.txid} names attempt {plan.predecessor} as its predecessor, but attempt "
            f"{last_attempt} is txid {last_txid}'s. Nothing was written."
        )
    if before is not None and not _may_be_followed(progress, epoch, before):
        raise MismatchError(
            f"txid {last_txid} was planned by epoch {before.epoch} and is not pinned; epoch {epoch.number} must drop "
            "it before it plans. Nothing was written."
        )
    check_follows(plan, before.plan if before else None, starts)


def _may_be_followed(progress: Progress, epoch: Epoch, before: StoredPlan) -> bool:
    """Tell whether it is of this epoch or decided: what an older epoch left unpinned is never adopted."""
    decided = before.plan.attempt in (progress.done_attempt, progress.pinned_attempt)
    return decided or before.epoch == epoch.number


def is_repeated_pin(progress: Progress, pin: Pin) -> bool:
    """Tell whether the txid is pinned or done with this attempt already; with another one is refused."""
    for txid, attempt, word in (
        (progress.pinned, progress.pinned_attempt, "pinned"),
        (progress.done, progress.done_attempt, "done"),
    ):
        if txid == pin.txid and attempt != pin.attempt:
            raise MismatchError(
                f"txid {pin.txid} is {word} with attempt {attempt}, not {pin.attempt}. Nothing was written."
            )
        if txid == pin.txid:
            return True
    return False


def check_same_pin(stored: Pin | None, pin: Pin) -> None:
    """Refuse a repeat that carries other manifests, or other dead letters, than what was decided."""
    if stored is None or _said(stored) != _said(pin):
        raise MismatchError(
            f"txid {pin.txid} was pinned with attempt {pin.attempt} and other manifests than the given ones. "
            "Nothing was written."
        )


def _said(pin: Pin) -> tuple[object, ...]:
    return pin.plan, pin.manifests, pin.states, frozenset(pin.dead_letters)


def check_pin(
    progress: Progress,
    epoch: Epoch,
    pin: Pin,
    stored: StoredPlan | None,
    done_plan: Plan | None,
    starts: Sequence[StartPosition] | None,
    held: frozenset[str] = frozenset(),
) -> None:
    """Refuse a pin that is not of the next txid's live attempt, or whose ranges don't follow what is done.

    `held` are the states whose rows a person decided to divert from this txid: the pin must say the same.
    """
    if progress.pinned is not None:
        raise MismatchError(f"txid {pin.txid} can't be pinned: txid {progress.pinned} is. Nothing was written.")
    if progress.done != pin.txid - 1:
        raise MismatchError(f"txid {pin.txid} can't be pinned: {progress.done} is done. Nothing was written.")
    if stored is None or stored.status is not PlanStatus.LIVE or stored.incarnation != progress.incarnation:
        raise MismatchError(f"attempt {pin.attempt} at txid {pin.txid} is not live. Nothing was written.")
    if stored.plan != pin.plan:
        raise MismatchError(f"the pin of txid {pin.txid} carries another plan than the stored. Nothing was written.")
    if stored.epoch != epoch.number:
        raise MismatchError(
            f"attempt {pin.attempt} at txid {pin.txid} was planned by epoch {stored.epoch}; epoch {epoch.number} must "
            "drop it and plan again. Nothing was written."
        )
    if pin.plan.predecessor != progress.done_attempt:
        raise MismatchError(
            f"the plan of txid {pin.txid} follows attempt {pin.plan.predecessor}, but attempt {progress.done_attempt} "
            "is done. Nothing was written."
        )
    diverted = frozenset(item.state for item in pin.diverts)
    if diverted != held or len(diverted) != len(pin.diverts):
        raise MismatchError(
            f"the pin of txid {pin.txid} diverts the rows of {_named(diverted)}, decided was {_named(held)}. "
            "Nothing was written."
        )
    check_follows(pin.plan, done_plan, starts)


def _named(states: frozenset[str]) -> str:
    return ", ".join(repr(state) for state in sorted(states)) or "no state"


def is_repeated_done(progress: Progress, commit: Commit) -> bool:
    """Tell whether the txid is done with this attempt already; with another one is refused."""
    if progress.done != commit.txid:
        return False
    if progress.done_attempt != commit.attempt:
        raise MismatchError(
            f"txid {commit.txid} is done with attempt {progress.done_attempt}, not {commit.attempt}. "
            "Nothing was written."
        )
    return True


def check_done(progress: Progress, commit: Commit) -> None:
    """Refuse what is not the pinned attempt."""
    if (progress.pinned, progress.pinned_attempt) != (commit.txid, commit.attempt):
        pinned = f"txid {progress.pinned} attempt {progress.pinned_attempt}" if progress.pinned else "nothing"
        raise MismatchError(
            f"txid {commit.txid} attempt {commit.attempt} can't be done: {pinned} is pinned. Nothing was written."
        )


def check_together(pin: Pin, commit: Commit) -> None:
    """Refuse a pin and a commit that speak of different attempts."""
    if (pin.txid, pin.attempt) != (commit.txid, commit.attempt):
        raise MismatchError(
            f"the pin is of txid {pin.txid} attempt {pin.attempt}, the commit of txid {commit.txid} attempt "
            f"{commit.attempt}. Nothing was written."
        )
