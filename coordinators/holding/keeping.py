"""Holding a topology: taking the lease, keeping it alive, giving it back."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from trident.base.closing import giving_back
from trident.base.crash_points import CrashPoint, reached
from trident.base.errors import FencedError, LeaseHeldError, TridentError
from trident.base.identity import Epoch
from trident.base.latency import CompleteLatency
from trident.base.signals import StopSignal
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.options import OnRunning, RunOptions
from trident.coordinators.registered import Lease, pause_between_beats
from trident.coordinators.retrying import Repeater

_log = logging.getLogger("trident.coordinator")
_LONGEST_POLL_S = 1.0


def holder_name() -> str:
    """Return who this process is, for people who read the ledger: host and process id."""
    return f"{socket.gethostname()}:{os.getpid()}"


def _nothing(_: int = 0) -> None:
    """Hear of it and do nothing."""


@dataclass(frozen=True, slots=True)
class HearsOfLease:
    """What whoever takes a lease does about what it hears, each in any thread."""

    fenced: Callable[[FencedError], None]
    commands_wait: Callable[[], None] = _nothing
    """Life-cycle commands wait in the ledger: with each heartbeat, until they are answered."""
    must_wait: Callable[[int], None] = _nothing
    """Another one has the lease, under an epoch of that number, so that this one waits for it."""
    latencies: Callable[[], tuple[CompleteLatency, ...]] = tuple
    """Asked, before each heartbeat, how long messages take: it goes with the beat."""


class WaitEndedError(LeaseHeldError):
    """The run was stopped while it waited for another coordinator's lease; it has changed nothing."""


@contextmanager
def held(
    ledger: Ledger,
    topology: str,
    options: RunOptions,
    repeater: Repeater,
    hears: HearsOfLease,
    above: int = 0,
) -> Iterator[Epoch]:
    """Hold the topology's lease for the length of the block; see `_take_lease` and `Heartbeat`.

    The epoch is above `above`, and above all that the ledger has given out. A lease that can't be given back ends by
    itself.
    """
    epoch = _take_lease(ledger, topology, options, repeater, hears, above)
    with (
        giving_back(f"giving back the lease of topology {topology!r}", lambda: ledger.release(topology, epoch)),
        Heartbeat(ledger, topology, epoch, options.lease, hears),
    ):
        yield epoch


def _take_lease(
    ledger: Ledger, topology: str, options: RunOptions, repeater: Repeater, hears: HearsOfLease, above: int
) -> Epoch:
    """Raise the topology's epoch once nobody else holds it.

    Raises LeaseHeldError if told to refuse, WaitEndedError if to stop.
    """
    lease = Lease(holder_name(), options.lease)
    told = False
    while True:
        try:
            acquired = repeater.call("taking the lease", lambda: ledger.acquire(topology, lease, above))
        except LeaseHeldError as error:
            if options.on_running is OnRunning.REFUSE:
                raise
            if repeater.stopping.is_set():
                raise WaitEndedError(str(error)) from error
            if not told:
                _log.warning("waiting for topology %r, until nobody holds it: %s", topology, error)
                hears.must_wait(error.epoch)
            told = True
            repeater.stopping.wait(min(_LONGEST_POLL_S, options.lease.total_seconds() / 10))
        else:
            if told:
                _log.warning("the wait for topology %r is over: this coordinator has it", topology)
            reached(CrashPoint.AFTER_LEASE)
            if acquired.previous_holder:
                _log.info("took topology %r over from %s", topology, acquired.previous_holder)
            return acquired.epoch


class Heartbeat:
    """A thread that renews the lease at least three times per duration, until it is closed.

    A renewal that fails is tried again at the next beat: losing the lease is safe, since every
    write checks the epoch. What a beat brings is reported at once.
    """

    def __init__(
        self,
        ledger: Ledger,
        topology: str,
        epoch: Epoch,
        duration: timedelta,
        hears: HearsOfLease,
    ) -> None:
        self._ledger = ledger
        self._topology = topology
        self._epoch = epoch
        self._pause = pause_between_beats(duration)
        self._told_every = max(1, round(duration.total_seconds() / 3 / self._pause))
        self._hears = hears
        self._closing = StopSignal()
        self._thread = threading.Thread(target=self._beat, name=f"trident-lease-{topology}", daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._closing.set()
        self._thread.join()

    def _beat(self) -> None:
        failed = 0
        while not self._closing.wait(self._pause):
            try:
                reached(CrashPoint.BEFORE_RENEWAL)
                if self._ledger.renew(self._topology, self._epoch, self._hears.latencies()):
                    self._hears.commands_wait()
                reached(CrashPoint.AFTER_RENEWAL)
            except FencedError as error:
                self._hears.fenced(error)
                return
            except TridentError as error:
                if failed % self._told_every == 0:
                    _log.warning("could not renew the lease of %r: %s; trying again", self._topology, error)
                failed += 1
            else:
                failed = 0
