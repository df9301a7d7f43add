"""What must hold before a batch is undone, whatever the store."""

from __future__ import annotations

from trident.base.identity import BatchId
from trident.state.capabilities import CannotUndoError
from trident.state.layout import StateKind
from trident.state.staged import AppliedUpdates, StagedUpdates


def check_kind(kind: StateKind, batch: BatchId, updates: StagedUpdates | AppliedUpdates, name: str) -> None:
    """Raise CannotUndoError for a state that has a batch's rows and does not know what was before them."""
    if kind is not StateKind.OPAQUE and updates.count:
        raise CannotUndoError(
            f"{batch}: state {name!r} has it, or part of it, and is {kind.value}: only an opaque one knows the values "
            "before"
        )


def check_undone(batch: BatchId, updates: StagedUpdates | AppliedUpdates, found: int, name: str) -> None:
    """Raise CannotUndoError unless as many rows were of the txid as the batch had staged."""
    if found != updates.count:
        raise CannotUndoError(
            f"{batch}: state {name!r} has {found} rows of this txid, {updates.count} were applied: somebody "
            "else changed them"
        )
