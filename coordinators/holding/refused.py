"""What a start says that finds a refusal waiting for a person."""

from __future__ import annotations

from collections.abc import Callable, Collection

from trident.base.errors import DecisionNeededError
from trident.coordinators.decided import DecisionKind
from trident.coordinators.gone import Gone
from trident.coordinators.refusals import decision_needed, refused_by_state, ways_on
from trident.coordinators.registered import Snapshot


def refused_start(
    snapshot: Snapshot, received: Collection[str], waiting: frozenset[str], undo_way: Callable[[], str]
) -> DecisionNeededError:
    """Return the error: what was refused, what is where, and the commands that go on.

    `received` are the streams that can't be read again, `waiting` the states that wait for what is pinned; `undo_way`
    says whether that can be undone.
    """
    topology, refusal = snapshot.owner.topology, snapshot.refusal
    assert refusal is not None
    found = refused_by_state(topology, refusal)
    if snapshot.pin is None or snapshot.pin.txid != refusal.txid:
        text = f"{found} Nothing of it is pinned or applied; txid {snapshot.done} is done."
        about = DecisionKind.DIVERT, refusal.txid, refusal.state
        left_out = any((each.kind, each.txid, each.state) == about for each in snapshot.decisions)
        gone = _gone(snapshot, refusal.attempt, received)
        return decision_needed(topology, text, refusal, ways_on(topology, refusal, left_out=left_out, gone=gone))
    pinned = {item.state for item in snapshot.pin.states}
    holders = ", ".join(repr(name) for name in sorted(pinned - waiting)) or "no state"
    names = ", ".join(repr(name) for name in sorted(waiting)) or "none"
    text = f"{found} It is pinned: {holders} has it, waiting for it: {names}; txid {snapshot.done} is done."
    return decision_needed(topology, text, refusal, ways_on(topology, refusal, undo=undo_way()))


def _gone(snapshot: Snapshot, attempt: int, received: Collection[str]) -> Gone | None:
    """Return what of an attempt that is not pinned ended with the process that had received it."""
    plans = (*snapshot.live, *snapshot.refused)
    plan = next((plan for plan in plans if plan.attempt == attempt), None)
    return Gone.of(received, None if plan is None else plan.ranges)
