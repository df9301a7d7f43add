"""Rows that a person took out of a txid are put back into their state, once, by a txid of its own that reads nothing.

The decision is recorded with the pin of that txid, and is the mark that the rows are back: cut off before it nothing
was decided, and behind it whoever comes next rolls the txid forward like any other.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from trident.base.clock import Clock, SystemClock
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError, RefusedError, about
from trident.base.identity import BatchId
from trident.coordinators.batches.committer import Committer
from trident.coordinators.batches.outcome import Outcome
from trident.coordinators.batches.sifting import how_many
from trident.coordinators.batches.steps import Steps
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.decided import Decision, DecisionKind, RowsOf, TakenOut
from trident.coordinators.holding.carrying_out import has_open
from trident.coordinators.holding.keeping import holder_name
from trident.coordinators.holding.takeover import TakeOver
from trident.coordinators.ledger.rules.reapplying import due
from trident.coordinators.planned import Plan
from trident.coordinators.registered import Snapshot
from trident.state.layout import Merge
from trident.state.positions import Position
from trident.state.putting_back import PutsBack, kept_rows, rows_of, without_sums
from trident.state.sifting import with_number
from trident.state.staged import HeldUpdates, StagedUpdates, WrittenUpdates
from trident.state.target import Target

_log = logging.getLogger("trident.coordinator")


@dataclass(frozen=True, slots=True)
class ReapplyProspect:
    """What is about to be put back, told before anything is changed."""

    txid: int
    """The one that they were taken out of."""
    state: str
    former: str
    """The name that the state had then."""
    rows: int


AgreeToReapply = Callable[[ReapplyProspect], None]
"""Hears what is about to be put back while nothing is changed yet; it ends there if this raises."""


def agree_to_reapply(_: ReapplyProspect) -> None:
    """Let it pass."""


@dataclass(frozen=True, slots=True)
class _Found:
    """The rows, as they are merged; `is_under_way` where the pinned txid puts them back."""

    taken: TakenOut
    rows: pa.Table
    is_under_way: bool


def decide_reapply(
    taking: TakeOver, wanted: RowsOf, agree: AgreeToReapply = agree_to_reapply, clock: Clock | None = None
) -> Decision:
    """Put the rows back that were taken out of a txid of a state; returns the decision.

    What is pinned is finished first. Raises MismatchError where there is nothing to put back, or it can't be, and
    RefusedError where the state refuses these rows again; nothing was changed then. One that was cut off once it was
    recorded is finished and returned.
    """
    seen, positions = taking.look()
    found = taking.unless_fenced(partial(_check_seen, taking, seen, positions, wanted))
    agree(ReapplyProspect(wanted.txid, wanted.state, found.taken.of.state, len(found.taken.rows)))
    taking.settle(seen)
    standing = taking.where_states_stand()
    taking.require_no_refusal(standing)
    if taking.snapshot.pin is not None:
        pinned = taking.snapshot.pin
        taking.roll_forward(standing)
        if found.is_under_way:
            return _decision(wanted, found.taken, pinned.txid, pinned.attempt)
        standing = taking.where_states_stand()
    if standing.unborn:
        raise _refused(wanted, f"state {min(standing.unborn)!r} is still to be born: start the topology first")
    found = _checked(taking, taking.snapshot, wanted)
    return _put_back(taking, wanted, found, clock or SystemClock())


def why_not_in(name: str, store: Target) -> str | None:
    """Return why a state can't be given rows back; None where it can."""
    if store.capabilities.keeps_what_left:
        return f"{name!r} is a sink: what has left by it came in its order, and can't be followed by what came before"
    putting, expiring = store.capabilities.putting_back, store.capabilities.expiring
    if putting is None or expiring is not None:
        return "its store can't try rows without a trace: only tables of PostgreSQL and SQLite can, and memory"
    replaced = [column.name for column in putting.layout.values if column.merge is Merge.REPLACE]
    if replaced:
        return f"column {replaced[0]!r} is kept by an updater: its rows are values that it had, and add nothing"
    return None


def _put_back(taking: TakeOver, wanted: RowsOf, found: _Found, clock: Clock) -> Decision:
    snapshot, ledger = taking.snapshot, taking.ledger
    plan = _plan(snapshot, found.taken.of, clock)
    batch = BatchId(snapshot.owner, taking.epoch, plan.txid, plan.attempt)
    decision = _decision(wanted, found.taken, plan.txid, plan.attempt)
    trial = partial(_try, taking, batch, wanted, found.rows)
    taking.repeater.call(f"trying the {decision}", trial)
    reached(CrashPoint.BEFORE_PLAN, plan.txid)
    record = partial(ledger.plan, snapshot.owner, taking.epoch, plan, plan.txid)
    taking.repeater.call(f"planning txid {plan.txid}", record)
    reached(CrashPoint.AFTER_PLAN, plan.txid)
    try:
        _pin(taking, batch, plan, decision, wanted, found.rows, clock)
    except (StoppedError, RefusedError) as error:  # it fitted when it was tried
        drop = partial(ledger.plan, snapshot.owner, taking.epoch, None, plan.txid)
        taking.repeater.call(f"dropping txid {plan.txid}", drop)
        raise _refused_again(wanted, error.refusal.reason if isinstance(error, StoppedError) else str(error)) from error
    taking.read()
    if taking.snapshot.pin is not None:
        taking.roll_forward(taking.where_states_stand())
    _log.warning(
        "topology=%s: %d rows that were taken out of txid %s are back in state %r, with txid %d",
        *(snapshot.owner.topology, found.rows.num_rows, found.taken.of, wanted.state, plan.txid),
    )
    return decision


def _pin(
    taking: TakeOver, batch: BatchId, plan: Plan, decision: Decision, wanted: RowsOf, rows: pa.Table, clock: Clock
) -> None:
    """Stage the rows and pin them; where all states are beside the ledger they are done with it."""
    stage = partial(taking.stores[wanted.state].stage, batch, HeldUpdates(rows))
    with about(f"state {wanted.state!r}", batch):
        staged = taking.repeater.call(f"staging what is put back into state {wanted.state!r}", stage)
    reached(CrashPoint.AFTER_STAGING, batch.txid)
    outcome = Outcome(plan, (), (), _updates(taking, wanted.state, staged), 0, 0, reapply=decision)
    committer = Committer(taking.ledger, taking.stores, taking.repeater, clock)
    if all(store.capabilities.beside is not None for store in taking.stores.values()):
        committer.together(batch, outcome)
    else:
        committer.pin(batch, outcome)


def _updates(taking: TakeOver, state: str, staged: StagedUpdates) -> dict[str, StagedUpdates]:
    return {name: staged if name == state else WrittenUpdates(()) for name in taking.stores}


def _try(taking: TakeOver, batch: BatchId, wanted: RowsOf, rows: pa.Table) -> None:
    """Raise RefusedError where the state would refuse the rows, with all that waits for the COMMIT."""
    store = taking.stores[wanted.state]
    updates = _updates(taking, wanted.state, HeldUpdates(rows))
    sifting = store.capabilities.sifting
    assert sifting is not None, "what can't be tried is refused before"
    try:
        if store.capabilities.beside is None:
            _putting_back(store).try_rows(batch, rows)
            return
        steps = Steps(batch, taking.stores, updates)
        steps.make_ready()
        sifting.try_in(batch, steps.do)
    except RefusedError as error:
        reason = with_number(error, how_many(taking.stores, batch, updates, wanted.state))
        raise _refused_again(wanted, reason) from error


def _plan(snapshot: Snapshot, of: RowsOf, clock: Clock) -> Plan:
    """Return the plan of the next txid, in which each partition stands where it stood."""
    before = snapshot.done_plan
    assert before is not None, "rows of a done txid have one"
    stand = (replace(item, range=replace(item.range, start=item.range.stop)) for item in before.ranges)
    return Plan(
        txid=snapshot.done + 1,
        attempt=snapshot.last_attempt + 1,
        tries=1,
        predecessor=snapshot.done_attempt,
        batch_time=max(clock.now(), before.batch_time),
        ranges=tuple(stand),
        timers=(due(of),),
    )


def _check_seen(taking: TakeOver, seen: Snapshot, positions: Mapping[str, Position | None], wanted: RowsOf) -> _Found:
    """Refuse, before anything is changed, what would be refused once every fence is raised."""
    names = sorted(taking.stores)
    if wanted.state not in names:
        there = ", ".join(map(repr, names))
        raise _refused(wanted, f"there is no such state, there are: {there}")
    if seen.added.is_something:
        raise _refused(wanted, "this version of the topology adds something that has never run: start it first")
    is_other = any(held.is_other for _, held in seen.added.columns)
    if is_other:  # the txid that puts them back would be one with columns that this version has not
        raise _refused(wanted, "this version has other columns than the one that was started last: start it first")
    if has_open(seen):
        raise _refused(wanted, "something was decided before and is not finished: start the topology first")
    found = _checked(taking, seen, wanted)
    taking.held_against(seen, positions)
    return found


def _checked(taking: TakeOver, snapshot: Snapshot, wanted: RowsOf) -> _Found:
    """Return the rows as the state takes them; raises MismatchError for what can't be put back, with the reason."""
    problem = _waits(taking, snapshot) or why_not_in(wanted.state, taking.stores[wanted.state])
    if problem is not None:
        raise _refused(wanted, problem)
    names = {wanted.state, *(each.former for each in snapshot.renamed if each.state == wanted.state)}
    read = partial(taking.ledger.taken_out, snapshot.owner, taking.epoch, wanted.txid, names)
    taken = taking.repeater.call("reading the diverted rows", read)
    if taken is None:
        raise _refused(wanted, "no rows of it are in trident_diverted: none were taken out, or it was undone since")
    if taken.incarnation != snapshot.owner.incarnation:
        raise _refused(
            wanted, "they were taken out before the topology was reset, and their records may have been read again"
        )
    pinned = None if snapshot.pin is None else snapshot.pin.txid
    is_under_way = taken.put_back is not None and taken.put_back == pinned
    if taken.put_back is not None and not is_under_way:
        raise _refused(wanted, f"txid {taken.put_back} has put these rows back, and nothing is left to do")
    return _Found(taken, _rows(wanted, taken, _putting_back(taking.stores[wanted.state])), is_under_way)


def _waits(taking: TakeOver, snapshot: Snapshot) -> str | None:
    """Return what is to be decided or finished first; None where nothing is."""
    if snapshot.refusal is not None and snapshot.refusal.blocks:
        return f"txid {snapshot.refusal.txid} was refused and waits for a person: decide about it first"
    if snapshot.decisions:
        return (
            f"a {snapshot.decisions[0]} was decided and waits for the next attempt: start the topology until that "
            "txid is done"
        )
    first = (snapshot.done if snapshot.pin is None else snapshot.pin.txid) + 1
    for txid in range(first, snapshot.last_txid + 1):
        read = partial(taking.ledger.last_plan_of, snapshot.owner, txid)
        plan = taking.repeater.call("reading what was planned", read)
        if plan is not None and (taking.spec.received or plan.received):
            return f"messages were received for txid {txid}, which is not done: start the topology until it is"
    return None


def _rows(wanted: RowsOf, taken: TakenOut, putting: PutsBack) -> pa.Table:
    try:
        kept = kept_rows(taken.rows)
        rows = rows_of(kept, putting.layout)
    except RefusedError as error:
        raise _refused(wanted, str(error)) from error
    lost = without_sums(kept, putting.layout) if taken.is_held else ()
    if lost:
        raise _refused(
            wanted,
            f"a row has no value in column {lost[0]!r}, which may stand for a sum that its type did not hold: these "
            "rows were made to be taken out",
        )
    return rows


def _putting_back(store: Target) -> PutsBack:
    putting = store.capabilities.putting_back
    assert putting is not None, "what can't put rows back is refused before"
    return putting


def _decision(wanted: RowsOf, taken: TakenOut, txid: int, attempt: int) -> Decision:
    return Decision(DecisionKind.REAPPLY, txid, attempt, str(taken.of), holder_name())


def _refused(wanted: RowsOf, why: str) -> MismatchError:
    return MismatchError(
        f"rows of txid {wanted.txid} can't be put back into state {wanted.state!r}: {why}. Nothing was changed."
    )


def _refused_again(wanted: RowsOf, reason: str) -> RefusedError:
    return RefusedError(
        f"state {wanted.state!r} refuses the rows of txid {wanted.txid} still: {reason.rstrip('.')}. Nothing was "
        "changed: they stay in trident_diverted, and the topology goes on as before. Mend the cause, then give the "
        "same command again."
    )
