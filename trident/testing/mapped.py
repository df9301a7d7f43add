"""What stands for a user's map whose keys expire: the state's own rules over a dict, in the time of the test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from trident.graph.nodes import PersistNode
from trident.state.folding import current
from trident.state.maps.ageing import Ageing
from trident.state.maps.maps import BackingKey, BackingPosition, BackingValue, TimedPosition, TimedValue
from trident.state.maps.state import BackingMapState
from trident.state.memory.database import MemoryDatabase
from trident.state.target import OpensTarget
from trident.testing.lives import Life


class KeptKeys:
    """A dict as one life sees it: nothing is changed in it once that has died. See `ConditionalBackingMap`."""

    def __init__(self, kept: dict[BackingKey, BackingValue], life: Life) -> None:
        self._kept = kept
        self._life = life

    def multi_get(self, keys: Sequence[BackingKey]) -> list[BackingValue | None]:
        """See `BackingMap`."""
        return [self._kept.get(key) for key in keys]

    def multi_put(self, items: Sequence[tuple[BackingKey, BackingValue]]) -> None:
        """See `BackingMap`."""
        self._life.require_alive()
        self._kept.update(items)

    def multi_put_if(self, changes: Sequence[tuple[BackingKey, BackingValue | None, BackingValue]]) -> list[bool]:
        """See `ConditionalBackingMap`."""
        self._life.require_alive()
        stored = [self._kept.get(key) == expected for key, expected, _ in changes]
        self._kept.update((key, new) for (key, _, new), is_stored in zip(changes, stored, strict=True) if is_stored)
        return stored

    def multi_remove_if(self, items: Sequence[tuple[BackingKey, BackingValue]]) -> list[bool]:
        """See `RemovableBackingMap`."""
        self._life.require_alive()
        removed = [self._kept.get(key) == expected for key, expected in items]
        for (key, _), is_removed in zip(items, removed, strict=True):
            if is_removed:
                del self._kept[key]
        return removed

    def expired(self, before: datetime, most: int) -> list[BackingKey]:
        """See `ExpiringBackingMap`."""
        return [key for key, value in self._kept.items() if isinstance(value, TimedValue) and value.at <= before][:most]


@dataclass(frozen=True)
class MapPlace:
    """A map in memory whose keys expire as those of the state that it stands for; see `Place`, `HasRows`."""

    end: PersistNode
    state: BackingMapState
    kept: dict[BackingKey, BackingValue] = field(default_factory=dict)

    def opens(self, life: Life) -> OpensTarget:
        """See `Place`."""
        state = self.state
        opened = BackingMapState(
            state.name,
            KeptKeys(self.kept, life),
            kind=state.kind,
            chunk_rows=state.chunk_rows,
            cached_keys=state.cached_keys,
            expire_after=state.expire_after,
        )
        return lambda ledger_database, timeouts: opened.open(self.end.layout, ledger_database, timeouts)

    def rows(self, ledger_database: MemoryDatabase) -> list[dict[str, object]]:
        """Return the rows of the keys that are there for a batch of the last one's time, in no order."""
        ageing = self._ageing()
        names = self.end.layout.schema().names
        found: list[dict[str, object]] = []
        for key, value in self.kept.items():
            if isinstance(value, BackingPosition):
                continue
            if ageing is not None and isinstance(value, TimedValue) and ageing.is_over(value.at):
                continue
            stored = value.stored if isinstance(value, TimedValue) else value
            found.append(dict(zip(names, (*key, *current(stored)), strict=True)))
        return found

    def _ageing(self) -> Ageing | None:
        at = next((value.at for value in self.kept.values() if isinstance(value, TimedPosition)), None)
        return None if at is None or self.state.expire_after is None else Ageing(at, self.state.expire_after)
