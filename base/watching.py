"""What the log says while a call does not return: whoever waits for it can't go on, and nobody else would tell.

One thread looks after the calls of all others, and ends when there has been none for a while. Of calls that a thread
makes inside of each other the innermost one is told.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

Tell = Callable[[float], None]
"""Says that the call has not returned for so many seconds; from another thread than the one that made the call."""


@dataclass(slots=True, eq=False)
class _Call:
    tell: Tell
    every: float
    doubles: bool
    began: float
    due: float

    def put_off(self, now: float) -> None:
        self.due = now + (now - self.began if self.doubles else self.every)


class Watch:
    """Tells of calls that take long; for any thread."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._calls: dict[int, list[_Call]] = {}
        self._changed = threading.Condition()
        self._next = 0.0
        self._thread: threading.Thread | None = None

    @contextmanager
    def over(self, tell: Tell, every: float, *, doubles: bool = False) -> Iterator[None]:
        """Have it told that the block has not ended after so many seconds, and again after as many.

        Where it `doubles`, again whenever twice as many have passed.
        """
        now, me = self._monotonic(), threading.get_ident()
        call = _Call(tell, every, doubles, now, now + every)
        try:
            with self._changed:
                self._calls.setdefault(me, []).append(call)
                self._look_by(call.due)
            yield
        finally:
            self._end(me, call)

    def rest(self) -> None:
        """Let the thread end at once, and wait for that: before a fork, say. To be called while no call is watched."""
        with self._changed:
            thread = self._thread
            self._changed.notify()
        if thread is not None:
            thread.join()

    def forget_others(self) -> None:
        """Begin anew in a process that was forked: its thread goes on alone, and another one may have held the lock."""
        me = threading.get_ident()
        self._calls = {me: self._calls[me]} if me in self._calls else {}
        self._changed = threading.Condition()
        self._thread = None

    def _end(self, thread: int, call: _Call) -> None:
        with self._changed:
            calls = [each for each in self._calls.pop(thread, []) if each is not call]
            if not calls:
                return
            self._calls[thread] = calls
            outer, now = calls[-1], self._monotonic()
            if outer.due <= now:
                outer.put_off(now)  # it goes on just now
            self._look_by(outer.due)

    def _look_by(self, due: float) -> None:
        if self._thread is None or not self._thread.is_alive():  # a fork takes no thread along
            self._next = due
            thread = threading.Thread(target=self._serve, name="trident-watch", daemon=True)
            with suppress(RuntimeError):  # there is no thread to be had: then nothing is told, and all else goes on
                thread.start()
                self._thread = thread
        elif due < self._next:
            self._next = due
            self._changed.notify()

    def _serve(self) -> None:
        while (late := self._wait_for_late()) is not None:
            for call, seconds in late:
                try:
                    call.tell(seconds)
                except Exception:  # noqa: BLE001  # a filter of a user's log, say: the others are told all the same
                    sys.excepthook(*sys.exc_info())

    def _wait_for_late(self) -> list[tuple[_Call, float]] | None:
        """Return which calls are to be told, and how long they have taken; None once there is nothing to look after."""
        with self._changed:
            while self._calls:
                now = self._monotonic()
                late = [calls[-1] for calls in self._calls.values() if calls[-1].due <= now]
                for call in late:
                    call.put_off(now)
                self._next = min(calls[-1].due for calls in self._calls.values())
                if late:
                    return [(call, now - call.began) for call in late]
                self._changed.wait(self._next - now)
            self._thread = None
            return None


WATCH = Watch()
"""The process's own."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WATCH.forget_others)
