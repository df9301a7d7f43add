"""Which stored row has the key of which staged one, found by Arrow: no key becomes a Python object."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trident.base.arrays import AnyArray, settled_array
from trident.base.errors import MismatchError
from trident.state.layout import StateLayout

_STAGED, _STORED = "staged", "stored"


def stored_beside(layout: StateLayout, stored: pa.Table, staged: pa.Table) -> list[AnyArray]:
    """Return the stored value columns, a row for each staged one: null where nothing is stored for its key.

    Keys are equal as in `state.comparing`. Raises MismatchError for a key that is there twice.
    """
    places = _places(layout, stored, staged)
    return [settled_array(stored.column(column.name)).combine_chunks().take(places) for column in layout.values]


def _places(layout: StateLayout, stored: pa.Table, staged: pa.Table) -> pa.Array[pa.Int64Scalar]:
    """Return for each staged row the number of the stored one of its key, null where there is none."""
    sides = {_STAGED: staged, _STORED: stored}
    rows = pa.concat_tables([_numbered(layout, side, given) for side, given in sides.items()])
    keys = [name for name in rows.column_names if name not in sides]
    found = rows.group_by(keys).aggregate([(side, "max") for side in sides])
    for side, given in sides.items():
        _refuse_twice(side, given.num_rows - len(found.column(f"{side}_max").drop_null()))
    pairs = found.filter(pc.is_valid(found.column(f"{_STAGED}_max")))
    # each staged number is there once, so they are in their order now
    places: pa.ChunkedArray[pa.Int64Scalar] = pairs.sort_by(f"{_STAGED}_max").column(f"{_STORED}_max")
    return places.combine_chunks()


def _numbered(layout: StateLayout, side: str, rows: pa.Table) -> pa.Table:
    """Return a side's keys, and the numbers of its rows in a column of that side."""
    size = rows.num_rows
    keys = [settled_array(rows.column(key.name)) for key in layout.keys]
    keys = keys or [pa.chunked_array([pa.nulls(size, pa.bool_())])]  # a state without keys has one row
    numbers = {each: pa.nulls(size, pa.int64()) for each in (_STAGED, _STORED)}
    numbers[side] = pa.array(np.arange(size), pa.int64())
    return pa.table([*keys, *numbers.values()], names=[*(f"key{place}" for place in range(len(keys))), *numbers])


def _refuse_twice(side: str, surplus: int) -> None:
    if surplus:
        where = "staged twice in one batch" if side == _STAGED else "stored twice in one state"
        raise MismatchError(f"{surplus} keys were {where}; nothing was applied")
