"""Repeating what can be repeated: retryable failures and lost answers, above the transaction, for a set time."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_delay, wait_exponential

from trident.base.errors import FatalError, OutcomeUnknownError, RetryableError
from trident.base.signals import StopSignal

Result = TypeVar("Result")

_log = logging.getLogger("trident.coordinator")


class Repeater:
    """Repeats idempotent calls; ends early, with the last error, when `stopping` is set. Any thread may use it."""

    def __init__(self, give_up_after: timedelta, stopping: StopSignal) -> None:
        self._give_up_after = give_up_after
        self.stopping = stopping

    def call(self, what: str, action: Callable[[], Result]) -> Result:
        """Return what the action returns, repeating it on RetryableError and OutcomeUnknownError.

        Raises FatalError, naming `what` and the last error, once the set time is over; the action's
        durable effects, if its last answer was lost, are found again at the next start.
        """
        is_over = stop_after_delay(self._give_up_after)
        retrying = Retrying(
            retry=retry_if_exception_type((RetryableError, OutcomeUnknownError)),
            wait=wait_exponential(multiplier=0.1, max=5),
            stop=lambda state: is_over(state) or self.stopping.is_set(),
            sleep=self._sleep,
            before_sleep=lambda state: _warn(what, state),
            reraise=True,
        )
        try:
            return retrying(action)
        except (RetryableError, OutcomeUnknownError) as error:
            seconds = self._give_up_after.total_seconds()
            ended = f"gave up: {what} failed for {seconds:.0f} s"
            if self.stopping.is_set():
                ended = f"stopped, as it was told to: {what} had not succeeded by then"
            raise FatalError(
                f"{ended}; the last error was: {error}. What is durable stays; run the topology again when the cause "
                "is gone."
            ) from error

    def _sleep(self, seconds: float) -> None:
        self.stopping.wait(seconds)


def _warn(what: str, state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    _log.warning("%s failed (try %d): %s; trying again", what, state.attempt_number, error)
