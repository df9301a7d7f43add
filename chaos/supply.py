"""The records that a job is given: as many as its scenario says, and more when its faults outlast those."""

from __future__ import annotations

from collections.abc import Callable

Produce = Callable[[int, int], None]
"""Produces so many records, drawn from a seed."""


class Supply:
    """What is in the topic; used by the nemesis' thread only.

    How long a fault takes depends on the machine, and the job goes on meanwhile: a slow one would find the records
    used up before its last fault.
    """

    def __init__(self, produce: Produce, records: int, seed: int, streams: int) -> None:
        self._produce = produce
        self._first = records
        self._seed = seed
        self._streams = streams
        self.records = 0
        """How many records have been produced."""
        self._add(records)

    @property
    def planned(self) -> int:
        """How many records were to be processed, over all streams, had every fault been quick."""
        return self._first * self._streams

    @property
    def processed_at_last(self) -> int:
        """How many records will have been processed at the end, over all streams."""
        return self.records * self._streams

    def replenish(self, processed: int) -> None:
        """Produce a quarter of the scenario's records more, if all that there are have been processed."""
        if processed >= self.processed_at_last:
            self._add(max(1, self._first // 4))

    def _add(self, records: int) -> None:
        self._produce(records, self._seed + self.records)
        self.records += records
