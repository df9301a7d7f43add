"""The rows that a memory state is given: checked, digested and taken apart by key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trident.base.digest import Digest, hash64, seed_of
from trident.state.evolving import aligned
from trident.state.folding import Row, StoredRow, check_fit, keyed_rows
from trident.state.layout import StateLayout
from trident.state.rows import conform


@dataclass(frozen=True, slots=True)
class StagedWrite:
    """What lies in a memory state's staging under a write id: whose it is, and the rows."""

    txid: int
    attempt: int
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class ArrowRows:
    """All that a memory state does with Arrow; its decisions are elsewhere and see Python values only."""

    layout: StateLayout
    empty: frozenset[str] = frozenset()
    """Columns that rows of another version may lack."""

    def conform(self, rows: pa.Table) -> pa.Table:
        """Return the rows with exactly the layout's columns and types; raises RefusedError for what doesn't fit."""
        return conform(rows, self.layout.schema())

    def digest(self, write_id: str, rows: pa.Table) -> Digest:
        """Return what is compared before staged rows are applied: how many they are."""
        return Digest.of(hash64(seed_of(write_id), np.arange(rows.num_rows, dtype=np.int64)))

    def keyed(self, tables: Sequence[pa.Table]) -> dict[Row, Row]:
        """Return all rows by key; raises MismatchError for a key that was staged twice."""
        return keyed_rows(self.layout, self.joined(tables)) if tables else {}

    def joined(self, tables: Sequence[pa.Table]) -> pa.Table:
        """Return all rows in one table."""
        if not tables:
            return self.layout.schema().empty_table()
        return pa.concat_tables([aligned(rows, self.layout, self.empty) for rows in tables])

    def check_fit(self, changed: Mapping[Row, StoredRow]) -> None:
        """Raise RefusedError when a merged value does not fit into its column."""
        check_fit(self.layout, changed)
