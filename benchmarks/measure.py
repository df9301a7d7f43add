"""One run of one system on an empty database: its history, its memory, and whether its result is exact."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cpu import CpuTimes, CpuWatch
from benchmarks.expected import Expected
from benchmarks.history import History
from benchmarks.memory import PeakMemory
from benchmarks.processes import ROOT, running
from benchmarks.programs import PROGRAMS, Program
from benchmarks.servers import Servers
from benchmarks.systems.arguments import DSN_VARIABLE
from benchmarks.workloads import Workload

BEFORE = "before"
"""This library as another checkout has it, usually an older one; only where such a checkout is named."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one run at full speed showed."""

    history: History
    seconds: float
    first_commit_s: float
    """From the start of its process to its first commit."""
    peak_rss_mib: float
    cpu: CpuTimes
    """Milliseconds a batch."""
    difference: int

    @property
    def exact(self) -> bool:
        """Whether everything is as expected."""
        return self.difference == 0


@dataclass(frozen=True, slots=True)
class System:
    """A program to be measured, and the checkout that it is run from."""

    name: str
    program: Program
    root: Path = ROOT

    def words(self, servers: Servers, topic: str, batch: int, records: int) -> list[str]:
        """Return the command that starts it."""
        options = {
            "--bootstrap-servers": servers.bootstrap_servers,
            "--topic": topic,
            "--max-records": str(batch),
            "--expected-records": str(records),
        }
        python = sys.executable if self.root == ROOT else str(self.root / ".venv" / "bin" / "python")
        return [python, "-m", self.program.module, *(word for option in options.items() for word in option)]

    def difference(self, expected: Expected, dsn: str) -> int:
        """Return how many accounts, and other tables, are not as expected."""
        return expected.difference(dsn) + expected.count_difference(dsn, self.program.other_tables)


def systems(names: Sequence[str], before: Path | None) -> tuple[System, ...]:
    """Return them in that order; each of the library's own is followed by the same from the other checkout."""
    found = []
    for name in names:
        program = PROGRAMS[name]
        found.append(System(name, program))
        if before is not None and program.is_ours:
            found.append(System(f"{name}_{BEFORE}", program, before))
    return tuple(found)


def full_speed(
    system: System, workload: Workload, expected: Expected, servers: Servers, logs: Path, number: int
) -> Run:
    """Let a system read the workload's topic, which is complete, as fast as it can; `number` is the round's."""
    words = system.words(servers, workload.topic, workload.batch, workload.records)
    with servers.database() as dsn:
        started, started_at = time.monotonic(), time.time()
        log = logs / f"{system.name}-{workload.name}-{number}.log"
        with (
            running(words, system.root, log, {DSN_VARIABLE: dsn}) as process,
            PeakMemory(process.pid) as memory,
            CpuWatch(process.pid) as watch,
        ):
            process.wait(deadline_seconds(workload.records))
        seconds = time.monotonic() - started
        history = system.program.history(dsn)
        cpu = watch.per_batch_ms(*history.span, len(history.batches) - 1)
        first = history.span[0] - started_at
        return Run(history, seconds, first, memory.mib, cpu, system.difference(expected, dsn))


def deadline_seconds(records: int) -> float:
    """Return how long a run may take before it counts as stuck: far more than the slowest needs."""
    return 300 + records / 2_000
