"""Lines of results to judge and to show."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.cpu import CpuTimes
from benchmarks.latency import Latency
from benchmarks.lines import Line, Rounds
from benchmarks.phases import PHASES, Phase
from benchmarks.workloads import WORKLOADS

LINE = Line(
    system="trident",
    workload="large",
    round=1,
    records=5_000_000,
    batch=250_000,
    records_per_s=1_000.0,
    commit_gap_ms_median=100.0,
    commit_gap_ms_late=None,
    latency_ms_p50=None,
    latency_ms_p99=None,
    peak_rss_mib=100.0,
    exact=True,
    first_commit_s=5.0,
    new_process_s=None,
    waiting_s=None,
    wall_s=10.0,
    cpu_ms=CpuTimes(),
    loads=(),
)


def rounds_of(system: str, workload: str, **figures: tuple[float, ...]) -> Rounds:
    """Return rounds in which the figures differ; each has as many."""
    lines = []
    for number, values in enumerate(zip(*figures.values(), strict=True), 1):
        whole = next(each for each in WORKLOADS if each.name == workload)
        line = replace(LINE, system=system, workload=workload, round=number, records=whole.records, batch=whole.batch)
        lines.append(replace(line, **dict(zip(figures, values, strict=True))))
    return Rounds(tuple(lines))


def latency_of(share: float, ms: float) -> Latency:
    """Return a latency whose phases take a quarter of it each."""
    phases = tuple(Phase(name, ms / 4, ms / 4, ms / 4) for name in PHASES)
    return Latency(share, 100.0, ms, ms, ms, True, phases)
