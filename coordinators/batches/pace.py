"""When the loop does what."""

from __future__ import annotations

from typing import NamedTuple

from trident.coordinators.options import RunOptions, Until

_LONGEST_PAUSE_S = 10.0
_CLEAN_UP_EVERY = 50


class Pace(NamedTuple):
    """When the loop does what, in seconds and txids; the same for every batch of a run."""

    emit_interval: float
    idle_interval: float
    batch_timeout: float
    retry_pause: float
    ends_caught_up: bool
    clean_up_every: int

    @classmethod
    def of(cls, options: RunOptions) -> Pace:
        """Return what the options say of it."""
        return cls(
            options.emit_interval.total_seconds(),
            options.idle_interval.total_seconds(),
            options.batch_timeout.total_seconds(),
            options.retry_pause.total_seconds(),
            options.until is Until.CAUGHT_UP,
            _CLEAN_UP_EVERY,
        )

    def pause(self, tries: int) -> float:
        """Return how long to wait before a txid is planned for that time."""
        if tries == 1:
            return 0.0
        doubled = 2.0 ** min(tries - 2, 60)  # a float has an end, and tries count over restarts
        return min(self.retry_pause * doubled, _LONGEST_PAUSE_S)
