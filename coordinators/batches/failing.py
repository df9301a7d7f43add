"""What the failure of a request means: for its batch alone, or for the coordinator."""

from __future__ import annotations

from trident.base.errors import OutcomeUnknownError, RetryableError
from trident.base.identity import BatchId
from trident.coordinators.batches.requests import BuildPlan, CommitStep, Request, RunBatch, WorkTurn
from trident.coordinators.protocol.messages import CommitTogether, DecidePin
from trident.state.staged import StagingLostError


def fails_alone(request: Request, error: BaseException) -> BatchId | None:
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


def reason_of(error: BaseException) -> str:
    """Return why an attempt has failed, as logs and the ledger say it."""
    return str(error) if isinstance(error, StagingLostError) else f"{type(error).__name__}: {error}"
