"""What a dialect gives to the shared statements: its types, its row locks, its way in for many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from sqlalchemy import Connection, text

from trident.state.layout import ValueColumn
from trident.state.tables.shape import ColumnSpec, TableShape


@dataclass(frozen=True, slots=True)
class FoundColumn:
    """A column of a table that is already there."""

    name: str
    type: str
    needs_value: bool
    """Whether an INSERT that leaves it out is refused."""


class Dialect(Protocol):
    """The differences between SQL stores; everything else is written once, in this package."""

    @property
    def for_update(self) -> str:
        """What locks the rows of a SELECT against every other writer."""

    @property
    def for_share(self) -> str:
        """What locks the rows of a SELECT against changes, not against other readers."""

    def column_type(self, type_: pa.DataType) -> str:
        """Return the SQL type of an Arrow type; raises ConfigurationError for one without."""

    def add(self, column: ValueColumn, stored: str, staged: str) -> str:
        """Return the sum of two expressions, null when one is; refused by the store on overflow."""

    def pick(self, column: ValueColumn, stored: str, staged: str) -> str:
        """Return the smaller or greater of two expressions, by the column's merge; either may be null."""

    def check_server(self, connection: Connection) -> None:
        """Raise ConfigurationError for a server that is too old to hold states; asked before tables are made."""

    def find_columns(self, connection: Connection, table: str) -> tuple[FoundColumn, ...] | None:
        """Return the columns of a table, None when there is no such table."""

    def has_unique_index(self, connection: Connection, table: str, columns: Sequence[str]) -> bool:
        """Tell whether a unique index is over exactly these columns."""

    def create_table(self, shape: TableShape, specs: Sequence[ColumnSpec]) -> tuple[str, ...]:
        """Return the statements that make a state's table with the unique index over its keys."""

    def create_staging(self, table: str, specs: Sequence[ColumnSpec], durable: bool) -> tuple[str, ...]:
        """Return the statements that make a staging table."""

    def create_temporary(self, table: str, specs: Sequence[ColumnSpec]) -> tuple[str, ...]:
        """Return the statements that make, or empty, a table that only this transaction sees."""

    def make_durable(self, connection: Connection, table: str) -> None:
        """Have a staging table survive a crash of the server, whatever it was made as."""

    def from_stored(self, type_: pa.DataType, value: object) -> object:
        """Return a stored value as the Python value of its Arrow type."""

    def insert_rows(self, connection: Connection, table: str, rows: pa.Table) -> None:
        """Bring rows into a table's columns of the same names, as fast as the driver can."""

    def analyse(self, connection: Connection, table: str) -> None:
        """Tell the planner what a filled temporary table holds."""

    def check_rows(self, rows: pa.Table) -> None:
        """Raise RefusedError naming the column, never the value, for what the store can't hold."""


def run_all(connection: Connection, statements: Sequence[str]) -> None:
    """Execute a dialect's statements one after the other."""
    for statement in statements:
        connection.execute(text(statement))
