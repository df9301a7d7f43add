"""A memory state at one of the weaker levels: rows and nothing beside them."""

from __future__ import annotations

import pyarrow as pa

from trident.base.identity import BatchId
from trident.state.folding import Row, StoredRow, check_fit, keyed_rows, merged_with, updated
from trident.state.layout import StateKind, StateLayout
from trident.state.memory.database import MemoryDatabase, MemoryTransaction
from trident.state.memory.place import LAYOUTS, rows_table
from trident.state.plainly import Holds, PlainTarget
from trident.state.rows import conform


class PlainMemory(PlainTarget):
    """See `PlainTarget`."""

    def __init__(self, database: MemoryDatabase, name: str, layout: StateLayout, *, beside: bool = True) -> None:
        super().__init__(name, beside=beside)
        self._database = database
        self._layout = layout

    def check(self) -> None:
        """Do nothing: nothing can be wrong with it."""

    def prepare(self) -> None:
        """Remember the layout, for readers."""
        with self._database.transaction() as transaction:
            transaction.table(LAYOUTS)[self.name] = self._layout

    def write(self, batch: BatchId, rows: pa.Table, holds: Holds | None = None) -> None:
        """Merge the rows into those that are there, all of them or none."""
        staged = keyed_rows(self._layout, conform(rows, self._layout.schema()))
        with self._database.transaction() as transaction:
            self._merge(transaction, staged)
            if self.is_beside and holds is not None:
                holds(transaction)

    def clear(self) -> None:
        """Forget all rows."""
        with self._database.transaction() as transaction:
            transaction.table(rows_table(self.name)).clear()

    def close(self) -> None:
        """Do nothing: the memory is the ledger's."""

    def _merge(self, transaction: MemoryTransaction, staged: dict[Row, Row]) -> None:
        stored = transaction.table(rows_table(self.name))
        changed: dict[Row, StoredRow] = {
            key: updated(StateKind.NON_TRANSACTIONAL, stored.get(key), 0, merged_with(self._layout, row))
            for key, row in staged.items()
        }
        check_fit(self._layout, changed)
        for key, value in changed.items():
            stored[key] = value
