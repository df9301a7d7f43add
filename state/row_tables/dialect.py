"""What a database gives to sinks that write rows, beside what it gives to states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sqlalchemy import Connection

from trident.state.tables.shape import ColumnSpec


class RowDialect(Protocol):
    """The differences between SQL stores, as far as tables that others made are concerned."""

    def conversion(self, staged: str, stored: str) -> str | None:
        """Return how a staged value is put into a column of another type, `{}` being the value.

        None unless each value either stays the same or is refused by the database.
        """

    def told_apart(self, stored: str) -> str:
        """Return how values of this type are compared, `{}` being one: texts by bytes, whatever their collation."""

    def longest(self, stored: str) -> int | None:
        """Return how many characters a column of this type takes, where it would cut what is longer."""

    def definitions(self, specs: Sequence[ColumnSpec]) -> str:
        """Return the columns of a table that is made for rows, as DDL has them; texts are compared by their bytes."""

    def create_copy(self, table: str, specs: Sequence[ColumnSpec]) -> tuple[str, ...]:
        """Return the statements that make, or empty, a table for a batch that only this transaction sees.

        Its texts have no collation of their own, so that they are compared by that of the columns they are for.
        """

    def unfit(self, connection: Connection, table: str, *, has_keys: bool) -> str | None:
        """Return why rows can't be kept in what has the table's name, None where they can; `has_keys`: found again."""

    def decides_conflicts(self, connection: Connection, table: str, columns: Sequence[str]) -> bool:
        """Tell whether a unique index over exactly these columns decides at once which row is meant.

        One that is checked later can't, nor one to which texts of other bytes may be the same.
        """
