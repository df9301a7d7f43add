"""What a store's contract is tested with: a harness per store, and short words for batches and rows."""

from __future__ import annotations

from abc import ABC, abstractmethod

import pyarrow as pa
import pytest

from trident.base.identity import BatchId, Epoch, Owner
from trident.state.capabilities import (
    Divertible,
    Queryable,
    Resettable,
    SharesTransaction,
    Undoable,
    WritableByTasks,
)
from trident.state.evolving import Evolves, widened
from trident.state.folding import Row, StoredRow, current
from trident.state.layout import KeyColumn, Merge, StateKind, StateLayout, ValueColumn
from trident.state.staged import HeldUpdates, StagedUpdates
from trident.state.target import Target
from trident.state.values import OpaqueValue, TransactionalValue

OWNER = Owner("orders", "first-life")
EPOCH = Epoch(3, "first.c")
NEWER = Epoch(4, "first.d")
COUNTS = StateLayout(
    (KeyColumn("account", pa.string()),),
    (ValueColumn("n", pa.int64(), Merge.ADD), ValueColumn("total", pa.int64(), Merge.ADD)),
)


class StateHarness(ABC):
    """Makes stores over one fresh database, and reads what is in it past them."""

    can_clear = True
    can_remove = True
    """Whether an undo can take away rows that its batch made."""
    sees_foreign_rows = True
    """Whether the store can tell that a table has rows although it has never been registered."""

    @abstractmethod
    def open(self, layout: StateLayout, kind: StateKind) -> Target:
        """Open the state; called again it opens the same one, as after a restart."""

    def open_apart(self, layout: StateLayout, kind: StateKind) -> Target:
        """Open the same state not beside the ledger; another way than `open` where that one is beside it."""
        return self.open(layout, kind)

    @abstractmethod
    def rows(self, layout: StateLayout) -> list[dict[str, object]]:
        """Return all stored rows, in no order: key and value columns and what the kind keeps beside them."""

    def commit(self, store: Target, batch: BatchId, updates: StagedUpdates) -> None:
        """Apply a batch as the coordinator does: here, in a transaction of the store's own."""
        store.apply(batch, updates)


def shown(layout: StateLayout, key: Row, stored: StoredRow) -> dict[str, object]:
    """Return a stored Python value as a SQL table would show it."""
    names = [column.name for column in layout.values]
    values = widened(current(stored), len(names))
    keys = {column.name: value for column, value in zip(layout.keys, key, strict=True)}
    row = keys | dict(zip(names, values[: len(names)], strict=True))
    if isinstance(stored, OpaqueValue):
        before = widened(stored.previous or (), len(names))
        row |= {f"previous_{name}": value for name, value in zip(names, before[: len(names)], strict=True)}
    if isinstance(stored, (OpaqueValue, TransactionalValue)):
        row["txid"] = stored.txid
    return row


def batch_of(txid: int, attempt: int | None = None, epoch: Epoch = EPOCH, owner: Owner = OWNER) -> BatchId:
    """Return a batch's identity; the attempt is 10 times the txid unless given."""
    return BatchId(owner, epoch, txid, 10 * txid if attempt is None else attempt)


def counts(*rows: tuple[str | None, int, int]) -> HeldUpdates:
    """Return staged (account, n, total) rows."""
    return held(COUNTS, *rows)


def held(layout: StateLayout, *rows: tuple[object, ...]) -> HeldUpdates:
    """Return staged rows of any layout."""
    columns = list(zip(*rows, strict=True)) or [()] * len(layout.schema())
    arrays = [pa.array(values, field.type) for values, field in zip(columns, layout.schema(), strict=True)]
    return HeldUpdates(pa.table(arrays, schema=layout.schema()))


def ready(harness: StateHarness, kind: StateKind = StateKind.OPAQUE, layout: StateLayout = COUNTS) -> Target:
    """Return a store that was taken over and registered with birth txid 0."""
    store = harness.open(layout, kind)
    return _begun(store)


def apart(harness: StateHarness, kind: StateKind = StateKind.OPAQUE, layout: StateLayout = COUNTS) -> Target:
    """Return a store that is ready and applies pinned batches in transactions of its own, wherever it lives."""
    store = harness.open_apart(layout, kind)
    assert store.capabilities.beside is None, "StateHarness.open_apart opened a state beside the ledger"
    return _begun(store)


def _begun(store: Target) -> Target:
    store.prepare()
    store.raise_fence(OWNER, EPOCH)
    store.register(OWNER, EPOCH, 0)
    return store


def put(harness: StateHarness, store: Target, batch: BatchId, updates: HeldUpdates) -> None:
    """Stage and apply."""
    harness.commit(store, batch, store.stage(batch, updates))


def seen(harness: StateHarness, layout: StateLayout = COUNTS) -> dict[object, tuple[object, ...]]:
    """Return the current values by (first) key."""
    names = [column.name for column in layout.values]
    return {row[layout.keys[0].name]: tuple(row[name] for name in names) for row in harness.rows(layout)}


def undoing(store: Target) -> Undoable:
    """Return what undoes a batch; a test that needs it is skipped where there is none."""
    return store.capabilities.undoing or pytest.skip(f"{store.name!r} can't be undone")


def evolving(store: Target) -> Evolves:
    """Return what holds other columns; a test that needs it is skipped where there is none."""
    return store.capabilities.evolving or pytest.skip(f"{store.name!r} can't change what it holds")


def resetting(store: Target) -> Resettable:
    """Return what follows a reset; a test that needs it is skipped where there is none."""
    return store.capabilities.resetting or pytest.skip(f"{store.name!r} can't follow a reset")


def diverting(store: Target) -> Divertible:
    """Return what gives staged rows back; a test that needs it is skipped where there is none."""
    return store.capabilities.diverting or pytest.skip(f"{store.name!r} can't give staged rows back")


def beside(store: Target) -> SharesTransaction:
    """Return what applies it in the pin's transaction; a test that needs it is skipped where there is none."""
    return store.capabilities.beside or pytest.skip(f"{store.name!r} is not beside the ledger")


def writing(store: Target) -> WritableByTasks:
    """Return what tasks stage with; a test that needs it is skipped where there is none."""
    return store.capabilities.writing or pytest.skip(f"tasks can't write to {store.name!r}")


def querying(store: Target) -> Queryable:
    """Return what finds keys; a test that needs it is skipped where there is none."""
    return store.capabilities.querying or pytest.skip(f"{store.name!r} can't be queried")
