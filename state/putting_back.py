"""Rows that a person took out of a batch, read back from how the ledger keeps them: `json_rows` the other way round."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

import pyarrow as pa

from trident.base.errors import RefusedError
from trident.state.layout import Merge, StateLayout
from trident.state.rows import array_of
from trident.state.sifting import in_lasting_order

if TYPE_CHECKING:
    from trident.base.identity import BatchId

Kept: TypeAlias = "dict[str, object]"
"""A row by its columns, as JSON has it."""


class PutsBack(Protocol):
    """Merges rows anew that were taken out of a batch: each is what its batch adds, whatever came since."""

    @property
    def layout(self) -> StateLayout:
        """The columns that it holds."""

    def try_rows(self, batch: BatchId, rows: pa.Table) -> None:
        """Merge rows as a batch would that is not in, with what waits for the COMMIT, in a transaction to roll back.

        Of a target that applies its batches in transactions of its own. Raises what a real one would raise.
        """


def kept_rows(rows: Sequence[str]) -> list[Kept]:
    """Return rows as the ledger keeps them; raises RefusedError for what is no such row."""
    try:
        found = [json.loads(row) for row in rows]
    except ValueError:
        found = [None]
    if not all(isinstance(row, dict) for row in found):
        raise RefusedError("a row of trident_diverted is no JSON object any more: somebody has changed it")
    return found


def rows_of(kept: Sequence[Kept], layout: StateLayout) -> pa.Table:
    """Return kept rows with the layout's columns, in the order in which they are merged.

    A column that came since has nothing of them. Raises RefusedError, naming the column, for one that is not there any
    more, for a key that is missing, and for a value that the column does not hold exactly; never naming the value.
    """
    schema = layout.schema()
    unknown = sorted({name for row in kept for name in row} - set(schema.names))
    if unknown:
        raise RefusedError(f"they have a column {unknown[0]!r}, which the state does not have any more")
    for key in layout.keys:
        if any(key.name not in row for row in kept):
            raise RefusedError(f"one of them has no column {key.name!r}, which is a key of the state")
    columns = [_column(kept, field.name, field.type) for field in schema]
    return in_lasting_order(pa.table(columns, schema=schema))


def without_sums(kept: Sequence[Kept], layout: StateLayout) -> tuple[str, ...]:
    """Return the columns in which sums are added and one of the rows has no value although it was made with it."""
    added = (column.name for column in layout.values if column.merge is Merge.ADD)
    return tuple(name for name in added if any(name in row and row[name] is None for row in kept))


def _column(kept: Sequence[Kept], name: str, type_: pa.DataType) -> pa.Array[pa.Scalar[pa.DataType]]:
    try:
        values = [_value(row.get(name), type_) for row in kept]
    except (TypeError, ValueError, InvalidOperation, binascii.Error):
        raise RefusedError(f"column {name!r} has a value that is no {type_}") from None
    return array_of(values, name, type_)


def _value(value: object, type_: pa.DataType) -> object:
    if value is None or pa.types.is_boolean(type_) or pa.types.is_integer(type_):
        return value
    if pa.types.is_nested(type_) or isinstance(value, dict):
        raise TypeError  # what no store holds was kept as an object
    if pa.types.is_floating(type_):
        return float(cast("float | str", value))
    if not isinstance(value, str):
        raise TypeError
    if pa.types.is_decimal(type_):
        return Decimal(value)
    if pa.types.is_timestamp(type_):
        return datetime.fromisoformat(value)
    if pa.types.is_date(type_):
        return date.fromisoformat(value)
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        return base64.b64decode(value, validate=True)
    return value
