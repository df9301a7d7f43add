"""The words of an audit: the id that each record has, and what one step says of the records that it was given.

While a topology is audited its rows have a hidden column with an id: of a record that was read `hash64` of its
position, which its range's manifest adds up too. A step passes a record on under its id, or says that it is done with
it, by a row with a mark in the control column; what it makes of one has an id that both sides can compute.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trident.base.digest import Digest, hash64, seed_of
from trident.base.order import PLACE_BYTES, origin_of

ID: Final = "__trident_id"
"""Name of the column; no field of a stream may have it."""

DONE: Final = "-"
"""How the mark of a record begins that a step is done with; behind it stands how many rows it made of that."""
TURN: Final = 21
"""By so many bits an id is turned for what is made of it: numbers of three generations don't meet."""
_BITS: Final = 64
_OFFSET_BYTES: Final = 8

Ids = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Accounts:
    """What a step did with records, as somebody behind it has counted; `a + b` is that of both."""

    passed: Digest = field(default_factory=Digest)
    """The ids of the rows behind it."""
    done: Digest = field(default_factory=Digest)
    """The ids of what it was given and did not pass on."""
    made: Digest = field(default_factory=Digest)
    """The ids of the rows that it says it has made of that."""

    def __add__(self, other: Accounts) -> Accounts:
        return Accounts(self.passed + other.passed, self.done + other.done, self.made + other.made)


@dataclass(frozen=True, slots=True)
class AuditWord:
    """What one task counted behind a step."""

    step: str
    accounts: Accounts


def made_ids(parents: Ids, counts: npt.NDArray[np.int64]) -> Ids:
    """Return the ids of the rows that are made of some records, those of each one after the other."""
    turned = (parents << np.uint64(TURN)) | (parents >> np.uint64(_BITS - TURN))
    numbers = np.arange(1, int(counts.sum()) + 1) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(np.repeat(turned, counts) ^ numbers.astype(np.uint64), dtype=np.uint64)


def ids_of(orders: pa.BinaryArray) -> Ids:
    """Return the ids of records that were read, of their places (see `base.order`)."""
    if not len(orders):
        return np.empty(0, dtype=np.uint64)
    rows = _as_bytes(orders)
    if rows is not None and (rows[:, :-_OFFSET_BYTES] == rows[0, :-_OFFSET_BYTES]).all():
        return _ids_in(orders[0].as_py(), rows)
    return _ids_of_several(orders)


def _as_bytes(orders: pa.BinaryArray) -> npt.NDArray[np.uint8] | None:
    """Return a row of bytes for each place; None where they have not the same length."""
    _, ends_buffer, data = orders.buffers()
    assert ends_buffer is not None
    if data is None:
        return None
    first = orders.offset
    ends = np.frombuffer(memoryview(ends_buffer), dtype=np.int32)[first : first + len(orders) + 1]
    width = int(ends[1] - ends[0])
    if width <= PLACE_BYTES or (np.diff(ends) != width).any():
        return None
    whole = np.frombuffer(memoryview(data), dtype=np.uint8)
    return np.asarray(whole[ends[0] : ends[-1]].reshape(-1, width), dtype=np.uint8)


def _ids_in(place: bytes, rows: npt.NDArray[np.uint8]) -> Ids:
    """Return the ids of records of one partition."""
    origin = origin_of(place)
    offsets = np.ascontiguousarray(rows[:, -_OFFSET_BYTES:]).view(">u8").reshape(-1).astype(np.int64)
    return hash64(seed_of(origin.topic, origin.partition), offsets)


def _ids_of_several(orders: pa.BinaryArray) -> Ids:
    found = np.empty(len(orders), dtype=np.uint64)
    by_log: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for row, place in enumerate(orders.to_pylist()):
        assert place is not None, "a record that is read has a place"
        origin = origin_of(place)
        by_log.setdefault((origin.topic, origin.partition), []).append((row, origin.offset))
    for (topic, partition), records in by_log.items():
        rows, offsets = np.array(records, dtype=np.int64).T
        found[rows] = hash64(seed_of(topic, partition), offsets)
    return found
