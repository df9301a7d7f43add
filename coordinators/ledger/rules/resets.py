"""When a new incarnation may be decided and opened."""

from __future__ import annotations

from trident.base.errors import MismatchError
from trident.coordinators.decided import ResetDecision, ResetStart
from trident.coordinators.ledger.rules.progress import Progress
from trident.coordinators.planned import Plan, StartPosition


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


def takes_the_place_of(decision: ResetDecision, stored: ResetDecision) -> bool:
    """Tell whether a reset may be decided while that other one is not finished.

    One that keeps rows can lose them before every state has followed, and would have no way out. Emptied is emptied
    whatever a state has followed before; it opens an incarnation of its own, so that none is taken for emptied yet.
    """
    is_way_out = (stored.states, decision.states) == ("adopt", "clear")
    return is_way_out and decision.incarnation != stored.incarnation and decision.birth_txid >= stored.birth_txid


def is_repeated_reset(topology: str, stored: ResetDecision | None, decision: ResetDecision) -> bool:
    """Tell whether this very decision is open already; another open one is refused unless this takes its place."""
    if stored is None:
        return False
    if stored != decision and takes_the_place_of(decision, stored):
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


def starts_of_reset(
    decision: ResetDecision, done: Plan | None, starts: tuple[StartPosition, ...] | None
) -> tuple[StartPosition, ...] | None:
    """Return where the new incarnation begins, None while that is to be asked.

    An older version's reset, which names no numbers, resumes where the old incarnation stands.
    """
    if decision.begins is not None or decision.start != ResetStart.RESUME:
        return decision.begins
    return going_on(done, starts)


def going_on(done: Plan | None, starts: tuple[StartPosition, ...] | None) -> tuple[StartPosition, ...] | None:
    """Return where an incarnation goes on: what it has read, and the beginning of what it has not read from yet.

    None while no start is resolved.
    """
    if done is None:
        return starts
    read = tuple(
        StartPosition(item.spout, item.range.id, item.range.topic_id, item.range.stop, item.range.epoch)
        for item in done.ranges
    )
    known = {(item.spout, item.id) for item in read}
    return (*read, *(item for item in starts or () if (item.spout, item.id) not in known))
