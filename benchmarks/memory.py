"""Resident memory of a process and of all that it started."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.sampling import Sampling

_MIB = 1 << 20
_LEFT = re.compile(r"Pause .* \d+M->(\d+)M\(")


@dataclass(frozen=True, slots=True)
class Resident:
    """MiB by part; pages that processes share are counted in each of them."""

    driver: float = 0.0
    jvm: float = 0.0
    workers: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return self.driver + self.jvm + self.workers


def resident(pid: int) -> Resident:
    """Measure the process (the driver), the Java processes below it, and all others below it (the workers)."""
    driver = jvm = workers = 0.0
    try:
        root = psutil.Process(pid)
        driver = root.memory_info().rss / _MIB
        children = root.children(recursive=True)
    except psutil.NoSuchProcess:
        return Resident(driver)
    for child in children:
        try:
            size, name = child.memory_info().rss / _MIB, child.name()
        except psutil.NoSuchProcess:
            continue
        if name == "java":
            jvm += size
        else:
            workers += size
    return Resident(driver, jvm, workers)


def steady_options(folder: Path) -> str:
    """Return options for JDK_JAVA_OPTIONS under which what a JVM holds is what it needs.

    The whole heap is taken at the start, memory that the compiler and others freed goes back to the
    system at once, and collections are logged into the folder.
    """
    # A share of the machine's memory is cut to -Xmx by each JVM, whatever its own is (-Xms is not); with
    # MaxHeapFreeRatio=100 what is free is not given back, only to be taken again. A compilation takes some
    # 20 MiB for a moment, which malloc would keep: seen with native memory tracking.
    heap = "-XX:InitialRAMPercentage=50 -XX:MaxHeapFreeRatio=100 -XX:+AlwaysPreTouch"
    freed = "-XX:+IgnoreUnrecognizedVMOptions -XX:TrimNativeHeapInterval=2000"
    return f"{heap} {freed} -Xlog:gc:file={folder}/gc-%p.log"


def heap_left(folder: Path) -> int:
    """Return the least MiB that one of the last collections left, in the JVM with most of them; 0 before any."""
    logs = [log.read_text() for log in folder.glob("gc-*.log")]
    left = max((_LEFT.findall(text) for text in logs), key=len, default=[])
    return min((int(size) for size in left[-20:]), default=0)


class PeakMemory(Sampling):
    """Watches a process tree while its block runs; `mib` is the most that was seen."""

    def __init__(self, pid: int) -> None:
        super().__init__("peak-memory")
        self.mib = 0.0
        self._pid = pid

    def look(self) -> None:
        """Measure the tree."""
        self.mib = max(self.mib, resident(self._pid).total)
