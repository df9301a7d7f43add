"""The temporary table that a merge reads: one batch's rows, seen by one transaction only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import pyarrow as pa
from sqlalchemy import Connection, CursorResult, text
from sqlalchemy.exc import DBAPIError

from trident.base.errors import RefusedError
from trident.state.layout import Merge
from trident.state.tables.dialect import Dialect, ReadyRows, run_all
from trident.state.tables.merge import (
    NullPattern,
    insert_statement,
    merge_statement,
    merged_statement,
    patterns_statement,
    update_statement,
)
from trident.state.tables.names import quote
from trident.state.tables.shape import ColumnSpec, TableShape
from trident.state.tables.staging import Writes

_LARGE = 5_000
"""Rows from which telling the planner about them costs less than it saves."""
_WIDE = 2
"""From how many stored rows for each staged one the staged ones are looked up in the order of their keys."""


@dataclass(frozen=True, slots=True)
class Merged:
    """How many stored rows a merge changed, and how many it made."""

    changed: int
    made: int


@dataclass(frozen=True, slots=True)
class StagedTable:
    """Creates, fills and merges the temporary table of one state; inside the caller's transaction."""

    dialect: Dialect
    shape: TableShape
    table: str

    def create(self, connection: Connection) -> None:
        """Make the table, or find it empty as the last transaction of this connection left it."""
        specs = [self._spec(column.name, column.type) for column in self.shape.staged]
        run_all(connection, self.dialect.create_temporary(self.table, specs))

    def copy(self, connection: Connection, rows: ReadyRows) -> None:
        """Bring held rows in."""
        self.dialect.insert_rows(connection, self.table, rows)

    def load(self, connection: Connection, writes: Writes) -> None:
        """Bring verified rows of a staging table in."""
        writes.load(connection, [column.name for column in self.shape.staged], self.table)

    def merge(
        self,
        connection: Connection,
        txid: int,
        expected: int,
        *,
        no_null_keys: bool,
        new_keys: bool,
        stored: Callable[[], int | None],
    ) -> Merged:
        """Merge the rows into the state's table.

        `new_keys` says whether some are to be expected, which decides about speed alone: where every key is known an
        UPDATE does it. `stored` tells how many rows the table has, if that is known.
        """
        is_large = expected >= _LARGE
        if is_large:
            self.dialect.analyse(connection, self.table)
        patterns = self.patterns(connection, no_null_keys)
        if new_keys and self.dialect.merges_at_once(connection, self.shape.table):
            by_key = is_large and (stored() or 0) >= _WIDE * expected
            return self._merge_at_once(connection, txid, patterns, by_key)
        changed = sum(self._update(connection, txid, pattern) for pattern in patterns)
        if changed == expected:  # mostly every key is known, and the INSERT would only look for rows to skip
            return Merged(changed, 0)
        return Merged(changed, sum(self._insert(connection, txid, pattern) for pattern in patterns))

    def count_merged(self, connection: Connection, txid: int) -> int:
        """Return how many of the rows are in the state's table, where it has txids as those of this one."""
        statements = [
            merged_statement(self.shape, quote(self.table), pattern) for pattern in self.patterns(connection, False)
        ]
        return sum(int(connection.execute(text(each), self._parameters(txid)).scalar_one()) for each in statements)

    def patterns(self, connection: Connection, no_null_keys: bool) -> list[NullPattern]:
        """Return which of the key columns are null together."""
        if not self.shape.keys or no_null_keys:
            return [tuple(False for _ in self.shape.keys)]
        rows = connection.execute(text(patterns_statement(self.shape, quote(self.table))))
        return [tuple(bool(is_null) for is_null in row) for row in rows]

    def count_keys(self, connection: Connection) -> int:
        """Return how many keys the rows have; as many as there are rows, unless one was staged twice."""
        keys = ", ".join(quote(key.name) for key in self.shape.keys)
        rows = (
            f"SELECT DISTINCT {keys} FROM {quote(self.table)}" if keys else f"SELECT 1 FROM {quote(self.table)} LIMIT 1"
        )
        return int(connection.execute(text(f"SELECT count(*) FROM ({rows}) AS k")).scalar_one())

    def _merge_at_once(
        self, connection: Connection, txid: int, patterns: Sequence[NullPattern], by_key: bool
    ) -> Merged:
        changed = made = 0
        with self.dialect.looked_up(connection) if by_key else nullcontext():
            for pattern in patterns:
                statement = merge_statement(self.shape, self.dialect, quote(self.table), pattern, by_key=by_key)
                row = self._changing(connection, statement, txid).one()
                changed, made = changed + row[0], made + row[1]
        return Merged(changed, made)

    def _update(self, connection: Connection, txid: int, pattern: NullPattern) -> int:
        statement = update_statement(self.shape, self.dialect, quote(self.table), pattern)
        return self._changing(connection, statement, txid).rowcount

    def _changing(self, connection: Connection, statement: str, txid: int) -> CursorResult[int, int]:
        """Execute what adds staged values to stored ones."""
        try:
            return connection.execute(text(statement), self._parameters(txid))
        except DBAPIError as error:
            if self.dialect.is_out_of_range(error):
                raise self._too_large() from None  # the driver's text may quote the row
            if self.dialect.is_row_twice(error):
                # as of a new key, which the unique index refuses; not a mismatch, at which the fence would be asked in
                # this transaction, and the server takes no further statement in it
                raise RefusedError(
                    f"a key was staged twice for table {self.shape.table!r} and txid {txid}; nothing was written"
                ) from None
            raise

    def _too_large(self) -> RefusedError:
        """Return what is said of a sum that has left its column's type; only a sum can."""
        sums = [repr(column.name) for column in self.shape.values if column.merge is Merge.ADD]
        where = f"column {sums[0]}" if len(sums) == 1 else f"one of the columns {', '.join(sums)}"
        return RefusedError(
            f"a sum in {where} of table {self.shape.table!r} would leave the range of its type; nothing was written"
        )

    def _insert(self, connection: Connection, txid: int, pattern: NullPattern) -> int:
        statement = insert_statement(self.shape, quote(self.table), pattern)
        return connection.execute(text(statement), self._parameters(txid)).rowcount

    def _parameters(self, txid: int) -> dict[str, int]:
        return {"txid": txid} if self.shape.has_txid else {}

    def _spec(self, name: str, type_: pa.DataType) -> ColumnSpec:
        return ColumnSpec(name, self.dialect.column_type(type_), True)
