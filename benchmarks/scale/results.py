"""What was measured at one point, and the file of all points: a JSON line for each, written when it is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from benchmarks.cpu import CpuTimes
from benchmarks.scale.axes import AXES, Load


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One point; the names of the fields are an interface.

    Times are milliseconds a batch, all of the second half of the batches: before it the JVM is busy compiling.
    """

    axis: str
    load: Load
    batch_ms: float
    """Time from the first to the last commit, divided by their number."""
    gap_ms: float
    """Median time between two commits, which is less: batches that were processed at once are committed in a row."""
    records_per_s: float
    plan_ms: float
    """Median of what the ledger says of each batch, as the one below; up to three batches are processed at once."""
    process_ms: float
    commit_ms: float
    """Median of what the log says: how long the batch had the commit turn, which one batch has at a time."""
    keys: int
    """Median number of rows that a batch changes, of all states together."""
    cpu: CpuTimes
    exact: bool

    @property
    def value(self) -> int:
        """Where on its axis it is."""
        return AXES[self.axis].value(self.load)

    def is_at(self, axis: str, load: Load) -> bool:
        """Whether it is that point, of however many batches."""
        return self.axis == axis and replace(self.load, scale=load.scale) == load


def read(file: Path) -> list[Result]:
    """Return what the file has; nothing when it is not there."""
    if not file.exists():
        return []
    return [msgspec.json.decode(line, type=Result) for line in file.read_text().splitlines()]


def write(file: Path, results: Sequence[Result]) -> None:
    """Replace the file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(msgspec.json.encode(result).decode() + "\n" for result in results))


def put(results: Sequence[Result], new: Result) -> list[Result]:
    """Return all with the new one, in the place of an older one of its point, in the order of the axes."""
    kept = [result for result in results if not result.is_at(new.axis, new.load)]
    order = list(AXES)
    return sorted([*kept, new], key=lambda each: (order.index(each.axis), each.load.batch, each.value))
