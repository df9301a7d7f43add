"""The way of a record from Kafka to where a reader sees it, cut into phases that add up to the whole, record by record.

A record *waits* from its Kafka timestamp until a plan is begun that takes it, the *plan* is made and stored, its
records are *processed*, and the batch waits for its *turn* and commits. When a plan was begun is what the ledger stores
as the batch's time; how long plan and processing took it stores in whole milliseconds; the end is the server's time of
the commit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.history import Batch, History

Milliseconds = npt.NDArray[np.float64]
"""One for each record."""
PHASES = ("waiting for a plan", "plan", "processing", "turn and commit")


@dataclass(frozen=True, slots=True)
class Phase:
    """What records spent in one phase; the means of all phases add up to the mean of the whole, percentiles don't."""

    name: str
    ms_mean: float
    ms_p50: float
    ms_p99: float


def phases_ms(history: History, timestamps: npt.NDArray[np.int64]) -> dict[str, Milliseconds] | None:
    """Return each record's time in every phase, by the record's number; None where the batches' steps are not known.

    None of them is below zero: a record that came while its plan was being made has waited for none, and no step ends
    behind the commit.
    """
    found = {name: np.full(len(timestamps), np.nan) for name in PHASES}
    for batch in history.batches:
        moments = _moments_ms(batch)
        if moments is None:
            return None
        numbers = batch.numbers()
        before = timestamps[numbers].astype(np.float64)
        end = batch.committed_at * 1000
        for name, moment in zip(PHASES, (*moments, end), strict=True):
            now = np.maximum(before, min(moment, end)) if name != PHASES[-1] else np.full(len(numbers), end)
            found[name][numbers] = now - before
            before = now
    return found


def summed_up(phases: dict[str, Milliseconds], first: int) -> tuple[Phase, ...]:
    """Return mean and percentiles of each phase over the records from one on."""
    return tuple(_summed_up(name, each[first:]) for name, each in phases.items())


def _moments_ms(batch: Batch) -> tuple[float, float, float] | None:
    """Return when the plan was begun and stored, and when its records were processed."""
    steps = batch.steps
    if steps is None:
        return None
    planned = steps.planned_at * 1000
    return planned, planned + steps.plan_ms, planned + steps.plan_ms + steps.process_ms


def _summed_up(name: str, each: Milliseconds) -> Phase:
    p50, p99 = np.percentile(each, [50, 99])
    return Phase(name, float(each.mean()), float(p50), float(p99))
