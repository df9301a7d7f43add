"""Throughput, latency and memory beside hand-written systems: `make bench`.

It starts a real Kafka and a real PostgreSQL once, produces each workload's topic once, lets the
systems read it one after the other on empty databases, then runs each of them under a steady load.
Every result is compared with a count over the generator's records; the exit code is 1 when one is
not exact. Speed is printed, never judged by the exit code.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from benchmarks.expected import expected_of
from benchmarks.latency import Latency, steady_load
from benchmarks.measure import CHOICES, SYSTEMS, Run, System, full_speed, systems
from benchmarks.recovery import Recovery, recovery
from benchmarks.report import Line, Shown, show, wide_console, write_lines
from benchmarks.servers import Servers, local_servers
from benchmarks.workloads import PARTITIONS, SEED, USUAL, WORKLOADS, Workload
from examples.payments_data import produce

RESULTS = Path(__file__).with_name("results") / "latest.jsonl"
_KILLED, _KILLED_ON = "benchmarks.systems.trident_run", "small"
_LOADS = {
    "slowest": "half of the peak rate of the slowest system, the same for all",
    "own": "half of each system's own peak rate",
}


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for."""

    systems: tuple[System, ...]
    workloads: tuple[Workload, ...]
    rounds: int
    load: str
    load_seconds: float
    recovers: bool


class Benchmark:
    """Runs workloads on servers that are up."""

    def __init__(self, servers: Servers, options: Options, logs: Path, console: Console) -> None:
        self._servers = servers
        self._options = options
        self._logs = logs
        self._console = console

    def workload(self, workload: Workload) -> list[Shown]:
        """Run every system at full speed, then every one under a steady load."""
        self._console.print(f"{workload.name}: producing and counting {workload.records:,} payments ...")
        self._servers.make_topic(workload.topic)
        produce(self._servers.bootstrap_servers, workload.topic, workload.records, SEED, PARTITIONS, workload.accounts)
        runs = self._full_speed(workload)
        latencies = self._latencies(workload, runs) if self._options.load_seconds > 0 else {}
        recoveries = self._recoveries(workload) if self._options.recovers else {}
        return [
            _shown(workload, system, runs[system], latencies.get(system), recoveries.get(system)) for system in runs
        ]

    def _full_speed(self, workload: Workload) -> dict[System, Run]:
        """Return each system's median round; in a round all take their turn, so that a slow minute hits them alike."""
        expected = expected_of(workload.records, workload.accounts)
        runs: dict[System, list[Run]] = {system: [] for system in self._options.systems}
        for number in range(1, self._options.rounds + 1):
            for system, done in runs.items():
                run = full_speed(system, workload, expected, self._servers, self._logs)
                done.append(run)
                self._say(
                    workload, system, f"round {number}: {run.history.records_per_second():,.0f} records/s", run.exact
                )
        return {system: _median(done) for system, done in runs.items()}

    def _latencies(self, workload: Workload, runs: dict[System, Run]) -> dict[System, Latency]:
        peaks = {system: run.history.records_per_second() for system, run in runs.items()}
        latencies = {}
        for system, own in peaks.items():
            peak = own if self._options.load == "own" else min(peaks.values())
            latency = steady_load(system, workload, peak / 2, self._options.load_seconds, self._servers, self._logs)
            latencies[system] = latency
            text = (
                f"{latency.per_second:,.0f} records/s: latency {latency.ms_p50:,.0f} ms, p99 {latency.ms_p99:,.0f} ms"
            )
            self._say(workload, system, text, latency.exact)
        return latencies

    def _recoveries(self, workload: Workload) -> dict[System, Recovery]:
        """Kill the library's own on small batches: what comes after a kill is the same for large ones."""
        found = {}
        for system in self._options.systems:
            if workload.name == _KILLED_ON and system.module == _KILLED:
                found[system] = recovery(system, workload, self._servers, self._logs)
                self._console.print(
                    f"{workload.name}, {system.name}: from a SIGKILL to the next commit: "
                    f"{found[system].new_process_s:.1f} s by a new process, {found[system].waiting_s:.1f} s by one "
                    "that was waiting",
                    soft_wrap=True,
                )
        return found

    def _say(self, workload: Workload, system: System, text: str, exact: bool) -> None:
        self._console.print(
            f"{workload.name}, {system.name}: {text}, {'exact' if exact else 'NOT EXACT'}", soft_wrap=True
        )


def _median(runs: Sequence[Run]) -> Run:
    """Return the run with the median rate, the lower one of two; any run that was not exact comes first."""
    wrong = [run for run in runs if not run.exact]
    ordered = sorted(runs, key=lambda run: run.history.records_per_second())
    return wrong[0] if wrong else ordered[(len(ordered) - 1) // 2]


def _shown(workload: Workload, system: System, run: Run, latency: Latency | None, recovered: Recovery | None) -> Shown:
    line = Line(
        system=system.name,
        workload=workload.name,
        records=workload.records,
        batch=workload.batch,
        records_per_s=run.history.records_per_second(),
        commit_gap_ms_median=run.history.commit_gap_ms_median(),
        latency_ms_p50=latency.ms_p50 if latency else None,
        latency_ms_p99=latency.ms_p99 if latency else None,
        peak_rss_mib=run.peak_rss_mib,
        exact=run.exact and (latency is None or latency.exact),
        first_commit_s=run.first_commit_s,
        new_process_s=recovered.new_process_s if recovered else None,
        waiting_s=recovered.waiting_s if recovered else None,
    )
    return Shown(line, run.seconds, latency.per_second if latency else None, run.cpu)


def _checkout(text: str) -> Path:
    """Return the folder; one without its own environment could not be run."""
    root = Path(text).resolve()
    if not (root / ".venv" / "bin" / "python").exists():
        raise argparse.ArgumentTypeError(f"{root} has no .venv: run `make test` or `make demo` there first")
    return root


def _options() -> Options:
    parser = argparse.ArgumentParser(description="Throughput and latency beside hand-written systems")
    parser.add_argument("--scale", type=float, default=1.0, help="0.1 for a tenth of the records")
    parser.add_argument("--rounds", type=int, default=1, help="runs at full speed; the median one is shown")
    parser.add_argument("--systems", nargs="+", choices=CHOICES, default=SYSTEMS)
    parser.add_argument(
        "--before", type=_checkout, help="another checkout, with its .venv: the same from there beside it"
    )
    names = [workload.name for workload in WORKLOADS]
    parser.add_argument("--workloads", nargs="+", choices=names, default=USUAL)
    parser.add_argument("--load", choices=list(_LOADS), default="slowest", help="the steady load for the latency")
    parser.add_argument("--load-seconds", type=float, default=20.0, help="how long; 0 leaves the latency out")
    parser.add_argument("--no-recovery", action="store_true", help="leaves out what comes after a SIGKILL")
    given = parser.parse_args()
    if given.scale <= 0 or given.rounds < 1:
        parser.error("--scale and --rounds must be above zero")
    workloads = tuple(workload.scaled(given.scale) for workload in WORKLOADS if workload.name in given.workloads)
    chosen = systems(given.systems, given.before)
    return Options(chosen, workloads, given.rounds, given.load, given.load_seconds, not given.no_recovery)


def main() -> int:
    """Run, show and write; returns the exit code."""
    options, console = _options(), wide_console()
    logs = Path(tempfile.mkdtemp(prefix="trident-benchmark-"))
    console.print(f"what the systems print goes to {logs}")
    results: list[Shown] = []
    with local_servers() as servers:
        benchmark = Benchmark(servers, options, logs, console)
        for workload in options.workloads:
            results += benchmark.workload(workload)
    show(console, results, _LOADS[options.load])
    write_lines([shown.line for shown in results], RESULTS)
    console.print(f"written to {RESULTS}")
    return 0 if all(shown.line.exact for shown in results) else 1


if __name__ == "__main__":
    sys.exit(main())
