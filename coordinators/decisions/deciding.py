"""A person's decision under an epoch that was just raised: take over, record it, carry it out.

Every fence is raised first, so that a running coordinator is fenced. A decision is recorded before its
first effect; one that was cut off is finished by the next decision or the next start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

from trident.base.advice import RESET_ANEW, RESET_CLEARING, RESET_LOST, RESET_LOST_CLEARING
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import MismatchError, RetryableError, RowsGoneError
from trident.base.identity import Epoch
from trident.coordinators.decided import Decision, DecisionKind, ResetDecision
from trident.coordinators.decisions.beginning import (
    Agree,
    Beginning,
    Prospect,
    agree_to_all,
    beginning,
    prospect,
    prospect_of,
    where_it_stood,
    will_stand,
)
from trident.coordinators.decisions.diverting_refused import divert_refused
from trident.coordinators.decisions.diverting_waiting import divert_waiting, nothing_is_lost, send_what_waits
from trident.coordinators.decisions.taking_back import WaysBack, is_of_last_done, take_back
from trident.coordinators.decisions.wanted import WantedDecision, WantedReset
from trident.coordinators.holding.carrying_out import check_divert, check_undo, has_open, pinned_batch
from trident.coordinators.holding.standing import ApartError, foreign_incarnations, require_all
from trident.coordinators.holding.takeover import TakeOver
from trident.coordinators.holding.trying import check_clear, try_with_patience
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.ledger.rules.decisions import check_decision
from trident.coordinators.ledger.rules.forgetting import require_not_forgotten, used_up_by
from trident.coordinators.planned import StartPosition
from trident.coordinators.registered import Snapshot
from trident.coordinators.retrying import Repeater
from trident.state.capabilities import check_resettable, diverting_of, names_relaying, resetting_of
from trident.state.positions import Position
from trident.state.row_tables.shape import RowWrite
from trident.state.target import Target


def decide_retry(ledger: Ledger, topology: str, epoch: Epoch, txid: int, repeater: Repeater) -> Decision:
    """Record that a refused txid is to be tried again; needs no state, and nothing is left to carry out."""
    snapshot = repeater.call("reading the ledger", lambda: ledger.snapshot(epoch, topology))
    require_not_forgotten(snapshot)
    decision = WantedDecision(DecisionKind.RETRY, txid).made(snapshot)
    repeater.call("recording a decision", lambda: ledger.decide(snapshot.owner, epoch, decision))
    reached(CrashPoint.AFTER_DECIDING_RETRY, txid)
    return decision


def decide(taking: TakeOver, wanted: WantedDecision, ways: WaysBack | None = None) -> Decision:
    """Decide a divert or an undo; returns the decision. `ways` is what an undo of the last done txid needs.

    Raises CannotUndoError or MismatchError when it can't be done: nothing was changed then. One that was
    cut off before is finished and returned.
    """
    seen, positions = taking.look()
    if ways is not None and is_of_last_done(seen, wanted):
        return take_back(taking, seen, positions, ways)
    taking.unless_fenced(partial(_check_seen, taking, seen, positions, wanted))
    finished = taking.settle(seen)
    for known in (*finished, *_standing_decisions(taking.snapshot)):
        if wanted.is_met_by(known):
            return known
    if _is_of_what_waits(taking.stores, taking.snapshot, wanted):
        return divert_waiting(taking, wanted.txid, wanted.state, rows_lost=wanted.rows_lost)
    if wanted.rows_lost:
        raise nothing_is_lost(wanted.txid, wanted.state)
    snapshot, decision = taking.snapshot, wanted.made(taking.snapshot)
    standing = taking.where_states_stand()
    _check_possible(taking, decision, standing.waiting)
    if decision.kind is DecisionKind.DIVERT_REFUSED:
        decision, is_done = divert_refused(taking, decision)
        if is_done:
            return decision
    taking.repeater.call("recording a decision", lambda: taking.ledger.decide(snapshot.owner, taking.epoch, decision))
    reached(_DECIDED[decision.kind], decision.txid)
    taking.read()
    taking.finish_decisions()
    return decision


def decide_reset(
    taking: TakeOver,
    wanted: WantedReset,
    agree: Agree = agree_to_all,
    require_begins: Callable[[Snapshot], None] = lambda _: None,
) -> ResetDecision:
    """Decide a reset; returns the decision. `agree` hears what it will do, and may raise, before anything is changed.

    A pinned batch is rolled forward, or undone if that was decided, before states are adopted; clearing
    states makes it void. An open reset that is found is finished and returned instead, but clearing takes the place
    of one that keeps rows. `require_begins` raises why this version could not begin, wherever the reset would
    store it: first before anything is changed.
    """
    kept = _check_reset(taking, wanted, agree, require_begins)
    newest = max((rows for rows in kept.values() if rows is not None), default=0)
    taking.raise_fences()
    decision = taking.snapshot.open_reset
    if decision is None or wanted.replaces(decision):
        if wanted.keep_rows:
            taking.finish_decisions(counts=False)
            _roll_forward(taking, wanted)
        else:
            try_with_patience(taking.repeater, "reset", _clearing(taking))
        send_what_waits(taking, taking.stores, must_all=wanted.resumes)
        positions = taking.repeater.call("reading the states", taking.positions)
        if wanted.keep_rows:
            require_all(taking.snapshot, positions, taking.unplaced(taking.snapshot, positions))
        if wanted.resumes:
            _require_known_positions(taking, taking.snapshot, positions, wanted)
        birth = max(newest, _birth_txid(taking.snapshot, positions), _newest_sent(taking))
        states = "adopt" if wanted.keep_rows else "clear"
        begin = _begin(taking.snapshot, wanted, tuple(sorted(taking.spec.spouts)))
        stood = _where_rows_stood(taking, taking.snapshot, positions, wanted, kept)
        foreign = foreign_incarnations(taking.snapshot, {**positions, **taking.plain.noted(taking.spec.name)})
        decision = ResetDecision(
            wanted.incarnation, birth, states, begin.start, begin.streams, begin.begins, stood, foreign
        )
        require_begins(taking.snapshot)
        taking.register()
        record = partial(taking.ledger.decide_reset, taking.epoch, taking.spec.name, decision)
        taking.repeater.call("recording a reset", record)
        reached(CrashPoint.AFTER_DECIDING_RESET)
    taking.carry_out_reset(decision)
    return decision


_DECIDED: Mapping[DecisionKind, CrashPoint] = {
    DecisionKind.DIVERT: CrashPoint.AFTER_DECIDING_DIVERT,
    DecisionKind.DIVERT_REFUSED: CrashPoint.AFTER_DECIDING_DIVERT,
    DecisionKind.UNDO: CrashPoint.AFTER_DECIDING_UNDO,
}


def _begin(snapshot: Snapshot, wanted: WantedReset, streams: tuple[str, ...]) -> Beginning:
    found = beginning(snapshot, wanted.start, streams, keep_rows=wanted.keep_rows)
    if found is None:
        raise _nothing_to_resume(snapshot, wanted)
    return found


def _where_rows_stood(
    taking: TakeOver,
    snapshot: Snapshot,
    positions: Mapping[str, Position | None],
    wanted: WantedReset,
    kept: Mapping[str, int | None],
) -> tuple[StartPosition, ...] | None:
    """Return up to where all records are in the rows; None if they hold something else than the ledger knows of.

    Once a new incarnation is opened the states' positions name that, and nobody can tell any more.
    """
    if wanted.keep_rows:
        if any(positions[name] is None and rows is not None for name, rows in kept.items()):
            return None
        try:
            taking.held_against(snapshot, positions)
        except ApartError:
            return None
    return where_it_stood(snapshot)


def _nothing_to_resume(snapshot: Snapshot, wanted: WantedReset) -> MismatchError:
    waits = snapshot.reset
    start = "as its spouts say" if waits is None or waits.start is None else f"at {waits.start}"
    return MismatchError(
        f"nothing can be resumed: the reset before (to incarnation {snapshot.owner.incarnation}) lets topology "
        f"{snapshot.owner.topology!r} begin {start}, no txid is done since, and up to where the rows had been read "
        "before it was not known when it was decided. Nothing was changed: without another reset the next start of the "
        f"topology begins {start}. Instead, {_ways(wanted)}."
    )


def _check_reset(
    taking: TakeOver, wanted: WantedReset, agree: Agree, require_begins: Callable[[Snapshot], None]
) -> Mapping[str, int | None]:
    """Refuse, before anything is changed, what would be refused once every fence is raised.

    Returns the newest txid among the rows of each state that are to be kept. A reset that is open is finished as it was
    decided: whoever could have finished it since has a newer lease, and the fences are refused to this one.
    """
    seen, positions = taking.look(ledger_lost=wanted.ledger_lost)
    if seen.open_reset is not None and not wanted.replaces(seen.open_reset):
        agree(_with_sinks(prospect_of(seen.open_reset), taking))
        return {}
    require_begins(seen)
    kept = taking.unless_fenced(partial(_check_possible_reset, taking, seen, positions, wanted))
    found = prospect(seen, wanted.start, kept, keep_rows=wanted.keep_rows)
    if found is None:
        raise _nothing_to_resume(seen, wanted)
    found = replace(found, stood=will_stand(seen, _where_rows_stood(taking, seen, positions, wanted, kept)))
    agree(_with_sinks(found, taking))
    return kept


def _with_sinks(found: Prospect, taking: TakeOver) -> Prospect:
    """Return it with what stays where it is, whatever is reset: topics, and tables by how they are written."""
    stores = {**taking.stores, **taking.plain.stores}
    names = sorted(name for name, store in stores.items() if store.capabilities.keeps_what_left)
    writes = {name: taking.spec.states[name].get("write") for name in names}
    return replace(
        found,
        sinks=tuple(name for name in names if writes[name] is None),
        appended=tuple(name for name in names if writes[name] == RowWrite.APPEND),
        rewritten=tuple(name for name in names if writes[name] not in (None, RowWrite.APPEND)),
    )


def _check_possible_reset(
    taking: TakeOver, seen: Snapshot, positions: Mapping[str, Position | None], wanted: WantedReset
) -> Mapping[str, int | None]:
    """Refuse, before it is recorded, what a state could not follow: a reset that is recorded is carried out."""
    check_resettable(taking.spec.name, taking.stores, wanted.keep_rows)
    if not wanted.keep_rows:
        # An owner that has stopped may hold rows: the fences end it, and it is tried again before it is recorded.
        with suppress(RetryableError):
            taking.repeater.once("trying the reset", _clearing(taking))
        return {}
    _require_all(taking, seen, positions, wanted)
    if wanted.resumes:
        taking.plain.check(seen, is_told=True)
    else:
        taking.plain.check_kept(seen)
    kept = _rows_to_keep(taking, wanted)
    if seen.pin is not None:
        _require_whole(taking, seen, positions, wanted)
    if wanted.resumes:
        for name, rows in kept.items():
            if positions[name] is None and rows is not None:
                raise MismatchError(
                    f"state {name!r} has rows, and nothing says how far they have read: nothing can be resumed, and "
                    f"nothing was changed. Instead, {_ways(wanted)}."
                )
        if seen.pin is None:
            _require_known_positions(taking, seen, positions, wanted)
    return kept


def _clearing(taking: TakeOver) -> Callable[[], None]:
    return partial(check_clear, {**taking.stores, **taking.plain.stores}, taking.spec.name, taking.epoch)


def _require_all(
    taking: TakeOver, seen: Snapshot, positions: Mapping[str, Position | None], wanted: WantedReset
) -> None:
    """Raise ApartError for a state whose rows are to be kept and are gone."""
    try:
        require_all(seen, positions, taking.unplaced(seen, positions))
    except ApartError as error:
        if not wanted.ledger_lost:
            raise
        ways = f"Correct the address, restore it to the same point as the ledger, or {RESET_LOST_CLEARING}."
        raise ApartError(error.found, ways) from error


def _rows_to_keep(taking: TakeOver, wanted: WantedReset) -> Mapping[str, int | None]:
    """Return the newest txid among each state's rows; raises RowsGoneError where all of a state's rows are gone.

    The state knows no ledger: beside one that was lost, only a reset that says so goes on.
    """
    try:
        return {name: resetting_of(store).check_adopt(taking.spec.name) for name, store in taking.stores.items()}
    except RowsGoneError as error:
        if not wanted.ledger_lost:
            raise
        instead = f"Restore its rows, or {RESET_LOST_CLEARING}."
        raise RowsGoneError(error.found, instead) from error


def _ways(wanted: WantedReset) -> str:
    return RESET_LOST if wanted.ledger_lost else RESET_ANEW


def _check_seen(
    taking: TakeOver, seen: Snapshot, positions: Mapping[str, Position | None], wanted: WantedDecision
) -> None:
    """Refuse, before anything is changed, what would be refused once every fence is raised.

    What is open is carried out first, and only then is there something to hold the decision against.
    """
    if has_open(seen):
        return
    if any(wanted.is_met_by(known) for known in _standing_decisions(seen)):
        return
    if _is_of_what_waits(taking.stores, seen, wanted):
        taking.held_against(seen, positions)
        return
    decision = wanted.made(seen)
    check_decision(seen.done, seen.pinned, decision, seen.refusal, seen.decisions)
    taking.held_against(seen, positions)
    _require_able(taking.stores, decision)


def _is_of_what_waits(stores: Mapping[str, Target], snapshot: Snapshot, wanted: WantedDecision) -> bool:
    """Tell whether it is about records of a done txid that a sink may not have sent yet."""
    is_done = wanted.kind.diverts and wanted.txid <= snapshot.done
    return is_done and wanted.state in names_relaying(stores)


def _standing_decisions(snapshot: Snapshot) -> tuple[Decision, ...]:
    """Return the decisions that wait for an attempt; none while one that came after them was refused.

    They say nothing of that refusal: who asks again asks about it.
    """
    return snapshot.decisions if snapshot.refusal is None or not snapshot.refusal.blocks else ()


def _require_able(stores: Mapping[str, Target], decision: Decision) -> None:
    if decision.state:
        require_state(stores, decision)
        diverting_of(stores[decision.state])


def require_state(known: Iterable[str], decision: Decision) -> None:
    """Raise MismatchError for a state that the topology does not have."""
    names = sorted(known)
    if decision.state not in names:
        there = ", ".join(map(repr, names))
        raise MismatchError(f"no {decision}: there is no such state, there are: {there}. Nothing was written.")


def _check_possible(taking: TakeOver, decision: Decision, waiting: frozenset[str]) -> None:
    """Refuse, before anything is recorded, what one of the states could not follow."""
    _require_able(taking.stores, decision)
    pinned = pinned_batch(taking.snapshot, taking.epoch)
    if pinned is None or pinned.batch.txid != decision.txid:
        return
    if decision.kind is DecisionKind.UNDO:
        try_with_patience(taking.repeater, str(decision), partial(check_undo, taking.stores, pinned))
    else:
        check_divert(taking.stores, pinned, decision, waiting)


def _birth_txid(snapshot: Snapshot, positions: Mapping[str, Position | None]) -> int:
    """Return the highest txid that is known anywhere: a ledger from an old backup knows fewer than the states.

    It is another one than that of the reset before, by which a source's notes (`StreamProgress`) are told apart.
    """
    replaced = snapshot.open_reset.birth_txid if snapshot.open_reset is not None else 0
    known = [position.txid for position in positions.values() if position is not None]
    return max([used_up_by(snapshot.last_txid, snapshot.birth_txid), replaced, *known])


def _newest_sent(taking: TakeOver) -> int:
    """Return the newest txid of which any sink has sent something, in part too: its position may be older."""
    asked = (partial(resetting_of(taking.stores[name]).check_adopt, taking.spec.name) for name in _keeping(taking))
    return max((taking.repeater.call("reading what was sent", ask) or 0 for ask in asked), default=0)


def _keeping(taking: TakeOver) -> list[str]:
    """Return those whose position may be older than what they have sent: from an outbox, or by several producers."""
    capable = ((name, store.capabilities) for name, store in sorted(taking.stores.items()))
    return [name for name, can in capable if can.relaying is not None or can.tasking is not None]


def _require_known_positions(
    taking: TakeOver, snapshot: Snapshot, positions: Mapping[str, Position | None], wanted: WantedReset
) -> None:
    """Refuse to go on where the ledger says, when kept rows hold something else than the ledger knows of."""
    if wanted.keep_rows:
        unknown = "How far the kept rows have read can't be told then, so that nothing can be resumed."
        _require_together(taking, snapshot, positions, f"{unknown} Instead, {_ways(wanted)}.")


def _require_whole(
    taking: TakeOver, snapshot: Snapshot, positions: Mapping[str, Position | None], wanted: WantedReset
) -> None:
    """Refuse to keep rows of which some may have the pinned txid and some not, and none can be rolled forward."""
    instead = RESET_LOST_CLEARING if wanted.ledger_lost else RESET_CLEARING
    pinned = "While a batch is pinned that can't be rolled forward, rows can't be kept."
    _require_together(taking, snapshot, positions, f"{pinned} Instead, {instead}.")


def _require_together(
    taking: TakeOver, snapshot: Snapshot, positions: Mapping[str, Position | None], consequence: str
) -> None:
    try:
        taking.held_against(snapshot, positions)
    except ApartError as error:
        raise MismatchError(f"{error.found} {consequence}") from error


def _roll_forward(taking: TakeOver, wanted: WantedReset) -> None:
    """Apply the pinned batch, if there is one, to the states that wait for it: adopted rows hold whole txids."""
    if taking.snapshot.pin is None:
        return
    _require_whole(taking, taking.snapshot, taking.repeater.call("reading the states", taking.positions), wanted)
    standing = taking.where_states_stand(counts=False)
    taking.require_no_refusal(standing)
    taking.roll_forward(standing)
