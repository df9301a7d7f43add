"""Columns that a version adds to a table that is there: made once the ledger has recorded them, and not before.

A column of the name that nobody has recorded is somebody else's: what is in it would be taken for the aggregate's.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection

from trident.base.errors import MismatchError
from trident.state.layout import ValueColumn
from trident.state.tables.dialect import Dialect, FoundColumn, run_all
from trident.state.tables.place import TablePlace
from trident.state.tables.shape import PREVIOUS, ColumnSpec


def check_coming(connection: Connection, place: TablePlace) -> None:
    """Raise MismatchError for a column that can't be added to the table, by its name; changes nothing."""
    table = place.shape.table
    found = place.dialect.find_columns(connection, table) if place.coming else None
    if found is None:
        return
    there = {column.name.casefold(): column for column in found}
    for spec in _specs(place, place.coming):
        column = there.get(spec.name.casefold())
        if column is not None and not _is_recorded(place, spec, column):
            raise MismatchError(
                f"table {table!r} has a column {column.name!r} ({column.type}) that is not of state {place.name!r}: "
                "the new aggregate would take what is in it for its own. Nothing was changed: give the aggregate "
                "another name, or take that column out of the table"
            )
    if not place.dialect.may_change(connection, table):
        names = ", ".join(repr(column.name) for column in place.coming)
        raise MismatchError(
            f"the role of state {place.name!r} may not change table {table!r}, which needs a column for the new "
            f"{names}. Nothing was changed: let that role, or one that it is a member of, own the table, and all "
            "of its partitions"
        )


def add_missing(connection: Connection, place: TablePlace) -> None:
    """Add what the ledger has recorded and a start that was cut off has not made."""
    recorded = [column for column in place.shape.values if column.name in place.empty]
    if recorded:
        add_to(connection, place.dialect, place.shape.table, list(_specs(place, recorded)))


def add_to(connection: Connection, dialect: Dialect, table: str, specs: Iterable[ColumnSpec]) -> None:
    """Add those of these columns that a table does not have; one that is missing stays so."""
    found = dialect.find_columns(connection, table)
    if found is not None:
        there = {column.name for column in found}
        run_all(connection, dialect.add_columns(table, [spec for spec in specs if spec.name not in there]))


def _specs(place: TablePlace, columns: Iterable[ValueColumn]) -> Iterable[ColumnSpec]:
    for column in columns:
        type_ = place.dialect.column_type(column.type)
        yield ColumnSpec(column.name, type_, True)
        if place.shape.has_previous:
            yield ColumnSpec(PREVIOUS + column.name, type_, True)


def _is_recorded(place: TablePlace, spec: ColumnSpec, found: FoundColumn) -> bool:
    """Whether a version that was taken back before it pinned anything has made the column, just as it is wanted."""
    is_known = found.name in place.empty or found.name.removeprefix(PREVIOUS) in place.empty
    return is_known and (found.name, found.type) == (spec.name, spec.type)
