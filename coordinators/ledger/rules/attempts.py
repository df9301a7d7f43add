"""What may be planned and dropped: the next txid, under a new number, after what is live or done."""

from __future__ import annotations

from collections.abc import Sequence

from trident.base.errors import MismatchError
from trident.base.identity import Epoch, Owner
from trident.coordinators.ledger.rules.changes import is_stored_as
from trident.coordinators.ledger.rules.following import check_follows
from trident.coordinators.ledger.rules.progress import PlanStatus, Progress, StoredPlan
from trident.coordinators.planned import Plan, StartPosition


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
    is_same = (stored.incarnation, stored.epoch) == (owner.incarnation, epoch.number) and is_stored_as(stored, plan)
    if not is_same:
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
