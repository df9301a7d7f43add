"""Arrow batches in a task's schema, and the control rows among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from trident.base.control import CONTROL, ControlRow, encode


def groups_of(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    """Return the group numbers that a task over `spark.range` was given."""
    for batch in batches:
        yield from batch.column(0).to_numpy().tolist()


def control_batch(schema: pa.Schema, rows: Sequence[ControlRow]) -> pa.RecordBatch:
    """Return a batch in which all but the control column is null."""
    words = pa.array([encode(row) for row in rows], pa.string())
    columns = [words if field.name == CONTROL else pa.nulls(len(rows), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
