"""Which scenes are equal: hashes of what is large and met again and again, and what of a request decides its effect."""

from __future__ import annotations

from tests.simulation.jobs import Job, Release, Start
from trident.coordinators.batches.requests import (
    BuildPlan,
    CleanUp,
    CommitStep,
    Drop,
    LetGo,
    Relay,
    RunBatch,
    StorePlan,
    TakeCommands,
    WorkTurn,
)
from trident.coordinators.protocol.messages import AnswerCommand

_HASHES: dict[int, tuple[object, int]] = {}
_MOST_HASHES = 500_000


def hashed(value: object) -> int:
    """Return the value's hash; plans and the like are large, never change and are met again and again."""
    found = _HASHES.get(id(value))
    if found is None:
        if len(_HASHES) > _MOST_HASHES:
            _HASHES.clear()
        found = _HASHES[id(value)] = (value, hash(value))  # kept alive here, so that its id stays its own
    return found[1]


def key_of_job(job: Job) -> tuple[object, ...]:
    """Return all of a request that decides what it does."""
    match job:
        case Start(answers):
            return tuple(hashed(type(answer.error) if answer.error is not None else answer.value) for answer in answers)
        case BuildPlan(command):
            return ("build", command)
        case StorePlan(command, plan):
            return ("store", command, plan and hashed(plan))
        case Drop(command):
            return ("drop", command)
        case WorkTurn(batch):
            return ("turn", batch)
        case RunBatch(batch, plan):
            return ("work", batch, hashed(plan))
        case CommitStep(command, _):
            return ("commit", type(command), command)
        case CleanUp(batch, state):
            return ("clean up", batch, state)
        case LetGo(batch):
            return ("let go", batch)
        case Relay():
            return ("relay", *job)
        case TakeCommands():
            return ("take commands", *job)
        case AnswerCommand():
            return ("answer", job)
        case Release(epoch):
            return ("release", epoch)
    raise AssertionError(job)
