"""Looks at something four times a second, from a thread."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

_EVERY_SECONDS = 0.25


class Sampling(ABC):
    """Looks while its block runs; the thread has ended when the block has."""

    def __init__(self, name: str) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    @abstractmethod
    def look(self) -> None:
        """Take a sample; called from the thread, at once and then again and again."""

    def _watch(self) -> None:
        self.look()
        while not self._stop.wait(_EVERY_SECONDS):
            self.look()
