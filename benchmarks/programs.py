"""The systems that are measured, in one table: their programs, and where each leaves what it did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from benchmarks.history import History, noted_history, plain_history, trident_history


@dataclass(frozen=True, slots=True)
class Program:
    """A system's module, which has the same command line as all others, and what is known of it."""

    module: str
    history: Callable[[str], History]
    """Reads what a run has left in the database of this address."""
    other_tables: tuple[str, ...] = ()
    """What it counts in beside `balances`, as the column `n`."""
    is_usual: bool = False
    """Whether it is measured unless others are named."""
    is_ours: bool = True
    """Whether it runs on this library, so that another checkout's may run beside it."""
    recovers: bool = False
    """Whether it is killed, for the time until its successor's first commit."""


PROGRAMS: Final = {
    "trident": Program("benchmarks.systems.trident_run", trident_history, is_usual=True, recovers=True),
    "trident_two_states": Program("benchmarks.systems.trident_two_states", trident_history),
    "trident_four_states": Program(
        "benchmarks.systems.trident_four_states", trident_history, ("sizes", "extremes", "endings")
    ),
    "trident_audited": Program("benchmarks.systems.trident_audited", trident_history),
    "trident_new_values": Program("benchmarks.systems.trident_new_values", trident_history),
    "trident_without": Program("benchmarks.systems.trident_without", noted_history),
    "trident_outbox": Program("benchmarks.systems.trident_outbox", trident_history),
    "structured_streaming": Program(
        "benchmarks.systems.structured_streaming", plain_history, is_usual=True, is_ours=False
    ),
    "floor": Program("benchmarks.systems.floor", plain_history, is_usual=True, is_ours=False),
}
"""The systems by name."""
