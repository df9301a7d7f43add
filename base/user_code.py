"""Where a coordinator's thread runs what users have written, and how a run that ends can leave it behind there.

Nothing is open or locked in such a place. A thread that was left learns it when the user's code returns, and does
nothing more: what it would have written belongs to whoever holds the topology by then.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from trident.base.clock import Clock
from trident.base.errors import FatalError


class LeftBehindError(FatalError):
    """A user's function has returned after its run had ended; nothing was done with what it returned."""


class UserCode:
    """What one thread is doing of the users' code; `mine` is used by that thread, the rest by any."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._what: str | None = None
        self._since = 0.0
        self._is_left = False

    @contextmanager
    def mine(self) -> Iterator[None]:
        """Take note of what this thread runs of the users' code meanwhile."""
        before, _here.watch = _here.watch, self
        try:
            yield
        finally:
            _here.watch = before

    def longer_than(self, seconds: float) -> str | None:
        """Return what has been at work for so long, None if nothing has."""
        with self._lock:
            is_long = self._what is not None and self._clock.monotonic() - self._since >= seconds
            return self._what if is_long else None

    def leave_behind(self, seconds: float) -> bool:
        """Give up what has been at work for so long; returns whether there is such a thing."""
        with self._lock:
            self._is_left = self._what is not None and self._clock.monotonic() - self._since >= seconds
            return self._is_left

    def begin(self, what: str) -> None:
        """Note that this thread goes over to the users' code."""
        with self._lock:
            self._what, self._since = what, self._clock.monotonic()

    def end(self) -> None:
        """Note that it has returned; raises LeftBehindError if nobody waits for it any more."""
        with self._lock:
            what, self._what = self._what, None
            if self._is_left:
                raise LeftBehindError(f"{what} has returned after its run had ended; nothing was done with that")


class _Here(threading.local):
    watch: UserCode | None = None


_here = _Here()


@contextmanager
def users_code(what: str) -> Iterator[None]:
    """Mark a block that runs what users have written, in words; nothing may be open or locked in it."""
    watch = _here.watch
    if watch is None:
        yield
        return
    watch.begin(what)
    try:
        yield
    finally:
        watch.end()
