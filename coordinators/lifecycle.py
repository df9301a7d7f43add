"""Life-cycle commands to a topology: what a person asks of whoever holds it, and what is answered.

Each is a row of the ledger. Whoever holds the epoch carries it out and answers it, once and in the order given.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from trident.base.checks import check_count, check_duration
from trident.base.errors import ConfigurationError

LONGEST_WITHIN: Final = timedelta(hours=24)
"""The longest time that a command waits, and that a kill gives batches in flight."""


class Activity(StrEnum):
    """What a topology is to do, whoever runs it; durable, and changed by life-cycle commands only."""

    ACTIVE = "active"
    INACTIVE = "inactive"
    """What is planned is finished, nothing more is planned."""
    KILLED = "killed"
    """Nothing of it runs, and no start begins anything, until a person activates it."""


class CommandKind(StrEnum):
    """What a life-cycle command asks for."""

    ACTIVATE = "activate"
    DEACTIVATE = "deactivate"
    REBALANCE = "rebalance"
    KILL = "kill"


@dataclass(frozen=True, slots=True)
class Activate:
    """Plan again; lets a killed topology be started again."""


@dataclass(frozen=True, slots=True)
class Deactivate:
    """Finish what is planned, and plan nothing more."""


@dataclass(frozen=True, slots=True)
class Rebalance:
    """Go on with other numbers, from the next plan on; what is None stays as it is. Holds for the run that answers."""

    max_pending: int | None = None
    parallelism: int | None = None
    """How many tasks read a large batch."""

    def __post_init__(self) -> None:
        for name, value in (("max_pending", self.max_pending), ("parallelism", self.parallelism)):
            if value is not None:
                check_count(name, value)
        if self.max_pending is None and self.parallelism is None:
            raise ConfigurationError("rebalance: name what is to change, max_pending or parallelism; nothing was done")


@dataclass(frozen=True, slots=True)
class Kill:
    """Plan nothing more, finish what can be within the wait, and end the run; no start begins anything after it."""

    wait: timedelta = timedelta(0)

    def __post_init__(self) -> None:
        check_duration("wait", self.wait, may_be_zero=True, longest=LONGEST_WITHIN)


LifeCycleCommand = Activate | Deactivate | Rebalance | Kill
KINDS: Final[dict[CommandKind, type[LifeCycleCommand]]] = {
    CommandKind.ACTIVATE: Activate,
    CommandKind.DEACTIVATE: Deactivate,
    CommandKind.REBALANCE: Rebalance,
    CommandKind.KILL: Kill,
}


def kind_of(command: LifeCycleCommand) -> CommandKind:
    """Return what a command asks for."""
    return next(kind for kind, made in KINDS.items() if isinstance(command, made))


@dataclass(frozen=True, slots=True)
class Given:
    """A command with its number: commands of one topology are carried out in the order of these."""

    number: int
    command: LifeCycleCommand


@dataclass(frozen=True, slots=True)
class Sent:
    """A command on its way into the ledger; who sends the same `id` again has sent it once."""

    id: str
    command: LifeCycleCommand
    given_by: str
    within: timedelta
    """After that nobody begins with it any more."""


class Verdict(StrEnum):
    """What became of a command."""

    DONE = "done"
    REFUSED = "refused"
    """Whoever held the topology could not do it; nothing was changed by it."""
    VOID = "void"
    """Nobody carried it out, and nobody will."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a command; `activity` is what the topology is from then on, None where that stays."""

    verdict: Verdict
    text: str
    activity: Activity | None = None


def reply_at_rest(activity: Activity, command: LifeCycleCommand) -> Reply:
    """Return the answer to a command while nobody runs the topology: only what is durable changes."""
    match command:
        case Activate() if activity is Activity.ACTIVE:
            return Reply(Verdict.DONE, "it is active already; nobody runs it")
        case Activate():
            return Reply(Verdict.DONE, f"it was {activity}; the next start plans again", Activity.ACTIVE)
        case Deactivate() if activity is Activity.KILLED:
            return Reply(Verdict.REFUSED, "it is killed, so that no start begins anything; nothing was changed")
        case Deactivate() if activity is Activity.INACTIVE:
            return Reply(Verdict.DONE, "it is inactive already; nobody runs it")
        case Deactivate():
            text = "nobody runs it; a start finishes what is pinned and plans nothing until it is activated"
            return Reply(Verdict.DONE, text, Activity.INACTIVE)
        case Rebalance():
            text = "nobody runs it, and the options of a run are its program's; nothing was changed"
            return Reply(Verdict.REFUSED, text)
        case Kill() if activity is Activity.KILLED:
            return Reply(Verdict.DONE, "it is killed already; nobody runs it")
        case Kill():
            return Reply(
                Verdict.DONE, "nobody runs it; no start begins anything until it is activated", Activity.KILLED
            )
