"""The protocol of a topology's coordinator: `step(state, event) -> (state, commands)`, pure.

No Spark, Kafka, SQL, clock, thread or logging in here: the batch coordinator performs the commands
and brings back what happened as events, a simulator can do the same without any of them.

The rules, each tested by name:
- txids are planned contiguously, one plan at a time, at most `max_pending` live;
- only the lowest live txid gets the commit turn, and only after `done(T-1)`; work in the turn comes before the pin;
- a failure before the pin drops its attempt and all later ones and plans again with a new attempt;
- bad news that no retry mends waits until everything before it is done: a failure before it makes it void;
- what is pinned is only rolled forward;
- life-cycle commands change what is planned next, never what is planned: see `lifecycle.py`;
- every word carries (incarnation, epoch, txid, attempt): a word about anything that is not live is
  stale and changes nothing; a word that its live batch's status does not allow poisons the protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from trident.base.identity import BatchId
from trident.coordinators.protocol.lifecycle import answered, obey
from trident.coordinators.protocol.messages import (
    AnswerWritten,
    Apply,
    Broken,
    Cancel,
    Command,
    CommandGiven,
    CommitTogether,
    DecidePin,
    DropFrom,
    Due,
    EndRun,
    Event,
    GiveUp,
    Happened,
    MakePlan,
    Process,
    RecordDone,
    StopRequested,
    TellSpouts,
    WaitOver,
    WorkInTurn,
)
from trident.coordinators.protocol.state import Live, Phase, ProtocolState
from trident.coordinators.protocol.transitions import IllegalTransitionError, Status, Word, move

Step = tuple[ProtocolState, tuple[Command, ...]]
_ENDS = (Phase.INACTIVE, Phase.DRAINING)
"""Where nothing more is planned, and what is live is finished or dropped."""
_UNDECIDED = (Status.PLANNING, Status.PROCESSING, Status.READY, Status.TURNING, Status.BLOCKED)
_TRIES_AT_THE_END = 3
"""How often a txid may have failed when a run that is stopped tries it again, with rows that would end with it."""


def take_over(fresh: ProtocolState, pinned: Live | None, live_in_ledger: bool, exhausted: Live | None = None) -> Step:
    """Return the first step of a new owner: roll a pin forward, drop every attempt that is not pinned.

    `fresh` has nothing live; `pinned` is the batch whose pin was found, if any, waiting for the
    states that do not have it yet; attempts of older epochs are never adopted. `exhausted` is the attempt after
    that which was its txid's last try, and whose coordinator said nothing: no more is tried, and it is not dropped.
    """
    if exhausted is not None:
        rolled, commands = take_over(fresh, pinned, live_in_ledger=False)
        blocked = exhausted._replace(status=Status.BLOCKED)
        given_up = GiveUp(blocked.batch, blocked.tries, "its coordinator died, or ended without saying why")
        state, turn = _give_turn(rolled._replace(live=(*rolled.live, blocked)))
        return state, (*commands, given_up, *turn)
    first_free = fresh.done + (2 if pinned else 1)
    drop: tuple[Command, ...] = (DropFrom(first_free),) if live_in_ledger else ()
    if pinned is None:
        return fresh, drop
    if pinned.batch.txid != fresh.done + 1:
        raise IllegalTransitionError(f"a pin of {pinned.batch} was found while {fresh.done} is done")
    if not pinned.waiting:
        finishing = pinned._replace(status=Status.FINISHING)
        return fresh._replace(live=(finishing,)), (*drop, RecordDone(pinned.batch))
    applies = tuple(Apply(pinned.batch, name) for name in sorted(pinned.waiting))
    return fresh._replace(live=(pinned,)), (*drop, *applies)


def step(state: ProtocolState, event: Event) -> Step:
    """Return what follows from the event; raises the first error again once poisoned.

    An illegal word returns a poisoned state, so that no caller can go on past it by mistake.
    """
    if state.error is not None:
        raise state.error
    match event:
        case Broken(error):
            return _poison(state, error), tuple(Cancel(item.batch) for item in state.live)
        case Due(only_full):
            return _plan_next(state, only_full)
        case StopRequested():
            return _finish_draining(state._replace(phase=Phase.DRAINING)), ()
        case CommandGiven(given):
            obeyed, commands = obey(state, given)
            return _finish_draining(obeyed), commands
        case AnswerWritten(number):
            return answered(state, number), ()
        case WaitOver():
            return _drop_undecided(state)
        case Happened():
            return _happened(state, event)


def _happened(state: ProtocolState, event: Happened) -> Step:
    item = next((item for item in state.live if item.batch == event.batch), None)
    if item is None or item.status is Status.BLOCKED:
        return state, ()
    try:
        moved, commands = _HANDLERS[event.word](state, item, event)
    except IllegalTransitionError as error:
        error.add_note(f"about {event.batch}; the coordinator stops, what is durable decides at the next start")
        return _poison(state, error), ()
    moved, turn = _give_turn(moved)
    return _finish_draining(moved), (*commands, *turn)


def _planned(state: ProtocolState, item: Live, event: Happened) -> Step:
    moved = _replace_live(state, item._replace(status=move(item.status, event.word)))
    return moved, (Process(item.batch),)


def _nothing_to_plan(state: ProtocolState, item: Live, event: Happened) -> Step:
    """Give the number back as well: no row and no task ever knew it, and an idle topology uses none up."""
    move(item.status, event.word)
    tries = _with_tries(state, item.batch.txid, item.tries - 1)
    return state._replace(live=state.live[:-1], last_attempt=item.batch.attempt - 1, tries=tries), ()


def _processed(state: ProtocolState, item: Live, event: Happened) -> Step:
    return _replace_live(state, item._replace(status=move(item.status, event.word))), ()


def _turn_worked(state: ProtocolState, item: Live, event: Happened) -> Step:
    return _replace_live(state, item._replace(status=move(item.status, event.word))), (_decision(state, item),)


def _pinned(state: ProtocolState, item: Live, event: Happened) -> Step:
    """Those beside the ledger have it with the pin; the others are applied after it."""
    waiting = state.states - state.beside
    applying = item._replace(status=move(item.status, event.word), waiting=waiting)
    if not waiting:
        finishing = applying._replace(status=move(applying.status, Word.APPLIED))
        return _replace_live(state, finishing), (RecordDone(item.batch),)
    return _replace_live(state, applying), tuple(Apply(item.batch, name) for name in sorted(waiting))


def _applied(state: ProtocolState, item: Live, event: Happened) -> Step:
    finishing = move(item.status, event.word)
    if event.state not in item.waiting:
        raise IllegalTransitionError(f"state {event.state!r} was not waited for")
    waiting = item.waiting - {event.state}
    if waiting:
        return _replace_live(state, item._replace(waiting=waiting)), ()
    return _replace_live(state, item._replace(status=finishing, waiting=waiting)), (RecordDone(item.batch),)


def _finished(state: ProtocolState, item: Live, event: Happened) -> Step:
    move(item.status, event.word)
    txid = item.batch.txid
    tries = tuple(pair for pair in state.tries if pair[0] > txid)
    return state._replace(done=txid, live=state.live[1:], tries=tries), (TellSpouts(item.batch),)


def _failed(state: ProtocolState, item: Live, event: Happened) -> Step:
    move(item.status, event.word)
    txid = item.batch.txid
    rest, behind = _drop_behind(state, txid)
    dropped, cancels = rest._replace(live=rest.live[:-1]), (Cancel(item.batch), *behind)
    if not event.counts:
        dropped = dropped._replace(tries=_with_tries(dropped, txid, item.tries - 1))
    elif item.tries >= state.max_tries:
        blocked = item._replace(status=Status.BLOCKED)
        return dropped._replace(live=(*dropped.live, blocked)), (*cancels, GiveUp(item.batch, item.tries, event.reason))
    is_last = state.phase in _ENDS
    if is_last and not (state.keeps_rows and item.tries < _TRIES_AT_THE_END):
        return dropped, (*cancels, DropFrom(txid))
    planned, plan = _plan(dropped, txid, drop_from=txid)
    return planned, (*cancels, replace(plan, is_last=is_last))


def _stopped(state: ProtocolState, item: Live, event: Happened) -> Step:
    blocked = item._replace(status=move(item.status, event.word))
    return _drop_behind(_replace_live(state, blocked), item.batch.txid)


def _drop_undecided(state: ProtocolState) -> Step:
    """Drop all that nobody is deciding: what may be pinned by now is finished, since nothing else may become of it."""
    first = next((item.batch.txid for item in state.live if item.status in _UNDECIDED), None)
    if state.phase is not Phase.DRAINING or first is None:
        return state, ()
    dropped, cancels = _drop_behind(state, first - 1)
    return _finish_draining(dropped), (*cancels, DropFrom(first))


def _drop_behind(state: ProtocolState, txid: int) -> Step:
    """Cancel what comes after a txid: it has not failed, so that its attempt is no try of its own."""
    kept = tuple(item for item in state.live if item.batch.txid <= txid)
    behind = state.live[len(kept) :]
    dropped = state._replace(live=kept)
    for item in behind:
        dropped = dropped._replace(tries=_with_tries(dropped, item.batch.txid, item.tries - 1))
    return dropped, tuple(Cancel(item.batch) for item in behind)


def _refuse_turn(state: ProtocolState, item: Live, event: Happened) -> Step:
    raise IllegalTransitionError(f"the turn is given here, never from outside: {item.batch}")


_HANDLERS: Mapping[Word, Callable[[ProtocolState, Live, Happened], Step]] = {
    Word.PLANNED: _planned,
    Word.NOTHING_TO_PLAN: _nothing_to_plan,
    Word.PROCESSED: _processed,
    Word.PINNED: _pinned,
    Word.APPLIED: _applied,
    Word.COMMITTED: _finished,
    Word.FINISHED: _finished,
    Word.FAILED: _failed,
    Word.STOPPED: _stopped,
    Word.TURN: _refuse_turn,
    Word.TURN_BEGUN: _refuse_turn,
    Word.TURN_WORKED: _turn_worked,
}


def wants_plan(state: ProtocolState) -> bool:
    """Tell whether there is room for another batch, so that `Due` would plan one."""
    live = state.live
    most = 1 if state.done < state.alone_until else state.max_pending
    if state.phase is not Phase.RUNNING or len(live) >= most:
        return False
    # the one that is planned is always the last, and nothing is planned behind one that ends the run
    return not live or live[-1].status not in (Status.PLANNING, Status.BLOCKED)


def _plan_next(state: ProtocolState, only_full: bool) -> Step:
    if not wants_plan(state):
        return state, ()
    planned, command = _plan(state, state.done + len(state.live) + 1, drop_from=None)
    return planned, (replace(command, only_full=only_full),)


def _plan(state: ProtocolState, txid: int, drop_from: int | None) -> tuple[ProtocolState, MakePlan]:
    attempt = state.last_attempt + 1
    tries = dict(state.tries).get(txid, 0) + 1
    batch = BatchId(state.owner, state.epoch, txid, attempt)
    planned = state._replace(
        last_attempt=attempt,
        live=(*state.live, Live(batch, tries, Status.PLANNING)),
        tries=_with_tries(state, txid, tries),
    )
    return planned, MakePlan(batch, tries, drop_from)


def _give_turn(state: ProtocolState) -> Step:
    if not state.live or state.live[0].batch.txid != state.done + 1:
        return state, ()
    if state.live[0].status is Status.BLOCKED:
        return state, (EndRun(state.live[0].batch),)
    if state.live[0].status is not Status.READY:
        return state, ()
    if state.turn_work:
        item = state.live[0]._replace(status=move(Status.READY, Word.TURN_BEGUN))
        return _replace_live(state, item), (WorkInTurn(item.batch),)
    item = state.live[0]._replace(status=move(Status.READY, Word.TURN))
    return _replace_live(state, item), (_decision(state, item),)


def _decision(state: ProtocolState, item: Live) -> Command:
    return CommitTogether(item.batch) if state.states <= state.beside else DecidePin(item.batch)


def _finish_draining(state: ProtocolState) -> ProtocolState:
    if state.phase is Phase.DRAINING and not state.live:
        return state._replace(phase=Phase.STOPPED)
    return state


def _with_tries(state: ProtocolState, txid: int, tries: int) -> tuple[tuple[int, int], ...]:
    others = tuple(pair for pair in state.tries if pair[0] != txid)
    return (*others, (txid, tries)) if tries else others


def _replace_live(state: ProtocolState, item: Live) -> ProtocolState:
    live = tuple(item if other.batch.txid == item.batch.txid else other for other in state.live)
    return state._replace(live=live)


def _poison(state: ProtocolState, error: BaseException) -> ProtocolState:
    return state._replace(phase=Phase.POISONED, error=error)
