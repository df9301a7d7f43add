"""Which rows of a batch a memory state refuses: merged part by part, each in a transaction that is rolled back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from trident.base.errors import RefusedError
from trident.base.identity import BatchId
from trident.base.looking import rolled_back
from trident.state.capabilities import SharesTransaction, Transaction
from trident.state.layout import StateLayout
from trident.state.memory.database import MemoryDatabase
from trident.state.sifting import Sifted, sift
from trident.state.staged import HeldUpdates


@dataclass(frozen=True, slots=True)
class MemorySifting:
    """See `Sifts` and `PutsBack`; `applying` is the target itself."""

    database: MemoryDatabase
    applying: SharesTransaction
    conform: Callable[[pa.Table], object]
    now_held: Callable[[], StateLayout]

    def check(self, rows: pa.Table) -> None:
        """Look at types, as staging does."""
        self.conform(rows)

    def try_in(self, batch: BatchId, action: Callable[[Transaction], None]) -> None:
        """Put back what it changes."""
        rolled_back(self.database.transaction(), action)

    @property
    def layout(self) -> StateLayout:
        """The columns that are held."""
        return self.now_held()

    def try_rows(self, batch: BatchId, rows: pa.Table) -> None:
        """Merge all of them."""

        def merge(transaction: Transaction) -> None:
            self.applying.apply_in(transaction, batch, HeldUpdates(rows))

        self.try_in(batch, merge)

    def sift(self, batch: BatchId, rows: pa.Table, before: Callable[[Transaction], None], most: int) -> Sifted:
        """Try parts of the rows."""

        def refuses(numbers: Sequence[int]) -> bool:
            refused: list[RefusedError] = []

            def merge(transaction: Transaction) -> None:
                before(transaction)
                try:
                    self.applying.apply_in(transaction, batch, HeldUpdates(rows.take(pa.array(numbers, pa.int64()))))
                except RefusedError as error:
                    refused.append(error)

            self.try_in(batch, merge)
            return bool(refused)

        return sift(rows.num_rows, refuses, most)
