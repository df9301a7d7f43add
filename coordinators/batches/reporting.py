"""Reporting errors to the ledger: counted at once, written every few seconds at most, in a lane of their own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import replace
from typing import Final

from trident.base.clock import Clock
from trident.base.errors import FencedError, TridentError
from trident.base.identity import BatchId
from trident.base.signals import StopSignal
from trident.coordinators.batches.lanes import OneByOne
from trident.coordinators.reported import MOST_ERRORS, ErrorReport, report_of

_log = logging.getLogger("trident.coordinator")
EVERY_S: Final = 5.0
_LONGEST_LAST_WRITE_S: Final = 5.0


class ErrorTally:
    """Errors that are not written yet, equal ones as one; not safe between threads."""

    def __init__(self) -> None:
        self._reports: dict[str, ErrorReport] = {}

    def add(self, report: ErrorReport) -> None:
        """Count an error; of too many different ones the first are let go of, as the ledger would."""
        before = self._reports.pop(report.id, None)
        self._reports[report.id] = report if before is None else replace(report, count=before.count + report.count)
        if len(self._reports) > MOST_ERRORS:
            del self._reports[next(iter(self._reports))]

    def take(self) -> tuple[ErrorReport, ...]:
        """Return what was counted, in the order of the last ones, and begin anew."""
        taken, self._reports = tuple(self._reports.values()), {}
        return taken


class ErrorReporter:
    """Writes what a run hears of errors, for people. What can't be written is dropped, and fails nothing.

    The first error is written at once, what follows once the time since has passed: a flood costs a small transaction
    every few seconds. An error that ends a process (no `Exception`) is not reported, nor that another owner has come.
    """

    def __init__(
        self, write: Callable[[tuple[ErrorReport, ...]], None], clock: Clock, every_s: float = EVERY_S
    ) -> None:
        self._write = write
        self._clock = clock
        self._every = every_s
        self._tally = ErrorTally()
        self._lane: OneByOne[None] = OneByOne("trident-report")
        self._lock = threading.Lock()
        self._is_asked = False
        self._is_closed = False
        self._next_at = -float("inf")
        self._closing = StopSignal()

    def hear(self, error: BaseException, batch: BatchId | None = None) -> None:
        """Count an error; see `Hears`."""
        if not isinstance(error, Exception) or isinstance(error, FencedError):
            return
        report = report_of(error, batch)
        with self._lock:
            self._tally.add(report)
            if self._is_asked or self._is_closed:
                return
            self._is_asked = self._begin()

    def close(self) -> None:
        """Write what is left, and hear nothing more; a write that does not return is left behind after a while."""
        with self._lock:
            self._is_closed = True
        self._closing.set()
        self._lane.close(drops=False)
        if wait(self._lane.under_way(), timeout=_LONGEST_LAST_WRITE_S).not_done:
            _log.warning("the ledger does not answer a report of errors; it is left behind, and counts for nothing")

    def _begin(self) -> bool:
        try:
            self._lane.submit(self._write_soon).add_done_callback(_told)
        except RuntimeError as error:  # no thread is to be had
            _log.warning("errors can't be reported to the ledger now: %s", error)
            return False
        return True

    def _write_soon(self) -> None:
        self._closing.wait(self._next_at - self._clock.monotonic())
        with self._lock:
            reports, self._is_asked = self._tally.take(), False
        self._next_at = self._clock.monotonic() + self._every
        self._write(reports)


def _told(future: Future[None]) -> None:
    error = future.exception()
    if not isinstance(error, Exception) or isinstance(error, FencedError):
        return  # of another owner the run hears itself
    trace = None if isinstance(error, TridentError) else error
    _log.warning("errors could not be reported to the ledger, and are in the log only: %s", error, exc_info=trace)
