"""Where a target stands, and what a store without SQL decides by that: as the SQL stores' first statement does."""

from __future__ import annotations

from dataclasses import dataclass

from trident.base.errors import FencedError, MismatchError
from trident.base.identity import BatchId, Epoch, Owner


@dataclass(frozen=True, slots=True)
class Position:
    """Where a target stands: it holds every txid up to `txid`, the last one as that attempt put it.

    `birth_txid` is the txid before the target's first one; a target stands there with attempt 0.
    """

    owner: Owner
    txid: int
    attempt: int
    birth_txid: int


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a state stands and which epoch may write it."""

    position: Position | None
    epoch: Epoch


def check_epoch(stored: Epoch | None, given: Epoch, name: str) -> None:
    """Raise FencedError unless the store stands at this very epoch, or at an older one."""
    if stored is not None and stored != given and stored.number >= given.number:
        found = f"epoch {stored.number} holds state {name!r}, this is epoch {given.number}; nothing written"
        raise FencedError(found, stored.number)


def is_held(stored: Epoch | None, given: Epoch, name: str) -> bool:
    """Tell whether the store stands at this very epoch: asked before what may be another's is deleted.

    It stands at an older one, or none, where it was put back or emptied under a process that lives on, or where a late
    put of a dead owner came behind the fence. Raises FencedError where a newer one holds it.
    """
    check_epoch(stored, given, name)
    return stored == given


def put_back(name: str) -> MismatchError:
    """Return what is said where staging should be deleted, and the store does not stand at this epoch."""
    return MismatchError(
        f"{name!r} does not stand at the epoch that holds it: it was put back or emptied meanwhile, or a late write of "
        "a dead owner came in. Nothing was deleted: give the command again"
    )


def is_in(position: Position | None, batch: BatchId, name: str) -> bool:
    """Tell whether the batch is in; raises MismatchError unless the state stands right before it or at it."""
    if position is None:
        raise MismatchError(f"{batch}: state {name!r} has never been registered; nothing was applied")
    if position.owner == batch.owner and position.txid == batch.txid - 1:
        return False
    if (position.owner, position.txid, position.attempt) == (batch.owner, batch.txid, batch.attempt):
        return True
    raise MismatchError(f"{batch}: state {name!r} {stands(position)}; nothing was applied")


def before_attempt(position: Position, batch: BatchId, before: int) -> int:
    """Return the attempt with which a state stood before a batch: none where it was born there."""
    return 0 if position.birth_txid == batch.txid - 1 else before


def stands(position: Position) -> str:
    """Return where a state stands, for error messages."""
    return (
        f"stands at txid {position.txid} attempt {position.attempt} (born at {position.birth_txid}) "
        f"of incarnation {position.owner.incarnation} of {position.owner.topology!r}"
    )
