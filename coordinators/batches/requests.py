"""What the loop asks for, as frozen values, and which of it goes one by one.

Every request is answered once, with what it brought or with the error that ended it; those of
`Lane.AT_ONCE` bring nothing and are not answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from trident.base.identity import BatchId, Epoch, Owner
from trident.coordinators.acking.edges import BatchEdges
from trident.coordinators.batches.outcome import Outcome
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.lifecycle import Given
from trident.coordinators.planned import PartFull, Plan
from trident.coordinators.protocol.messages import (
    AnswerCommand,
    AnswerWritten,
    Apply,
    Cancel,
    CommandGiven,
    CommitTogether,
    DecidePin,
    DropFrom,
    Event,
    MakePlan,
    RecordDone,
    ShareWork,
)
from trident.coordinators.protocol.transitions import Word


class BuildPlan(NamedTuple):
    """Wait for so many seconds, then ask the spouts what there is; brings the plan, or None when there is nothing.

    Of a batch that was wanted full and is not it brings `PartFull`.
    """

    command: MakePlan
    pause: float = 0.0


class StorePlan(NamedTuple):
    """Write the plan and the drop that goes with it."""

    command: MakePlan
    plan: Plan | None


class Drop(NamedTuple):
    """Drop live attempts, and plan nothing in their place."""

    command: DropFrom


class RunBatch(NamedTuple):
    """Process and stage the attempt; goes on to its end when it is dropped meanwhile. Brings a `Processed`."""

    batch: BatchId
    plan: Plan
    edges: BatchEdges
    plan_ms: int


class WorkTurn(NamedTuple):
    """Do the attempt's work in the commit turn; brings its `Outcome` with what the work has added."""

    batch: BatchId
    outcome: Outcome


class CommitStep(NamedTuple):
    """Make one step of the commit."""

    command: CommitTogether | DecidePin | Apply | RecordDone
    outcome: Outcome


class CleanUp(NamedTuple):
    """Clean up what the finished txid makes superfluous in one state."""

    batch: BatchId
    state: str


class LetGo(NamedTuple):
    """Let go of the oldest history in the ledger; no batch waits for it."""

    batch: BatchId


class Relay(NamedTuple):
    """Send the oldest of what waits in a sink of txids up to `done`; brings the txid up to which nothing waits."""

    owner: Owner
    epoch: Epoch
    sink: str
    done: int


class Tell(NamedTuple):
    """Tell the sources that what they handed out is done, in every state."""

    batch: BatchId
    plan: Plan


class TakeCommands(NamedTuple):
    """Read the life-cycle commands that wait, under this epoch; brings them as a `Taken`."""

    owner: Owner
    epoch: Epoch


class RecordStop(NamedTuple):
    """Record why this coordinator stops, as its last write; brings the error to raise."""

    owner: Owner
    epoch: Epoch
    error: StoppedError


Request = (
    BuildPlan
    | StorePlan
    | Drop
    | RunBatch
    | WorkTurn
    | CommitStep
    | CleanUp
    | LetGo
    | Relay
    | Tell
    | Cancel
    | TakeCommands
    | AnswerCommand
    | ShareWork
    | RecordStop
)


BRINGS: Mapping[type, Word] = {
    CommitTogether: Word.COMMITTED,
    DecidePin: Word.PINNED,
    Apply: Word.APPLIED,
    RecordDone: Word.FINISHED,
}
"""The word that a step of the commit brings."""


class Processed(NamedTuple):
    """What processing brings back: the edges that tasks acknowledged, and the outcome."""

    acknowledged: tuple[int, ...]
    outcome: Outcome


class Taken(NamedTuple):
    """The life-cycle commands that waited, in their order."""

    commands: tuple[Given, ...]


Answer = Plan | PartFull | Processed | Outcome | Taken | int | BaseException | None


class Lane(StrEnum):
    """In which order requests are performed."""

    PLAN = "plan"
    """One by one."""
    COMMIT = "commit"
    """One by one."""
    HISTORY = "history"
    """One by one."""
    RELAY = "relay"
    """One by one."""
    PROCESS = "process"
    """Side by side."""
    AT_ONCE = "at once"
    """Before anything else is heard; a cancel is only begun."""
    LAST = "last"
    """When all the others have ended or were given up."""


LANES: Mapping[type, Lane] = {
    BuildPlan: Lane.PLAN,
    StorePlan: Lane.PLAN,
    Drop: Lane.PLAN,
    RunBatch: Lane.PROCESS,
    WorkTurn: Lane.PROCESS,
    CommitStep: Lane.COMMIT,
    CleanUp: Lane.COMMIT,
    LetGo: Lane.HISTORY,
    Relay: Lane.RELAY,
    TakeCommands: Lane.HISTORY,
    AnswerCommand: Lane.HISTORY,
    Tell: Lane.AT_ONCE,
    Cancel: Lane.AT_ONCE,
    ShareWork: Lane.AT_ONCE,
    RecordStop: Lane.LAST,
}
ENDS_FIRST = frozenset(
    kind for kind, lane in LANES.items() if lane in (Lane.PLAN, Lane.COMMIT, Lane.HISTORY, Lane.RELAY)
)
"""What has to end before a stopped coordinator may."""


def events_of(request: TakeCommands | AnswerCommand, answer: Answer) -> tuple[Event, ...]:
    """Return what follows for the protocol from what a request about life-cycle commands has brought."""
    if isinstance(request, AnswerCommand):
        return (AnswerWritten(request.number),)
    assert isinstance(answer, Taken)
    return tuple(map(CommandGiven, answer.commands))


def clean_ups(batch: BatchId, states: frozenset[str]) -> tuple[Request, ...]:
    """Return what lets go of all that a finished txid makes superfluous."""
    return LetGo(batch), *(CleanUp(batch, state) for state in sorted(states))
