"""Where a coordinator runs what users have written: in a thread of its own, so that whoever waits for it can go on.

What may be left behind runs with nothing open or locked, and nothing that it still returns is used. What may not, since
it changes something that nobody could take back, is waited for, and the log says so.
"""

from __future__ import annotations

import logging
import queue
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from trident.base.clock import Clock, SystemClock
from trident.base.errors import FatalError
from trident.base.performing import perform
from trident.base.timeouts import DEFAULT_TIMEOUTS, Timeouts
from trident.base.watching import WATCH

_log = logging.getLogger("trident.coordinator")
_LONGEST_LOOK_S = 1.0
_LOOKS = 4
"""How often at least something is looked at before it is given up."""

Result = TypeVar("Result")


class LeftBehindError(FatalError):
    """A user's code has not returned in time: whoever waited goes on without it, and uses nothing that it returns."""


def type_and_place(error: BaseException) -> str:
    """Return what users' code raised and where, never what it says: that may hold a record or a secret."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {where.filename}:{where.lineno} in {where.name}"


class Calls:
    """How many calls of a user's function have begun; counted by the thread that makes them, read by who waits."""

    __slots__ = ("begun", "is_left")

    def __init__(self) -> None:
        self.begun = 0
        self.is_left = False

    def begin(self) -> None:
        """Count one more, before it is made; raises LeftBehindError when nobody waits for any of them any more."""
        if self.is_left:
            raise LeftBehindError("nobody waits for this any more; nothing more is done")
        self.begun += 1


class UsersCode:
    """Runs users' code for one target: one call at a time, in one thread for as long as every call returns.

    The limit is that of one call, however many a block makes. A process that stands still loses no time by that: only
    what was seen to pass between two looks counts.
    """

    def __init__(self, timeouts: Timeouts = DEFAULT_TIMEOUTS, clock: Clock | None = None) -> None:
        self._limit = timeouts.batch_timeout.total_seconds()
        self._look = min(_LONGEST_LOOK_S, self._limit / _LOOKS)
        self._clock = clock or SystemClock()
        self._thread: _Thread | None = None

    def run(self, what: str, code: Callable[[Calls], Result], if_left: str = "") -> Result:
        """Return what the code returns; raises LeftBehindError once one call in it has taken longer than the limit.

        The code counts the calls that it makes, if they are several. `if_left` is what a person has to know besides.
        """
        calls = Calls()
        with self._under_way(lambda: code(calls)) as future:
            self._wait(future, calls, what, if_left)
            return future.result()

    def run_to_its_end(self, what: str, code: Callable[[], Result]) -> Result:
        """Return what the code returns, however long it takes; the log names it whenever the limit has passed."""

        def tell(seconds: float) -> None:
            _log.warning(
                "%s has not returned for %.0f s. It is waited for, for it may still come: until then this "
                "process holds the topology, and a stop waits too. If the store will not answer, end the process",
                what,
                seconds,
            )

        with self._under_way(code) as future, WATCH.over(tell, self._limit):
            return future.result()

    def _wait(self, future: Future[Result], calls: Calls, what: str, if_left: str) -> None:
        seen, at, held = calls.begun, self._clock.monotonic(), 0.0
        while not wait([future], timeout=self._look).done:
            now = self._clock.monotonic()
            passed = min(now - at, 2 * self._look)  # a longer one is a process that stood still
            held = held + passed if calls.begun == seen else 0.0
            seen, at = calls.begun, now
            if held >= self._limit:
                calls.is_left = True
                raise LeftBehindError(
                    f"one call of {what} has not returned for {self._limit:g} s (batch_timeout). What is pinned, "
                    "decided or done stays; nothing that it may still return is used. Correct it, or give each call "
                    f"longer (a longer batch_timeout), then start again{if_left}"
                )

    def close(self) -> None:
        """Let the thread go; one that is needed afterwards is a new one."""
        if self._thread is not None:
            self._thread.end()
            self._thread = None

    @contextmanager
    def _under_way(self, call: Callable[[], Result]) -> Iterator[Future[Result]]:
        """Have the call performed; its thread is left to itself if nobody waits for it any more."""
        thread, self._thread = self._thread, None
        if thread is None or not thread.is_alive:  # a fork takes no thread along
            thread = _Thread()
            weakref.finalize(self, thread.end).atexit = False
        future: Future[Result] = Future()
        thread.do(call, future)
        try:
            yield future
        finally:
            if future.done() and self._thread is None:
                self._thread = thread
            else:
                thread.end()


class _Thread:
    """A daemon that performs calls until it is told to end."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=_serve, args=(self._calls,), name="trident-users-code", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def do(self, call: Callable[[], Result], future: Future[Result]) -> None:
        self._calls.put(partial(perform, call, future))

    def end(self) -> None:
        """Let it end after the call that it has."""
        self._calls.put(None)


def _serve(calls: queue.SimpleQueue[Callable[[], None] | None]) -> None:
    while (call := calls.get()) is not None:
        call()
        del call  # what it brought is its future's
