"""What the owner of a map has put last, so that keys which come again are not asked of the store again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping

from trident.state.maps.maps import BackingKey, BackingValue


class MapCache:
    """The values of so many keys at most, those that were used last; for one thread.

    It may only hold what a put that succeeded has left there: whoever is not sure of that forgets all. With a
    `ConditionalBackingMap` even a wrong value would do no harm, since a put that expects it is refused.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[BackingKey, BackingValue] = OrderedDict()

    def known(self, keys: Iterable[BackingKey]) -> dict[BackingKey, BackingValue]:
        """Return those that are there; they are the last used ones then."""
        found = {key: self._values[key] for key in keys if key in self._values}
        for key in found:
            self._values.move_to_end(key)
        return found

    def note(self, values: Mapping[BackingKey, BackingValue]) -> None:
        """Keep what was put."""
        if not self._most:
            return
        for key, value in values.items():
            self._values[key] = value
            self._values.move_to_end(key)
        while len(self._values) > self._most:
            self._values.popitem(last=False)

    def drop(self, keys: Iterable[BackingKey]) -> None:
        """Forget these, which were removed."""
        for key in keys:
            self._values.pop(key, None)

    def forget(self) -> None:
        """Forget all."""
        self._values.clear()
