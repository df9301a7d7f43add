"""What the failure of a request means: for its batch alone, or for the coordinator."""

from __future__ import annotations

from trident.base.errors import OutcomeUnknownError, RetryableError
from trident.base.identity import BatchId
from trident.coordinators.batches.processor import MessagesFailedError
from trident.coordinators.batches.requests import (
    BuildPlan,
    CleanUp,
    CommitStep,
    LetGo,
    Request,
    RunBatch,
    StorePlan,
    WorkTurn,
)
from trident.coordinators.protocol.messages import CommitTogether, DecidePin, Happened
from trident.coordinators.protocol.transitions import Word
from trident.state.staged import StagingLostError


class OverdueError(RetryableError):
    """An attempt has taken too long."""


class UnacknowledgedError(RetryableError):
    """Not all that an attempt has read was acknowledged."""

    def __init__(self) -> None:
        super().__init__("not all that was read was acknowledged")


def failure_of(request: Request, error: BaseException) -> Happened | None:
    """Return the word that an attempt has failed, None if the coordinator can't go on."""
    batch = _fails_alone(request, error)
    if batch is None:
        return None
    return Happened(batch, Word.FAILED, reason=_reason_of(error), counts=not isinstance(error, MessagesFailedError))


def _fails_alone(request: Request, error: BaseException) -> BatchId | None:
    """Return the batch whose attempt has failed, None if the coordinator can't go on."""
    match request:
        case RunBatch(batch) if isinstance(error, RetryableError | OutcomeUnknownError):
            return batch
        case WorkTurn(batch) if isinstance(error, RetryableError | OutcomeUnknownError | StagingLostError):
            return batch
        case CommitStep(CommitTogether(batch) | DecidePin(batch)) if isinstance(error, StagingLostError):
            return batch  # nothing was pinned: an ordinary failure
    return None


def batch_of(request: BuildPlan | RunBatch | WorkTurn) -> BatchId:
    """Return the batch that a request is about."""
    return request.command.batch if isinstance(request, BuildPlan) else request.batch


def _reason_of(error: BaseException) -> str:
    """Return why an attempt has failed, as logs and the ledger say it."""
    return str(error) if isinstance(error, StagingLostError) else f"{type(error).__name__}: {error}"


def about_batch(request: Request) -> BatchId | None:
    """Return the batch that a request is about, None for one that is about none."""
    match request:
        case BuildPlan(command) | StorePlan(command) | CommitStep(command):
            return command.batch
        case RunBatch(batch) | WorkTurn(batch) | CleanUp(batch) | LetGo(batch):
            return batch
    return None
