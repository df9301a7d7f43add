"""Work that a target gives to tasks where there are some; without any it is done where it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Protocol

from trident.base.secrets import Secret

Work = Callable[[], None]
"""Can be pickled, and called again after it has ended in any way: a task may be run twice, or twice at once."""


class Tasks(Protocol):
    """Runs pieces of work side by side, in whichever processes."""

    def run(self, works: Sequence[Work], secrets: Sequence[Secret], what: str, limit: timedelta) -> None:
        """Return once each was done at least once; `secrets` are told to who does it, `what` names it in errors.

        Raises what one of them raised, or RetryableError when they take longer than `limit`; others may have been done
        then, or be at work still.
        """


class InThisProcess:
    """One after the other, however long they take; for who has no tasks, such as a command."""

    def run(self, works: Sequence[Work], secrets: Sequence[Secret], what: str, limit: timedelta) -> None:
        """See `Tasks`."""
        for work in works:
            work()
