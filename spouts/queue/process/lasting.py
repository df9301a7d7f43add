"""When the log hears of what lasts too long: pure."""

from __future__ import annotations

from typing import Final

from trident.spouts.queue.process.wire import HoldsBack

LONG_S: Final = 10.0
"""After so many seconds it is said first."""
STARTING: Final = "it imports what its spout needs, which takes longer where the machine has much else to do"
"""What a process does before it says its first word."""


class Doubling:
    """Says of one thing that lasts when it is told: once it has lasted so long, and again whenever twice as long."""

    def __init__(self, first: float) -> None:
        self._limit = first

    def is_due(self, lasted: float) -> bool:
        """Tell whether it is told now."""
        if lasted < self._limit:
            return False
        self._limit *= 2
        return True


class HeldBack:
    """Since when nothing was given although there was something, and when that is said next."""

    def __init__(self, first: float) -> None:
        self._first = first
        self._began: tuple[float, Doubling] | None = None

    def look(self, why: str, now: float) -> HoldsBack | None:
        """Hear why nothing is given, empty for no such reason; returns what is to be said, if it is time."""
        if not why:
            self.end()
        elif self._began is None:
            self._began = now, Doubling(self._first)
        else:
            since, telling = self._began
            if telling.is_due(lasted := now - since):
                return HoldsBack(why, lasted)
        return None

    def end(self) -> None:
        """Hear that something was given."""
        self._began = None
