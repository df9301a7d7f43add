"""Planning in a SQL ledger: one plan follows the other, and a pin follows what is done."""

from __future__ import annotations

from sqlalchemy import Connection

from trident.base.identity import Epoch, Owner
from trident.coordinators.ledger.rules import attempts, commits
from trident.coordinators.ledger.rules.changes import in_full
from trident.coordinators.ledger.rules.fencing import check_owner
from trident.coordinators.ledger.rules.following import has_new_partitions
from trident.coordinators.ledger.rules.progress import Progress, StoredPlan
from trident.coordinators.ledger.sql import batch_writes, decision_writes, reads
from trident.coordinators.pinned import Pin
from trident.coordinators.planned import Plan


def lock_owned(connection: Connection, owner: Owner, epoch: Epoch) -> Progress:
    """Lock the topology's one row for a writer of that epoch and incarnation, with nothing decided unfinished."""
    progress = reads.lock_progress(connection, owner.topology, epoch)
    check_owner(progress, owner)
    return progress


def write_plan(connection: Connection, owner: Owner, epoch: Epoch, plan: Plan | None, drop_from: int | None) -> None:
    """Drop live attempts, then insert a plan; see `Ledger.plan`."""
    progress = lock_owned(connection, owner, epoch)
    if plan is not None and _is_repeated_plan(connection, owner, epoch, progress, plan):
        return
    if drop_from is not None:
        attempts.check_drop(progress, drop_from)
        batch_writes.write_drop(connection, owner, drop_from)
    if plan is None:
        return
    before = _last_plan(connection, owner, progress)
    is_needed = has_new_partitions(plan, before.plan if before else None)
    starts = reads.read_starts(connection, owner) if is_needed else None
    attempts.check_plan(progress, epoch, plan, before, starts)
    decision_writes.hold_for(connection, owner, plan, progress)
    batch_writes.write_plan(connection, owner, epoch, plan, before.plan if before else None, progress.last_txid)


def _is_repeated_plan(connection: Connection, owner: Owner, epoch: Epoch, progress: Progress, plan: Plan) -> bool:
    if plan.attempt > progress.last_attempt:
        return False
    stored = reads.read_plans(connection, owner.topology, plan.attempt).get(plan.attempt)
    return attempts.is_repeated_plan(stored, owner, epoch, plan)


def _last_plan(connection: Connection, owner: Owner, progress: Progress) -> StoredPlan | None:
    """Return the last live plan, or else the one that is done, None at birth."""
    return next(reversed(reads.read_chain(connection, owner, progress)), None)


def check_pin(connection: Connection, owner: Owner, epoch: Epoch, progress: Progress, pin: Pin) -> None:
    """Refuse a pin that does not follow what is done; see `Ledger.pin`."""
    numbers = (pin.attempt, progress.done_attempt) if progress.done_attempt else (pin.attempt,)
    plans = reads.read_plans(connection, owner.topology, *numbers)
    done_plan = reads.done_plan_of(plans, progress)
    stored = plans.get(pin.attempt)
    starts = reads.read_starts(connection, owner) if has_new_partitions(pin.plan, done_plan) else None
    commits.check_pin(progress, epoch, pin, in_full(stored, done_plan) if stored else None, done_plan, starts)
