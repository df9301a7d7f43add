"""Throughput, latency and memory beside hand-written systems: `make bench`.

It starts a real Kafka and a real PostgreSQL once, produces each workload's topic once, lets the
systems read it one after the other on empty databases, then runs each of them under a steady load.
Every result is compared with a count over the generator's records; the exit code is 1 when one is
not exact. Speed is printed and held against goals, never judged by the exit code.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.expected import expected_of
from benchmarks.latency import Latency, SteadyLoad, steady_load
from benchmarks.lines import Line, Rounds, write_lines
from benchmarks.measure import Run, System, full_speed
from benchmarks.options import HALF, Options, options_of
from benchmarks.recovery import Recovery, recovery
from benchmarks.report import show, wide_console
from benchmarks.servers import Servers, local_servers
from benchmarks.workloads import PARTITIONS, SEED, Workload
from examples.payments_data import produce

RESULTS = Path(__file__).with_name("results") / "latest.jsonl"
_KILLED_ON = "small"
_FRESH_COMMITS, _EARLY_COMMITS = 100, 300
"""Up to the one a run is fresh from its start, from the other on that is over."""


class Benchmark:
    """Runs workloads on servers that are up; in a round all take their turn, so that a slow minute hits them alike."""

    def __init__(self, servers: Servers, options: Options, logs: Path, console: Console) -> None:
        self._servers = servers
        self._options = options
        self._logs = logs
        self._console = console
        self._numbers = range(1, options.rounds + 1)

    def workload(self, workload: Workload) -> list[Rounds]:
        """Run every system at full speed, then every one under the steady loads, then kill the library's own."""
        self._console.print(f"{workload.name}: producing and counting {workload.records:,} payments ...")
        self._servers.make_topic(workload.topic)
        produce(self._servers.bootstrap_servers, workload.topic, workload.records, SEED, PARTITIONS, workload.accounts)
        runs = self._full_speed(workload)
        latencies = self._latencies(workload, runs)
        recoveries = self._recoveries(workload)
        return [
            Rounds(
                tuple(
                    _line(
                        workload, system, number, run, latencies[system][number - 1], recoveries.get((system, number))
                    )
                    for number, run in zip(self._numbers, done, strict=True)
                )
            )
            for system, done in runs.items()
        ]

    def _full_speed(self, workload: Workload) -> dict[System, list[Run]]:
        expected = expected_of(workload.records, workload.accounts)
        runs: dict[System, list[Run]] = {system: [] for system in self._options.systems}
        for number in self._numbers:
            for system, done in runs.items():
                run = full_speed(system, workload, expected, self._servers, self._logs, number)
                done.append(run)
                rate = f"{run.history.records_per_second():,.0f} records/s"
                self._say(workload, system, number, rate, run.exact)
        return runs

    def _latencies(self, workload: Workload, runs: Mapping[System, Sequence[Run]]) -> dict[System, list[list[Latency]]]:
        """Measure each share of the peak in each round; the peak is the median of all of them."""
        peaks = {
            system: statistics.median(run.history.records_per_second() for run in done) for system, done in runs.items()
        }
        found: dict[System, list[list[Latency]]] = {system: [[] for _ in self._numbers] for system in runs}
        for number in self._numbers:
            for share in self._options.shares:
                for system, own in peaks.items():
                    peak = own if self._options.peak == "own" else min(peaks.values())
                    load = SteadyLoad(share, peak * share, self._options.load_seconds)
                    latency = steady_load(system, workload, load, self._servers, self._logs, number)
                    found[system][number - 1].append(latency)
                    text = (
                        f"{latency.per_second:,.0f} records/s: latency {latency.ms_p50:,.0f} ms, "
                        f"p99 {latency.ms_p99:,.0f} ms"
                    )
                    self._say(workload, system, number, text, latency.exact)
        return found

    def _recoveries(self, workload: Workload) -> dict[tuple[System, int], Recovery]:
        """Kill the library's own on small batches: what comes after a kill is the same for large ones."""
        found: dict[tuple[System, int], Recovery] = {}
        if not self._options.recovers or workload.name != _KILLED_ON:
            return found
        for number in self._numbers:
            for system in self._options.systems:
                if system.program.recovers:
                    found[system, number] = each = recovery(system, workload, self._servers, self._logs)
                    self._console.print(
                        f"{workload.name}, {system.name}, round {number}: from a SIGKILL to the next commit: "
                        f"{each.new_process_s:.1f} s by a new process, {each.waiting_s:.1f} s by one that was waiting",
                        soft_wrap=True,
                    )
        return found

    def _say(self, workload: Workload, system: System, number: int, text: str, exact: bool) -> None:
        verdict = "exact" if exact else "NOT EXACT"
        self._console.print(f"{workload.name}, {system.name}, round {number}: {text}, {verdict}", soft_wrap=True)


def _line(
    workload: Workload,
    system: System,
    number: int,
    run: Run,
    latencies: Sequence[Latency],
    recovered: Recovery | None,
) -> Line:
    half = next((latency for latency in latencies if latency.share == HALF), None)
    return Line(
        system=system.name,
        workload=workload.name,
        round=number,
        records=workload.records,
        batch=workload.batch,
        records_per_s=run.history.records_per_second(),
        commit_gap_ms_median=run.history.commit_gap_ms_median(_FRESH_COMMITS),
        commit_gap_ms_late=run.history.commit_gap_ms_late(_EARLY_COMMITS),
        latency_ms_p50=half.ms_p50 if half else None,
        latency_ms_p99=half.ms_p99 if half else None,
        peak_rss_mib=run.peak_rss_mib,
        exact=run.exact and all(latency.exact for latency in latencies),
        first_commit_s=run.first_commit_s,
        new_process_s=recovered.new_process_s if recovered else None,
        waiting_s=recovered.waiting_s if recovered else None,
        wall_s=run.seconds,
        cpu_ms=run.cpu,
        loads=tuple(latencies),
    )


def main() -> int:
    """Run, show and write; returns the exit code."""
    options, console = options_of(), wide_console()
    logs = Path(tempfile.mkdtemp(prefix="trident-benchmark-"))
    console.print(f"what the systems print goes to {logs}")
    results: list[Rounds] = []
    with local_servers() as servers:
        benchmark = Benchmark(servers, options, logs, console)
        for workload in options.workloads:
            results += benchmark.workload(workload)
    show(console, results, options.peak)
    write_lines([line for rounds in results for line in rounds.lines], RESULTS)
    console.print(f"written to {RESULTS}")
    return 0 if all(rounds.exact for rounds in results) else 1


if __name__ == "__main__":
    sys.exit(main())
