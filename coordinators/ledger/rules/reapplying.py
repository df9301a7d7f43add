"""When a txid may put diverted rows back, and how its plan says so: pure checks, as in `rules`.

The decision is recorded with the pin of that txid, and is the mark that the rows are back.
"""

from __future__ import annotations

from trident.base.errors import MismatchError
from trident.coordinators.decided import Decision, DecisionKind, RowsOf
from trident.coordinators.pinned import Pin
from trident.coordinators.planned import Plan

_DUE = f"{DecisionKind.REAPPLY} "


def due(rows: RowsOf) -> str:
    """Return the timer of a plan that puts rows back: what is due although nothing is read."""
    return f"{_DUE}{rows}"


def put_back_by(plan: Plan) -> str | None:
    """Return which rows a plan puts back, None of one that reads records."""
    return next((name.removeprefix(_DUE) for name in plan.timers if name.startswith(_DUE)), None)


def is_about(decision: Decision, txid: int) -> bool:
    """Tell whether a decision is one of a txid's story: also of the one whose rows it puts back."""
    is_reapply = decision.kind is DecisionKind.REAPPLY
    return decision.txid == txid or (is_reapply and RowsOf.named(decision.state).txid == txid)


def named_by(pin: Pin) -> RowsOf | None:
    """Return the rows that a pin puts back by its own word."""
    decision = pin.reapply
    return None if decision is None or decision.kind is not DecisionKind.REAPPLY else RowsOf.named(decision.state)


def check_reapplied(pin: Pin, count: int, put_back: int | None) -> Decision | None:
    """Return the decision that is recorded with a pin, None of a pin that puts nothing back.

    `count` is how many rows the ledger has of those that it names, under its locks, and `put_back` the txid that has
    put them back. Raises MismatchError for rows that are back by now or are not just these, and for a plan that does
    anything else.
    """
    decision, rows = pin.reapply, put_back_by(pin.plan)
    if decision is None:
        if rows is not None:
            raise _refused(pin, f"its plan puts rows of txid {rows} back, and it says nothing of that")
        return None
    if (decision.kind, decision.txid, decision.attempt) != (DecisionKind.REAPPLY, pin.txid, pin.attempt):
        raise _refused(pin, f"it carries a {decision}")
    if rows != decision.state:
        raise _refused(pin, f"its plan does not put rows of txid {decision.state} back")
    if _does_more(pin):
        raise _refused(pin, "it reads records, or has rows of its own, beside those that it puts back")
    if put_back is not None:
        raise _refused(pin, f"txid {put_back} has put the rows of txid {decision.state} back")
    given = [item.rows for item in pin.states if item.rows]
    if not count or given != [count]:
        raise _refused(
            pin, f"it has {sum(given)} rows, and {count} that were taken out of txid {decision.state} are kept"
        )
    return decision


def _does_more(pin: Pin) -> bool:
    plan = pin.plan
    reads = any(item.range.width for item in plan.ranges) or plan.received or plan.losses
    return bool(reads or len(plan.timers) > 1 or plan.diverts or pin.dead_letters or pin.manifests)


def _refused(pin: Pin, why: str) -> MismatchError:
    return MismatchError(f"txid {pin.txid} can't be pinned: {why}. Nothing was written.")
