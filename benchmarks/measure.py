"""One run of one system on an empty database: its history, its memory, and whether its result is exact."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.expected import Expected
from benchmarks.history import HISTORIES, History
from benchmarks.memory import PeakMemory
from benchmarks.processes import running
from benchmarks.servers import Servers
from benchmarks.systems.arguments import DSN_VARIABLE
from benchmarks.workloads import Workload

MODULES = {
    "trident": "benchmarks.systems.trident_run",
    "structured_streaming": "benchmarks.systems.structured_streaming",
    "floor": "benchmarks.systems.floor",
}
"""The systems by name; each is a program of its own with the same command line."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one run at full speed showed."""

    history: History
    seconds: float
    peak_rss_mib: float
    difference: int

    @property
    def exact(self) -> bool:
        """Whether every account is as expected."""
        return self.difference == 0


def command(system: str, servers: Servers, topic: str, batch: int, records: int) -> list[str]:
    """Return the words behind `python` that start a system."""
    options = {
        "--bootstrap-servers": servers.bootstrap_servers,
        "--topic": topic,
        "--max-records": str(batch),
        "--expected-records": str(records),
    }
    return ["-m", MODULES[system], *(word for option in options.items() for word in option)]


def full_speed(system: str, workload: Workload, expected: Expected, servers: Servers, logs: Path) -> Run:
    """Let a system read the workload's topic, which is complete, as fast as it can."""
    words = command(system, servers, workload.topic, workload.batch, workload.records)
    with servers.database() as dsn:
        started = time.monotonic()
        log = logs / f"{system}-{workload.name}.log"
        with running(words, log, {DSN_VARIABLE: dsn}) as process, PeakMemory(process.pid) as memory:
            process.wait(deadline_seconds(workload.records))
        seconds = time.monotonic() - started
        history = HISTORIES[system](dsn)
        return Run(history, seconds, memory.mib, expected.difference(dsn))


def deadline_seconds(records: int) -> float:
    """Return how long a run may take before it counts as stuck: far more than the slowest needs."""
    return 300 + records / 2_000
