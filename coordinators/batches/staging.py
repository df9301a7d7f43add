"""From what the engine made to what the pin says: updates are staged, or kept for a person who diverts them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import RefusedError
from trident.base.identity import BatchId
from trident.coordinators.batches.sifting import how_many_unfit
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.decided import Diverted, Refusal, StopKind
from trident.state.capabilities import diverting_of, staged_at
from trident.state.rows import json_rows
from trident.state.sifting import Sifted, with_number
from trident.state.staged import HeldUpdates, StagedUpdates, WrittenUpdates
from trident.state.target import Target


def staged_of(
    stores: Mapping[str, Target],
    batch: BatchId,
    at: datetime,
    made: Mapping[str, StagedUpdates],
    diverts: tuple[str, ...],
) -> tuple[dict[str, StagedUpdates], tuple[Diverted, ...]]:
    """Return what was made, staged as the pin needs it, and the rows of the states that a person has diverted.

    `at` is the batch's planned time. Raises StoppedError for a state that refuses its rows.
    """
    kept = tuple(_diverted(stores, batch, name, rows) for name, rows in made.items() if name in diverts)
    updates = {
        name: WrittenUpdates(()) if name in diverts else _staged(stores[name], batch, at, rows)
        for name, rows in made.items()
    }
    return updates, kept


def refused_by(state: str, batch: BatchId, error: RefusedError, found: Sifted | None = None) -> StoppedError:
    """Return the error of a state that can't take its rows of a batch; `found` tells how many rows it is about."""
    reason = with_number(error, found)
    text = f"state {state!r} refused {batch} for good: {reason}. Nothing of this txid was applied."
    return StoppedError(text, Refusal(batch.txid, batch.attempt, StopKind.REFUSED, state, reason))


def _staged(store: Target, batch: BatchId, at: datetime, staged: StagedUpdates) -> StagedUpdates:
    if isinstance(staged, HeldUpdates):
        rows = staged.rows
        try:
            staged = staged_at(store, batch, staged, at)
        except RefusedError as error:
            raise refused_by(store.name, batch, error, how_many_unfit(store, rows)) from error
    elif (writing := store.capabilities.writing) is not None:
        writing.check_written(batch, staged.writes)
    reached(CrashPoint.AFTER_STAGING, batch.txid)
    return staged


def _diverted(stores: Mapping[str, Target], batch: BatchId, name: str, staged: StagedUpdates) -> Diverted:
    return Diverted(name, json_rows(diverting_of(stores[name]).staged_rows(batch, staged)))
