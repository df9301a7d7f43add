"""Which runs the study consists of, in full and on a smaller scale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from reliability import published
from reliability.cases import MAX_PENDING, Case, Fault
from trident import Level

_OF_OPERATIONS = (Fault.BEFORE_EMIT, Fault.AFTER_EMIT, Fault.WORKER)


def cases(scale: float = 1.0) -> tuple[Case, ...]:
    """Return all runs, level by level; a scale below one takes fewer numbers, and as many faults."""
    whole = (*_at_most_once(), *_at_least_once(), *_exactly_once())
    least = 2 * MAX_PENDING
    return tuple(replace(case, numbers=max(round(case.numbers * scale), least)) for case in whole)


def _at_most_once() -> Iterator[Case]:
    for numbers in published.WITHOUT_FAULT_AT_MOST_ONCE:
        yield Case(Level.AT_MOST_ONCE, Fault.NONE, 0, numbers)
    for fault in (*_OF_OPERATIONS, Fault.SPOUT):
        for faults in published.LOST:
            yield Case(Level.AT_MOST_ONCE, fault, faults, published.LOST_OF)


def _at_least_once() -> Iterator[Case]:
    for numbers in published.WITHOUT_FAULT_AT_LEAST_ONCE:
        yield Case(Level.AT_LEAST_ONCE, Fault.NONE, 0, numbers)
    for fault, twice in published.TWICE.items():
        for faults in twice:
            yield Case(Level.AT_LEAST_ONCE, fault, faults, published.TWICE_OF)
    for faults in published.TWICE[Fault.AFTER_EMIT]:
        yield Case(Level.AT_LEAST_ONCE, Fault.WORKER, faults, published.TWICE_OF)


def _exactly_once() -> Iterator[Case]:
    for numbers in published.WITHOUT_FAULT_EXACTLY_ONCE:
        yield Case(Level.EXACTLY_ONCE, Fault.NONE, 0, numbers)
    for fault in (Fault.ACKER, Fault.SPOUT, *_OF_OPERATIONS):
        for faults in (1, 2, 3):
            yield Case(Level.EXACTLY_ONCE, fault, faults, published.ONCE_OF)
