"""When the loop does what."""

from __future__ import annotations

from typing import NamedTuple

from trident.coordinators.options import RunOptions, Until
from trident.coordinators.protocol.messages import MakePlan

_LONGEST_PAUSE_S = 10.0
_CLEAN_UP_EVERY = 50


class Pace(NamedTuple):
    """When the loop does what, in seconds and txids; the same for every batch of a run."""

    emit_interval: float
    idle_interval: float
    batch_timeout: float
    retry_pause: float
    ends_caught_up: bool
    max_wait: float | None
    """None waits as long as something is being processed."""
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
            None if options.max_wait is None else options.max_wait.total_seconds(),
            _CLEAN_UP_EVERY,
        )

    def waits(self, is_busy: bool, part_full_since: float | None, now: float) -> bool:
        """Tell whether a batch that does not fill its limits is left for later.

        `is_busy` while an earlier one is being processed; `part_full_since` is when such a batch was first left.
        """
        if self.max_wait is None:
            return is_busy
        return now < self.max_wait + (now if part_full_since is None else part_full_since)

    def looks_again(self, part_full_since: float | None, now: float) -> float:
        """Return the moment of the next plan after one that brought nothing."""
        idle = now + self.idle_interval
        if self.max_wait is None or part_full_since is None:
            return idle
        return min(idle, part_full_since + self.max_wait)

    def pause(self, plan: MakePlan) -> float:
        """Return how long to wait before a txid is planned for that time; also where the one before was no try."""
        if plan.tries == 1 and plan.drop_from is None:
            return 0.0
        doubled = 2.0 ** min(max(plan.tries - 2, 0), 60)  # a float has an end, and tries count over restarts
        return min(self.retry_pause * doubled, _LONGEST_PAUSE_S)
