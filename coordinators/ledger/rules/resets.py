"""When a new incarnation may be decided and opened."""

from __future__ import annotations

from trident.base.errors import MismatchError
from trident.coordinators.decided import ResetDecision
from trident.coordinators.ledger.rules.progress import Progress


def check_reset(progress: Progress, decision: ResetDecision) -> None:
    """Refuse a birth that would use a txid twice, and to adopt rows while a txid is pinned (clearing makes it void)."""
    if decision.states not in ("clear", "adopt"):
        raise MismatchError(f"states={decision.states!r} is no reset decision; say 'clear' or 'adopt'.")
    if progress.pinned is not None and decision.states == "adopt":
        raise MismatchError(
            f"txid {progress.pinned} is pinned and not done: adopting rows now would tear it. Nothing was written; "
            "the next start of the topology rolls it forward."
        )
    if decision.birth_txid < progress.last_txid:
        raise MismatchError(
            f"a new incarnation can't be born at txid {decision.birth_txid}: txid {progress.last_txid} was planned "
            "before, and txids are never reused. Nothing was written."
        )


def is_repeated_reset(topology: str, stored: ResetDecision | None, decision: ResetDecision) -> bool:
    """Tell whether this very decision is open already; another open one is refused."""
    if stored is None:
        return False
    if stored != decision:
        raise MismatchError(
            f"topology {topology!r}: another reset, to incarnation {stored.incarnation}, was decided and is not "
            "finished. Nothing was written; the next start of the topology finishes it."
        )
    return True


def check_open_reset(topology: str, stored: ResetDecision | None, decision: ResetDecision) -> None:
    """Refuse to finish what was not decided."""
    if stored is None or not is_repeated_reset(topology, stored, decision):
        raise MismatchError(
            f"topology {topology!r}: no reset to incarnation {decision.incarnation} was decided. Nothing was written."
        )
