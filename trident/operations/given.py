"""What a user's Python code is given of a batch, as Python values."""

from __future__ import annotations

import pyarrow as pa

from trident.base.errors import UncomputableError
from trident.state.arrays import AnyArray, unheld
from trident.state.rows import python_values


def values_of(column: AnyArray, name: str, whom: str) -> list[object]:
    """Return a field as Python values, moments in UTC: Python compares those of another zone by the clock on the wall.

    Raises UncomputableError for what Python can't hold; `whom` says what would have been given it.
    """
    what = unheld(column)
    try:
        if what is None:
            if has_maps(column.type):
                return list(column.to_pylist(maps_as_pydicts="strict"))  # type: ignore[misc]  # the stubs know it for single types
            return python_values(pa.chunked_array([column]))
    except (ValueError, OverflowError, KeyError):  # inside of a list or structure
        what = "a value that Python can't hold"
    raise UncomputableError(
        f"the field {name!r} has {what}, so no {whom} can be given it; nothing of the batch was applied. Make "
        "something of it first that Python can hold (of a text Spark's make_valid_utf8, of a day or moment a text), or "
        "leave such records out (filter), and start again"
    )


def rows_of(batch: pa.RecordBatch, whom: str) -> list[dict[str, object]]:
    """Return the records as dicts by field name; raises UncomputableError as `values_of`."""
    names = batch.schema.names
    columns = [values_of(batch.column(name), name, whom) for name in names]
    if not columns:
        return [{} for _ in range(batch.num_rows)]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def has_maps(type_: pa.DataType) -> bool:
    """Tell whether values of a type hold maps, which Python is given as dicts."""
    if pa.types.is_map(type_):
        return True
    return any(has_maps(type_.field(number).type) for number in range(type_.num_fields))
