"""Where the words of all processes come in: the nemesis holds one process at a point, lets the others go on."""

from __future__ import annotations

import select
import socketserver
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

import msgspec

from chaos.words import Word

_LOOK_SECONDS = 0.05
_THROTTLED = "BEFORE_PLAN"


class Held:
    """A process that waits at a point."""

    def __init__(self, word: Word) -> None:
        self.word = word
        self._go = threading.Event()

    def let_go(self) -> None:
        """Let it go on; may be called again."""
        self._go.set()

    def is_free(self) -> bool:
        """Whether it may."""
        return self._go.is_set()


class Watch:
    """Waits for the first word that fits."""

    def __init__(self, fits: Callable[[Word], bool]) -> None:
        self._fits = fits
        self._found: Held | None = None
        self._came = threading.Event()
        self._lock = threading.Lock()
        self._over = False

    def take(self, word: Word) -> Held | None:
        """Return the held process if this is the one that is waited for."""
        with self._lock:
            if self._over or not self._fits(word):
                return None
            self._over, self._found = True, Held(word)
        self._came.set()
        return self._found

    def wait(self, seconds: float) -> Held | None:
        """Return the process that came to the point and waits there; None when time is up."""
        self._came.wait(seconds)
        return self._found

    def cancel(self) -> None:
        """Wait no longer; whoever is held goes on."""
        with self._lock:
            self._over = True
        if self._found is not None:
            self._found.let_go()


class Switchboard:
    """A server for words on a port of 127.0.0.1; use it as a context manager. May be used from any thread."""

    def __init__(self) -> None:
        board = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                line = self.rfile.readline()
                if line:
                    board._hear(self, msgspec.json.decode(line, type=Word))

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 128

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, name="switchboard", daemon=True)
        self._lock = threading.Lock()
        self._watch: Watch | None = None
        self._last: dict[int, Word] = {}
        self._counts: Counter[str] = Counter()
        self._plans_may_go = threading.Event()
        self._plans_may_go.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def port(self) -> int:
        """Where words are heard."""
        return int(self._server.server_address[1])

    def watch(self, fits: Callable[[Word], bool]) -> Watch:
        """Hold the first process whose word fits; one watch at a time, an older one is over."""
        with self._lock:
            if self._watch is not None:
                self._watch.cancel()
            self._watch = Watch(fits)
            return self._watch

    def last_of(self, pid: int) -> Word | None:
        """Return what a process said last."""
        with self._lock:
            return self._last.get(pid)

    def heard(self, point: str) -> int:
        """Return how often a point was said."""
        with self._lock:
            return self._counts[point]

    def stop_plans(self) -> None:
        """Hold whoever is about to write a plan: the records are not used up while the nemesis makes ready."""
        self._plans_may_go.clear()

    def allow_plans(self) -> None:
        """Let plans be written again."""
        self._plans_may_go.set()

    def _hear(self, handler: socketserver.StreamRequestHandler, word: Word) -> None:
        with self._lock:
            self._last[word.pid] = word
            self._counts[word.point] += 1
            held = self._watch.take(word) if self._watch is not None else None
        while not self._may_go(word, held):
            if select.select([handler.connection], [], [], _LOOK_SECONDS)[0]:
                return  # it says nothing while it waits: it is dead
        with suppress(ConnectionError):  # it was killed meanwhile
            handler.wfile.write(b"+")

    def _may_go(self, word: Word, held: Held | None) -> bool:
        if held is not None:
            return held.is_free()
        return word.point != _THROTTLED or self._plans_may_go.is_set()
