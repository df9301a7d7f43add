"""Repeating what can be repeated: retryable failures and lost answers, above the transaction, for a set time."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_delay, wait_exponential

from trident.base.errors import FatalError, OutcomeUnknownError, RetryableError
from trident.base.signals import StopSignal
from trident.base.timeouts import DEFAULT_TIMEOUTS
from trident.base.watching import WATCH

Result = TypeVar("Result")

_log = logging.getLogger("trident.coordinator")


def _nothing(error: BaseException) -> None:
    """Hear of it and do nothing."""


class Repeater:
    """Repeats idempotent calls; ends early, with the last error, when `stopping` is set. Any thread may use it.

    One that does not return is waited for, and named in the log each time so long has passed: it may still take
    effect, so nobody may go on as if it had not.
    """

    _named_every = DEFAULT_TIMEOUTS.batch_timeout

    def __init__(
        self,
        give_up_after: timedelta,
        stopping: StopSignal,
        named_every: timedelta | None = None,
        hears: Callable[[BaseException], None] = _nothing,
    ) -> None:
        """`hears` of each failure that is followed by another try."""
        self._give_up_after = give_up_after
        self.stopping = stopping
        self._named_every = named_every or self._named_every
        self.hears = hears

    def call(self, what: str, action: Callable[[], Result], at_work: Callable[[], str] = str) -> Result:
        """Return what the action returns, repeating it on RetryableError and OutcomeUnknownError.

        `at_work` says, while it does not return, which part of it is under way.

        Raises FatalError, naming `what` and the last error, once the set time is over; the action's
        durable effects, if its last answer was lost, are found again at the next start.
        """
        is_over = stop_after_delay(self._give_up_after)
        retrying = Retrying(
            retry=retry_if_exception_type((RetryableError, OutcomeUnknownError)),
            wait=wait_exponential(multiplier=0.1, max=5),
            stop=lambda state: is_over(state) or self.stopping.is_set(),
            sleep=self._sleep,
            before_sleep=lambda state: self._failed(what, state),
            reraise=True,
        )
        try:
            answer: Result = retrying(partial(self.once, what, action, at_work))
        except (RetryableError, OutcomeUnknownError) as error:
            seconds = self._give_up_after.total_seconds()
            ended = f"gave up: {what} failed for {seconds:.0f} s"
            if self.stopping.is_set():
                ended = f"stopped, as it was told to: {what} had not succeeded by then"
            raise FatalError(
                f"{ended}; the last error was: {error}. What is durable stays; run the topology again when the cause "
                "is gone."
            ) from error
        if (tries := retrying.statistics["attempt_number"]) > 1:
            _log.warning("%s has succeeded at try %d", what, tries)
        return answer

    def once(self, what: str, action: Callable[[], Result], at_work: Callable[[], str] = str) -> Result:
        """Return what the action returns, without repeating it; raises what it raises."""
        with WATCH.over(partial(_tell, what, at_work), self._named_every.total_seconds()):
            return action()

    def _failed(self, what: str, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if state.attempt_number == 1:
            seconds = self._give_up_after.total_seconds()
            _log.warning("%s failed: %s. It is tried again for up to %.0f s; what is done stays", what, error, seconds)
        else:
            _log.info("%s failed (try %d): %s", what, state.attempt_number, error)
        if error is not None:
            self.hears(error)

    def _sleep(self, seconds: float) -> None:
        self.stopping.wait(seconds)


def _tell(what: str, at_work: Callable[[], str], seconds: float) -> None:
    part = at_work()
    _log.warning(
        "%s has not returned for %.0f s%s. It is waited for, since it may still take effect: meanwhile this process "
        "holds the topology, and a stop waits too. Where a statement hangs in a database (a trigger's, say), end it "
        "there; else end this process",
        what,
        seconds,
        f" (at work: {part})" if part else "",
    )
