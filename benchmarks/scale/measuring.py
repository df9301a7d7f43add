"""One point: a fresh process on an empty database, or on one with a long ledger, and whether its result is exact."""

from __future__ import annotations

import re
import statistics
import sys
from dataclasses import astuple, dataclass
from functools import lru_cache
from pathlib import Path

import psycopg

from benchmarks.cpu import CpuTimes, CpuWatch
from benchmarks.expected import Expected, expected_of
from benchmarks.history import History, trident_history
from benchmarks.measure import deadline_seconds
from benchmarks.processes import ROOT, running
from benchmarks.scale.axes import Load
from benchmarks.scale.ledger import lengthen
from benchmarks.scale.results import Result
from benchmarks.servers import Servers
from benchmarks.systems.arguments import DSN_VARIABLE
from benchmarks.systems.trident_scaled import tables
from benchmarks.workloads import SEED
from examples.payments_data import produce

_BEFORE, _BEFORE_BATCH = 1_200_000, 200_000
"""What was read before a ledger was made longer: more records than the longest one has txids."""
_COMMIT_MS = re.compile(r" commit_ms=(\d+)")
_STEPS = """
SELECT plan_ms, process_ms, keys FROM trident_commit WHERE txid > %(after)s
ORDER BY txid DESC LIMIT %(newest)s"""


@dataclass(frozen=True, slots=True)
class _Run:
    watch: CpuWatch
    commit_ms: tuple[int, ...]
    """Of each batch, as it was logged when it was over: the ledger's row is written before that."""


class Measuring:
    """Measures on servers that are up; topics are kept for what reads the same."""

    def __init__(self, servers: Servers, logs: Path) -> None:
        self._servers = servers
        self._logs = logs
        self._topics: set[str] = set()

    def measure(self, axis: str, load: Load) -> Result:
        """Run one point."""
        with self._servers.database() as dsn:
            expected = _expected(load.records, load.accounts)
            if load.txids:
                topic = f"after-{load.txids}"
                self._topic(topic, _BEFORE, load)
                self._run(load, topic, _BEFORE_BATCH, dsn)
                lengthen(dsn, load.txids, list(tables(load.states)))
                self._topic(topic, load.records, load, SEED + 1)
                expected = _expected(_BEFORE, load.accounts).plus(_expected(load.records, load.accounts, SEED + 1))
            else:
                topic = f"payments-{load.partitions}-{load.accounts}-{load.records}"
                if topic not in self._topics:
                    self._topic(topic, load.records, load)
            run = self._run(load, topic, load.batch, dsn)
            return _result(axis, load, dsn, run, expected)

    def _topic(self, name: str, records: int, load: Load, seed: int = SEED) -> None:
        """Produce payments to a topic, which is made when it is not there."""
        if name not in self._topics:
            self._servers.kafka.create_topic(name, load.partitions)
            self._topics.add(name)
        produce(self._servers.bootstrap_servers, name, records, seed, load.partitions, load.accounts)

    def _run(self, load: Load, topic: str, batch: int, dsn: str) -> _Run:
        options = {
            "--bootstrap-servers": self._servers.bootstrap_servers,
            "--topic": topic,
            "--max-records": str(batch),
            "--expected-records": "0",  # it ends when there are no more
            "--states": str(load.states),
            "--executors": str(load.executors),
        }
        words = [sys.executable, "-m", "benchmarks.systems.trident_scaled"]
        words += [word for option in options.items() for word in option]
        log = self._logs / f"{topic}-{batch}-{load.states}-{load.executors}.log"
        with running(words, ROOT, log, {DSN_VARIABLE: dsn}) as process, CpuWatch(process.pid) as watch:
            process.wait(deadline_seconds(load.records * load.states))
        return _Run(watch, tuple(map(int, _COMMIT_MS.findall(log.read_text()))))


@lru_cache(4)
def _expected(records: int, accounts: int, seed: int = SEED) -> Expected:
    return expected_of(records, accounts, seed)


def _result(axis: str, load: Load, dsn: str, run: _Run, expected: Expected) -> Result:
    history = trident_history(dsn, load.txids)
    steady = History(history.batches[len(history.batches) // 2 :])
    gaps = len(steady.batches) - 1
    first, last = steady.span
    with psycopg.connect(dsn) as connection:
        steps = connection.execute(_STEPS, {"after": load.txids, "newest": gaps}).fetchall()
    plan_ms, process_ms, keys = (statistics.median(column) for column in zip(*steps, strict=True))
    return Result(
        axis=axis,
        load=load,
        batch_ms=round(1000 * (last - first) / gaps, 1),
        gap_ms=round(steady.commit_gap_ms_median(), 1),
        records_per_s=round(steady.records_per_second()),
        plan_ms=plan_ms,
        process_ms=process_ms,
        commit_ms=statistics.median(run.commit_ms[-gaps:]),
        keys=round(keys),
        cpu=CpuTimes(*(round(ms, 1) for ms in astuple(run.watch.per_batch_ms(first, last, gaps)))),
        exact=_is_exact(load, dsn, history, expected),
    )


def _is_exact(load: Load, dsn: str, history: History, expected: Expected) -> bool:
    """Whether each state has every account as counted, and the txids since the start of the run all its records."""
    states = tables(load.states).items()
    wrong = sum(expected.difference(dsn, table, factor) for table, factor in states)
    return wrong == 0 and history.records == load.records
