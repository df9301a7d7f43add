"""The words of trees: which messages a row is made of, and what an operation has left open of them.

Each message of a stream that wants acks is the root of a tree; what is derived of it are the tree's edges. While an
operation of a topology looks after acks itself, rows have a hidden column with their roots. All other operations ack
what they are given in the breath in which they are done with it, so an edge can stay open in such an operation only,
and its tasks say so: each in one word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from trident.base.digest import hash64, seed_of

ROOTS: Final = "__trident_roots"
"""Name of the column; no field of a stream may have it."""

POSITION_BITS: Final = 48
"""A root's id has the position of its message in so many bits, and the number of its stream above."""

Ids = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class TreeWord:
    """What one task leaves of the trees that it was given edges of; `place` and `task` together are no two words'."""

    place: str
    """Which run of which operation it is of."""
    task: int
    open: tuple[tuple[int, int], ...] = ()
    """Roots, each with the XOR of its edges that were not acked."""
    failed: tuple[tuple[int, str], ...] = ()
    """Roots that the operation has failed, with why."""
    misused: tuple[tuple[str, int], ...] = ()
    """What it has asked that changes nothing, such as a second ack, and how often."""


def roots_of(stream: int, start: int, stop: int) -> Ids:
    """Return the ids of the messages of a range."""
    return np.asarray(np.arange(start, stop, dtype=np.uint64) | np.uint64(stream << POSITION_BITS), dtype=np.uint64)


def first_edges(roots: Ids) -> Ids:
    """Return the edges by which a source gives its messages to a topology."""
    return hash64(seed_of("root"), roots.astype(np.int64))


def edges_of(place: str, task: int, numbers: npt.NDArray[np.int64]) -> Ids:
    """Return the edges of the rows that a task was given, by their numbers: the same in every re-run of the task."""
    return hash64(seed_of(place, task), numbers)
