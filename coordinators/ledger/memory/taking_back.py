"""The last done txid made the pinned one again, in the memory ledger: what the SQL ledgers do."""

from __future__ import annotations

from dataclasses import replace

from trident.base.identity import Epoch, Owner
from trident.coordinators.decided import Decision
from trident.coordinators.last_done import LastDone
from trident.coordinators.ledger.memory.decisions import is_decided, with_decision
from trident.coordinators.ledger.memory.rows import Decided, Entry, Rows, dropped
from trident.coordinators.ledger.rules.progress import PlanStatus, StoredPlan
from trident.coordinators.ledger.rules.renaming import pin_renamed
from trident.coordinators.ledger.rules.taking_back import check_taken_back
from trident.coordinators.planned import Plan


def last_done(rows: Rows, entry: Entry, owner: Owner) -> LastDone | None:
    """Return what is left of the last txid that is done."""
    row = rows.finished(owner.topology).get(entry.progress.done_attempt)
    if entry.done_plan is None or row is None or row.pin is None or row.commit is None:
        return None
    plan = entry.done_plan.plan
    before = rows.finished_plan(owner.topology, plan.predecessor)
    kept = [item.state for of, txid, item in rows.diverted_of(owner.topology) if (of, txid) == (owner, plan.txid)]
    return LastDone(
        replace(pin_renamed(row.pin, entry.spec.renamed), plan=plan, diverts=()),
        before.plan if before is not None else None,
        entry.births,
        tuple(gone for gone in entry.spec.dropped if gone.incarnation == owner.incarnation),
        tuple(sorted({*kept, *_decided_to_divert(entry, plan)})),
        row.commit.dead_letters,
    )


def _decided_to_divert(entry: Entry, plan: Plan) -> list[str]:
    """Return the states whose rows a person took out of an attempt, wherever these rows are now."""
    finished = (each.decision for each in entry.decisions.values() if each.finished and not each.void)
    of_attempt = True, plan.txid, plan.attempt
    return [each.state for each in finished if (each.kind.diverts, each.txid, each.attempt) == of_attempt]


def taken_back(rows: Rows, entry: Entry, owner: Owner, epoch: Epoch, decision: Decision) -> Entry:
    """Return the entry with its last done txid pinned, and the undo of that decided."""
    if is_decided(entry, owner, epoch, decision):
        return entry
    progress, found = entry.progress, last_done(rows, entry, owner)
    done = progress.done, progress.done_attempt
    known = entry.open_decisions()
    before = check_taken_back(done, progress.pinned_batch, decision, found, entry.open_refusal(), known)
    plan = entry.done_plan
    assert found is not None
    assert plan is not None
    entry = dropped(rows, entry, decision.txid + 1)
    rows.forget(owner.topology, decision.attempt)
    stored = rows.finished_plan(owner.topology, before.attempt)
    assert stored is not None
    progress = progress._replace(
        done=before.txid,
        done_attempt=before.attempt,
        pinned=decision.txid,
        pinned_attempt=decision.attempt,
        undoing=decision.attempt,
    )
    entry = entry._replace(
        progress=progress,
        live=(replace(plan, status=PlanStatus.LIVE),),
        done_plan=StoredPlan(owner.incarnation, stored.epoch, PlanStatus.DONE, before),
        pin=found.pin,
    )
    return with_decision(entry, owner, epoch, Decided(owner.incarnation, decision))
