"""Rows as bytes, as they lie in a table of the ledger's database."""

from __future__ import annotations

from typing import Literal

import pyarrow as pa


def pack(rows: pa.Table, compression: Literal["lz4"] | None = None) -> bytes:
    """Return rows as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(rows)
    return sink.getvalue().to_pybytes()


def unpack(payload: bytes) -> pa.Table:
    """Return the rows that were packed."""
    with pa.ipc.open_stream(payload) as reader:
        return reader.read_all()
