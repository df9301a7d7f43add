"""When the last txid that is done may become the pinned one again, to be undone like one: pure checks, as in `rules`.

Nothing is decided anew by it: where the txid began is in its plan, whatever a topic or a start policy would say now.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from trident.base.errors import MismatchError
from trident.coordinators.decided import Decision, Refusal
from trident.coordinators.last_done import LastDone
from trident.coordinators.ledger.rules.reapplying import put_back_by
from trident.coordinators.planned import Plan, SpoutRange


def check_taken_back(
    done: tuple[int, int],
    pinned: tuple[int, int] | None,
    decision: Decision,
    found: LastDone | None,
    refusal: Refusal | None,
    open_decisions: Sequence[Decision],
) -> Plan:
    """Return the plan of the txid before, with every partition; raises MismatchError for what can't be taken back.

    `done` and `pinned` are txid and attempt of the last txid that is done, and of the one that is pinned.
    """
    if (decision.txid, decision.attempt) != done:
        raise not_taken_back(decision, f"txid {done[0]} attempt {done[1]} is the last one that is done")
    if pinned is not None:
        raise not_taken_back(decision, f"txid {pinned[0]} is pinned and not done: that one has to be finished first")
    if open_decisions:
        raise not_taken_back(decision, f"a {open_decisions[0]} was decided and is not finished")
    if refusal is not None and refusal.blocks:
        raise not_taken_back(decision, f"txid {refusal.txid} was refused and waits for a person: decide about it first")
    if found is None:
        raise not_taken_back(decision, "the ledger has not kept what was applied with it")
    for problem in _problems(found):
        raise not_taken_back(decision, problem)
    assert found.before is not None
    return _plan_before(decision, found.pin.plan, found.before)


def not_taken_back(decision: Decision, why: str) -> MismatchError:
    """Return the error that says why a txid that is done stays so."""
    return MismatchError(
        f"no {decision}: it is done, and {why}. Nothing was changed, and the topology goes on from txid "
        f"{decision.txid} as before."
    )


def _problems(found: LastDone) -> Iterator[str]:
    """Say what keeps it from being taken back, the first thing first."""
    pin, plan = found.pin, found.pin.plan
    if plan.predecessor == 0:
        yield "it is the first of its incarnation: before it there is nothing to go back to"
    if found.before is None:
        yield f"the ledger has let go of the plan of txid {plan.txid - 1}, which it follows on"
    if plan.losses:
        yield "it has recorded that offsets were lost"
    rows = put_back_by(plan)
    if rows is not None:
        yield f"it has put the rows back that were taken out of txid {rows}: no stream has these to be read again"
    if plan.received or plan.timers:
        yield "it has messages, or was due at a time: these don't come again"
    if pin.dead_letters or found.dead_letters:
        letters = max(len(pin.dead_letters), found.dead_letters)
        yield f"it has {letters} dead letters, which somebody may have read"
    if plan.diverts or found.diverted:
        yield "rows of it were diverted, which somebody may have read"
    for birth in found.births:
        if birth.txid is None or birth.txid >= plan.txid:
            yield f"state {birth.state!r} came behind it, or nobody knows when"
        for column in birth.columns:
            if column.txid >= plan.txid:
                yield f"value {column.column!r} of state {birth.state!r} came behind it"
    for gone in found.taken_out:
        if gone.txid >= plan.txid:
            yield f"{gone.state!r} was taken out behind it, and keeps what it has of it"


def _plan_before(decision: Decision, plan: Plan, before: Plan) -> Plan:
    """Return the plan before with every partition: those that it did not change stand where the plan begins.

    So does one that the plan was the first to know: it has been seen, and begins where it has begun. What proves the
    log up to the stop of a range proves it up to its start.
    """
    ranges = {
        (item.spout, item.range.id): SpoutRange(item.spout, replace(item.range, stop=item.range.start))
        for item in plan.ranges
    }
    for item in before.ranges:
        key = (item.spout, item.range.id)
        begun = ranges.get(key)
        if begun is None or (begun.range.topic_id, begun.range.start) != (item.range.topic_id, item.range.stop):
            raise not_taken_back(decision, f"its plan does not begin where that of txid {before.txid} stops")
        ranges[key] = item
    if (before.txid, before.attempt) != (plan.txid - 1, plan.predecessor):
        raise not_taken_back(decision, f"its plan does not follow on attempt {before.attempt} of txid {before.txid}")
    return replace(before, ranges=tuple(item for _, item in sorted(ranges.items())))
