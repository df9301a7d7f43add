"""Harnesses of the stores that need no server."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import cast

import pyarrow as pa

from trident.base.identity import BatchId
from trident.state.capabilities import beside_of
from trident.state.folding import Row, StoredRow
from trident.state.layout import KeyColumn, StateKind, StateLayout, ValueColumn
from trident.state.maps.maps import BackingKey, BackingValue, TimedValue
from trident.state.maps.state import BackingMapState
from trident.state.maps.target import MapTarget
from trident.state.memory.database import MemoryDatabase
from trident.state.memory.state import MemoryState
from trident.state.sqlite.database import SqliteDatabase
from trident.state.sqlite.state import SqliteState
from trident.state.staged import StagedUpdates
from trident.state.target import Target
from trident.testing import BackingMapHarness, StateHarness
from trident.testing.state_harness import shown


class MemoryHarness(StateHarness):
    """A state beside a memory ledger (`beside`) or in a database of its own."""

    def __init__(self, beside: bool = True) -> None:
        self.database = MemoryDatabase()
        self.beside = beside

    def open(self, layout: StateLayout, kind: StateKind) -> Target:
        if self.beside:
            return MemoryState("counts", kind=kind).open(layout, self.database)
        return self.open_apart(layout, kind)

    def open_apart(self, layout: StateLayout, kind: StateKind) -> Target:
        return MemoryState("counts", kind=kind, database=self.database).open(layout, MemoryDatabase())

    def rows(self, layout: StateLayout) -> list[dict[str, object]]:
        with self.database.transaction() as transaction:
            found = cast("dict[Row, StoredRow]", transaction.table("state counts rows"))
        return [shown(layout, key, row) for key, row in found.items()]

    def commit(self, store: Target, batch: BatchId, updates: StagedUpdates) -> None:
        if store.capabilities.beside is None:
            store.apply(batch, updates)
            return
        updates = beside_of(store).ready(batch, updates)
        with self.database.transaction() as transaction:
            beside_of(store).copy_in(transaction, batch, updates)
            beside_of(store).apply_in(transaction, batch, updates)


class SqliteHarness(StateHarness):
    """A state beside a SQLite ledger (`beside`) or in a file of its own."""

    def __init__(self, folder: Path, beside: bool) -> None:
        self.path = folder / "state.db"
        self.beside = beside
        self.database = SqliteDatabase(self.path)
        self.stores: list[Target] = []

    def open(self, layout: StateLayout, kind: StateKind) -> Target:
        return self._open(layout, kind, None if self.beside else self.path)

    def open_apart(self, layout: StateLayout, kind: StateKind) -> Target:
        return self._open(layout, kind, self.path)

    def _open(self, layout: StateLayout, kind: StateKind, path: Path | None) -> Target:
        self.stores.append(SqliteState("counts", path=path, kind=kind).open(layout, self.database))
        return self.stores[-1]

    def rows(self, layout: StateLayout) -> list[dict[str, object]]:
        with self.database.transaction() as transaction:
            found = [dict(row) for row in transaction.connection.exec_driver_sql("SELECT * FROM counts").mappings()]
        columns: tuple[KeyColumn | ValueColumn, ...] = (*layout.keys, *layout.values)
        decimals = [c.name for c in columns if pa.types.is_decimal(c.type)]
        return [{**row, **{name: Decimal(row[name]) for name in decimals if row[name] is not None}} for row in found]

    def commit(self, store: Target, batch: BatchId, updates: StagedUpdates) -> None:
        if store.capabilities.beside is None:
            store.apply(batch, updates)
            return
        updates = beside_of(store).ready(batch, updates)
        with self.database.transaction() as transaction:
            beside_of(store).copy_in(transaction, batch, updates)
            beside_of(store).apply_in(transaction, batch, updates)

    def close(self) -> None:
        for store in self.stores:
            store.close()
        self.database.close()


class DictMap:
    """The least that a backing map is."""

    def __init__(self) -> None:
        self.rows: dict[BackingKey, BackingValue] = {}
        self.puts_left: int | None = None

    def multi_get(self, keys):
        return [self.rows.get(key) for key in keys]

    def multi_put(self, items):
        for key, value in items:
            self._spend()
            self.rows[key] = value

    def _spend(self) -> None:
        """Die after a number of puts, as a process does."""
        if self.puts_left is not None:
            if self.puts_left == 0:
                raise KeyboardInterrupt
            self.puts_left -= 1


class ClearableMap(DictMap):
    def clear(self) -> None:
        self.rows.clear()


class ConditionalMap(ClearableMap):
    def multi_put_if(self, changes):
        stored = []
        for key, expected, new in changes:
            self._spend()
            matches = self.rows.get(key) == expected
            if matches:
                self.rows[key] = new
            stored.append(matches)
        return stored

    def multi_remove_if(self, items):
        removed = []
        for key, expected in items:
            self._spend()
            matches = self.rows.get(key) == expected
            if matches:
                del self.rows[key]
            removed.append(matches)
        return removed


class ExpiringMap(ConditionalMap):
    def expired(self, before, most):
        over = [key for key, value in self.rows.items() if isinstance(value, TimedValue) and value.at <= before]
        return over[:most]


class BackingHarness(BackingMapHarness):
    map: DictMap

    def __init__(
        self,
        backing_map: DictMap,
        chunk_rows: int = 1_000,
        cached_keys: int = 0,
        expire_after: timedelta | None = None,
    ) -> None:
        super().__init__(backing_map, chunk_rows=chunk_rows, cached_keys=cached_keys)
        self.expire_after = expire_after

    def open(self, layout: StateLayout, kind: StateKind) -> MapTarget:
        state = BackingMapState(
            "counts",
            self.map,
            kind=kind,
            chunk_rows=self._chunk_rows,
            cached_keys=self._cached_keys,
            expire_after=self.expire_after,
        )
        return state.open(layout, self._ledger_database)

    def items(self):
        return self.map.rows.items()
