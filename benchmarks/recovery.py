"""From a SIGKILL of the process that runs the topology to the next commit, by another process.

Twice: the successor is started when the other one is dead, or it has been waiting for the lease by then. Whether
results stay exact over kills is what `make chaos` looks at.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from benchmarks.measure import System, deadline_seconds
from benchmarks.processes import SystemProcess, running
from benchmarks.servers import Servers
from benchmarks.systems.arguments import DSN_VARIABLE
from benchmarks.workloads import Workload

_BATCHES = 3_000
"""So many small batches that the first process is still at work when it is killed."""
_COMMITS_BEFORE = 5
_SETTLE_SECONDS = 10.0
_WAITS = "waiting for topology"
_DEADLINE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Recovery:
    """Seconds from the kill to the successor's first commit."""

    new_process_s: float
    waiting_s: float


def recovery(system: System, workload: Workload, servers: Servers, logs: Path) -> Recovery:
    """Kill the system at work, twice, each time on an empty database; the workload's topic must be complete."""
    return Recovery(
        _Kill(system, workload, servers, logs, "new").seconds(waits=False),
        _Kill(system, workload, servers, logs, "waiting").seconds(waits=True),
    )


@dataclass(frozen=True, slots=True)
class _Kill:
    system: System
    workload: Workload
    servers: Servers
    logs: Path
    name: str

    def seconds(self, *, waits: bool) -> float:
        with self.servers.database() as dsn, self._started(dsn, "killed") as (first, _):
            first.wait_until(lambda: _commits(dsn, 0)[0] >= _COMMITS_BEFORE, deadline_seconds(0))
            if not waits:
                killed_at = _kill(first)
                with self._started(dsn, "successor") as (successor, _):
                    return _next_commit(successor, dsn) - killed_at
            with self._started(dsn, "successor") as (successor, log):
                successor.wait_until(lambda: _WAITS in log.read_text(errors="replace"), _DEADLINE_SECONDS)
                time.sleep(_SETTLE_SECONDS)
                first.check()
                killed_at = _kill(first)
                return _next_commit(successor, dsn) - killed_at

    @contextmanager
    def _started(self, dsn: str, role: str) -> Iterator[tuple[SystemProcess, Path]]:
        records = self.workload.records
        words = self.system.words(self.servers, self.workload.topic, max(1, records // _BATCHES), records)
        log = self.logs / f"{self.system.name}-{self.name}-{role}.log"
        log.unlink(missing_ok=True)  # it is added to, and what an earlier one said would be taken for this one's word
        with running(words, self.system.root, log, {DSN_VARIABLE: dsn}) as process:
            yield process, log


def _kill(process: SystemProcess) -> float:
    """Return when it was killed, in seconds since the epoch: the clock of the server's commits."""
    os.kill(process.pid, signal.SIGKILL)
    return time.time()


def _next_commit(successor: SystemProcess, dsn: str) -> float:
    """Return when the first commit of a second epoch was."""
    successor.wait_until(lambda: _commits(dsn, 1)[0] > 0, _DEADLINE_SECONDS)
    return _commits(dsn, 1)[1]


def _commits(dsn: str, epoch: int) -> tuple[int, float]:
    """Return how many commits there are of later epochs, and when the first one was; the tables may not be made yet."""
    with psycopg.connect(dsn) as connection:
        made = connection.execute("SELECT to_regclass('trident_commit') IS NOT NULL").fetchone()
        if made is None or not made[0]:
            return 0, 0.0
        found = connection.execute(
            "SELECT count(*), coalesce(min(extract(epoch FROM pg_xact_commit_timestamp(xmin))), 0) "
            "FROM trident_commit WHERE epoch > %s",
            (epoch,),
        ).fetchone()
    return (int(found[0]), float(found[1])) if found else (0, 0.0)
