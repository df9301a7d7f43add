"""How a topology is run; checked once, when it is made."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import timedelta
from enum import StrEnum

from trident.base.errors import ConfigurationError
from trident.base.timeouts import DEFAULT_TIMEOUTS, Timeouts
from trident.coordinators.registered import Keep


class OnRunning(StrEnum):
    """What a coordinator does when another one runs the topology."""

    WAIT = "wait"
    """Wait until the other's lease ends, then take over."""
    REFUSE = "refuse"
    """Raise LeaseHeldError at once."""


class Until(StrEnum):
    """When a run ends by itself."""

    STOPPED = "stopped"
    """Only when it is stopped."""
    CAUGHT_UP = "caught_up"
    """When a plan finds nothing to read and all before it is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a topology is run. Raises ConfigurationError for a limit that is not above zero."""

    max_pending: int = 3
    """How many batches are planned or processed at once; commits are one by one in any case."""
    max_tries: int = 10
    """After so many failed attempts at one txid the topology stops."""
    batch_timeout: timedelta = timedelta(minutes=5)
    """How long one attempt may be processed before it is cancelled and tried again."""
    emit_interval: timedelta = timedelta(0)
    """How long at least between the plans of two batches."""
    idle_interval: timedelta = timedelta(milliseconds=100)
    """How long to wait after a plan that found nothing to read."""
    retry_pause: timedelta = timedelta(milliseconds=200)
    """Pause before a second attempt; doubled for each further one, up to ten seconds."""
    give_up_after: timedelta = DEFAULT_TIMEOUTS.give_up_after
    """How long an unreachable broker or database is tried again before the topology stops."""
    lease: timedelta = DEFAULT_TIMEOUTS.lease
    """How long after its last heartbeat a coordinator still holds the topology.

    Every connection to Postgres, of ledger, states and tasks, follows it: what a stopped process holds there
    ends before the lease does.
    """
    on_running: OnRunning = OnRunning.WAIT
    until: Until = Until.STOPPED
    keep: Keep = field(default_factory=Keep)

    @property
    def timeouts(self) -> Timeouts:
        """What all that is opened for the run follows."""
        return Timeouts(self.lease, self.give_up_after)

    def __post_init__(self) -> None:
        may_be_zero = {"emit_interval", "idle_interval", "retry_pause"}
        for item in fields(self):
            value = getattr(self, item.name)
            limit = timedelta(0) if isinstance(value, timedelta) else 0
            if not isinstance(value, int | timedelta):
                continue
            if value < limit or (value == limit and item.name not in may_be_zero):  # type: ignore[operator]
                raise ConfigurationError(f"{item.name} must be above zero, not {value}; nothing was started")
