"""What the protocol hears (events) and what it asks for (commands)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from trident.base.identity import BatchId, Epoch, Owner
from trident.coordinators.lifecycle import Given, Reply
from trident.coordinators.protocol.transitions import Word


@dataclass(frozen=True, slots=True)
class Due:
    """Time to plan another batch, if there is room; `only_full` leaves one below its limits for later."""

    only_full: bool = False


@dataclass(frozen=True, slots=True)
class StopRequested:
    """Finish what is live, plan nothing more."""


@dataclass(frozen=True, slots=True)
class CommandGiven:
    """A life-cycle command was read from the ledger, under this coordinator's epoch."""

    given: Given


@dataclass(frozen=True, slots=True)
class AnswerWritten:
    """The answer to a life-cycle command is durable, and what the topology is from then on."""

    number: int


@dataclass(frozen=True, slots=True)
class WaitOver:
    """What a kill gave batches in flight is over: only what is being decided or is pinned is finished."""


@dataclass(frozen=True, slots=True)
class Broken:
    """Something failed that no retry heals and that is about no later batch alone (fenced, …): stop at once."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class Happened:
    """A word that comes back about one attempt; `state` goes with APPLIED, `reason` and `counts` with FAILED."""

    batch: BatchId
    word: Word
    state: str = ""
    reason: str = ""
    counts: bool = True
    """Whether it was a try: one that has shown which messages can't be in the batch has brought the others on."""


Event = Due | StopRequested | CommandGiven | AnswerWritten | WaitOver | Broken | Happened


@dataclass(frozen=True, slots=True)
class MakePlan:
    """Drop live attempts at txids >= `drop_from`, if set, and plan this attempt, in one transaction.

    `only_full` asks for nothing rather than for a batch below its limits: what comes meanwhile goes
    together, and pays the fixed cost of a batch once.
    """

    batch: BatchId
    tries: int
    drop_from: int | None = None
    only_full: bool = False
    is_last: bool = False
    """Whether the run ends with it: sources that can't be read again are asked for nothing more."""


@dataclass(frozen=True, slots=True)
class DropFrom:
    """Drop live attempts at txids >= `txid`; nothing is planned in their place."""

    txid: int


@dataclass(frozen=True, slots=True)
class Process:
    """Process the planned attempt, without effect."""

    batch: BatchId


@dataclass(frozen=True, slots=True)
class Cancel:
    """Ask the engine to end a dropped attempt; correctness never depends on it."""

    batch: BatchId


@dataclass(frozen=True, slots=True)
class WorkInTurn:
    """Do the batch's work in the commit turn, still without effect: every txid before it is done."""

    batch: BatchId


@dataclass(frozen=True, slots=True)
class DecidePin:
    """Make the durable decision that the txid commits with this attempt."""

    batch: BatchId


@dataclass(frozen=True, slots=True)
class Apply:
    """Apply the pinned batch's staged updates to one state, once."""

    batch: BatchId
    state: str


@dataclass(frozen=True, slots=True)
class RecordDone:
    """Record that every state has the txid."""

    batch: BatchId


@dataclass(frozen=True, slots=True)
class CommitTogether:
    """Pin, apply and record done in one transaction."""

    batch: BatchId


@dataclass(frozen=True, slots=True)
class TellSpouts:
    """The txid is done: spouts may let go of it."""

    batch: BatchId


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The txid failed `max_tries` times: nothing more is tried, `EndRun` follows if nothing makes it void."""

    batch: BatchId
    tries: int
    reason: str


@dataclass(frozen=True, slots=True)
class EndRun:
    """Everything before the blocked batch is done: end with the error that blocks it."""

    batch: BatchId


@dataclass(frozen=True, slots=True)
class AnswerCommand:
    """Answer a life-cycle command, with what the topology is from then on, in one transaction."""

    owner: Owner
    epoch: Epoch
    number: int
    reply: Reply


@dataclass(frozen=True, slots=True)
class EndWithin:
    """Say when this wait of a kill is over."""

    wait: timedelta


@dataclass(frozen=True, slots=True)
class ShareWork:
    """Have this many tasks read each large batch that is begun from now on."""

    parallelism: int


Command = (
    MakePlan
    | DropFrom
    | Process
    | Cancel
    | WorkInTurn
    | DecidePin
    | Apply
    | RecordDone
    | CommitTogether
    | TellSpouts
    | GiveUp
    | EndRun
    | AnswerCommand
    | EndWithin
    | ShareWork
)
