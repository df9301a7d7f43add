"""What a user's map is tested with: the harness of a `BackingMapState` over it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from datetime import timedelta

from trident.base.checks import check_able, check_count
from trident.state.layout import StateKind, StateLayout
from trident.state.maps.maps import (
    BackingKey,
    BackingMap,
    BackingPosition,
    BackingValue,
    ClearableBackingMap,
    RemovableBackingMap,
    TimedValue,
)
from trident.state.maps.state import BackingMapState
from trident.state.maps.target import MapTarget
from trident.state.memory.database import MemoryDatabase
from trident.testing.state_harness import StateHarness, shown


class BackingMapHarness(StateHarness):
    """Tests one fresh `BackingMap`: subclass it and say what the map holds.

    A batch is put two keys at a time, so that a few rows already make several chunks.
    """

    sees_foreign_rows = False

    def __init__(self, backing_map: BackingMap, *, chunk_rows: int = 2, cached_keys: int = 0) -> None:
        check_able("backing_map", backing_map, ("multi_get", "multi_put"), "an object with multi_get and multi_put")
        check_count("chunk_rows", chunk_rows)
        check_count("cached_keys", cached_keys, least=0)
        self.map = backing_map
        self.can_clear = isinstance(backing_map, ClearableBackingMap)
        self.can_remove = isinstance(backing_map, RemovableBackingMap)
        self._chunk_rows = chunk_rows
        self._cached_keys = cached_keys
        self._ledger_database = MemoryDatabase()

    @abstractmethod
    def items(self) -> Iterable[tuple[BackingKey, BackingValue]]:
        """Return all that the map holds, read past the state, in no order."""

    def open(self, layout: StateLayout, kind: StateKind) -> MapTarget:
        """Open the state over the map."""
        return self._opened(layout, kind, None)

    def open_expiring(self, layout: StateLayout, kind: StateKind, after: timedelta) -> MapTarget:
        """Open the state with `expire_after`."""
        return self._opened(layout, kind, after)

    def rows(self, layout: StateLayout) -> list[dict[str, object]]:
        """Return all rows; the reserved key is none."""
        plain = [(key, value.stored if isinstance(value, TimedValue) else value) for key, value in self.items()]
        return [shown(layout, key, value) for key, value in plain if not isinstance(value, BackingPosition)]

    def _opened(self, layout: StateLayout, kind: StateKind, after: timedelta | None) -> MapTarget:
        rows, kept = self._chunk_rows, self._cached_keys
        state = BackingMapState("counts", self.map, kind=kind, chunk_rows=rows, cached_keys=kept, expire_after=after)
        return state.open(layout, self._ledger_database)
