"""A memory state at one of the weaker levels: rows without a txid, and beside them whose they are."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from trident.base.errors import FencedError, MismatchError
from trident.base.identity import BatchId, Epoch, Owner
from trident.state.folding import Row, StoredRow, check_fit, keyed_rows, merged_with, updated
from trident.state.layout import StateKind, StateLayout
from trident.state.memory.database import MemoryDatabase, MemoryTransaction
from trident.state.memory.place import LAYOUTS, PLAIN_MARKS, is_placed, rows_table
from trident.state.plainly import Holds, PlainFound, PlainMark, PlainTarget
from trident.state.positions import check_epoch
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
            noted = transaction.table(PLAIN_MARKS).get(self.name)
            if not isinstance(noted, PlainMark) or (noted.owner, noted.epoch) != (batch.owner, batch.epoch):
                raise FencedError(
                    f"state {self.name!r} is not this owner's of topology {batch.owner.topology!r} any more; "
                    f"nothing of {batch} was written"
                )
            self._merge(transaction, staged)
            newest = max(noted.newest_txid, batch.txid)
            transaction.table(PLAIN_MARKS)[self.name] = replace(noted, had_rows=True, newest_txid=newest)
            if self.is_beside and holds is not None:
                holds(transaction)

    def found(self, topology: str) -> PlainFound:
        """Look for whose it is noted to be, and for a row."""
        with self._database.transaction() as transaction:
            self._refuse_placed(transaction)
            found = self._mark(transaction, topology)
            return PlainFound(found, has_rows=bool(transaction.table(rows_table(self.name))))

    def own(self, owner: Owner, epoch: Epoch, *, emptied: bool = False, holds: Holds | None = None) -> None:
        """Make it ready, forget all rows if that is asked for, and note whose it is."""
        with self._database.transaction() as transaction:
            self._refuse_placed(transaction)
            known, rows = self._mark(transaction, owner.topology), transaction.table(rows_table(self.name))
            check_epoch(None if known is None else known.epoch, epoch, self.name)
            transaction.table(LAYOUTS)[self.name] = self._layout
            if emptied:
                rows.clear()
            newest = known.newest_txid if known is not None and known.owner == owner else 0
            transaction.table(PLAIN_MARKS)[self.name] = PlainMark(owner, epoch, bool(rows), newest)
            if self.is_beside and holds is not None:
                holds(transaction)

    def close(self) -> None:
        """Do nothing: the memory is the ledger's."""

    def _mark(self, transaction: MemoryTransaction, topology: str) -> PlainMark | None:
        found = transaction.table(PLAIN_MARKS).get(self.name)
        assert found is None or isinstance(found, PlainMark)
        if found is not None and found.owner.topology != topology:
            raise MismatchError(f"state {self.name!r} belongs to another topology; nothing was changed")
        return found

    def _refuse_placed(self, transaction: MemoryTransaction) -> None:
        if is_placed(transaction, self.name):
            raise MismatchError(
                f"state {self.name!r} stands at a txid of some topology: what is written without one can't be mixed "
                "with it. Nothing was changed: use another name"
            )

    def _merge(self, transaction: MemoryTransaction, staged: dict[Row, Row]) -> None:
        stored = transaction.table(rows_table(self.name))
        changed: dict[Row, StoredRow] = {
            key: updated(StateKind.NON_TRANSACTIONAL, stored.get(key), 0, merged_with(self._layout, row))
            for key, row in staged.items()
        }
        check_fit(self._layout, changed)
        for key, value in changed.items():
            stored[key] = value
