"""How a topology is run; checked once, when it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import timedelta
from enum import StrEnum

from trident.base.checks import check_count, check_duration, check_function, check_instance, refused
from trident.base.errors import ConfigurationError
from trident.base.policies import policy_of
from trident.base.timeouts import DEFAULT_TIMEOUTS, Timeouts
from trident.coordinators.registered import Keep
from trident.coordinators.run_events import RunListener

LONGEST_WAIT = timedelta(hours=24)
"""The longest lease, and the longest time that a server is asked again: within what PostgreSQL and TCP can be told."""
SHORTEST_LEASE = timedelta(milliseconds=50)
"""The server ends what is silent for half of a lease, and a connection asks after a quarter: in whole milliseconds, and
with room for a round trip to a server nearby."""
LONGEST_SPAN = timedelta(days=36_500)
"""The longest of all other times: a moment that is so far away can still be computed."""
_MAY_BE_ZERO = ("ackers", "emit_interval", "idle_interval", "max_wait", "retry_pause")
_MAY_BE_LEFT_OUT = ("max_wait",)
_LAST_PORT = 65_535
_BOUNDED = ("lease", "give_up_after")


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


class Audit(StrEnum):
    """Whether every batch has to account for its records, step by step, before it can be committed."""

    OFF = "off"
    """It is not asked, and nothing is paid for it."""
    ON = "on"
    """A step that has lost or doubled a record fails the attempt, and is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a topology is run. Raises ConfigurationError for what is none of the values allowed."""

    max_pending: int = 3
    """How many batches are planned or processed at once; commits are one by one in any case."""
    max_tries: int = 10
    """After so many failed attempts at one txid the topology stops."""
    batch_timeout: timedelta = DEFAULT_TIMEOUTS.batch_timeout
    """How long one attempt may be processed before it is cancelled and tried again, and how long one call of a combiner
    or of your own map may take in the coordinator before the run ends."""
    emit_interval: timedelta = timedelta(0)
    """How long at least between the plans of two batches."""
    idle_interval: timedelta = timedelta(milliseconds=100)
    """How long to wait after a plan that found nothing to read."""
    max_wait: timedelta | None = None
    """How long a record may wait for a fuller batch, from the moment the run sees it and has room for a batch.

    None: as long as an earlier batch is being processed, and no longer, which adapts to the load. Zero: not at all.
    Any other time: a batch that does not fill its limits waits that long, also where nothing else is to be done:
    fewer and larger batches, for records that may be late. A spout without limits never fills a batch, and a run until
    caught up waits for its last batch, too. What a run finds at first does not wait, nor what is read as it was.
    """
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
    """What to do while another coordinator runs the topology: "wait", or "refuse"."""
    until: Until = Until.STOPPED
    """When the run ends by itself: "stopped" (never), or "caught_up"."""
    audit: Audit = Audit.OFF
    """Whether every batch has to account for its records, step by step: "on", or "off"."""
    ackers: int = 1
    """In how many tables, by their ids, the messages of an attempt are kept whose operations look after acks.

    0: in none. What such operations say of messages counts for nothing then: each is acked with its batch.
    """
    keep: Keep = field(default_factory=Keep)
    """How much history of finished txids stays in the ledger."""
    listeners: Sequence[RunListener] = ()
    """Hear what happens in the run, in a thread that no batch waits for."""
    metrics_port: int | None = None
    """Serve the run's figures for Prometheus on this port of 127.0.0.1, 0 for a free one, which the log names.

    Needs prometheus-client: `pip install 'trident-pyspark[metrics]'`. Two runs in one process have two ports.
    """
    on_started: Callable[[], object] | None = None
    """Called once, in the run's own thread, when it owns the topology, its sources are open and nothing is planned yet.

    What it raises ends the run.
    """

    @property
    def timeouts(self) -> Timeouts:
        """What all that is opened for the run follows."""
        return Timeouts(self.lease, self.give_up_after, self.batch_timeout)

    def __post_init__(self) -> None:
        object.__setattr__(self, "on_running", policy_of(OnRunning, self.on_running, "on_running"))
        object.__setattr__(self, "until", policy_of(Until, self.until, "until"))
        object.__setattr__(self, "audit", policy_of(Audit, self.audit, "audit"))
        check_instance("keep", self.keep, Keep, allowed="a Keep(count=…, age=…)")
        object.__setattr__(self, "listeners", _checked_listeners(self.listeners))
        if self.metrics_port is not None and check_count("metrics_port", self.metrics_port, least=0) > _LAST_PORT:
            raise refused("metrics_port", f"a port, 0 to {_LAST_PORT}, or None", self.metrics_port)
        if self.on_started is not None:
            check_function("on_started", self.on_started, "a function without arguments, or None")
        for item in fields(self):
            value, default = getattr(self, item.name), item.default
            if item.name in _MAY_BE_LEFT_OUT and value is None:
                continue
            if isinstance(default, timedelta) or item.name in _MAY_BE_LEFT_OUT:
                longest = LONGEST_WAIT if item.name in _BOUNDED else LONGEST_SPAN
                check_duration(item.name, value, may_be_zero=item.name in _MAY_BE_ZERO, longest=longest)
                if item.name == "lease" and value < SHORTEST_LEASE:
                    raise refused("lease", f"at least {SHORTEST_LEASE.total_seconds():g} s", value)
            elif isinstance(default, int):
                check_count(item.name, value, least=0 if item.name in _MAY_BE_ZERO else 1)


def _checked_listeners(given: Sequence[RunListener]) -> tuple[RunListener, ...]:
    allowed = "a list of RunListener objects"
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise refused("listeners", allowed, given)
    return tuple(check_instance("listeners", each, RunListener, allowed=allowed) for each in given)


def refuse_bare_options(what: str, given: Mapping[str, object]) -> None:
    """Refuse what a call has no argument for; of an option of a run with how it is given."""
    options = [item.name for item in fields(RunOptions) if item.name in given]
    if options:
        raise ConfigurationError(
            f"{what}: {options[0]} is an option of a run, and given as options=RunOptions({options[0]}=…); nothing was "
            "started or changed"
        )
    if given:
        raise ConfigurationError(f"{what} has no argument {next(iter(given))!r}; nothing was started or changed")
