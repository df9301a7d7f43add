"""The rows of one partition that were received and are not done, at positions that were never used before: pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Row = Mapping[str, object] | Sequence[object]


class ReceivedRows:
    """A log that lives as long as its process: rows are put behind it, and let go of from its beginning."""

    def __init__(self, first: int = 0) -> None:
        self._first = first
        self._rows: list[Row] = []
        self._done = first

    @property
    def first(self) -> int:
        """The position of the oldest row that is held; of the next one, when none is."""
        return self._first

    @property
    def stop(self) -> int:
        """The position behind the last row."""
        return self._first + len(self._rows)

    def add(self, row: Row) -> None:
        """Put a row behind all others."""
        self._rows.append(row)

    def holds(self, start: int, stop: int) -> bool:
        """Tell whether every position of a range is held."""
        return self._first <= start and stop <= self.stop

    def between(self, start: int, stop: int) -> Sequence[Row]:
        """Return the rows of a range that is held."""
        return self._rows[start - self._first : stop - self._first]

    def behind(self, position: int) -> int:
        """Return how many rows are held from that position on."""
        return self.stop - max(position, self._first)

    def finish(self, stop: int) -> None:
        """Hear that all before `stop` is done; a batch of another process ends before the first row that is held."""
        self._done = max(self._done, stop)

    def finished(self) -> Sequence[Row]:
        """Return the rows that are done and held still."""
        return self.between(self._first, self._done)

    def let_go(self, count: int) -> None:
        """Let go of the oldest rows: they are done, and whoever gave them knows."""
        del self._rows[:count]
        self._first += count
