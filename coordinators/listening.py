"""Telling listeners what happens in a run: in a thread of their own, and never at the cost of a batch."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Final

from trident.base.performing import perform
from trident.coordinators.run_events import (
    BatchCommitted,
    BatchFailed,
    BatchPlanned,
    BatchProcessed,
    BatchRefused,
    OffsetsLost,
    RunEvent,
    RunListener,
    RunStarted,
    RunStopped,
    TookOver,
)

_log = logging.getLogger("trident.listeners")
MOST_WAITING: Final = 1_000
_LONGEST_LAST_CALL_S: Final = 5.0


class Listening:
    """Hands events to listeners, in their order, from one thread; `tell` may be called by any thread.

    Listeners that are too slow miss what comes while `most` events wait: that is counted, and said. Those `beside`
    have a thread of their own, and miss nothing because of the others.
    """

    def __init__(
        self, listeners: Sequence[RunListener], most: int = MOST_WAITING, *, beside: Sequence[RunListener] = ()
    ) -> None:
        self._listeners = tuple(listeners)
        self._beside = Listening(beside, most) if beside else None
        self._most = most
        self._events: queue.SimpleQueue[RunEvent | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._waiting = 0
        self._missed = 0
        self._said_from = 1
        """When so many were missed it is said, whether the listener that is called comes back or not."""
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._told_of: set[tuple[str, str, type[BaseException]]] = set()

    def tell(self, event: RunEvent) -> None:
        """Let the listeners hear of it soon; returns at once, and never raises."""
        if self._beside is not None:
            self._beside.tell(event)
        if not self._listeners:
            return
        with self._lock:
            if self._is_closed:
                return
            if self._waiting < self._most and self._has_thread():
                self._waiting += 1
                self._events.put(event)
                return
            self._missed += 1
            if self._missed < self._said_from:
                return
            self._said_from = self._most
        self._say_what_was_missed()

    @contextmanager
    def until_the_end(self, topology: str) -> Iterator[None]:
        """Run the block; its end is the last event, and listeners get some seconds for what waits."""
        try:
            yield
        except BaseException as error:
            self._close(RunStopped(topology=topology, error=f"{type(error).__name__}: {error}"))
            raise
        else:
            self._close(RunStopped(topology=topology, error=None))

    def _has_thread(self) -> bool:
        if self._thread is None:
            thread = threading.Thread(target=self._serve, name="trident-listeners", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system gives no more threads now
                return False
            self._thread = thread
        return True

    def _close(self, last: RunStopped) -> None:
        """Tell the last event, however many wait."""
        if self._beside is not None:
            self._beside._close(last)
        with self._lock:
            self._is_closed = True
            if self._listeners and self._has_thread():
                self._waiting += 1
                self._events.put(last)
            self._events.put(None)
        if self._thread is not None:
            self._thread.join(_LONGEST_LAST_CALL_S)
            if self._thread.is_alive():
                _log.warning("a listener has not come back and is left behind; it misses what it has not heard of")
        self._say_what_was_missed()

    def _serve(self) -> None:
        while (event := self._events.get()) is not None:
            with self._lock:
                self._waiting -= 1
            for listener in self._listeners:
                self._hand(listener, event)
            self._say_what_was_missed()

    def _say_what_was_missed(self) -> None:
        with self._lock:
            missed, self._missed = self._missed, 0
        if missed:
            _log.warning("the listeners of the run are too slow: %d events were not told; no batch is touched", missed)

    def _hand(self, listener: RunListener, event: RunEvent) -> None:
        future: Future[None] = Future()
        perform(partial(_call, listener, event), future)  # a user's code: whatever it raises ends nothing
        error = future.exception()
        if error is None:
            return
        kind = (type(listener).__qualname__, type(event).__name__, type(error))
        if kind not in self._told_of:
            self._told_of.add(kind)
            _log.warning(
                "listener %s failed at %s, which touches no batch; more of this kind is not said: %s",
                *kind[:2],
                error,
                exc_info=error,
            )


def _call(listener: RunListener, event: RunEvent) -> None:
    match event:
        case TookOver():
            listener.took_over(event)
        case RunStarted():
            listener.started(event)
        case BatchPlanned():
            listener.planned(event)
        case BatchProcessed():
            listener.processed(event)
        case BatchCommitted():
            listener.committed(event)
        case BatchFailed():
            listener.failed(event)
        case BatchRefused():
            listener.refused(event)
        case OffsetsLost():
            listener.lost(event)
        case RunStopped():
            listener.stopped(event)
