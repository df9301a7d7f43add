"""What happens in the work of a batch, told as events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from trident.base.errors import FencedError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.ranges import PartitionId
from trident.coordinators.batches.outcome import Outcome
from trident.coordinators.decided import Refusal
from trident.coordinators.pinned import Commit
from trident.coordinators.planned import Plan
from trident.coordinators.run_events import (
    BatchCommitted,
    BatchFailed,
    BatchPlanned,
    BatchProcessed,
    BatchRefused,
    OffsetsLost,
    PartitionLag,
    RunEvent,
)

Tells: TypeAlias = Callable[[RunEvent], None]
"""Takes an event; returns at once and never raises."""


def tell_nobody(event: RunEvent) -> None:
    """Let it be."""


def planned(batch: BatchId, plan: Plan) -> BatchPlanned:
    """Return that an attempt is planned."""
    return BatchPlanned(
        topology=batch.owner.topology,
        epoch=batch.epoch.number,
        txid=batch.txid,
        attempt=batch.attempt,
        tries=plan.tries,
        offsets=sum(item.range.width for item in plan.ranges),
    )


def processed(batch: BatchId, outcome: Outcome) -> BatchProcessed:
    """Return that an attempt is processed."""
    return BatchProcessed(
        topology=batch.owner.topology,
        epoch=batch.epoch.number,
        txid=batch.txid,
        attempt=batch.attempt,
        tries=outcome.plan.tries,
        records=outcome.records,
        keys=outcome.keys,
        plan_ms=outcome.plan_ms,
        process_ms=outcome.process_ms,
    )


def committed(
    batch: BatchId, outcome: Outcome, commit: Commit, behind: Mapping[tuple[str, PartitionId], int]
) -> BatchCommitted:
    """Return that a txid is done, and what its sources hold behind it."""
    lags = (
        PartitionLag(stream=stream, topic=id_.topic, partition=id_.partition, lag=lag)
        for (stream, id_), lag in behind.items()
    )
    return BatchCommitted(
        topology=batch.owner.topology,
        epoch=batch.epoch.number,
        txid=commit.txid,
        attempt=commit.attempt,
        tries=commit.tries,
        records=commit.records,
        keys=commit.keys,
        dead_letters=commit.dead_letters,
        plan_ms=commit.plan_ms,
        process_ms=commit.process_ms,
        turn_ms=outcome.turn_ms,
        commit_ms=commit.commit_ms,
        lags=tuple(lags),
    )


def losses(batch: BatchId, plan: Plan) -> tuple[OffsetsLost, ...]:
    """Return what a txid that is done has lost."""
    return tuple(
        OffsetsLost(
            topology=batch.owner.topology,
            epoch=batch.epoch.number,
            txid=batch.txid,
            stream=loss.spout,
            topic=loss.id.topic,
            partition=loss.id.partition,
            start=loss.start,
            stop=loss.stop,
            reason=loss.reason,
        )
        for loss in plan.losses
    )


def failed(batch: BatchId, error: BaseException) -> BatchFailed | None:
    """Return that an attempt has failed; None of what only says that another owner has come."""
    if isinstance(error, FencedError):
        return None
    return BatchFailed(
        topology=batch.owner.topology,
        epoch=batch.epoch.number,
        txid=batch.txid,
        attempt=batch.attempt,
        kind=type(error).__name__,
        error=str(error),
    )


def refused(owner: Owner, epoch: Epoch, refusal: Refusal) -> BatchRefused:
    """Return that a run stops."""
    return BatchRefused(
        topology=owner.topology,
        epoch=epoch.number,
        txid=refusal.txid,
        attempt=refusal.attempt,
        kind=refusal.kind.value,
        state=refusal.state,
        reason=refusal.reason,
    )
