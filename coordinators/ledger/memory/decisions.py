"""Refusals and a person's decisions in the memory ledger: what the SQL ledgers do, on immutable values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from trident.base.errors import MismatchError
from trident.base.identity import Epoch, Owner
from trident.coordinators.decided import Decision, DecisionKind, Diverted, Refusal
from trident.coordinators.ledger.memory.rows import Decided, Entry, Rows, Stopped, dropped
from trident.coordinators.ledger.rules.decisions import (
    check_carried_out,
    check_decision,
    check_drop,
    check_parted,
    check_refusal,
    is_held,
    is_repeated_refusal,
    made_void,
    replaced,
    with_rows_of,
    without_rows_of,
)
from trident.coordinators.ledger.rules.dropping import without_state
from trident.coordinators.ledger.rules.evolving import births_without
from trident.coordinators.ledger.rules.fencing import check_life, check_owner
from trident.coordinators.ledger.rules.renaming import states_renamed, with_renamed
from trident.coordinators.pinned import Pin, StatePin
from trident.coordinators.planned import Plan


def refused(entry: Entry, epoch: Epoch, refusal: Refusal) -> Entry:
    """Return the entry with what this epoch stopped at."""
    stored = entry.refusals.get(epoch.number)
    if is_repeated_refusal(entry.progress, stored.refusal if stored else None, refusal):
        return entry
    check_refusal(entry.progress, entry.live_plan(refusal.attempt), refusal)
    stopped = Stopped(entry.progress.incarnation, refusal)
    return entry._replace(refusals={**entry.refusals, epoch.number: stopped})


def decided(entry: Entry, owner: Owner, epoch: Epoch, decision: Decision, refused: Plan | None) -> Entry:
    """Return the entry with a decision, the refusals that led to it settled."""
    if is_decided(entry, owner, epoch, decision):
        return entry
    progress = entry.progress
    known = entry.open_decisions()
    check_decision(progress.done, progress.pinned_batch, decision, entry.open_refusal(), known)
    before = replaced(decision, known)
    if before is not None:
        entry = _finished(entry, before, void=True)
        progress = progress._replace(held=progress.held - 1)
    if decision.kind is DecisionKind.UNDO:
        progress = progress._replace(undoing=decision.attempt)
    elif is_held(progress, decision):
        progress = progress._replace(held=progress.held + 1)
    kept = Decided(owner.incarnation, decision, finished=decision.kind is DecisionKind.RETRY, refused=refused)
    return with_decision(entry._replace(progress=progress), owner, epoch, kept)


def with_decision(entry: Entry, owner: Owner, epoch: Epoch, kept: Decided) -> Entry:
    """Return the entry with a decision of this epoch, and all refusals of this life settled."""
    settled = {
        number: replace(stopped, settled=stopped.settled or stopped.incarnation == owner.incarnation)
        for number, stopped in entry.refusals.items()
    }
    return entry._replace(refusals=settled, decisions={**entry.decisions, epoch.number: kept})


def diverted(rows: Rows, entry: Entry, owner: Owner, decision: Decision, staged: Sequence[str]) -> Entry:
    """Keep the diverted rows; returns the entry whose pin has none of them any more."""
    check_owner(entry.progress, owner)
    if _is_finished(entry, owner, decision):
        return entry
    check_carried_out(entry.progress, decision, entry.open_decisions())
    assert entry.pin is not None
    _add_rows(rows, owner, decision, staged)
    pin = replace(entry.pin, states=without_rows_of(entry.pin, decision.state))
    return _finished(entry._replace(pin=pin), decision)


def parted(
    rows: Rows, entry: Entry, owner: Owner, epoch: Epoch, decision: Decision, taken: Sequence[str], kept: StatePin
) -> Entry:
    """Keep some rows of the pin; returns the entry with the finished decision, its pin with the others."""
    if is_decided(entry, owner, epoch, decision):
        return entry
    progress = entry.progress
    check_decision(progress.done, progress.pinned_batch, decision, entry.open_refusal(), entry.open_decisions())
    if entry.pin is None:
        raise MismatchError(f"no {decision}: nothing of it is pinned. Nothing was written.")
    check_parted(progress, entry.pin, decision, kept, len(taken))
    _add_rows(rows, owner, decision, taken)
    pin = replace(entry.pin, states=with_rows_of(entry.pin, kept))
    done = Decided(owner.incarnation, decision, finished=True, refused=None)
    return with_decision(entry._replace(pin=pin), owner, epoch, done)


def unpinned(rows: Rows, entry: Entry, owner: Owner, decision: Decision) -> Entry:
    """Return the entry without the undone pin, its attempt and all later ones dropped."""
    check_life(entry.progress, owner)
    if _is_finished(entry, owner, decision):
        return entry
    check_carried_out(entry.progress, decision, entry.open_decisions())
    rows.forget_letters(owner, decision.txid)
    entry = dropped(rows, entry, decision.txid)
    progress = entry.progress._replace(pinned=None, pinned_attempt=None, undoing=None)
    births = births_without(entry.births, decision.txid)
    return _finished(entry._replace(progress=progress, births=births, pin=None), decision)


def without(entry: Entry, owner: Owner, epoch: Epoch, decision: Decision) -> Entry:
    """Return the entry of a topology that has a state or sink no more."""
    if is_decided(entry, owner, epoch, decision):
        return entry
    check_drop(entry.progress, decision, entry.open_decisions())
    spec, births = without_state(entry.spec, entry.births, entry.progress, decision)
    return entry._replace(
        spec=spec,
        births=births,
        decisions={**entry.decisions, epoch.number: Decided(owner.incarnation, decision, finished=True, refused=None)},
    )


def renamed(
    rows: Rows, entry: Entry, owner: Owner, epoch: Epoch, decision: Decision, renames: Mapping[str, str]
) -> Entry:
    """Return the entry of a topology whose states have other names, the pin of what is done changed with it."""
    if is_decided(entry, owner, epoch, decision):
        return entry
    check_drop(entry.progress, decision, entry.open_decisions())
    spec, births = with_renamed(entry.spec, entry.births, renames, entry.progress.done)
    done = rows.finished(owner.topology).get(entry.progress.done_attempt)
    if done is not None and done.pin is not None:
        pin = replace(done.pin, states=states_renamed(done.pin.states, renames))
        rows.finish(owner.topology, replace(done, pin=pin))
    kept = Decided(owner.incarnation, decision, finished=True, refused=None)
    return entry._replace(spec=spec, births=births, decisions={**entry.decisions, epoch.number: kept})


def with_diverts(rows: Rows, entry: Entry, owner: Owner, pin: Pin) -> Entry:
    """Keep the rows that held decisions took out of a batch and finish these decisions."""
    if not pin.diverts:
        return entry
    for item in pin.diverts:
        rows.add_diverted(owner, pin.txid, item)
        held = next(d for d in entry.open_decisions() if d.state == item.state and d.txid == pin.txid)
        entry = _finished(entry, held)
    progress = entry.progress._replace(held=entry.progress.held - len(pin.diverts))
    return entry._replace(progress=progress)


def hold_for(entry: Entry, plan: Plan) -> Entry:
    """Check what a plan says of the decisions that wait for its txid; returns the entry with the others void."""
    if not (entry.progress.held or plan.diverts):
        return entry
    void = made_void(plan, entry.open_decisions(), entry.refused())
    for decision in void:
        entry = _finished(entry, decision, void=True)
    return entry._replace(progress=entry.progress._replace(held=entry.progress.held - len(void))) if void else entry


def is_decided(entry: Entry, owner: Owner, epoch: Epoch, decision: Decision) -> bool:
    """Tell whether this epoch has decided just that; it decides once, and only in this life."""
    check_life(entry.progress, owner)
    stored = entry.decisions.get(epoch.number)
    if stored is not None and stored.decision == decision:
        return True
    check_owner(entry.progress, owner)
    if stored is not None:
        raise MismatchError(f"this epoch decided before: {stored.decision}. Nothing was written.")
    return False


def _add_rows(rows: Rows, owner: Owner, decision: Decision, taken: Sequence[str]) -> None:
    """Keep rows behind those that were taken out of the same batch before."""
    before = [
        each.rows
        for of, txid, each in rows.diverted_of(owner.topology)
        if (of, txid, each.state) == (owner, decision.txid, decision.state)
    ]
    rows.add_diverted(owner, decision.txid, Diverted(decision.state, (*(before[0] if before else ()), *taken)))


def _is_finished(entry: Entry, owner: Owner, decision: Decision) -> bool:
    return any(
        kept.finished and (kept.incarnation, kept.decision) == (owner.incarnation, decision)
        for kept in entry.decisions.values()
    )


def _finished(entry: Entry, decision: Decision, *, void: bool = False) -> Entry:
    decisions = {
        number: replace(kept, finished=True, void=void) if kept.decision == decision else kept
        for number, kept in entry.decisions.items()
    }
    return entry._replace(decisions=decisions)
