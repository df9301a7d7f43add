"""Where states keep their rows, as far as that is known before anything is opened: two of them never in one place."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Protocol, runtime_checkable

Places = Mapping[Hashable, str]
"""What a state must have for itself, in a form that is equal where it is the same, with words for people."""


@runtime_checkable
class HasPlaces(Protocol):
    """A state that can say it; one of a user's own need not, and is then asked for nothing."""

    def places(self) -> Places:
        """Return what no other state may have; no secrets."""


def shared_place(first: object, second: object) -> str | None:
    """Return in words what both states would write to, None where nothing is known to be the same."""
    if not isinstance(first, HasPlaces) or not isinstance(second, HasPlaces):
        return None
    there = first.places()
    return next((words for place, words in second.places().items() if place in there), None)
