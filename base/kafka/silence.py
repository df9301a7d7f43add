"""What the log says while a cluster does not answer: clients ask on by themselves, for minutes, and say nothing."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from trident.base.watching import WATCH

SECONDS: Final = 5.0
"""How long a cluster may be silent before that is told."""

_log = logging.getLogger("trident.kafka")


class Silence:
    """Tells that a cluster does not answer, and that it does again, once each; any thread."""

    def __init__(self, servers: str, after: float = SECONDS) -> None:
        self._servers = servers
        self._after = after
        self._lock = threading.Lock()
        self._told_since: float | None = None

    @contextmanager
    def told(self, doing: str, patience: float) -> Iterator[None]:
        """Have it told if the block takes long; an error of it is not: whoever gets it says so.

        `doing` completes "to …", `patience` are the seconds after which the client gives up the block.
        """
        with WATCH.over(partial(self._is_silent, doing, patience), self._after, doubles=True):
            yield
        with self._lock:
            since, self._told_since = self._told_since, None
        if since is not None:
            seconds = time.monotonic() - since
            _log.warning("Kafka at %s answers again, after %.0f s", self._servers, seconds)

    def _is_silent(self, doing: str, patience: float, seconds: float) -> None:
        with self._lock:
            if self._told_since is not None:
                return
            self._told_since = time.monotonic() - seconds
        _log.warning(
            "Kafka at %s has not answered for %.0f s (asked to %s; this try ends after %.0f s). It is waited for: what "
            "is done stays, and nothing new is planned from it meanwhile",
            self._servers,
            seconds,
            doing,
            patience,
        )
