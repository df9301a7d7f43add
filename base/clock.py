"""Time as an argument: the coordinator never reads a clock that it was not given."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Two kinds of time; both may be called from any thread."""

    def monotonic(self) -> float:
        """Return seconds that never go back, for durations and deadlines."""

    def now(self) -> datetime:
        """Return the wall-clock time in UTC, for records that people read."""


class SystemClock:
    """The clocks of this machine."""

    def monotonic(self) -> float:
        """Return the system's monotonic clock."""
        return time.monotonic()

    def now(self) -> datetime:
        """Return the system's time."""
        return datetime.now(UTC)
