"""What a benchmark shows at its end: tables of medians with ratios and spreads, and how they stand to the goals."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import astuple

from rich.console import Console
from rich.table import Table

from benchmarks.cpu import CpuTimes
from benchmarks.goals import BASELINE, verdicts
from benchmarks.latency import Latency
from benchmarks.lines import Rounds, Spread, spread_of
from benchmarks.options import COMMON_PEAK, PEAKS
from benchmarks.phases import PHASES, Phase

_FILE_WIDTH = 145
_STATISTICS: dict[str, tuple[Callable[[Phase], float], Callable[[Latency], float]]] = {
    "mean": (lambda phase: phase.ms_mean, lambda load: load.ms_mean),
    "p50": (lambda phase: phase.ms_p50, lambda load: load.ms_p50),
    "p99": (lambda phase: phase.ms_p99, lambda load: load.ms_p99),
}
NOTES = """\
records/s: from the first to the last commit in Postgres, records of the first batch not counted, so that starting up \
is left out for every system; wall: the whole process, start and end included
first commit: from the start of the process to its first commit
commit gap: median time between two of the first hundred commits, as the server recorded them
latency: from a record's Kafka timestamp to the commit that made it visible, over all records of a steady load of a \
share of {peak}
the way of a record: phases that add up for each record, and so do their means, but not their percentiles
CPU: between the first and the last commit, per batch
memory: the most that was resident in the process tree at full speed (shared pages counted in each process)
of several rounds: the median, below it, for rates, gaps and latencies, the least and the most"""


def wide_console() -> Console:
    """Return a console that does not squeeze the tables when its output goes to a file or a pipe."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_FILE_WIDTH)


def show(console: Console, results: Sequence[Rounds], peak: str) -> None:
    """Print the tables of each workload, what the columns mean, and a line for each goal; `peak` is one of `PEAKS`."""
    for workload in dict.fromkeys(rounds.workload for rounds in results):
        systems = [rounds for rounds in results if rounds.workload == workload]
        console.print(_table(workload, systems))
        console.print(_cpu_table(workload, systems))
        if any(rounds.shares() for rounds in systems):
            console.print(_latency_table(workload, systems))
            if any(load.phases for rounds in systems for load in rounds.lines[0].loads):
                console.print(_phases_table(workload, systems))
    console.print(NOTES.format(peak=PEAKS[peak]), style="dim", soft_wrap=True)
    for verdict in verdicts(results, has_one_peak=peak == COMMON_PEAK):
        console.print(str(verdict), soft_wrap=True)


def _table(workload: str, systems: Sequence[Rounds]) -> Table:
    line = systems[0].lines[0]
    title = f"{workload}: {line.records:,} payments, at most {line.batch:,} in a batch"
    names = ("records/s", "ratio", "commit gap ms", "ratio", "memory MiB", "first commit s", "wall s")
    table = _with_columns(title, ("system",), names)
    table.add_column("exact")
    for rounds in systems:
        cells = (
            rounds.system,
            _cell(rounds.spread("records_per_s"), ",.0f"),
            _ratio(rounds, systems, "records_per_s"),
            _cell(rounds.spread("commit_gap_ms_median"), ",.1f"),
            _ratio(rounds, systems, "commit_gap_ms_median"),
            _cell(rounds.spread("peak_rss_mib"), ",.0f"),
            _cell(rounds.spread("first_commit_s"), ".1f"),
            _cell(rounds.spread("wall_s"), ".1f"),
        )
        table.add_row(*cells, "yes" if rounds.exact else "NO", style=None if rounds.exact else "bold red")
    return table


def _cpu_table(workload: str, systems: Sequence[Rounds]) -> Table:
    names = ("driver", "Spark's JVM", "Python workers", "Kafka", "PostgreSQL", "all")
    table = _with_columns(f"{workload}: CPU of each part, ms a batch", ("system",), names)
    for rounds in systems:
        parts = zip(*(astuple(line.cpu_ms) for line in rounds.lines), strict=True)
        cpu = CpuTimes(*map(statistics.median, parts))
        table.add_row(rounds.system, *(f"{ms:,.0f}" for ms in (*astuple(cpu), cpu.total)))
    return table


def _latency_table(workload: str, systems: Sequence[Rounds]) -> Table:
    title = f"{workload}: latency under a steady load"
    table = _with_columns(title, ("system",), ("of the peak", "load/s", "p50 ms", "p99 ms"))
    for rounds in systems:
        for share in rounds.shares():
            loads = rounds.loads(share)
            cells = (
                _cell(spread_of(load.per_second for load in loads), ",.0f"),
                _cell(spread_of(load.ms_p50 for load in loads), ",.0f"),
                _cell(spread_of(load.ms_p99 for load in loads), ",.0f"),
            )
            table.add_row(rounds.system, f"{share:.0%}", *cells)
    return table


def _phases_table(workload: str, systems: Sequence[Rounds]) -> Table:
    title = f"{workload}: the way of a record from Kafka to visible, ms"
    table = _with_columns(title, ("system", "of the peak", ""), (*PHASES, "whole"))
    for rounds in systems:
        for share in rounds.shares():
            loads = rounds.loads(share)
            if not all(load.phases for load in loads):
                continue
            for name, (of_phase, of_whole) in _STATISTICS.items():
                over = statistics.fmean if name == "mean" else statistics.median  # medians of means don't add up
                each = zip(*(map(of_phase, load.phases) for load in loads), strict=True)
                figures = [*map(over, each), over(list(map(of_whole, loads)))]
                table.add_row(rounds.system, f"{share:.0%}", name, *(f"{ms:,.1f}" for ms in figures))
    return table


def _with_columns(title: str, words: Sequence[str], numbers: Sequence[str]) -> Table:
    table = Table(title=title)
    for word in words:
        table.add_column(word)
    for number in numbers:
        table.add_column(number, justify="right")
    return table


def _ratio(rounds: Rounds, systems: Sequence[Rounds], figure: str) -> str:
    baseline = next((each for each in systems if each.system == BASELINE), None)
    own, beside = rounds.spread(figure), baseline.spread(figure) if baseline else None
    return f"{own.median / beside.median:.2f}" if own and beside else "-"


def _cell(spread: Spread | None, form: str) -> str:
    """Return the median, and below it least and most where they differ from it."""
    if spread is None:
        return "-"
    least, median, most = (format(each, form) for each in (spread.least, spread.median, spread.most))
    return median if spread.least == spread.most else f"{median}\n{least} - {most}"
