"""What a benchmark shows: lines while it works, a table with ratios at the end, and JSON lines for machines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.cpu import CpuTimes

BASELINE = "structured_streaming"
_MEASURED = "trident"
_FLOOR = "floor"
_WIDE = "wide"
_LEAST_RATES = {"large": 1.8, _WIDE: 0.8}
_LARGEST_GAP_RATIO = 0.5
_FILE_WIDTH = 145
NOTES = """\
records/s: from the first to the last commit in Postgres, records of the first batch not counted, so that starting up \
is left out for every system; wall: the whole process, start and end included
first commit: from the start of the process to its first commit
commit gap: median time between two commits, as the server recorded them
latency: from a record's Kafka timestamp to the commit that made it visible, over all records of a steady load of \
{load}
CPU: between the first and the last commit, per batch
memory: the most that was resident in the process tree at full speed (shared pages counted in each process)"""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the results file; the names of the fields are an interface."""

    system: str
    workload: str
    records: int
    batch: int
    records_per_s: float
    commit_gap_ms_median: float
    latency_ms_p50: float | None
    latency_ms_p99: float | None
    peak_rss_mib: float
    exact: bool
    first_commit_s: float
    new_process_s: float | None
    """From a SIGKILL to the commit of a process that was started then."""
    waiting_s: float | None
    """From a SIGKILL to the commit of one that has been waiting for the lease."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A line with what only the table shows."""

    line: Line
    wall_seconds: float
    load_per_second: float | None
    cpu: CpuTimes


def wide_console() -> Console:
    """Return a console that does not squeeze the tables when its output goes to a file or a pipe."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_FILE_WIDTH)


def write_lines(lines: Sequence[Line], file: Path) -> None:
    """Replace the results of the run before."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(_rounded(line)) + "\n" for line in lines))


def show(console: Console, results: Sequence[Shown], load: str) -> None:
    """Print one table per workload, the ratios to the baseline and how they stand to the aims."""
    for workload in dict.fromkeys(shown.line.workload for shown in results):
        rows = [shown for shown in results if shown.line.workload == workload]
        baseline = next((shown.line for shown in rows if shown.line.system == BASELINE), None)
        console.print(_table(workload, rows, baseline))
        console.print(_cpu_table(workload, rows))
        lines = {shown.line.system: shown.line for shown in rows}
        measured, beside = lines.get(_MEASURED), lines.get(_FLOOR if workload == _WIDE else BASELINE)
        if measured and beside:
            console.print(_aim(workload, measured, beside))
    console.print(NOTES.format(load=load), style="dim", soft_wrap=True)


def _table(workload: str, rows: Sequence[Shown], baseline: Line | None) -> Table:
    line = rows[0].line
    table = Table(title=f"{workload}: {line.records:,} payments, at most {line.batch:,} in a batch")
    table.add_column("system")
    names = (
        "records/s",
        "ratio",
        "commit gap ms",
        "ratio",
        "load/s",
        "p50 ms",
        "p99 ms",
        "memory MiB",
        "first commit s",
        "wall s",
    )
    for name in names:
        table.add_column(name, justify="right")
    table.add_column("exact")
    for shown in rows:
        table.add_row(*_cells(shown, baseline), style=None if shown.line.exact else "bold red")
    return table


def _cpu_table(workload: str, rows: Sequence[Shown]) -> Table:
    table = Table("system", title=f"{workload}: CPU of each part, ms a batch")
    for name in ("driver", "Spark's JVM", "Python workers", "Kafka", "PostgreSQL", "all"):
        table.add_column(name, justify="right")
    for shown in rows:
        table.add_row(shown.line.system, *(f"{ms:,.0f}" for ms in (*astuple(shown.cpu), shown.cpu.total)))
    return table


def _cells(shown: Shown, baseline: Line | None) -> tuple[str, ...]:
    line = shown.line
    return (
        line.system,
        f"{line.records_per_s:,.0f}",
        _ratio(line.records_per_s, baseline.records_per_s if baseline else None),
        f"{line.commit_gap_ms_median:,.1f}",
        _ratio(line.commit_gap_ms_median, baseline.commit_gap_ms_median if baseline else None),
        _figure(shown.load_per_second),
        _figure(line.latency_ms_p50),
        _figure(line.latency_ms_p99),
        _figure(line.peak_rss_mib),
        f"{line.first_commit_s:.1f}",
        f"{shown.wall_seconds:.1f}",
        "yes" if line.exact else "NO",
    )


def _aim(workload: str, measured: Line, beside: Line) -> str:
    both = f"{_MEASURED} / {beside.system}"
    if workload in _LEAST_RATES:
        ratio, least = measured.records_per_s / beside.records_per_s, _LEAST_RATES[workload]
        verdict = "reached" if ratio >= least else "NOT reached"
        return f"{both}: {ratio:.2f} x records/s, aim at least {least}: {verdict}"
    ratio = measured.commit_gap_ms_median / beside.commit_gap_ms_median
    verdict = "reached" if ratio <= _LARGEST_GAP_RATIO else "NOT reached"
    return f"{both}: {ratio:.2f} x time between commits, aim at most {_LARGEST_GAP_RATIO}: {verdict}"


def _ratio(value: float, baseline: float | None) -> str:
    return f"{value / baseline:.2f}" if baseline else "-"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _rounded(line: Line) -> dict[str, object]:
    return {name: round(value, 1) if isinstance(value, float) else value for name, value in asdict(line).items()}
