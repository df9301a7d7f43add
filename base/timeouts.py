"""How long a silent owner keeps what it holds, and how long what is away is asked again: one value, handed down."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Timeouts:
    """What every connection of one run follows; whoever opens something gets it then.

    `RunOptions` decides it; a command that only reads has no run options and takes the defaults.
    """

    lease: timedelta = timedelta(seconds=10)
    """How long a holder may be silent; what a stopped process holds on a server ends before that."""
    give_up_after: timedelta = timedelta(minutes=2)
    """How long a server that does not answer is asked again."""
    batch_timeout: timedelta = timedelta(minutes=5)
    """How long one call of what users have written may take, in the coordinator's process."""


DEFAULT_TIMEOUTS = Timeouts()
