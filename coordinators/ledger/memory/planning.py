"""Plans and pins of the memory ledger, held against its rules."""

from __future__ import annotations

from trident.base.identity import Epoch, Owner
from trident.coordinators.ledger.memory import decisions
from trident.coordinators.ledger.memory.rows import Entry, Rows
from trident.coordinators.ledger.rules import attempts, commits
from trident.coordinators.ledger.rules.progress import PlanStatus, StoredPlan
from trident.coordinators.pinned import Pin
from trident.coordinators.planned import Plan


def planned(rows: Rows, entry: Entry, owner: Owner, epoch: Epoch, plan: Plan) -> Entry:
    """Return the entry with one more live plan, which follows the one before."""
    before = entry.live[-1] if entry.live else entry.done_plan
    attempts.check_plan(entry.progress, epoch, plan, before, entry.starts)
    entry = decisions.hold_for(entry, plan)
    stored = StoredPlan(owner.incarnation, epoch.number, PlanStatus.LIVE, plan)
    rows.mark_losses(owner.topology, stored)
    progress = entry.progress._replace(last_attempt=plan.attempt, last_txid=max(entry.progress.last_txid, plan.txid))
    return entry._replace(progress=progress, live=(*entry.live, stored))


def check_pin(entry: Entry, epoch: Epoch, pin: Pin) -> None:
    """Refuse a pin that does not follow what is done, or is not of the live attempt."""
    done_plan = entry.done_plan.plan if entry.done_plan else None
    commits.check_pin(entry.progress, epoch, pin, entry.live_plan(pin.attempt), done_plan, entry.starts)
