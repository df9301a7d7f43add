"""Which columns of a state hold something, and in which order: what a version may change of it between two runs.

The ledger knows them, by name and in the order in which they came. So whatever order a version says, rows that lie by
place (in a map, in memory) are read as they were written, and a row that is shorter has nothing in the columns that
came after it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias, TypeVar

import pyarrow as pa

from trident.base.errors import ConfigurationError, MismatchError
from trident.state.layout import KeyColumn, Merge, StateLayout, ValueColumn

Row: TypeAlias = tuple[object, ...]
_C = TypeVar("_C", KeyColumn, ValueColumn)


@dataclass(frozen=True, slots=True)
class HeldColumns:
    """What the ledger knows of a state's columns, and what a version changes of them."""

    keys: tuple[str, ...]
    values: tuple[str, ...]
    """Both in the order in which they are stored: what came later is behind what was there."""
    coming: tuple[str, ...] = ()
    """Values that the version adds: nothing is made of them before the ledger has recorded that."""
    empty: frozenset[str] = frozenset()
    """Values in which nothing can be, whether their columns are there or not: made for a version that has pinned
    nothing, or has been taken back."""
    is_other: bool = False
    """Whether the version says something else than what is stored, be it the order alone."""

    def grown(self) -> HeldColumns:
        """Return what is held once the ledger has recorded what comes."""
        return replace(self, values=(*self.values, *self.coming), coming=(), empty=self.empty.union(self.coming))


class Evolves(Protocol):
    """Can hold other columns than those it was opened with: in another order, without some that are still to come."""

    def keep(self, columns: HeldColumns) -> None:
        """Hold just these from now on, staged rows of before included; changes nothing that is stored.

        Called before anything else, and again once the ledger has recorded what comes: `prepare` then makes it. Until
        then `look` and `prepare` raise MismatchError where something of the name is there that is not its own.
        """


def held_layout(layout: StateLayout, columns: HeldColumns) -> StateLayout:
    """Return the columns of a layout that are held, in the order in which they are."""
    return StateLayout(_picked(layout.keys, columns.keys), _picked(layout.values, columns.values))


def coming_columns(layout: StateLayout, columns: HeldColumns) -> tuple[ValueColumn, ...]:
    """Return the columns that are to come.

    Raises ConfigurationError for one that is kept by one that is there, or that makes one result with such.
    """
    coming = _picked(layout.values, columns.coming)
    for column in coming:
        if column.merge in (Merge.LEAST_BY, Merge.GREATEST_BY) and column.by not in columns.coming:
            raise ConfigurationError(
                f"column {column.name!r} is new and kept by {column.by!r}, which is there already: rows would say "
                "whose value is kept, and have none. Nothing was changed: give it a column of its own to be kept by"
            )
        _require_all_new(column, layout, columns)
    return coming


def widened(row: Row, width: int) -> Row:
    """Return a stored row with nothing in the columns that came after it."""
    return row if len(row) >= width else (*row, *(None,) * (width - len(row)))


def aligned(rows: pa.Table, layout: StateLayout, empty: Collection[str]) -> pa.Table:
    """Return staged rows, which may be of another version, with the layout's columns in its order."""
    schema, there = layout.schema(), set(rows.column_names)
    if rows.column_names == schema.names:
        return rows
    gone = [name for name in schema.names if name not in there and name not in empty]
    if gone:
        raise MismatchError(f"staged rows lack column {gone[0]!r}, which their batch has; nothing was applied")
    columns = [
        rows.column(field.name) if field.name in there else pa.chunked_array([pa.nulls(rows.num_rows, field.type)])
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema.with_metadata(rows.schema.metadata))


def _require_all_new(column: ValueColumn, layout: StateLayout, columns: HeldColumns) -> None:
    """Raise ConfigurationError where a new column's result would be made of others that hold what was before, too."""
    known = set(columns.values) - columns.empty
    there = [repr(each.name) for each in layout.values if each.part_of == column.part_of and each.name in known]
    if column.part_of and there:
        raise ConfigurationError(
            f"column {column.name!r} is new, and {column.part_of!r} is made of it and of {', '.join(there)}, which "
            "held something before: it would be of some records by the one and of more by the other. Nothing was "
            "changed: give the new aggregate another name"
        )


def _picked(columns: Sequence[_C], names: Sequence[str]) -> tuple[_C, ...]:
    by_name = {column.name: column for column in columns}
    return tuple(by_name[name] for name in names)
