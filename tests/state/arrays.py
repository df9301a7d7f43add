"""Arrow arrays of Python values, without the many overloads of their stubs."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa


def array(values: Sequence[object], type_: pa.DataType) -> pa.Array[pa.Scalar[pa.DataType]]:
    """Return the values as an array of that type."""
    return pa.array(values, type_)
