"""Memory over time: `make soak MINUTES=10`.

The payments example runs as its own process on a topic that grows at a steady rate, far below what
it can do. Its resident memory (the driver's Python, the JVM, the Python workers) is printed every
minute. The exit code is 1 when it grows by more than 1 MiB per minute after the third minute, or
when the result is not exact.

A JVM takes its heap from the system bit by bit, as far as it may, and does not give it back: that
would look like a leak for an hour; malloc keeps what a compilation took for a moment. So here it
takes the whole heap at the start and gives freed memory outside of it back; what grows then is a
leak. Inside, what is left of the heap after a collection is printed beside it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks.expected import expected_of
from benchmarks.memory import Resident, heap_left, resident, steady_options
from benchmarks.processes import ROOT, SystemProcess, running
from benchmarks.report import wide_console
from benchmarks.servers import Servers, local_servers
from benchmarks.traffic import SteadyTraffic
from examples.watching import Watcher

_TOPIC = "payments-soak"
_SAMPLE_SECONDS = 5
_SETTLE_MINUTES = 3.0
_FEWEST_MINUTES = 2.0
"""Of samples behind the settling time: fewer say nothing about a slope."""
_STEEPEST = 1.0  # MiB per minute
_PATIENCE_SECONDS = 300
_TOPIC_CONFIGS = {
    # so that a soak of a day does not fill the disk
    "segment.bytes": str(64 << 20),
    "retention.ms": str(30 * 60 * 1000),
}


@dataclass(frozen=True, slots=True)
class Sample:
    """Resident memory so many minutes after the start."""

    minutes: float
    memory: Resident


class Soak:
    """One soak; prints as it goes."""

    def __init__(self, servers: Servers, console: Console, log: Path) -> None:
        self._servers = servers
        self._console = console
        self._log = log
        self._samples: list[Sample] = []

    def run(self, minutes: float, rate: int) -> bool:
        """Run for so many minutes; returns whether the result is exact and memory did not grow."""
        slices = max(round(minutes * 60 / _SAMPLE_SECONDS), 1)
        self._servers.make_topic(_TOPIC, _TOPIC_CONFIGS)
        traffic = SteadyTraffic(self._servers.bootstrap_servers, _TOPIC, slices * rate * _SAMPLE_SECONDS)
        example, servers = str(ROOT / "examples" / "payments.py"), self._servers.bootstrap_servers
        words = [sys.executable, example, "--bootstrap-servers", servers, "--topic", _TOPIC]
        with self._servers.database() as dsn:
            environment = {"PAYMENTS_DSN": dsn, "JDK_JAVA_OPTIONS": steady_options(self._log.parent)}
            with running(words, ROOT, self._log, environment) as process, Watcher(dsn) as watcher:
                self._feed(process, watcher, traffic, slices, rate)
                process.wait_until(lambda: watcher.look().records >= traffic.produced, _PATIENCE_SECONDS)
                process.drain(_PATIENCE_SECONDS)
            self._console.print(f"counting the {traffic.produced:,} payments again ...")
            difference = expected_of(traffic.produced).difference(dsn)
        self._console.print(f"difference {difference}", style=_style(difference == 0))
        return self._is_level() and difference == 0

    def _feed(self, process: SystemProcess, watcher: Watcher, traffic: SteadyTraffic, slices: int, rate: int) -> None:
        started = time.monotonic()
        heading = "minute    driver       jvm   workers     total MiB     batches     records       lag   heap left MiB"
        self._console.print(heading, soft_wrap=True)
        for number in range(1, slices + 1):
            traffic.at_rate(rate * _SAMPLE_SECONDS, rate)
            process.check()
            sample = Sample((time.monotonic() - started) / 60, resident(process.pid))
            self._samples.append(sample)
            if number * _SAMPLE_SECONDS % 60 == 0 or number == slices:
                self._print(sample, watcher, traffic.produced)

    def _print(self, sample: Sample, watcher: Watcher, produced: int) -> None:
        memory, progress = sample.memory, watcher.look()
        parts = (memory.driver, memory.jvm, memory.workers, memory.total)
        figures = "".join(f"{part:10,.1f}" for part in parts)
        lag = produced - progress.records
        self._console.print(
            f"{sample.minutes:6.1f}{figures}{progress.txids:16,}{progress.records:12,}{lag:10,}"
            f"{heap_left(self._log.parent):16,}",
            soft_wrap=True,
        )

    def _is_level(self) -> bool:
        settled = [sample for sample in self._samples if sample.minutes >= _SETTLE_MINUTES]
        if not settled or settled[-1].minutes - settled[0].minutes < _FEWEST_MINUTES - _SAMPLE_SECONDS / 30:
            least = _SETTLE_MINUTES + _FEWEST_MINUTES
            self._console.print(f"memory was not judged: that takes at least {least:.0f} minutes")
            return True
        total = slope(settled, [sample.memory.total for sample in settled])
        parts = ", ".join(
            f"{part} {slope(settled, [getattr(sample.memory, part) for sample in settled]):+.2f}"
            for part in ("driver", "jvm", "workers")
        )
        text = f"slope after minute {_SETTLE_MINUTES:.0f}: {total:+.2f} MiB per minute ({parts}), at most {_STEEPEST}"
        self._console.print(text, style=_style(total <= _STEEPEST), soft_wrap=True)
        return total <= _STEEPEST


def slope(samples: Sequence[Sample], values: Sequence[float]) -> float:
    """Return by how much the values rise per minute, by least squares."""
    return float(np.polyfit([sample.minutes for sample in samples], values, 1)[0])


def _style(is_good: bool) -> str:
    return "bold green" if is_good else "bold red"


def main() -> int:
    """Run it; returns the exit code."""
    parser = argparse.ArgumentParser(description="Resident memory of the payments example over time")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--rate", type=int, default=10_000, help="payments per second")
    given = parser.parse_args()
    if given.minutes <= 0 or given.rate < 1:
        parser.error("--minutes and --rate must be above zero")
    console = wide_console()
    log = Path(tempfile.mkdtemp(prefix="trident-soak-")) / "payments.log"
    console.print(f"the example's log: {log}")
    with local_servers() as servers:
        is_good = Soak(servers, console, log).run(given.minutes, given.rate)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
