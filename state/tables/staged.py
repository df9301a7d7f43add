"""The temporary table that a merge reads: one batch's rows, seen by one transaction only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from sqlalchemy import Connection, text

from trident.state.rows import AnyArray, array_of
from trident.state.tables.dialect import Dialect, run_all
from trident.state.tables.merge import (
    NullPattern,
    insert_statement,
    patterns_statement,
    stored_statement,
    update_statement,
)
from trident.state.tables.names import quote
from trident.state.tables.shape import ColumnSpec, TableShape
from trident.state.tables.staging import Writes

ORDINAL = "trident_ordinal"
_LARGE = 5_000
"""Rows from which telling the planner about them costs less than it saves."""


@dataclass(frozen=True, slots=True)
class StagedTable:
    """Creates, fills and merges the temporary table of one state; inside the caller's transaction."""

    dialect: Dialect
    shape: TableShape
    table: str

    def create(self, connection: Connection) -> None:
        """Make the table, or find it empty as the last transaction of this connection left it."""
        specs = [self._spec(column.name, column.type) for column in self.shape.staged]
        if self.shape.combined:
            specs.append(ColumnSpec(ORDINAL, "bigint", True))
        run_all(connection, self.dialect.create_temporary(self.table, specs))

    def copy(self, connection: Connection, rows: pa.Table) -> None:
        """Bring held rows in."""
        if self.shape.combined:
            rows = rows.append_column(ORDINAL, pa.array(np.arange(rows.num_rows, dtype=np.int64)))
        self.dialect.insert_rows(connection, self.table, rows)

    def load(self, connection: Connection, writes: Writes) -> None:
        """Bring verified rows of a staging table in."""
        writes.load(connection, self.shape, self.table, ORDINAL if self.shape.combined else None)

    def merge(self, connection: Connection, txid: int, expected: int, no_null_keys: bool) -> int:
        """Merge the rows into the state's table; returns how many stored rows were changed or made."""
        if expected >= _LARGE:
            self.dialect.analyse(connection, self.table)
        patterns = self._patterns(connection, no_null_keys)
        changed = sum(self._update(connection, txid, pattern) for pattern in patterns)
        if changed == expected:  # mostly every key is known, and the INSERT would only look for rows to skip
            return changed
        return changed + sum(self._insert(connection, txid, pattern) for pattern in patterns)

    def _patterns(self, connection: Connection, no_null_keys: bool) -> list[NullPattern]:
        if not self.shape.keys or no_null_keys:
            return [tuple(False for _ in self.shape.keys)]
        rows = connection.execute(text(patterns_statement(self.shape, quote(self.table))))
        return [tuple(bool(is_null) for is_null in row) for row in rows]

    def _update(self, connection: Connection, txid: int, pattern: NullPattern) -> int:
        if self.shape.combined:
            self._fold(connection, pattern)
        statement = update_statement(self.shape, self.dialect, quote(self.table), pattern)
        return connection.execute(text(statement), self._parameters(txid)).rowcount

    def _insert(self, connection: Connection, txid: int, pattern: NullPattern) -> int:
        statement = insert_statement(self.shape, quote(self.table), pattern)
        return connection.execute(text(statement), self._parameters(txid)).rowcount

    def _parameters(self, txid: int) -> dict[str, int]:
        return {"txid": txid} if self.shape.has_txid else {}

    def _fold(self, connection: Connection, pattern: NullPattern) -> None:
        """Replace staged values by what their column's Python function makes of the stored ones and them."""
        statement = stored_statement(self.shape, self.dialect, quote(self.table), ORDINAL, pattern)
        pairs = connection.execute(text(statement)).fetchall()
        if not pairs:
            return
        folded = self.table + "_f"
        specs = [ColumnSpec(ORDINAL, "bigint", False)]
        specs += [self._spec(column.name, column.type) for column in self.shape.combined]
        run_all(connection, self.dialect.create_temporary(folded, specs))
        self.dialect.insert_rows(connection, folded, self._folded([tuple(pair) for pair in pairs]))
        changes = ", ".join(f"{quote(c.name)} = f.{quote(c.name)}" for c in self.shape.combined)
        matches = f"s.{ORDINAL} = f.{ORDINAL}"
        connection.execute(
            text(f"UPDATE {quote(self.table)} AS s SET {changes} FROM {quote(folded)} AS f WHERE {matches}")
        )

    def _folded(self, pairs: list[tuple[object, ...]]) -> pa.Table:
        columns: dict[str, AnyArray] = {ORDINAL: pa.array([pair[0] for pair in pairs], pa.int64())}
        for index, column in enumerate(self.shape.combined):
            assert column.combine is not None
            values: list[object] = []
            for pair in pairs:
                stored, staged = (self.dialect.from_stored(column.type, pair[1 + 2 * index + i]) for i in (0, 1))
                both = stored is not None and staged is not None
                values.append(column.combine(stored, staged) if both else staged if stored is None else stored)
            columns[column.name] = array_of(values, column.name, column.type)
        return pa.table(columns)

    def _spec(self, name: str, type_: pa.DataType) -> ColumnSpec:
        return ColumnSpec(name, self.dialect.column_type(type_), True)
