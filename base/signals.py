"""A word that ends waiting, which a signal handler may give too."""

from __future__ import annotations

import queue
from contextlib import suppress


class StopSignal:
    """Set once, for good, and waited for by any number of threads; `set` may be called in any thread or signal handler.

    A handler runs between two instructions of the main thread, which may just be waiting here or setting it itself.
    An `Event` has a lock that the interrupted code may hold, so that the handler would wait for ever; nothing here is
    held by Python code: the one thing that blocks is a `SimpleQueue`, whose `put` may interrupt its own `get`.
    """

    def __init__(self) -> None:
        self._is_set = False
        self._words: queue.SimpleQueue[None] = queue.SimpleQueue()

    def set(self) -> None:
        """Wake all who wait, now and later; any number of times."""
        if not self._is_set:
            self._is_set = True
            self._words.put(None)

    def is_set(self) -> bool:
        """Tell whether it was set."""
        return self._is_set

    def wait(self, seconds: float) -> bool:
        """Wait until it is set, for so long at most; returns whether it is."""
        if not self._is_set and seconds > 0:
            try:
                with suppress(queue.Empty):
                    self._words.get(timeout=seconds)
            finally:  # also when a handler raises here
                if self._is_set:
                    self._words.put(None)  # for the next one who waits
        return self._is_set
