"""Calls of a user's map: which of them may be left behind when they do not return, and which are waited for.

A read may be: nothing is done with what it still brings. A conditional put of a batch may be as well: once the batch or
another owner's fence is put by somebody else, what comes late finds something else than it expects. So may the removal
of a value that has expired, which counts as not there whenever it goes. All others may not: a plain put would write an
old value, a late `clear` take new ones away, and what an undo puts back or removes may be there again, equal, once the
txid is applied anew. What any of them raises is told in `raising`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias, TypeVar

from trident.base.errors import FatalError
from trident.base.user_code import UsersCode
from trident.state.maps.maps import (
    BackingKey,
    BackingMap,
    BackingValue,
    ClearableBackingMap,
    ConditionalBackingMap,
    ExpiringBackingMap,
    RemovableBackingMap,
)
from trident.state.maps.raising import Aim, told

Result = TypeVar("Result")
Changes: TypeAlias = "Sequence[tuple[BackingKey, BackingValue | None, BackingValue]]"

_MAY_COME = (
    ". The put may still come, and counts only where the map holds what it expects: end this process before you have "
    "the txid undone, its rows diverted, or the map emptied"
)


def _listed(found: object) -> object:
    """Return values as a list, in the thread that may be left behind; what is none as it is."""
    return list(found) if isinstance(found, Iterable) and not isinstance(found, Mapping | str | bytes) else found


@dataclass(frozen=True, slots=True)
class MapCalls:
    """Calls one state's map, one at a time.

    While a call that was left behind is still in the map, no other one is made in this process: a client that gets two
    at once may mix their answers up.
    """

    state: str
    backing_map: BackingMap = field(repr=False)
    users_code: UsersCode = field(repr=False)

    def get(self, keys: Sequence[BackingKey], aim: Aim) -> Sequence[BackingValue | None]:
        """Return what is stored under each key."""
        found = self._run("multi_get", aim, lambda: _listed(self.backing_map.multi_get(keys)))
        if not isinstance(found, list) or len(found) != len(keys):
            what = f"{len(found)} values" if isinstance(found, list) else f"a {type(found).__name__}"
            raise FatalError(
                f"multi_get of the map of state {self.state!r} returned {what} for {len(keys)} keys: it must return "
                "one value for each key, in their order, None for what is not there; nothing was changed"
            )
        return found

    def put_if(self, changes: Changes, aim: Aim, *, may_be_left: bool) -> Sequence[bool]:
        """Put what is as expected."""
        store = self.backing_map
        assert isinstance(store, ConditionalBackingMap)  # whoever calls has looked
        if may_be_left:
            return self._run("multi_put_if", aim, lambda: list(store.multi_put_if(changes)), _MAY_COME)
        return self._run_to_its_end("multi_put_if", aim, lambda: list(store.multi_put_if(changes)))

    def put(self, items: Sequence[tuple[BackingKey, BackingValue]], aim: Aim) -> None:
        """Put all items."""
        self._run_to_its_end("multi_put", aim, lambda: self.backing_map.multi_put(items))

    def remove_if(
        self, items: Sequence[tuple[BackingKey, BackingValue]], aim: Aim, *, may_be_left: bool
    ) -> Sequence[bool]:
        """Remove what is as expected."""
        store = self.backing_map
        assert isinstance(store, RemovableBackingMap)  # checked before anything was changed
        run = self._run if may_be_left else self._run_to_its_end
        return run("multi_remove_if", aim, lambda: list(store.multi_remove_if(items)))

    def expired(self, before: datetime, most: int, aim: Aim) -> Sequence[BackingKey]:
        """Return keys that were not updated since, as the map says."""
        store = self.backing_map
        assert isinstance(store, ExpiringBackingMap)  # whoever calls has looked
        return self._run("expired", aim, lambda: [tuple(key) for key in store.expired(before, most)])

    def clear(self, aim: Aim) -> None:
        """Empty the map."""
        store = self.backing_map
        assert isinstance(store, ClearableBackingMap)  # checked before anything was changed
        self._run_to_its_end("clear", aim, store.clear)

    def _run(self, method: str, aim: Aim, call: Callable[[], Result], if_left: str = "") -> Result:
        what = self._named(method, aim.about)
        with self._alone(what) as under_way:
            return self.users_code.run(what, lambda _: under_way.watched(what, aim, call), if_left)

    def _run_to_its_end(self, method: str, aim: Aim, call: Callable[[], Result]) -> Result:
        what = self._named(method, aim.about)
        with self._alone(what) as under_way:  # a person may break it off
            return self.users_code.run_to_its_end(what, lambda: under_way.watched(what, aim, call))

    def _named(self, method: str, about: str) -> str:
        return f"{method} of the map of state {self.state!r}{f' for {about}' if about else ''}"

    @contextmanager
    def _alone(self, what: str) -> Iterator[_UnderWay]:
        """Refuse a second call beside one that was left behind; this one is left, too, if it outlives the block."""
        left = _UnderWay.left_in(self.backing_map)
        if left is not None:
            raise FatalError(
                f"{left} was left behind by a run of this process and has not returned yet; a map is called by one "
                "thread at a time. Nothing was changed: end this process, then start again"
            )
        under_way = _UnderWay(self.backing_map)
        try:
            yield under_way
        finally:
            under_way.leave(what)


class _UnderWay:
    """One call that is in a map; known to the whole process once it was left there."""

    _left: dict[int, tuple[_UnderWay, str]] = {}  # noqa: RUF012 - the process's, under its lock
    _lock = threading.Lock()

    def __init__(self, backing_map: BackingMap) -> None:
        self._map = backing_map  # held, so that its id stays its own
        self._is_over = False

    @classmethod
    def left_in(cls, backing_map: BackingMap) -> str | None:
        with cls._lock:
            found = cls._left.get(id(backing_map))
            return found[1] if found is not None else None

    def leave(self, what: str) -> None:
        """Note that nobody waits for it, unless it has returned."""
        with self._lock:
            if not self._is_over:
                self._left[id(self._map)] = (self, what)

    def watched(self, what: str, aim: Aim, call: Callable[[], Result]) -> Result:
        """Make the call, and note when it is over."""
        try:
            return told(what, aim, call)
        finally:
            with self._lock:
                self._is_over = True
                self._left.pop(id(self._map), None)
