"""How the cost of a batch grows, one thing at a time: `make bench-scale`.

Each point is the payments example in a fresh process on a real Kafka and PostgreSQL; the exit code is 1 when one is not
exact. Figures are kept point by point, so that axes may be run one after the other; `--draw` makes the page of them.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from benchmarks.report import wide_console
from benchmarks.scale.axes import AXES, Load
from benchmarks.scale.measuring import Measuring
from benchmarks.scale.page import draw
from benchmarks.scale.results import Result, put, read, write
from benchmarks.servers import local_servers

RESULTS = Path(__file__).parents[1] / "results" / "scaling.jsonl"


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for."""

    axes: tuple[str, ...]
    points: int | None
    scale: float
    results: Path
    missing: bool
    minutes: float
    draw: bool

    def loads(self) -> list[tuple[str, Load]]:
        """Return the points to be measured."""
        every = [(axis, load) for axis in self.axes for load in AXES[axis].loads(self.points, self.scale)]
        known = read(self.results) if self.missing else []
        return [(axis, load) for axis, load in every if not any(result.is_at(axis, load) for result in known)]


def options(words: list[str]) -> Options:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description="How the cost of a batch grows")
    parser.add_argument("--axes", nargs="+", choices=list(AXES), default=list(AXES))
    parser.add_argument("--points", type=int, help="at most so many of each axis, the first and the last among them")
    parser.add_argument("--scale", type=float, default=1.0, help="0.5 for half as many batches, seven at least")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where figures are kept, a line for each point")
    parser.add_argument("--missing", action="store_true", help="only the points that this file does not have")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no point after so long")
    parser.add_argument("--draw", action="store_true", help="measure nothing: write docs/scaling.* from this file")
    given = parser.parse_args(words)
    if given.scale <= 0 or (given.points is not None and given.points < 1):
        parser.error("--scale and --points must be above zero")
    axes = tuple(given.axes)
    return Options(axes, given.points, given.scale, given.results, given.missing, given.minutes, given.draw)


def measure(options: Options, console: Console) -> bool:
    """Measure point by point; returns whether all were exact."""
    logs = Path(tempfile.mkdtemp(prefix="trident-scale-"))
    console.print(f"what the runs print goes to {logs}")
    is_exact, until = True, time.monotonic() + 60 * options.minutes
    known = {result.load: result for result in read(options.results)} if options.missing else {}
    with local_servers() as servers:
        measuring = Measuring(servers, logs)
        for axis, load in options.loads():
            if time.monotonic() > until:
                console.print("time is up; --missing goes on")
                break
            # a point where axes meet is measured once
            result = replace(known[load], axis=axis) if load in known else measuring.measure(axis, load)
            known[load] = result
            write(options.results, put(read(options.results), result))
            console.print(_told(result), soft_wrap=True)
            is_exact = is_exact and result.exact
    console.print(f"written to {options.results}")
    return is_exact


def _told(result: Result) -> str:
    cpu = result.cpu
    parts = f"driver {cpu.driver:,.0f}, JVM {cpu.jvm:,.0f}, workers {cpu.workers:,.0f}"
    servers = f"Kafka {cpu.broker:,.0f}, PostgreSQL {cpu.database:,.0f}"
    return (
        f"{result.axis} {result.value:,}, batches of {result.load.batch:,}: {result.batch_ms:,.1f} ms each, "
        f"{result.records_per_s:,.0f} records/s, CPU ms {parts}, {servers}, {'exact' if result.exact else 'NOT EXACT'}"
    )


def main() -> int:
    """Measure or draw; returns the exit code."""
    asked, console = options(sys.argv[1:]), wide_console()
    if asked.draw:
        for file in draw(read(asked.results)):
            console.print(f"written: {file}")
        return 0
    return 0 if measure(asked, console) else 1


if __name__ == "__main__":
    sys.exit(main())
