"""The shape of one state's table: the user's columns, plain to query, and what the kind stores beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from trident.base.arrays import is_text
from trident.base.errors import ConfigurationError
from trident.base.names import check_name
from trident.state.layout import KeyColumn, Merge, StateKind, StateLayout, ValueColumn
from trident.state.tables.names import quote_table

TXID = "txid"
PREVIOUS_TXID = "previous_txid"
PREVIOUS = "previous_"
OWN_TABLES = "trident_"
"""How names of this library's own tables begin."""


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """A column as a store's DDL wants it."""

    name: str
    type: str
    nullable: bool


@dataclass(frozen=True, slots=True)
class TableShape:
    """All that the statements of one state are built from; made with checks by `table_shape`."""

    table: str
    kind: StateKind
    layout: StateLayout

    @property
    def quoted(self) -> str:
        """The table's name as SQL wants it."""
        return quote_table(self.table)

    @property
    def keys(self) -> tuple[KeyColumn, ...]:
        """The key columns, in the layout's order."""
        return self.layout.keys

    @property
    def values(self) -> tuple[ValueColumn, ...]:
        """The value columns, in the layout's order."""
        return self.layout.values

    @property
    def staged(self) -> tuple[KeyColumn | ValueColumn, ...]:
        """The columns of a staged row: keys, then values."""
        return (*self.layout.keys, *self.layout.values)

    @property
    def combined(self) -> tuple[ValueColumn, ...]:
        """The value columns that are folded by a Python function."""
        return tuple(column for column in self.values if column.merge is Merge.COMBINE)

    @property
    def has_txid(self) -> bool:
        """Whether a txid stands beside each value."""
        return self.kind is not StateKind.NON_TRANSACTIONAL

    @property
    def has_previous(self) -> bool:
        """Whether the previous values stand beside the current ones."""
        return self.kind is StateKind.OPAQUE

    def columns(self, type_of: Callable[[pa.DataType], str]) -> tuple[ColumnSpec, ...]:
        """Return every column that the table must have."""
        specs = [ColumnSpec(column.name, type_of(column.type), True) for column in self.staged]
        if self.has_previous:
            specs += [ColumnSpec(PREVIOUS + column.name, type_of(column.type), True) for column in self.values]
            specs.append(ColumnSpec(PREVIOUS_TXID, "bigint", True))
        if self.has_txid:
            specs.append(ColumnSpec(TXID, "bigint", False))
        return tuple(specs)


def table_shape(state: str, table: str, kind: StateKind, layout: StateLayout) -> TableShape:
    """Return the shape after checking that no two columns share a name and that every merge has a meaning."""
    shape = TableShape(table, kind, layout)
    _check_table(state, table)
    seen: dict[str, str] = {}
    for spec in shape.columns(str):
        check_name(f"state {state!r}: a column's name (and that of the value before, previous_…)", spec.name)
        folded = spec.name.casefold()
        if folded in seen or folded.startswith("trident_"):
            other = f"{seen[folded]!r}" if folded in seen else "a column of Trident's own"
            raise ConfigurationError(f"state {state!r}: column {spec.name!r} clashes with {other}; rename the field")
        seen[folded] = spec.name
    if not layout.values:
        raise ConfigurationError(f"state {state!r} has no value column; add an aggregate")
    for column in shape.staged:
        _check_type(state, column)
    for column in layout.values:
        _check_merge(state, column)
        _check_by(state, column, layout)
    return shape


def _check_table(state: str, table: str) -> None:
    """Refuse a name of this library's own tables: a state's helpers are named after its table."""
    if table.rpartition(".")[2].casefold().startswith(OWN_TABLES):
        raise ConfigurationError(f"state {state!r}: no table may be called {table!r}, {OWN_TABLES}… are Trident's own")


def _check_type(state: str, column: KeyColumn | ValueColumn) -> None:
    """Refuse types whose values have no equality that all stores keep."""
    types, type_ = pa.types, column.type
    simple = (types.is_boolean, types.is_signed_integer, types.is_date32, types.is_binary, types.is_large_binary)
    held = any(check(type_) for check in simple) or type_ in (pa.float32(), pa.float64()) or is_text(type_)
    held = held or (types.is_decimal128(type_) and 0 <= type_.scale <= type_.precision)
    if not (held or (types.is_timestamp(type_) and type_.unit in ("s", "ms", "us"))):
        raise ConfigurationError(
            f"state {state!r} can't hold the column {column.name!r} of type {type_}; cast it to a type that SQL has"
        )


def _check_by(state: str, column: ValueColumn, layout: StateLayout) -> None:
    wanted = {Merge.LEAST_BY: Merge.LEAST, Merge.GREATEST_BY: Merge.GREATEST}.get(column.merge)
    if wanted is not None and not any(each.name == column.by and each.merge is wanted for each in layout.values):
        raise ConfigurationError(
            f"state {state!r}: column {column.name!r} is kept by {column.by!r}, which is no column that keeps the "
            f"{wanted.value}"
        )


def _check_merge(state: str, column: ValueColumn) -> None:
    types = pa.types
    if column.merge is Merge.ADD and not (types.is_integer(column.type) or types.is_decimal(column.type)):
        raise ConfigurationError(
            f"state {state!r}: column {column.name!r} of type {column.type} can't be added; integers and decimals can "
            "(a sum of floats depends on how batches are cut: use a decimal)"
        )
    if column.merge is Merge.COMBINE and column.combine is None:
        raise ConfigurationError(f"state {state!r}: column {column.name!r} needs its combine function")
