"""What the log hears of attempts that have failed: each, but for messages that go round."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from trident.coordinators.protocol.messages import Happened
from trident.coordinators.reported import WHICH

_log = logging.getLogger("trident.coordinator")
EVERY_S: Final = 60.0
"""A message that a queue gives again at once fails with each attempt: so often is it said."""
_MOST: Final = 20
"""So many reasons are told apart: whoever quotes what differs each time gets no line for each."""
_DIFFERS: Final = re.compile(WHICH + r"|[\d,.]+")


@dataclass(frozen=True, slots=True)
class _Said:
    at: float
    since: int = 0
    """How many attempts have failed in the same way since then."""


@dataclass(frozen=True, slots=True)
class FailuresSaid:
    """Which failures were said when, to say again and again the same of messages only once in a while."""

    _said: Mapping[str, _Said] = field(default_factory=dict)

    def heard(self, failed: Happened, now: float) -> FailuresSaid:
        """Say that an attempt has failed, if it is time; returns what was said by then."""
        if failed.counts:
            _log.warning("%s failed and is tried again: %s", failed.batch, failed.reason)
            return self
        about = _DIFFERS.sub("#", failed.reason)  # which and how many of how many: another one with each attempt
        about = about if about in self._said or len(self._said) < _MOST else ""
        last = self._said.get(about)
        if last is not None and now - last.at < EVERY_S:
            return FailuresSaid({**self._said, about: replace(last, since=last.since + 1)})
        since = "" if last is None else f" (as {last.since:,} other attempts since that was said last)"
        _log.warning("%s failed and is tried again%s: %s", failed.batch, since, failed.reason)
        return FailuresSaid({**self._said, about: _Said(now)})
