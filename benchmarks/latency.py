"""From a record's Kafka timestamp to its commit, for every record, under a steady load."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psycopg

from benchmarks.expected import expected_of
from benchmarks.measure import System, deadline_seconds
from benchmarks.phases import Phase, phases_ms, summed_up
from benchmarks.processes import running
from benchmarks.servers import Servers
from benchmarks.systems.arguments import DSN_VARIABLE
from benchmarks.traffic import SteadyTraffic
from benchmarks.workloads import Workload

_SETTLE_SECONDS = 5.0
_WARM_BATCHES = 2
_WARM_RECORDS = 20_000
_NEARLY = 0.95  # one payment in fifty does not count


@dataclass(frozen=True, slots=True)
class SteadyLoad:
    """A steady load: this share of a peak rate, as so many records a second, for so long."""

    share: float
    per_second: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Latency:
    """Percentiles over records, the rate that was really produced, and whether the result was exact."""

    share: float
    per_second: float
    ms_p50: float
    ms_p99: float
    ms_mean: float
    exact: bool
    phases: tuple[Phase, ...]
    """The way there, of the library's own systems."""


def steady_load(
    system: System, workload: Workload, load: SteadyLoad, servers: Servers, logs: Path, number: int
) -> Latency:
    """Run a system on a topic that grows at this rate; the round's number is for topic and log.

    It is warm before that: some batches are in the topic when it starts, and records of the first
    seconds of the steady load don't count either.
    """
    warm = max(_WARM_BATCHES * workload.batch, min(_WARM_RECORDS, workload.records))
    first = warm + int(load.per_second * _SETTLE_SECONDS)
    records = first + max(1, int(load.per_second * load.seconds))
    name = f"{workload.name}-{system.name}-{load.share:g}-{number}"
    topic = f"latency-{name}"
    servers.make_topic(topic)
    traffic = SteadyTraffic(servers.bootstrap_servers, topic, records, workload.accounts)
    words = system.words(servers, topic, workload.batch, records)
    traffic.at_once(warm)
    with servers.database() as dsn:
        with running(words, system.root, logs / f"{name}-latency.log", {DSN_VARIABLE: dsn}) as process:
            process.wait_until(lambda: _counted(dsn) >= warm * _NEARLY, deadline_seconds(warm))
            reached = traffic.at_rate(records - warm, load.per_second)
            process.wait(deadline_seconds(records))
        servers.drop_topic(topic)
        history = system.program.history(dsn)
        latencies = history.latencies_ms(traffic.timestamps)[first:]
        phases = phases_ms(history, traffic.timestamps)
        p50, p99 = np.percentile(latencies, [50, 99])
        return Latency(
            share=load.share,
            per_second=reached,
            ms_p50=float(p50),
            ms_p99=float(p99),
            ms_mean=float(latencies.mean()),
            exact=system.difference(expected_of(records, workload.accounts), dsn) == 0,
            phases=summed_up(phases, first) if phases else (),
        )


def _counted(dsn: str) -> int:
    """Return how many payments are in the table, which the system may not have made yet."""
    with psycopg.connect(dsn) as connection:
        made = connection.execute("SELECT to_regclass('balances') IS NOT NULL").fetchone()
        if made is None or not made[0]:
            return 0
        counted = connection.execute("SELECT coalesce(sum(n), 0) FROM balances").fetchone()
    return int(counted[0]) if counted else 0
