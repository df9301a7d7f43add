"""What must hold before a batch is undone, whatever the store."""

from __future__ import annotations

from trident.base.identity import BatchId
from trident.state.capabilities import CannotUndoError
from trident.state.layout import StateKind
from trident.state.staged import AppliedUpdates, StagedUpdates
from trident.state.target import Target


def undoes_done(target: Target) -> bool:
    """Tell whether a target undoes a txid that is done as well as a pinned one: its undoing says `undoes_done = True`.

    It then holds what was before for each row of a txid, or says that it is lost, and rows and position go back in one
    transaction, which no late write of an owner that is gone comes behind.
    """
    return bool(getattr(target.capabilities.undoing, "undoes_done", False))


def check_kind(kind: StateKind, batch: BatchId, updates: StagedUpdates | AppliedUpdates, name: str) -> None:
    """Raise CannotUndoError for a state that has a batch's rows and does not know what was before them."""
    if kind is not StateKind.OPAQUE and updates.count:
        raise CannotUndoError(
            f"{batch}: state {name!r} has it, or part of it, and is {kind.value}: only an opaque one knows the values "
            "before"
        )


def check_known(batch: BatchId, lost: int, where: str) -> None:
    """Raise CannotUndoError where rows were of the txid behind this one, and were brought back: none is before them."""
    if lost:
        raise CannotUndoError(
            f"{batch}: {lost} rows of {where} have lost what was before this txid, as it was undone before"
        )


def check_undone(batch: BatchId, updates: StagedUpdates | AppliedUpdates, found: int, name: str) -> None:
    """Raise CannotUndoError unless as many rows were of the txid as the batch had staged."""
    if found != updates.count:
        raise CannotUndoError(
            f"{batch}: state {name!r} has {found} rows of this txid, {updates.count} were applied: somebody "
            "else changed them"
        )
