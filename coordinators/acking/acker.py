"""The acker: knows when all that came from a batch has been processed (Storm's XOR ledger, per attempt).

Every reading task gets an edge id; the ids are XORed into the batch's value when they are
registered, before the job, and again when the task's word comes back. The value is zero when all
of it has been processed. Each edge counts once, so a word that comes twice changes nothing; words
about an attempt that is not registered (any more) change nothing either.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import xor

from trident.base.identity import BatchId


class Acker:
    """Ack values of live attempts; used by one thread, holds nothing durable."""

    def __init__(self) -> None:
        self._value: dict[BatchId, int] = {}
        self._open: dict[BatchId, set[int]] = {}

    def register(self, batch: BatchId, edges: Iterable[int]) -> None:
        """Expect one ack of each edge id (non-zero, distinct); to be called before the job is sent, once."""
        expected = list(edges)
        if batch in self._value or 0 in expected or len(set(expected)) != len(expected):
            raise ValueError(f"edges of {batch} must be non-zero, distinct and registered once")
        self._value[batch] = reduce(xor, expected, 0)
        self._open[batch] = set(expected)

    def ack(self, batch: BatchId, edge: int) -> None:
        """Count an edge as processed; a late, unknown or repeated one changes nothing."""
        open_edges = self._open.get(batch)
        if open_edges is None or edge not in open_edges:
            return
        open_edges.remove(edge)
        self._value[batch] ^= edge

    def is_processed(self, batch: BatchId) -> bool:
        """Tell whether the attempt is registered and all of it is acked."""
        return self._value.get(batch) == 0 and not self._open[batch]

    def forget(self, batch: BatchId) -> None:
        """Let go of an attempt; may be called again."""
        self._value.pop(batch, None)
        self._open.pop(batch, None)
