"""A state in a user's own key-value store."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from trident.base.checks import check_able, check_count, check_duration, refused
from trident.base.names import check_given_name
from trident.base.policies import policy_of
from trident.base.timeouts import DEFAULT_TIMEOUTS, Timeouts
from trident.base.user_code import UsersCode
from trident.state.layout import StateKind, StateLayout
from trident.state.maps.blobs import open_blobs
from trident.state.maps.cache import MapCache
from trident.state.maps.maps import BackingMap, ExpiringBackingMap
from trident.state.maps.place import MapPlace
from trident.state.maps.target import MapTarget
from trident.state.places import Places
from trident.state.tables.shape import table_shape
from trident.state.target import LedgerDatabase

_LONGEST: Final = timedelta(days=36_525)
"""A century: no batch is of a time from which it can't be taken."""


@dataclass(frozen=True, slots=True)
class BackingMapState:
    """Results in a store that a user brings, `chunk_rows` keys at a time; readers can see half a batch.

    Applied by the coordinator only, from updates that lie in the ledger's database until then. With a
    `ConditionalBackingMap` every key is exactly once whatever dies; without one, a coordinator that was
    stopped in the middle of a put and wakes after its successor took over can write old values.
    """

    name: str
    backing_map: BackingMap = field(repr=False)
    kind: StateKind = field(default=StateKind.OPAQUE, kw_only=True)
    chunk_rows: int = field(default=1_000, kw_only=True)
    cached_keys: int = field(default=0, kw_only=True)
    """The values of so many keys, those changed last, are kept in the coordinator's memory and not asked for again."""
    expire_after: timedelta | None = field(default=None, kw_only=True)
    """A key that was last updated so long before a batch, by the times of batches, is not there for that batch.

    A map with `expired` (`ExpiringBackingMap`) has such keys removed; in another one they stay.
    """

    def __post_init__(self) -> None:
        """Check what can be checked without a store."""
        check_given_name("a state's name", self.name)
        wanted = "an object with multi_get and multi_put, a BackingMap"
        check_able("backing_map", self.backing_map, ("multi_get", "multi_put"), wanted)
        object.__setattr__(self, "kind", policy_of(StateKind, self.kind, "a state's kind"))
        check_count("chunk_rows", self.chunk_rows)
        check_count("cached_keys", self.cached_keys, least=0)
        if self.expire_after is not None:
            self._check_expiry()

    def _check_expiry(self) -> None:
        check_duration("expire_after", self.expire_after, longest=_LONGEST)
        finds = callable(getattr(self.backing_map, "expired", None))
        if finds and not isinstance(self.backing_map, ExpiringBackingMap):
            wanted = "a map that has multi_remove_if beside expired, or neither of them, where keys expire"
            raise refused("backing_map", wanted, self.backing_map)

    def description(self) -> dict[str, str]:
        """Return what must stay the same over restarts."""
        return {"store": "backing map", "kind": str(self.kind), "map": type(self.backing_map).__qualname__}

    def places(self) -> Places:
        """Return the map: two states would take each other's keys for their own."""
        return {("map", id(self.backing_map)): "the same map"}

    def open(
        self, layout: StateLayout, ledger_database: LedgerDatabase, timeouts: Timeouts = DEFAULT_TIMEOUTS
    ) -> MapTarget:
        """Use the map as it is; staged updates go to the ledger's database."""
        table_shape(self.name, self.name, self.kind, layout)
        blobs = open_blobs(self.name, ledger_database)
        code = UsersCode(timeouts)
        cache = MapCache(self.cached_keys)
        return MapTarget(
            MapPlace(
                self.name, self.kind, self.backing_map, layout, self.chunk_rows, blobs, code, cache, self.expire_after
            )
        )
