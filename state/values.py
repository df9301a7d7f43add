"""What is stored beside a value, and what an update makes of it: the rules that make a replay harmless.

| stored txid | transactional | opaque |
|---|---|---|
| none | value := f(nothing) | previous := nothing, current := f(nothing) |
| < T | value := f(value) | previous := current, current := f(current) |
| = T | stays: already in | current := f(previous), previous stays |
| > T | `StaleTxidError` | `StaleTxidError` |

A person may undo a txid that was not done everywhere: an opaque value of that txid becomes
`(txid - 1, previous, previous)`, and is gone where there was none before. What was before `previous`
is lost with it, so only the last txid of a state can be undone, and the next one starts from there.

A key that one apply changes twice is updated once, with both functions: `stored.update(T, f, g)` works
g on top of f's result. Calling `update(T, …)` on a result of `update(T, …)` is a replay of T, never a
second update: nothing in the stored value could tell the two apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

from trident.base.errors import MismatchError

V = TypeVar("V")

Update = Callable[[V | None], V]
"""Makes the new value of the old one; None means that there is nothing yet."""


class StaleTxidError(MismatchError):
    """A stored value is of a later txid than the update; nothing was changed."""

    def __init__(self, stored: int, given: int) -> None:
        super().__init__(stored, given)
        self.stored = stored
        self.given = given

    def __str__(self) -> str:
        return (
            f"the stored value is of txid {self.stored}, the update of txid {self.given}: "
            "a batch was applied out of order or the ledger was restored from a backup; nothing was changed"
        )


@dataclass(frozen=True, slots=True)
class TransactionalValue(Generic[V]):
    """A value and the txid that it is of: enough when a txid always holds the same records."""

    txid: int
    value: V

    @classmethod
    def first(cls, txid: int, *updates: Update[V]) -> Self:
        """Return the value of a key that has none yet."""
        return cls(txid, _run(None, updates))

    def update(self, txid: int, *updates: Update[V]) -> Self:
        """Return the value after all of a txid's updates of this key; itself if the txid is already in."""
        if self.txid > txid:
            raise StaleTxidError(self.txid, txid)
        if self.txid == txid:
            return self
        return type(self)(txid, _run(self.value, updates))


@dataclass(frozen=True, slots=True)
class OpaqueValue(Generic[V]):
    """A value, its txid and the value before that txid: a txid may come again with other records."""

    txid: int
    previous: V | None
    current: V

    @classmethod
    def first(cls, txid: int, *updates: Update[V]) -> Self:
        """Return the value of a key that has none yet; the one before it is None."""
        return cls(txid, None, _run(None, updates))

    def update(self, txid: int, *updates: Update[V]) -> Self:
        """Return the value after all of a txid's updates of this key; a replay starts from the previous value."""
        if self.txid > txid:
            raise StaleTxidError(self.txid, txid)
        before = self.previous if self.txid == txid else self.current
        return type(self)(txid, before, _run(before, updates))

    def undo(self, txid: int) -> Self | None:
        """Return the value as it was before a txid: None for a key that it made, itself for one it never changed."""
        if self.txid > txid:
            raise StaleTxidError(self.txid, txid)
        if self.txid < txid:
            return self
        return None if self.previous is None else type(self)(txid - 1, self.previous, self.previous)


def _run(value: V | None, updates: tuple[Update[V], ...]) -> V:
    if not updates:
        raise ValueError("an update needs at least one function")
    for update in updates:
        value = update(value)
    return value  # type: ignore[return-value]  # at least one update has made a V of it
