"""What a dialect gives to the shared statements: its types, its row locks, its way in for many rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from sqlalchemy import Connection, TextClause, text

from trident.state.layout import ValueColumn
from trident.state.tables.shape import ColumnSpec, TableShape


@dataclass(frozen=True, slots=True)
class FoundColumn:
    """A column of a table that is already there."""

    name: str
    type: str
    needs_value: bool
    """Whether an INSERT that leaves it out is refused."""
    collation: str | None = None
    """By what its texts are compared, where that may be something else than their bytes."""
    is_generated: bool = False
    """Whether the database makes its values by itself and refuses any that are given."""


@dataclass(frozen=True, slots=True)
class ReadyRows:
    """Rows as a driver takes them; what takes long about them was done before a transaction began."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    """The driver's own types, where it has to be told."""
    columns: tuple[list[object], ...]


class Dialect(Protocol):
    """The differences between SQL stores; everything else is written once, in this package."""

    @property
    def for_update(self) -> str:
        """What locks the rows of a SELECT against every other writer."""

    @property
    def for_share(self) -> str:
        """What locks the rows of a SELECT against changes, not against other readers."""

    @property
    def same_table(self) -> str:
        """What is true of a row whose `table_name` names the table that `:table` does, however it is written."""

    def column_type(self, type_: pa.DataType) -> str:
        """Return the SQL type of an Arrow type; raises ConfigurationError for one without."""

    def add(self, column: ValueColumn, stored: str, staged: str) -> str:
        """Return the sum of two expressions, null when one is; refused by the store on overflow."""

    def is_out_of_range(self, error: BaseException) -> bool:
        """Tell whether the store refuses with this error a number that its type can't hold, and names no column."""

    def is_refusal(self, error: BaseException) -> bool:
        """Tell whether the store refuses rows for good with this error, for whatever constraint, type or trigger."""

    def pick(self, column: ValueColumn, stored: str, staged: str) -> str:
        """Return the smaller or greater of two expressions, by the column's merge; either may be null."""

    def check_server(self, connection: Connection) -> None:
        """Raise ConfigurationError for a server that is too old to hold states; asked before tables are made."""

    def find_columns(self, connection: Connection, table: str) -> tuple[FoundColumn, ...] | None:
        """Return the columns of a table, None when there is no such table."""

    def may_read(self, connection: Connection, table: str) -> bool:
        """Tell whether there is such a table, and this role may read it."""

    def has_unique_index(self, connection: Connection, table: str, columns: Sequence[str]) -> bool:
        """Tell whether a unique index is over exactly these columns, and tells texts apart by their bytes."""

    def index_holder(self, connection: Connection, table: str, index: str) -> str | None:
        """Return the table that has an index of this name where one of the given table would be, None for none."""

    def create_table(self, shape: TableShape, specs: Sequence[ColumnSpec]) -> tuple[str, ...]:
        """Return the statements that make a state's table with the unique index over its keys."""

    def create_staging(self, table: str, specs: Sequence[ColumnSpec], durable: bool) -> tuple[str, ...]:
        """Return the statements that make a staging table."""

    def add_columns(self, table: str, specs: Sequence[ColumnSpec]) -> tuple[str, ...]:
        """Return the statements that add columns, which are null in the rows that are there."""

    def may_change(self, connection: Connection, table: str) -> bool:
        """Tell whether this role may add columns to a table that is there."""

    def create_temporary(self, table: str, specs: Sequence[ColumnSpec]) -> tuple[str, ...]:
        """Return the statements that make, or empty, a table that only this transaction sees."""

    def relation(self, connection: Connection, table: str) -> str | None:
        """Return what the database calls the table's storage, another one once it was emptied or made anew.

        None where it does not tell.
        """

    def unfit(self, connection: Connection, table: str) -> str | None:
        """Return why what has the table's name can't hold a state whatever its columns are, None where it can."""

    def run_deferred(self, connection: Connection, table: str | None = None) -> bool:
        """Have what the table's constraints and triggers leave for the COMMIT happen now, if it can be told apart.

        Without a table, all that the transaction has left. Returns whether rows may be others than were written by now:
        whether there is any such of the table's, told apart or not, or a trigger, which may act on other tables.
        """

    def refers_to(self, connection: Connection, table: str) -> frozenset[str]:
        """Return the places (`KnowsItsPlace`) of the tables to which its rows refer, through others too."""

    def changed(self, connection: Connection) -> Mapping[int, int]:
        """Return how many rows of which tables this session has changed; for `taken_along`."""

    def taken_along(self, connection: Connection, before: Mapping[int, int], table: str, topology: str) -> str | None:
        """Return, in words, a table of another topology whose rows this transaction has changed since `changed`.

        The caller has changed rows of `table`.
        """

    def guards_rows(self, connection: Connection, table: str) -> bool:
        """Tell whether anything may keep rows of the table from being changed or deleted, be it a missing right."""

    def acts_by_itself(self, connection: Connection, table: str) -> bool:
        """Tell whether the table has triggers or rules, by which it may hold something else than was written."""

    def merges_at_once(self, connection: Connection, table: str) -> bool:
        """Tell whether `merge_statement` may be used: the store has it, and nothing of the table's acts by itself."""

    def is_row_twice(self, error: BaseException) -> bool:
        """Tell whether the store refuses with this error to change a row a second time in one merge."""

    def looked_up(self, connection: Connection) -> AbstractContextManager[None]:
        """Have a merge of the block find each key by the index, where there is one, rather than read the table."""

    def make_durable(self, connection: Connection, table: str) -> None:
        """Have a staging table survive a crash of the server, whatever it was made as."""

    def from_stored(self, type_: pa.DataType, value: object) -> object:
        """Return a stored value as the Python value of its Arrow type."""

    def packed(self, statement: str, types: Sequence[pa.DataType]) -> str:
        """Return the SELECT of the rows of another one, whose columns have these types, as `unpacked` takes them."""

    def unpacked(self, schema: pa.Schema, rows: Sequence[tuple[object, ...]]) -> pa.Table:
        """Return what the driver gave of a `packed` SELECT as rows; for after the transaction.

        Raises RefusedError naming the column, never the value, for what no store can hold.
        """

    def ready_rows(self, rows: pa.Table) -> ReadyRows:
        """Return rows as the driver takes them; never called inside a transaction.

        Raises RefusedError naming the column, never the value, for what the store can't hold.
        """

    def insert_rows(self, connection: Connection, table: str, rows: ReadyRows) -> None:
        """Bring rows into a table's columns of the same names, as fast as the driver can."""

    def analyse(self, connection: Connection, table: str) -> None:
        """Tell the planner what a filled temporary table holds."""

    def check_rows(self, rows: pa.Table) -> None:
        """Raise RefusedError naming the column, never the value, for what the store can't hold."""


_AT_ONCE = 10_000
"""Rows that are fetched in one go: between two the server hears of us, however long each takes to become Python."""


def fetched(
    connection: Connection, statement: TextClause, parameters: Mapping[str, object]
) -> list[tuple[object, ...]]:
    """Return all rows of a SELECT, fetched in pieces."""
    options = {"stream_results": True, "yield_per": _AT_ONCE}
    return [tuple(row) for row in connection.execute(statement, parameters, execution_options=options)]


def run_all(connection: Connection, statements: Sequence[str]) -> None:
    """Execute a dialect's statements one after the other."""
    for statement in statements:
        connection.execute(text(statement))
