"""Where CPU time goes while a system runs: in its own processes and in the servers."""

from __future__ import annotations

import os
import time
from bisect import bisect_right
from dataclasses import astuple, dataclass

import psutil

from benchmarks.sampling import Sampling


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Time by part, system calls included, all in one unit."""

    driver: float = 0.0
    jvm: float = 0.0
    workers: float = 0.0
    broker: float = 0.0
    database: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return self.driver + self.jvm + self.workers + self.broker + self.database

    def since(self, before: CpuTimes, factor: float) -> CpuTimes:
        """Return what was used since then, times a factor."""
        pairs = zip(astuple(self), astuple(before), strict=True)
        return CpuTimes(*((now - then) * factor for now, then in pairs))


def cpu_seconds(pid: int) -> CpuTimes:
    """Return what the tree of a system, and the servers that this process started, have used since they began."""
    found = dict.fromkeys(CpuTimes.__slots__, 0.0)
    try:
        mine = {pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))}
    except psutil.NoSuchProcess:
        mine = {pid}
    for process in psutil.Process(os.getpid()).children(recursive=True):
        try:
            part = _part(process, pid, mine)
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        # backends and workers that have ended are counted by whoever started them
        ended = times.children_user + times.children_system if part in ("workers", "database") else 0.0
        found[part] += times.user + times.system + ended
    return CpuTimes(**found)


def _part(process: psutil.Process, pid: int, mine: set[int]) -> str:
    is_java = process.name() == "java"
    if process.pid == pid:
        return "driver"
    if process.pid in mine:
        return "jvm" if is_java else "workers"
    return "broker" if is_java else "database"


class CpuWatch(Sampling):
    """Looks at a system and the servers while its block runs."""

    def __init__(self, pid: int) -> None:
        super().__init__("cpu-watch")
        self._pid = pid
        self._seen: list[tuple[float, CpuTimes]] = []

    def per_batch_ms(self, first: float, last: float, batches: int) -> CpuTimes:
        """Return the milliseconds that each of so many batches took between two moments, in seconds since the epoch."""
        return self._at(last).since(self._at(first), 1000 / max(1, batches))

    def _at(self, moment: float) -> CpuTimes:
        """Return what was seen last before a moment; a process that has ended since is not in what is seen later."""
        behind = bisect_right([at for at, _ in self._seen], moment)
        return self._seen[max(0, behind - 1)][1]

    def look(self) -> None:
        """Note what was used until now."""
        self._seen.append((time.time(), cpu_seconds(self._pid)))
