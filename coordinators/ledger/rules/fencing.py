"""Who may write: the epoch that is stored, in the incarnation that is, while nothing decided is unfinished."""

from __future__ import annotations

from trident.base.errors import FencedError, LeaseHeldError, MismatchError
from trident.base.identity import Epoch, Owner
from trident.coordinators.ledger.rules.progress import Progress


def check_epoch(topology: str, stored: Epoch | None, epoch: Epoch) -> None:
    """Refuse a writer whose epoch is not the stored one."""
    if stored != epoch:
        number = stored.number if stored else "none"
        raise FencedError(
            f"topology {topology!r}: epoch {epoch.number} is not the stored one ({number}); another coordinator has "
            "taken over. Nothing was written; this coordinator must stop."
        )


def check_owner(progress: Progress, owner: Owner) -> None:
    """Refuse a writer of another incarnation, and every write while a decided reset or undo is unfinished."""
    check_life(progress, owner)
    if progress.undoing is not None:
        raise MismatchError(
            f"topology {owner.topology!r}: an undo of txid {progress.pinned} attempt {progress.undoing} was decided "
            "and is not finished. Nothing was written; the next start of the topology finishes it first."
        )


def check_life(progress: Progress, owner: Owner) -> None:
    """Refuse a writer of another incarnation, and while a decided reset is unfinished."""
    if progress.incarnation != owner.incarnation:
        raise MismatchError(
            f"topology {owner.topology!r} is in incarnation {progress.incarnation}, not {owner.incarnation}: it was "
            "reset meanwhile. Nothing was written; start the topology again."
        )
    if progress.reset_to is not None:
        raise MismatchError(
            f"topology {owner.topology!r}: a reset to incarnation {progress.reset_to} was decided and is not finished. "
            "Nothing was written; the next start of the topology finishes it first."
        )


def lease_held(topology: str, holder: str, seconds_left: float, epoch: Epoch) -> LeaseHeldError:
    """Return the error that says who holds the topology and for how long."""
    return LeaseHeldError(
        f"topology {topology!r} is held by {holder}, whose lease ends in {max(seconds_left, 0.0):.1f} s unless it is "
        "renewed. Nothing was changed; stop that coordinator, or wait for it.",
        epoch.number,
    )
