"""What a person's decisions make of a decided txid: whose rows are left out of it, and where they are kept instead."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from tests.simulation.accounts import TOPOLOGY, Batch, ViolationError, batch_of
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


def decided_batch(old: Entry, entry: Entry, pin: Pin, tables: Tables) -> Batch:
    """Return the account of a txid that is pinned now; rows that it leaves out were decided about before."""
    batch = batch_of(pin.plan)
    for item in pin.diverts:
        if not any(_is_divert(decision, pin.txid, item.state) for decision in old.open_decisions()):
            raise ViolationError(f"txid {pin.txid} leaves out rows of state {item.state!r}, which nobody decided")
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


def _is_divert(decision: Decision, txid: int, state: str) -> bool:
    return (decision.kind, decision.txid, decision.state) == (DecisionKind.DIVERT, txid, state)


def _without(batch: Batch, states: Iterable[str], entry: Entry, tables: Tables) -> Batch:
    """Require that the rows left out are kept, exactly."""
    states = frozenset(states)
    for state in states:
        kept = tables["trident_diverted"].get((TOPOLOGY, entry.progress.incarnation, batch.txid, state))
        rows = [json.loads(row) for row in kept.rows] if kept is not None else None
        found = {(row["key"],): (row["n"], row["total"]) for row in rows or ()}
        if rows is None or len(rows) != len(found) or found != batch.delta:
            raise ViolationError(
                f"of txid {batch.txid} state {state!r} was to keep {batch.delta}, the ledger has {rows}"
            )
    return replace(batch, diverted=batch.diverted | states)
