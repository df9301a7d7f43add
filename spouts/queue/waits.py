"""How long to wait when a source had nothing: `next_tuple` is called in a loop, which must not burn a core."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import Protocol

from trident.base.checks import check_count, check_seconds
from trident.base.errors import FatalError

INACTIVE_S: float = 0.1
"""What a spout that is not active waits between two looks."""


class WaitStrategy(Protocol):
    """Says how long to wait; pickled to the spout's process, and called there by one thread.

    What it raises, the spout has raised.
    """

    def pause(self, streak: int) -> float:
        """Return seconds, 0 for none, after so many calls in a row that had nothing (1, 2, 3 …)."""


def pause_of(strategy: WaitStrategy, streak: int) -> float:
    """Return how long a strategy has said to wait; raises `FatalError` where that is no time, which nobody can wait."""
    given: object = strategy.pause(streak)
    if isinstance(given, int | float) and math.isfinite(given) and given >= 0:
        return min(given, threading.TIMEOUT_MAX)
    shown = repr(given) if isinstance(given, int | float) else f"a value of type {type(given).__name__}"
    raise FatalError(
        f"of {type(strategy).__qualname__} has returned {shown}, which is no number of seconds (0 for no pause, or "
        "more). Correct it and start again"
    )


@dataclass(frozen=True, slots=True)
class SleepWait:
    """Waits the same time after each call that had nothing."""

    seconds: float = 0.001

    def __post_init__(self) -> None:
        check_seconds("SleepWait's seconds", self.seconds)

    def pause(self, streak: int) -> float:
        """See `WaitStrategy`."""
        return self.seconds


@dataclass(frozen=True, slots=True)
class ProgressiveWait:
    """Does not wait for the first calls that had nothing, then a little, then longer: quick when busy, cheap when idle.

    Storm's strategy of the same name, with its three levels.
    """

    eager: int = 10
    """How many calls in a row are made without a pause."""
    soon: int = 1_000
    """Up to which streak the short pause holds."""
    short_s: float = 0.001
    long_s: float = 0.02

    def __post_init__(self) -> None:
        check_count("ProgressiveWait's eager", self.eager, least=0)
        check_count("ProgressiveWait's soon", self.soon, least=0)
        check_seconds("ProgressiveWait's short_s", self.short_s)
        check_seconds("ProgressiveWait's long_s", self.long_s)

    def pause(self, streak: int) -> float:
        """See `WaitStrategy`."""
        if streak <= self.eager:
            return 0.0
        return self.short_s if streak <= self.soon else self.long_s
