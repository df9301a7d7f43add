"""What it costs to track a batch as a whole: edges drawn, an XOR per range, and the words of the tasks that read them.

There is no way to switch that off, so what it takes is timed where it is done, in the coordinator's process.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar
from unittest.mock import patch

from pyspark.sql import SparkSession

from benchmarks.expected import expected_of
from benchmarks.servers import Servers
from benchmarks.workloads import PARTITIONS, SEED, Workload
from examples.payments import payments_topology
from examples.payments_data import produce
from trident import PostgresLedger, RunSummary
from trident.coordinators.acking.acker import AckValue
from trident.coordinators.batches import flight
from trident.coordinators.holding import run as running
from trident.engine import collecting
from trident.engine.collecting import Readings

P = ParamSpec("P")
R = TypeVar("R")
_CALLED = ((running, "draw_edges"), (flight, "edge_ids"), (collecting, "words_in"), (Readings, "add"))


@dataclass
class Spent:
    """Seconds in what was timed, added up over all threads."""

    seconds: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def timed(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return the function, timed."""

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            started = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                with self._lock:
                    self.seconds += time.perf_counter() - started

        return call


@dataclass(frozen=True, slots=True)
class OfBatches:
    """What one workload took."""

    workload: Workload
    batches: int
    seconds: float
    spent: float
    is_exact: bool

    @property
    def share(self) -> float:
        """Which part of the run's time it was."""
        return self.spent / self.seconds


def measure_batches(servers: Servers, spark: SparkSession, workload: Workload) -> OfBatches:
    """Run the payments example over a workload, with the calls timed."""
    servers.make_topic(workload.topic)
    produce(servers.bootstrap_servers, workload.topic, workload.records, SEED, PARTITIONS, workload.accounts)
    with servers.database() as dsn:
        topology = payments_topology(servers.bootstrap_servers, workload.topic, workload.batch)
        spent, started = Spent(), time.monotonic()
        with _timing(spent):
            summary: RunSummary = topology.run(spark, ledger=PostgresLedger(dsn), until="caught_up")
        seconds = time.monotonic() - started
        is_exact = expected_of(workload.records, workload.accounts).difference(dsn) == 0
    return OfBatches(workload, summary.batches, seconds, spent.seconds, is_exact)


@contextmanager
def _timing(spent: Spent) -> Iterator[None]:
    with ExitStack() as stack:
        for owner, name in _CALLED:
            stack.enter_context(patch.object(owner, name, spent.timed(getattr(owner, name))))
        stack.enter_context(patch.object(AckValue, "after", spent.timed(AckValue.after)))
        expecting = spent.timed(AckValue.expecting)
        stack.enter_context(patch.object(AckValue, "expecting", staticmethod(expecting)))
        yield
