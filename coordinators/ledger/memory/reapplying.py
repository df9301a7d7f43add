"""Diverted rows that are put back, in the memory ledger: what the SQL ledgers do."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from trident.base.identity import Epoch, Owner
from trident.coordinators.decided import Decision, DecisionKind, RowsOf, TakenOut
from trident.coordinators.ledger.memory.decisions import is_decided
from trident.coordinators.ledger.memory.rows import Decided, Entry, Rows
from trident.coordinators.ledger.rules.progress import PlanStatus
from trident.coordinators.ledger.rules.reapplying import check_reapplied, named_by
from trident.coordinators.pinned import Pin


def taken_out(rows: Rows, entry: Entry, owner: Owner, txid: int, states: Collection[str]) -> TakenOut | None:
    """Return the rows that were taken out of a txid, of this incarnation or else of an earlier one."""
    found = [
        TakenOut(
            RowsOf(txid, each.state),
            of.incarnation,
            each.rows,
            _is_held(rows, entry, of, RowsOf(txid, each.state)),
            _put_back(entry, of, RowsOf(txid, each.state)),
        )
        for of, number, each in rows.diverted_of(owner.topology)
        if number == txid and each.state in states
    ]
    return next((each for each in found if each.incarnation == owner.incarnation), found[-1] if found else None)


def with_reapply(rows: Rows, entry: Entry, owner: Owner, epoch: Epoch, pin: Pin) -> Entry:
    """Return the entry with the decision that a pin carries, which marks the rows that it puts back."""
    count, put_back, of = 0, None, named_by(pin)
    if of is not None:
        taken = taken_out(rows, entry, owner, of.txid, [of.state])
        if taken is not None and taken.incarnation == owner.incarnation:
            count, put_back = len(taken.rows), taken.put_back
    decision = check_reapplied(pin, count, put_back)
    if decision is None or is_decided(entry, owner, epoch, decision):
        return entry
    kept = Decided(owner.incarnation, decision, finished=True, refused=None)
    return entry._replace(decisions={**entry.decisions, epoch.number: kept})


def without_reapply(entry: Entry, undone: Decision) -> Entry:
    """Return the entry in which the decision that an undone attempt carried is void."""
    decisions = {
        number: replace(each, void=True) if _is_carried_by(each, undone) else each
        for number, each in entry.decisions.items()
    }
    return entry._replace(decisions=decisions)


def _is_carried_by(each: Decided, undone: Decision) -> bool:
    decision = each.decision
    is_reapply = decision.kind is DecisionKind.REAPPLY
    return is_reapply and (decision.txid, decision.attempt) == (undone.txid, undone.attempt)


def _put_back(entry: Entry, owner: Owner, of: RowsOf) -> int | None:
    marks = (each for each in entry.decisions.values() if each.incarnation == owner.incarnation and not each.void)
    named = (each.decision for each in marks if each.decision.kind is DecisionKind.REAPPLY)
    return next((decision.txid for decision in named if decision.state == str(of)), None)


def _is_held(rows: Rows, entry: Entry, owner: Owner, of: RowsOf) -> bool:
    """Tell whether nobody has decided about the very attempt that is done: another one was made for the divert."""
    done = {
        attempt
        for attempt, row in rows.finished(owner.topology).items()
        if row.stored.plan.txid == of.txid and row.stored.status is PlanStatus.DONE
    }
    if entry.pin is not None and entry.pin.txid == of.txid:
        done.add(entry.pin.attempt)
    about = (each.decision for each in entry.decisions.values() if each.incarnation == owner.incarnation)
    kept = {each.attempt for each in about if each.kind.diverts and (each.txid, each.state) == (of.txid, of.state)}
    return not kept & done
