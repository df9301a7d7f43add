"""How a running coordinator carries life-cycle commands out: pure, one command after the other, each once.

A command changes what is planned next and nothing of what is planned already. It is answered in the same step; who
dies before the answer is durable has changed nothing durable, and its successor carries it out again.
"""

from __future__ import annotations

from trident.coordinators.lifecycle import Activate, Activity, Deactivate, Given, Kill, Rebalance, Reply, Verdict
from trident.coordinators.protocol.messages import AnswerCommand, Command, EndWithin, ShareWork
from trident.coordinators.protocol.state import Phase, ProtocolState
from trident.coordinators.protocol.transitions import Status

Obeyed = tuple[ProtocolState, tuple[Command, ...]]


def obey(state: ProtocolState, given: Given) -> Obeyed:
    """Return what follows from a command that was read under this epoch.

    One that was heard before is nothing new. One that comes to a run that ends is left to whoever holds the topology
    next, unanswered: an answer would be about a run that is over.
    """
    if given.number <= state.last_command or state.phase not in (Phase.RUNNING, Phase.INACTIVE):
        return state, ()
    heard = state._replace(last_command=given.number)
    match given.command:
        case Activate():
            return _activate(heard)
        case Deactivate():
            return _deactivate(heard)
        case Rebalance():
            return _rebalance(heard, given.command)
        case Kill(wait):
            text = f"it ends: {_in_flight(heard)} may be finished within {wait.total_seconds():g} s"
            if state.keeps_rows:
                text += (
                    "; rows that this process alone has, of a non-transactional stream, and does not finish end with it"
                )
            answer = _answer(heard, Reply(Verdict.DONE, text, Activity.KILLED))
            return heard._replace(phase=Phase.DRAINING), (answer, EndWithin(wait))


def answered(state: ProtocolState, number: int) -> ProtocolState:
    """Return the state once an answer is durable: what is activated plans from then on, and not before.

    So nothing is planned while the ledger says that it is inactive, but for what was on its way.
    """
    if state.phase is not Phase.INACTIVE or state.activating != number:
        return state
    return state._replace(phase=Phase.RUNNING, activating=0)


def _activate(state: ProtocolState) -> Obeyed:
    text = "it plans again" if state.phase is Phase.INACTIVE else "it is active already"
    return state._replace(activating=state.last_command), (_answer(state, Reply(Verdict.DONE, text, Activity.ACTIVE)),)


def _deactivate(state: ProtocolState) -> Obeyed:
    text = f"nothing more is planned; {_in_flight(state)} are finished"
    if state.phase is Phase.INACTIVE:
        text = f"it is inactive already; {_in_flight(state)} are finished"
    return state._replace(phase=Phase.INACTIVE, activating=0), (
        _answer(state, Reply(Verdict.DONE, text, Activity.INACTIVE)),
    )


def _rebalance(state: ProtocolState, command: Rebalance) -> Obeyed:
    if command.parallelism is not None and not state.shares_work:
        text = "its engine reads every batch by itself, so no number of tasks can be changed; nothing was changed"
        return state, (_answer(state, Reply(Verdict.REFUSED, text)),)
    changed, words = state, list[str]()
    commands: tuple[Command, ...] = ()
    if command.max_pending is not None:
        changed = changed._replace(max_pending=command.max_pending)
        words.append(f"max_pending is {command.max_pending} (it was {state.max_pending})")
    if command.parallelism is not None:
        commands = (ShareWork(command.parallelism),)
        words.append(f"{command.parallelism} tasks read a large batch")
    text = f"from the next plan on {' and '.join(words) or 'nothing is another'}, until this run ends"
    return changed, (*commands, _answer(state, Reply(Verdict.DONE, text)))


def _answer(state: ProtocolState, reply: Reply) -> AnswerCommand:
    return AnswerCommand(state.owner, state.epoch, state.last_command, reply)


def _in_flight(state: ProtocolState) -> str:
    planned = sum(each.status is not Status.PLANNING for each in state.live)  # as the ledger, and so status, has it
    return f"{planned} batches in flight behind txid {state.done}"
