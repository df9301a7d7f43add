"""One state's place in a user's map: its reserved key, its staged updates, and puts that notice another writer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeVar

import pyarrow as pa

from trident.base.errors import FencedError, MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.user_code import UsersCode
from trident.state.evolving import HeldColumns, aligned
from trident.state.folding import StoredRow, keyed_rows, settled_row
from trident.state.layout import StateKind, StateLayout
from trident.state.maps.blobs import BlobStore
from trident.state.maps.cache import MapCache
from trident.state.maps.calling import MapCalls
from trident.state.maps.maps import (
    BackingKey,
    BackingMap,
    BackingPosition,
    BackingValue,
    ConditionalBackingMap,
    TimedPosition,
    TimedValue,
)
from trident.state.maps.raising import Aim, placing, reading
from trident.state.positions import Position, check_epoch
from trident.state.rows import conform
from trident.state.staged import AppliedUpdates, HeldUpdates, StagedUpdates
from trident.state.values import OpaqueValue, TransactionalValue

Item = TypeVar("Item")

ROUNDS = 5
"""How often a key is read again after somebody else changed it between our read and our conditional put."""


_MOST_KEYS = 32
"""States with as many key columns find each other in one map."""


def _claimed(keys: int) -> BackingKey:
    return ("trident state of this map", *["trident"] * keys)


@dataclass(slots=True)
class MapPlace:
    """What the parts of a map target share."""

    name: str
    kind: StateKind
    backing_map: BackingMap = field(repr=False)
    layout: StateLayout
    """The columns in the order in which rows lie in the map."""
    chunk_rows: int
    blobs: BlobStore = field(repr=False)
    users_code: UsersCode = field(repr=False)
    cache: MapCache = field(default_factory=lambda: MapCache(0), repr=False)
    """Of an owner that applies; whoever changes the map in another way forgets it."""
    expire_after: timedelta | None = None
    columns: HeldColumns | None = None
    """What the ledger knows of them; None: they are as the state was opened with them."""

    @property
    def calls(self) -> MapCalls:
        """The map, as it is called: nothing else of this package calls it."""
        return MapCalls(self.name, self.backing_map, self.users_code)

    @property
    def reserved(self) -> BackingKey:
        """The key that position and epoch lie under; it has one element more than any other."""
        return ("trident position of", *[self.name] * len(self.layout.keys))

    @property
    def claimed(self) -> BackingKey:
        """The key that says whose map it is, the same for every state with as many key columns."""
        return _claimed(len(self.layout.keys))

    def claim(self, owner: Owner) -> bool:
        """Mark the map as this state's and return whether it is; raises MismatchError for one that is another's.

        Two states over one map would take each other's keys for their own.
        """
        if self.is_claimed(owner.topology):
            return True
        mark = self.mark_of(owner.topology)
        return not self.put([(self.claimed, None, mark)], placing(f"topology {owner.topology!r}"))

    def is_claimed(self, topology: str) -> bool:
        """Tell whether the map is this state's already; raises MismatchError for one that is another's."""
        mark = self.mark_of(topology)
        (found,) = self.calls.get([self.claimed], reading())
        if found is not None and found != mark:
            raise MismatchError(self._held_by(found))
        if found is None:
            self.refuse_others(mark)
        return found is not None

    def refuse_others(self, mark: BackingPosition | None = None) -> None:
        """Raise MismatchError for a map that a state with another number of key columns has claimed, too.

        The mark is this state's own, by default what it has claimed the map with.
        """
        claims = [_claimed(count) for count in range(max(_MOST_KEYS, len(self.layout.keys)) + 1)]
        found = self.calls.get(claims, reading())
        mine = mark or found[len(self.layout.keys)]
        others = [each for each in found if isinstance(each, BackingPosition) and each != mine]
        if others:
            raise MismatchError(self._held_by(others[0]))

    def mark_of(self, topology: str) -> BackingPosition:
        """Return what the claim holds: it is no position, and has the state's name for its token."""
        return BackingPosition(topology, "", 0, self.name, None, None, None)

    def _held_by(self, found: BackingValue) -> str:
        mine = f"state {self.name!r}"
        if not isinstance(found, BackingPosition):
            return f"the key that says whose map it is holds a {type(found).__name__}; nothing was changed"
        return (
            f"the map belongs to state {found.token!r} of topology {found.topology!r}, not to {mine} of this one: two "
            "states over one map would overwrite each other's values, and a reset of one would empty the other's. "
            "No value was changed: give each a map of its own; the claim stays until this one is emptied"
        )

    def read(self, topology: str, about: str = "") -> BackingPosition | None:
        """Return what the reserved key holds, None for nothing; refuses another topology's. `about` says for whom."""
        (found,) = self.calls.get([self.reserved], reading(about))
        if found is None:
            return None
        if not isinstance(found, BackingPosition):
            raise MismatchError(f"the reserved key of state {self.name!r} holds a {type(found).__name__}")
        if found.topology != topology:
            raise MismatchError(f"state {self.name!r} belongs to topology {found.topology!r}, not to {topology!r}")
        return found

    def owned(self, owner: Owner, epoch: Epoch, about: str = "") -> BackingPosition | None:
        """Return what the reserved key holds, after checking that no newer epoch holds the state."""
        found = self.read(owner.topology, about)
        check_epoch(epoch_of(found), epoch, self.name)
        return found

    def replace_reserved(self, expected: BackingPosition | None, new: BackingPosition) -> bool:
        """Replace the reserved key's value; returns whether it was the expected one."""
        about = f"its position, epoch {new.epoch}" + (f", txid {new.txid}" if new.txid is not None else "")
        return expected == new or not self.put([(self.reserved, expected, new)], placing(about))

    def put_reserved(self, expected: BackingPosition | None, new: BackingPosition) -> None:
        """Replace the reserved key's value; raises FencedError when somebody else has."""
        if not self.replace_reserved(expected, new):
            raise FencedError(f"another coordinator wrote the position of state {self.name!r}; this one stops")

    def get(self, keys: list[BackingKey], about: str) -> dict[BackingKey, BackingValue | None]:
        """Return what is stored under each key, with the one NaN: a store that decodes its values makes new ones."""
        if not keys:
            return {}
        found = self.calls.get(keys, reading(about))
        return {key: settled_value(value) for key, value in zip(keys, found, strict=True)}

    def put(
        self,
        changes: list[tuple[BackingKey, BackingValue | None, BackingValue]],
        aim: Aim,
        *,
        may_be_left: bool = True,
    ) -> list[BackingKey]:
        """Put all changes; returns the keys that held something else than expected."""
        if not changes:
            return []
        if isinstance(self.backing_map, ConditionalBackingMap):
            stored = self.calls.put_if(changes, aim, may_be_left=may_be_left)
            return [change[0] for change, done in zip(changes, stored, strict=True) if not done]
        self.calls.put([(key, new) for key, _, new in changes], aim)
        return []

    def remove(
        self, items: list[tuple[BackingKey, BackingValue | None]], aim: Aim, *, may_be_left: bool = False
    ) -> list[BackingKey]:
        """Remove all keys; returns those that held something else than expected."""
        held = [(key, value) for key, value in items if value is not None]
        if not held:
            return []
        removed = self.calls.remove_if(held, aim, may_be_left=may_be_left)
        return [item[0] for item, done in zip(held, removed, strict=True) if not done]

    def rows_of(self, batch: BatchId, updates: StagedUpdates | AppliedUpdates) -> pa.Table:
        """Return all staged rows of a batch."""
        if isinstance(updates, AppliedUpdates):
            raise MismatchError(
                f"{batch}: the ledger says that {updates.count} rows of state {self.name!r} were applied with the pin, "
                "which a map never is; nothing was changed"
            )
        if isinstance(updates, HeldUpdates):
            return conform(updates.rows, self.layout.schema())
        empty = self.columns.empty if self.columns is not None else ()
        tables = [aligned(self.blobs.get(batch, write), self.layout, empty) for write in updates.writes]
        return pa.concat_tables(tables) if tables else self.layout.schema().empty_table()

    def keys_of(self, batch: BatchId, updates: StagedUpdates | AppliedUpdates) -> Iterator[list[BackingKey]]:
        """Yield the keys of a batch, chunk by chunk."""
        yield from chunks(list(keyed_rows(self.layout, self.rows_of(batch, updates))), self.chunk_rows)


def settled_value(stored: BackingValue | None) -> BackingValue | None:
    """Return a stored value with the one NaN in its rows; the reserved key's as it is."""
    if stored is None or isinstance(stored, BackingPosition):
        return stored
    if isinstance(stored, TimedValue):
        plain = _settled_plain(stored.stored)
        return stored if plain is stored.stored else replace(stored, stored=plain)
    return _settled_plain(stored)


def _settled_plain(stored: StoredRow) -> StoredRow:
    match stored:
        case TransactionalValue():
            value = settled_row(stored.value)
            return stored if value is stored.value else replace(stored, value=value)
        case OpaqueValue():
            previous = None if stored.previous is None else settled_row(stored.previous)
            now = settled_row(stored.current)
            same = previous is stored.previous and now is stored.current
            return stored if same else replace(stored, previous=previous, current=now)
        case tuple():
            return settled_row(stored)
    return stored  # a store that returns other objects than it was given is told so where it is updated


def chunks(items: list[Item], size: int) -> Iterator[list[Item]]:
    """Yield the items in lists of that size."""
    for first in range(0, len(items), size):
        yield items[first : first + size]


def epoch_of(found: BackingPosition | None) -> Epoch | None:
    """Return the epoch of what a reserved key holds."""
    return Epoch(found.epoch, found.token) if found else None


def position_of(found: BackingPosition | None) -> Position | None:
    """Return the position of what a reserved key holds, None until the state is registered."""
    if found is None or found.txid is None or found.attempt is None or found.birth_txid is None:
        return None
    return Position(Owner(found.topology, found.incarnation), found.txid, found.attempt, found.birth_txid)


def time_of(found: BackingPosition | None) -> datetime | None:
    """Return the batch time of the txid that a reserved key stands at, None where it does not say."""
    return found.at if isinstance(found, TimedPosition) else None


def reserved_value(position: Position, epoch: Epoch, at: datetime | None = None) -> BackingPosition:
    """Return what the reserved key is to hold; `at` is the time of the txid where it stands, where keys expire."""
    owner, txid, attempt, birth = position.owner, position.txid, position.attempt, position.birth_txid
    if at is None:
        return BackingPosition(owner.topology, owner.incarnation, epoch.number, epoch.token, txid, attempt, birth)
    return TimedPosition(owner.topology, owner.incarnation, epoch.number, epoch.token, txid, attempt, birth, at)


def fence_only(owner: Owner, epoch: Epoch) -> BackingPosition:
    """Return what the reserved key is to hold before the state is registered."""
    return BackingPosition(owner.topology, owner.incarnation, epoch.number, epoch.token, None, None, None)
