"""What a person's decisions make of a decided txid: whose rows are left out of it, and where they are kept instead."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.simulation.accounts import TOPOLOGY, Batch, Read, Rows, ViolationError, batch_of, read_by
from tests.simulation.data import SINK
from tests.simulation.sent import diverted_sums
from trident.coordinators.decided import Decision, DecisionKind
from trident.coordinators.ledger.memory.rows import Entry
from trident.coordinators.pinned import Pin

Tables = Mapping[str, Mapping[Any, Any]]


def is_decided(entry: Entry, kind: DecisionKind, pin: Pin) -> bool:
    """Tell whether the ledger says that a person decided this about the pinned attempt."""
    return any(
        (decision.kind, decision.txid, decision.attempt) == (kind, pin.txid, pin.attempt)
        for decision in entry.open_decisions()
    )


def decided_batch(old: Entry, entry: Entry, pin: Pin, tables: Tables, refused: Mapping[int, Read]) -> Batch:
    """Return the account of a txid that is pinned now; rows that it leaves out are of the records decided about."""
    batch = batch_of(pin.plan)
    for item in pin.diverts:
        decisions = [each for each in old.open_decisions() if _is_divert(each, pin.txid, item.state)]
        if not decisions:
            raise ViolationError(f"txid {pin.txid} leaves out rows of state {item.state!r}, which nobody decided")
        if refused.get(decisions[0].attempt) != read_by(pin.plan):
            raise ViolationError(
                f"txid {pin.txid} leaves out rows of {read_by(pin.plan)}, but attempt "
                f"{decisions[0].attempt} that was decided about read {refused.get(decisions[0].attempt)}"
            )
    left = {decision.state for decision in entry.open_decisions() if decision.txid == pin.txid}
    if left:
        raise ViolationError(f"txid {pin.txid} was pinned with the rows of {left}, which were to be left out")
    return _without(batch, (item.state for item in pin.diverts), entry, tables)


def diverted_since(old: Entry, entry: Entry, batch: Batch, tables: Tables) -> Batch:
    """Return the account of a pinned txid whose pin was changed: one state's rows were taken out of it."""
    closed = set(old.open_decisions()).difference(entry.open_decisions())
    decision = closed.pop() if len(closed) == 1 else None
    if decision is None or not _is_divert(decision, batch.txid, decision.state) or decision.attempt != batch.attempt:
        raise ViolationError(f"the pin of txid {batch.txid} was changed, which nobody decided")
    assert old.pin is not None
    assert entry.pin is not None
    for was, now in zip(old.pin.states, entry.pin.states, strict=True):
        if now != was and (was.state != decision.state or now.rows or now.writes):
            raise ViolationError(f"the {decision} changed what is pinned for state {was.state!r}")
    return _without(batch, (decision.state,), entry, tables)


def refused_since(old: Entry, entry: Entry, refused: Mapping[int, Read]) -> dict[int, Read]:
    """Return what refused attempts were to read; each one is live when it is refused, and next in turn."""
    known = dict(refused)
    for epoch in entry.refusals.keys() - old.refusals.keys():
        refusal = entry.refusals[epoch].refusal
        stored = old.live_plan(refusal.attempt)
        if stored is None or stored.plan.txid != refusal.txid or refusal.txid != old.progress.done + 1:
            raise ViolationError(f"{refusal} is about no live attempt that is next in turn")
        known[refusal.attempt] = read_by(stored.plan)
    return known


def check_void(old: Entry, entry: Entry, refused: Mapping[int, Read]) -> None:
    """A decision is void when other records take the txid, or the same is decided about a later attempt at these."""
    new = {_about(kept.decision) for epoch, kept in entry.decisions.items() if epoch not in old.decisions}
    for epoch, kept in entry.decisions.items():
        before = old.decisions.get(epoch)
        if kept.void and before is not None and not before.void and _about(kept.decision) not in new:
            plan = entry.live[-1].plan
            if plan.txid != kept.decision.txid or read_by(plan) == refused.get(kept.decision.attempt):
                raise ViolationError(f"the {kept.decision} was made void by {plan}")


def _about(decision: Decision) -> tuple[DecisionKind, int, str]:
    return decision.kind, decision.txid, decision.state


def _is_divert(decision: Decision, txid: int, state: str) -> bool:
    return (decision.kind, decision.txid, decision.state) == (DecisionKind.DIVERT, txid, state)


def _without(batch: Batch, states: Iterable[str], entry: Entry, tables: Tables) -> Batch:
    """Require that the rows left out are kept, exactly."""
    states = frozenset(states)
    for state in states:
        kept = tables.get("trident_diverted", {}).get((TOPOLOGY, entry.progress.incarnation, batch.txid, state))
        rows = kept.rows if kept is not None else ()
        found = diverted_sums(rows) if state == SINK else _diverted_values(rows)
        if found != batch.delta:
            raise ViolationError(
                f"of txid {batch.txid} state {state!r} was to keep {batch.delta}, the ledger has {rows}"
            )
    return replace(batch, diverted=batch.diverted | states)


def _diverted_values(rows: Sequence[str]) -> Rows:
    values = [json.loads(row) for row in rows]
    found: Rows = {(row["key"],): (row["n"], row["total"]) for row in values}
    if len(values) != len(found):
        raise ViolationError(f"a key is kept twice in {rows}")
    return found
