"""What a person sees of a run that goes on: one line, made of what its listener hears."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from trident.base.clock import Clock, SystemClock
from trident.coordinators.run_events import (
    BatchCommitted,
    BatchFailed,
    BatchPlanned,
    BatchProcessed,
    BatchRefused,
    OffsetsLost,
    RunListener,
    RunStarted,
    RunStopped,
    TookOver,
)

WINDOW_S: Final = 10.0
"""The rate is that of the last seconds."""


class Rate:
    """Records a second over the last seconds."""

    def __init__(self, since: float) -> None:
        self._counted: deque[tuple[float, int]] = deque()
        self._since = since

    def count(self, records: int, now: float) -> None:
        """Take a txid that is done in."""
        self._counted.append((now, records))

    def per_second(self, now: float) -> float:
        """Return the rate; of a run that is younger than the window, since it began."""
        while self._counted and self._counted[0][0] <= now - WINDOW_S:
            self._counted.popleft()
        span = min(WINDOW_S, now - self._since)
        return sum(records for _, records in self._counted) / span if span > 0 else 0.0


class LiveLine(RunListener):
    """Shows a line at each event, or at most every so many seconds; the first and the last are always shown."""

    def __init__(self, show: Callable[[str], None], every_s: float = 0.0, clock: Clock | None = None) -> None:
        self._show = show
        self._clock = clock or SystemClock()
        self._every = every_s
        self._rate = Rate(self._clock.monotonic())
        self._next_at = -float("inf")
        self._txid = 0
        self._lag: int | None = None

    def took_over(self, event: TookOver, /) -> None:
        """Show where it goes on."""
        self._txid = event.done
        self._say(f"took over with epoch {event.epoch}", is_kept=True)

    def started(self, event: RunStarted, /) -> None:
        """Show that it is up."""
        self._say("started")

    def planned(self, event: BatchPlanned, /) -> None:
        """Show what is processed."""
        self._say(f"processing txid {event.txid}")

    def processed(self, event: BatchProcessed, /) -> None:
        """Show what is committed next."""
        self._say(f"committing txid {event.txid}")

    def committed(self, event: BatchCommitted, /) -> None:
        """Show how far it is."""
        self._txid, self._lag = event.txid, event.lag
        self._rate.count(event.records, self._clock.monotonic())
        self._say("waiting for records" if not event.lag else f"done with txid {event.txid}")

    def failed(self, event: BatchFailed, /) -> None:
        """Show that an attempt has failed; why is in the log."""
        self._say(f"attempt {event.attempt} at txid {event.txid} failed ({event.kind})", is_kept=True)

    def refused(self, event: BatchRefused, /) -> None:
        """Show that it stops."""
        self._say(f"stops at txid {event.txid} ({event.kind})", is_kept=True)

    def lost(self, event: OffsetsLost, /) -> None:
        """Show that offsets are gone."""
        gone = event.stop - event.start
        self._say(f"{gone} offsets of {event.topic}/{event.partition} are lost at txid {event.txid}", is_kept=True)

    def stopped(self, event: RunStopped, /) -> None:
        """Show where it has ended."""
        self._say("ended" if event.error is None else "ended with an error", is_kept=True)

    def _say(self, phase: str, *, is_kept: bool = False) -> None:
        now = self._clock.monotonic()
        if now < self._next_at and not is_kept:
            return
        self._next_at = now + self._every
        lag = "?" if self._lag is None else f"{self._lag:,}"
        rate = self._rate.per_second(now)
        self._show(f"txid {self._txid} done, {rate:,.0f} records/s, lag {lag}: {phase}")
