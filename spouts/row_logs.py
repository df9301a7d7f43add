"""Rows with positions, in logs that one process holds: fed, read and waited for by several threads."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import timedelta

Row = Mapping[str, object] | Sequence[object]
"""A record: a mapping by the names of all fields, or a tuple or list in the schema's order; a null is None."""


class RowLogs:
    """So many logs, over which rows are dealt in turn; and how far each of them is done."""

    def __init__(self, rows: Sequence[Row], count: int) -> None:
        self._logs: list[list[Row]] = [[] for _ in range(count)]
        self._done = [0] * count
        self._changed = threading.Condition()
        self.append(rows)

    @property
    def count(self) -> int:
        """How many logs there are."""
        return len(self._logs)

    def __len__(self) -> int:
        with self._changed:
            return sum(map(len, self._logs))

    def append(self, rows: Sequence[Row]) -> list[int]:
        """Deal rows out behind those that were dealt before; returns the logs' ends."""
        with self._changed:
            first = sum(map(len, self._logs))
            for number, row in enumerate(rows, first):
                self._logs[number % len(self._logs)].append(row)
            return self._ends()

    def ends(self) -> list[int]:
        """Return how many rows each log has."""
        with self._changed:
            return self._ends()

    def slice(self, log: int, start: int, stop: int) -> list[Row]:
        """Return rows of one log."""
        with self._changed:
            return self._logs[log][start:stop]

    def done(self, log: int, stop: int) -> None:
        """Hear that all before a position of one log is done."""
        with self._changed:
            self._done[log] = max(self._done[log], stop)
            self._changed.notify_all()

    def wait_until_done(self, ends: Sequence[int], patience: timedelta) -> bool:
        """Return whether all before these ends is done, within that time."""
        with self._changed:
            return self._changed.wait_for(
                lambda: all(done >= end for done, end in zip(self._done, ends, strict=True)), patience.total_seconds()
            )

    def _ends(self) -> list[int]:
        return [len(log) for log in self._logs]
