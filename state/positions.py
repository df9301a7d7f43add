"""What every store without SQL decides before it writes: the same words as the SQL stores' first statement."""

from __future__ import annotations

from dataclasses import dataclass

from trident.base.errors import FencedError, MismatchError
from trident.base.identity import BatchId, Epoch
from trident.state.layout import StateKind
from trident.state.target import AppliedUpdates, CannotUndoError, Position, StagedUpdates


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a state stands and which epoch may write it."""

    position: Position | None
    epoch: Epoch


def check_epoch(stored: Epoch | None, given: Epoch, name: str) -> None:
    """Raise FencedError unless the store stands at this very epoch, or at an older one."""
    if stored is not None and stored != given and stored.number >= given.number:
        raise FencedError(f"epoch {stored.number} holds state {name!r}, this is epoch {given.number}; nothing written")


def is_in(position: Position | None, batch: BatchId, name: str) -> bool:
    """Tell whether the batch is in; raises MismatchError unless the state stands right before it or at it."""
    if position is None:
        raise MismatchError(f"{batch}: state {name!r} has never been registered; nothing was applied")
    if position.owner == batch.owner and position.txid == batch.txid - 1:
        return False
    if (position.owner, position.txid, position.attempt) == (batch.owner, batch.txid, batch.attempt):
        return True
    raise MismatchError(f"{batch}: state {name!r} {stands(position)}; nothing was applied")


def check_kind(kind: StateKind, batch: BatchId, updates: StagedUpdates | AppliedUpdates, name: str) -> None:
    """Raise CannotUndoError for a state that has a batch's rows and does not know what was before them."""
    if kind is not StateKind.OPAQUE and updates.count:
        raise CannotUndoError(
            f"{batch}: state {name!r} has it, or part of it, and is {kind.value}: only an opaque one knows the values "
            "before. "
            "Nothing was changed"
        )


def before_attempt(position: Position, batch: BatchId, before: int) -> int:
    """Return the attempt with which a state stood before a batch: none where it was born there."""
    return 0 if position.birth_txid == batch.txid - 1 else before


def check_undone(batch: BatchId, updates: StagedUpdates | AppliedUpdates, found: int, name: str) -> None:
    """Raise CannotUndoError unless as many rows were of the txid as the batch had staged."""
    if found != updates.count:
        raise CannotUndoError(
            f"{batch}: state {name!r} has {found} rows of this txid, {updates.count} were applied: somebody "
            "else changed them. Nothing was changed"
        )


def stands(position: Position) -> str:
    """Return where a state stands, for error messages."""
    return (
        f"stands at txid {position.txid} attempt {position.attempt} (born at {position.birth_txid}) "
        f"of incarnation {position.owner.incarnation} of {position.owner.topology!r}"
    )
