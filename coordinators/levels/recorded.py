"""At most once: which batches are recorded and not written, and whether one more may be. Pure: no threads, no clock."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Final

from trident.base.errors import RetryableError
from trident.base.identity import BatchId
from trident.coordinators.levels.ending import is_lost_alone

_ANY: Final = None
"""Counts the batches that were lost, whatever has lost them; a name counts those that one target has not taken."""


class _Stands(StrEnum):
    """Where a batch stands that is recorded."""

    PROCESSING = "processing"
    WRITING = "writing"
    GIVEN_UP = "given up"
    """Lost, though its call has not come back: it may not write any more."""


class Recorded:
    """The batches that are recorded and neither written nor lost, and the three brakes on recording another one.

    Until a run has written rows there is room for one: what is wrong with all of them shows there. When too many in a
    row were lost nothing more is recorded: what loses every batch (a table that is gone, a function that raises) must
    not empty the source. What is no fault of a batch ends the run with the first one that meets it. A batch without
    rows shows nothing of what the targets take, and sets off none of these. Where there are several targets, those
    that one of them has not taken are counted by themselves as well: what the others are given may be empty or fine.
    """

    def __init__(self, most_in_a_row: int) -> None:
        self._most_in_a_row = most_in_a_row
        self._batches: dict[BatchId, _Stands] = {}
        self._in_a_row: Counter[str | None] = Counter()
        self.has_written = False
        """Whether rows were written, all of a batch."""
        self.broken: BaseException | None = None
        """What ends the run: nothing more is recorded."""
        self.lost = 0
        """How many batches were recorded and not written, or not all of them was."""

    @property
    def pending(self) -> int:
        """How many are recorded, and neither written nor lost."""
        return sum(stands is not _Stands.GIVEN_UP for stands in self._batches.values())

    @property
    def processing(self) -> tuple[BatchId, ...]:
        """Those that can be given up still."""
        return tuple(batch for batch, stands in self._batches.items() if stands is _Stands.PROCESSING)

    @property
    def too_many_in_a_row(self) -> int:
        """How many were lost one after the other, 0 while they are not too many."""
        most = max(self._in_a_row.values(), default=0)
        return most if most >= self._most_in_a_row else 0

    def has_room(self, most: int) -> bool:
        """Whether one more may be recorded, where at most so many may be lost with a process."""
        return self.pending < (most if self.has_written else 1)

    def add(self, batch: BatchId) -> None:
        """Take a batch up: it is recorded, and is processed from now on."""
        self._batches[batch] = _Stands.PROCESSING

    def claim(self, batch: BatchId) -> None:
        """Let it be written, unless it was given up: what counts as lost is not written later."""
        if self._batches.get(batch) is not _Stands.PROCESSING:
            raise RetryableError(f"{batch} was given up; nothing of it is written any more")
        self._batches[batch] = _Stands.WRITING

    def give_up(self, batch: BatchId) -> bool:
        """Count it as lost, unless it is written by now or has ended; returns whether it was."""
        if self._batches.get(batch) is not _Stands.PROCESSING:
            return False  # what is being written ends by itself
        self._batches[batch] = _Stands.GIVEN_UP
        self.count()
        return True

    def took(self, target: str) -> None:
        """Hear that a target has written rows of a batch, which another one may still lose."""
        del self._in_a_row[target]

    def missed(self, target: str) -> None:
        """Hear that a target has not written its rows of a batch."""
        self._in_a_row[target] += 1

    def written(self, batch: BatchId, rows: int) -> None:
        """Let go of one that was written as a whole."""
        del self._batches[batch]
        if rows:
            self.has_written = True
            del self._in_a_row[_ANY]

    def lose(self, batch: BatchId, error: BaseException) -> tuple[bool, bool]:
        """Let go of one that has failed; returns whether it is lost by this, and whether this is what ends the run.

        Both at once: it must not leave room in which another one would be recorded.
        """
        ends = not is_lost_alone(error) and self.break_with(error)
        if self._batches.pop(batch) is _Stands.GIVEN_UP:
            return False, ends
        self.count()
        return True, ends

    def forget(self, batch: BatchId) -> None:
        """Let go of one of which nothing could be heard."""
        self._batches.pop(batch, None)

    def count(self) -> None:
        """Count one that is lost."""
        self.lost += 1
        self._in_a_row[_ANY] += 1

    def leave(self) -> None:
        """Count all that are still under way as lost: nobody waits for them any more."""
        self.lost += self.pending

    def break_with(self, error: BaseException) -> bool:
        """Record nothing more; returns whether this error is the first one, which counts."""
        is_first = self.broken is None
        self.broken = self.broken or error
        return is_first
