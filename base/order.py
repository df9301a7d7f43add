"""The order column: which record of which log a row is of, as bytes whose order is that of the records.

Where rows leave a topology one by one their order matters, and the layout of tasks must not decide it. A job that is
asked for it has one more column: topic, partition and offset of the record, then numbers of what was made of it: of the
input for each `merge` or outer join on the way, the last one first, and of the row for each `flat_map` and each table
that has several for a key. A joined row has the orders of all rows that it is made of, one behind the other. Compared
byte by byte this is the order by topic, partition, offset, and place among the record's rows; no two rows share one.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

ORDER: Final = "__trident_order"

"""Name of the column; no field of a stream may have it."""

_END: Final = b"\0"
_PLACE: Final = struct.Struct(">IQ")
_LEVEL: Final = struct.Struct(">I")
PLACE_BYTES: Final = _PLACE.size
"""How many bytes there are of a record's place behind the end of its topic's name."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What an order says of the record."""

    topic: str
    partition: int
    offset: int


def order_of(topic: str, partition: int, offsets: npt.NDArray[np.int64]) -> pa.BinaryArray:
    """Return the orders of some records of one partition."""
    head = topic.encode() + _END
    width = len(head) + _PLACE.size
    rows = np.empty((len(offsets), width), dtype=np.uint8)
    rows[:, : len(head)] = np.frombuffer(head, dtype=np.uint8)
    rows[:, len(head) : len(head) + 4] = np.frombuffer(_LEVEL.pack(partition), dtype=np.uint8)
    rows[:, len(head) + 4 :] = offsets.astype(">u8").view(np.uint8).reshape(-1, 8)
    ends = np.arange(0, (len(offsets) + 1) * width, width, dtype=np.int32)
    buffers = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(rows.tobytes())]
    return cast(pa.BinaryArray, pa.Array.from_buffers(pa.binary(), len(offsets), buffers))


def below(order: bytes, first: int, count: int) -> pa.BinaryArray:
    """Return the orders of so many rows that were made of one record, or of some from it on, the first one's number."""
    return pa.array([order + _LEVEL.pack(number) for number in range(first, first + count)], pa.binary())


def level_of(number: int) -> bytes:
    """Return what one level of an order is: a row's number among those that are made of the row above it."""
    return _LEVEL.pack(number)


def numbered(orders: Sequence[bytes | None]) -> list[bytes | None]:
    """Return the orders of some rows one level further down, by their own numbers; a row without one stays so."""
    return [None if order is None else order + _LEVEL.pack(number) for number, order in enumerate(orders)]


def origin_of(order: bytes) -> Origin:
    """Return the record that an order is of."""
    head, _, rest = order.partition(_END)
    partition, offset = _PLACE.unpack_from(rest)
    return Origin(head.decode(), partition, offset)


def log_of(order: bytes) -> bytes:
    """Return the part of an order that all records of one partition share."""
    return order[: order.index(_END) + 1 + _LEVEL.size]
