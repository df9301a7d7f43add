"""What a run of `make bench` found: a line per round for machines, and the rounds of one system together."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.cpu import CpuTimes
from benchmarks.latency import Latency


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the results file: one round of a system; the names of the fields are an interface."""

    system: str
    workload: str
    round: int
    records: int
    batch: int
    records_per_s: float
    commit_gap_ms_median: float
    commit_gap_ms_late: float | None
    """The same after the first 300 commits, of a run with more."""
    latency_ms_p50: float | None
    """At half of the peak."""
    latency_ms_p99: float | None
    peak_rss_mib: float
    exact: bool
    first_commit_s: float
    new_process_s: float | None
    """From a SIGKILL to the commit of a process that was started then."""
    waiting_s: float | None
    """From a SIGKILL to the commit of one that has been waiting for the lease."""
    wall_s: float
    cpu_ms: CpuTimes
    """A batch."""
    loads: tuple[Latency, ...]

    def figure(self, name: str) -> float | None:
        """Return a figure by the name of its field."""
        value = getattr(self, name)
        if value is None or isinstance(value, int | float):
            return value
        raise TypeError(f"{name} is no figure")


@dataclass(frozen=True, slots=True)
class Spread:
    """The median over the rounds, between the least and the most."""

    median: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Rounds:
    """All rounds of one system on one workload, at least one."""

    lines: tuple[Line, ...]

    @property
    def system(self) -> str:
        """Whose they are."""
        return self.lines[0].system

    @property
    def workload(self) -> str:
        """What it worked on."""
        return self.lines[0].workload

    @property
    def exact(self) -> bool:
        """Whether all of them were."""
        return all(line.exact for line in self.lines)

    def spread(self, figure: str) -> Spread | None:
        """Return what the rounds say of a figure, None where none of them has it."""
        return spread_of(line.figure(figure) for line in self.lines)

    def shares(self) -> list[float]:
        """Return the shares of the peak that were a steady load."""
        return [load.share for load in self.lines[0].loads]

    def loads(self, share: float) -> list[Latency]:
        """Return what the rounds say of one of them."""
        return [load for line in self.lines for load in line.loads if load.share == share]


def spread_of(figures: Iterable[float | None]) -> Spread | None:
    """Return median, least and most of those that there are."""
    known = [figure for figure in figures if figure is not None]
    return Spread(statistics.median(known), min(known), max(known)) if known else None


def write_lines(lines: Sequence[Line], file: Path) -> None:
    """Replace the results of the run before."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(_rounded(asdict(line))) + "\n" for line in lines))


def _rounded(value: object) -> object:
    match value:
        case float():
            return round(value, 2)
        case dict():
            return {name: _rounded(each) for name, each in value.items()}
        case list() | tuple():
            return [_rounded(each) for each in value]
    return value
