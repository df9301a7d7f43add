"""Finding out what a change would meet, without making it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

Open = TypeVar("Open")
Found = TypeVar("Found")


class _LookedError(Exception):
    """Ends a transaction that was for looking only."""


def rolled_back(transaction: AbstractContextManager[Open], action: Callable[[Open], Found]) -> Found:
    """Return what an action finds in a transaction that is rolled back, whatever the action has changed in it.

    What a real one would raise is raised here: that tables can't be made, or are of another kind than wanted.
    """
    found: list[Found] = []
    try:
        with transaction as opened:
            found.append(action(opened))
            raise _LookedError
    except _LookedError:
        return found[0]
