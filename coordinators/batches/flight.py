"""What a coordinator knows of one live batch, from the moment its plan is asked for until it is done or dropped."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from trident.base.identity import BatchId
from trident.coordinators.acking.acker import AckValue
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
