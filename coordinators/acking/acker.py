"""The acker: knows when all that came from a batch has been processed (Storm's XOR ledger, per attempt).

Every reading task gets an edge id; the ids are XORed into the batch's value when they are
registered, before the job, and again when the task's word comes back. The value is zero when all
of it has been processed. Each edge counts once, so a word that comes twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import xor
from typing import NamedTuple


class AckValue(NamedTuple):
    """The ack value of one attempt, with the edges that are still open."""

    value: int
    open: frozenset[int]

    @classmethod
    def expecting(cls, edges: Iterable[int]) -> AckValue:
        """Expect one ack of each edge id (non-zero, distinct); to be made before the job is sent."""
        expected = list(edges)
        distinct = frozenset(expected)
        if 0 in distinct or len(distinct) != len(expected):
            raise ValueError("edges must be non-zero and distinct")
        return cls(reduce(xor, expected, 0), distinct)

    def after(self, acknowledged: Iterable[int]) -> AckValue:
        """Count these edges as processed; an unknown or repeated one changes nothing."""
        acked = self.open.intersection(acknowledged)
        return AckValue(reduce(xor, acked, self.value), self.open - acked)

    @property
    def is_processed(self) -> bool:
        """Whether all of the attempt is acked."""
        return self.value == 0 and not self.open
