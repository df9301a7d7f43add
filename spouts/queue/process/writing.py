"""What the process of a spout says to the coordinator: messages some at a time, and everything in its order."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Final

from trident.spouts.queue.process.wire import Emitted, Heard

AT_ONCE: Final = 1_000
COLLECTED_FOR_S: Final = 0.01
"""How long messages wait for others, so that not each is a write of its own."""


class Writer:
    """Writes to the pipe, from any thread; a thread of its own sees to it that no message waits for the next one."""

    def __init__(self, end: Connection) -> None:
        self._end = end
        self._lock = threading.Lock()
        self._collected: list[bytes] = []
        self._first = 0
        self._has_some = threading.Event()

    def emit(self, message: bytes) -> int:
        """Take a message that is pickled, to be sent soon; returns its serial."""
        with self._lock:
            serial = self._first + len(self._collected)
            self._collected.append(message)
            if len(self._collected) >= AT_ONCE:
                self._flush()
            elif len(self._collected) == 1:
                self._has_some.set()
        return serial

    def send(self, heard: Heard) -> None:
        """Send something at once, behind all messages before it."""
        with self._lock:
            self._flush()
            self._send(heard)

    def send_collected(self) -> None:
        """Send messages when they have waited; does not return, for a thread of its own."""
        while self._has_some.wait():
            self._has_some.clear()
            time.sleep(COLLECTED_FOR_S)
            with self._lock:
                self._flush()

    def _flush(self) -> None:
        if self._collected:
            self._send(Emitted(self._first, tuple(self._collected)))
            self._first += len(self._collected)
            self._collected.clear()

    def _send(self, heard: Heard) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # nobody is there any more: the hearing thread ends all
            self._end.send(heard)
