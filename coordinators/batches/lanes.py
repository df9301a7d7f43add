"""Threads that perform calls as soon as they come, and that no call that never returns can keep."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from trident.base.performing import perform

Brought = TypeVar("Brought")


class _Lane(Generic[Brought]):
    """Calls that threads of a lane take from a queue, and which of them have not come back."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: queue.SimpleQueue[tuple[Callable[[], Brought], Future[Brought]] | None] = queue.SimpleQueue()
        self._open: set[Future[Brought]] = set()

    def under_way(self) -> set[Future[Brought]]:
        """Return the calls that have not come back."""
        return set(self._open)

    def _hand_over(self, call: Callable[[], Brought]) -> Future[Brought]:
        future: Future[Brought] = Future()
        self._open.add(future)
        future.add_done_callback(self._open.discard)
        self._calls.put((call, future))
        return future


class SideBySide(_Lane[Brought]):
    """Performs every call at once, in a thread that is idle or else in a new one; used by one thread.

    `submit` raises RuntimeError when the system gives no more threads.

    A call to an engine that does not answer any more holds up neither other calls nor, its thread being a
    daemon's, the end of the process.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._lock = threading.Lock()
        self._idle = 0
        self._threads = 0

    def submit(self, call: Callable[[], Brought]) -> Future[Brought]:
        """Perform the call; the future brings what it returned or raised."""
        with self._lock:
            is_free = self._idle > 0
            self._idle -= is_free
        if not is_free:
            self._threads += 1
            threading.Thread(target=self._serve, name=f"{self._name}_{self._threads}", daemon=True).start()
        return self._hand_over(call)

    def close(self) -> None:
        """Take no more calls; threads end with the calls that they have."""
        for _ in range(self._threads):
            self._calls.put(None)

    def _serve(self) -> None:
        while (item := self._calls.get()) is not None:
            perform(*item)
            del item  # what it brought is its future's, not this thread's for as long as nothing comes
            with self._lock:
                self._idle += 1


class OneByOne(_Lane[Brought]):
    """Performs one call after the other, in a thread that does not keep the process from ending; used by one thread.

    `submit` raises RuntimeError when the system gives no more threads.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._thread: threading.Thread | None = None

    def submit(self, call: Callable[[], Brought]) -> Future[Brought]:
        """Perform the call after those before it; the future brings what it returned or raised."""
        if self._thread is None:
            thread = threading.Thread(target=self._serve, name=f"{self._name}_0", daemon=True)
            thread.start()
            self._thread = thread
        return self._hand_over(call)

    def close(self, *, drops: bool) -> None:
        """Take no more calls; `drops` those that have not begun."""
        if drops:
            for future in self.under_way():
                future.cancel()
        self._calls.put(None)

    def _serve(self) -> None:
        while (item := self._calls.get()) is not None:
            if item[1].set_running_or_notify_cancel():
                perform(*item)
            del item
