"""What the log says while a user's spout does not return: whoever waits for it can't go on, and has no other way."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager
from typing import Final

from trident.base.watching import WATCH

_log = logging.getLogger("trident.coordinator")
LONG_S: Final = 10.0
"""After so many seconds a call is named, and again whenever twice as many have passed."""


class Watched:
    """Says which call of a stream's spout is under way, to the log once it takes long; for one thread's calls."""

    def __init__(self, stream: str) -> None:
        self._stream = stream
        self._what = ""

    def calls(self) -> AbstractContextManager[None]:
        """Look after the calls that are made in the block."""
        return WATCH.over(self._tell, LONG_S, doubles=True)

    def begins(self, what: str) -> None:
        """Hear what is called next."""
        self._what = what

    def _tell(self, seconds: float) -> None:
        _log.warning(
            "stream %r: %s has not returned for %.0f s. It is waited for: nothing is planned meanwhile, and a run "
            "that is stopped or has failed ends, and gives the topology back, only when it has. If it will not "
            "return, end the process: the next start records as lost what was received, planned and not pinned",
            self._stream,
            self._what,
            seconds,
        )
