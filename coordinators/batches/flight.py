"""What a coordinator knows of one live batch, from the moment its plan is asked for until it is done or dropped."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from trident.base.identity import BatchId
from trident.coordinators.acking.acker import AckValue
from trident.coordinators.acking.edges import BatchEdges, edge_ids
from trident.coordinators.batches.outcome import Outcome
from trident.coordinators.planned import Plan

NEVER = inf


class Flight(NamedTuple):
    """One live attempt; which of the fields are set follows from its status (`Loop` asserts it)."""

    batch: BatchId
    asked_at: float
    """When its plan was asked for."""
    plan: Plan | None = None
    plan_ms: int = 0
    acks: AckValue | None = None
    """While it is processed."""
    deadline: float = NEVER
    """When it has failed unless it is processed by then, or its work in the commit turn is done."""
    outcome: Outcome | None = None
    """Once it is processed: all that its pin will say, and its staged updates."""
    blocked_by: BaseException | None = None
    """Why nothing more is tried with it; ends the run once everything before it is done."""

    def stored(self, plan: Plan, now: float) -> Flight:
        """Return it once its plan is stored."""
        return self._replace(plan=plan, plan_ms=round((now - self.asked_at) * 1000))

    def reading(self, edges: BatchEdges, deadline: float) -> Flight:
        """Return it while its plan is read under these edges."""
        return self._replace(acks=AckValue.expecting(edge_ids(edges)), deadline=deadline)

    def overdue(self, batch_timeout: float) -> str:
        """Return why it has failed once its deadline is over."""
        what = "not processed" if self.outcome is None else "its work in the commit turn was not done"
        return f"{what} within {batch_timeout:.0f} s"
