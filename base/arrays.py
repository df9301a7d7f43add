"""Arrow arrays in the one form that all stores keep, and what no store can hold."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

AnyArray: TypeAlias = "pa.Array[pa.Scalar[pa.DataType]]"
AnyChunks: TypeAlias = "pa.ChunkedArray[pa.Scalar[pa.DataType]]"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAYS = ((datetime(1, 1, 1, tzinfo=UTC) - _EPOCH).days, (datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH).days)
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def is_text(type_: pa.DataType) -> bool:
    """Tell whether a column holds texts."""
    return pa.types.is_string(type_) or pa.types.is_large_string(type_)


def settled_array(column: AnyChunks) -> AnyChunks:
    """Return a column in its one form: floats have one NaN and no negative zero."""
    if not pa.types.is_floating(column.type) or not len(column):
        return column
    zero = pa.scalar(0.0, column.type)
    positive: AnyChunks = pc.add(column, zero)  # type: ignore[arg-type]  # the stubs leave floats of 16 bits out
    nan = pa.scalar(float("nan"), column.type)
    return pc.if_else(pc.is_nan(positive), nan, positive)  # type: ignore[no-any-return, call-overload, unused-ignore]


def unheld(column: AnyArray | AnyChunks) -> str | None:
    """Return what a column has that no store can hold, None for nothing; never a value of it."""
    type_ = column.type
    if is_text(type_) or pa.types.is_decimal(type_):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            return "a text that is not UTF-8" if is_text(type_) else f"a value that does not fit into {type_}"
    if pa.types.is_date32(type_) and _outside(column, pa.int32(), 1):
        return "a day outside of the years 1 to 9999"
    if pa.types.is_timestamp(type_) and _outside(column, pa.int64(), 86_400 * _PER_SECOND[type_.unit]):
        return "a moment outside of the years 1 to 9999"
    return None


def _outside(column: AnyArray | AnyChunks, numbers: pa.DataType, per_day: int) -> bool:
    first, last = _DAYS[0] * per_day, (_DAYS[1] + 1) * per_day - 1
    whole = column.cast(numbers)
    low, high = pc.min(whole).as_py(), pc.max(whole).as_py()
    return isinstance(low, int) and isinstance(high, int) and (low < first or high > last)
