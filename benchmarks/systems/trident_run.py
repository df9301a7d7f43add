"""The payments example as its users run it, stopped when all expected records are in the database."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg

from benchmarks.systems.arguments import Arguments, parse
from examples.payments import payments_topology
from trident import Audit, MemoryLedger, PostgresLedger, RunOptions, Topology
from trident.local.session import local_session

_LOOK_SECONDS = 0.2
_COUNT = "SELECT coalesce(sum(records), 0) FROM trident_commit"


Build = Callable[[str, str, int], Topology]
"""Makes a topology of the broker's address, the topic and how many records a batch has at most."""


@contextmanager
def _stopped_when_done(topology: Topology, counted: Callable[[], int], expected: int) -> Iterator[None]:
    """Look from a thread of its own; leaving the block ends that."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_LOOK_SECONDS):
            if counted() >= expected:
                topology.stop()
                return

    watcher = threading.Thread(target=watch, name="watcher")
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _records(connection: psycopg.Connection) -> int:
    row = connection.execute("SELECT to_regclass('trident_commit') IS NOT NULL").fetchone()
    if row is None or not row[0]:
        return 0
    counted = connection.execute(_COUNT).fetchone()
    return int(counted[0]) if counted else 0


def log_everything() -> None:
    """Log what the library says, and of its clients what went wrong."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    for chatty in ("py4j", "kafka"):
        logging.getLogger(chatty).setLevel(logging.ERROR)


def run(build: Build, arguments: Arguments, audit: Audit = Audit.OFF) -> None:
    """Run to the end, with the ledger in the database."""
    with psycopg.connect(arguments.dsn, autocommit=True) as connection:
        run_on(PostgresLedger(arguments.dsn), lambda: _records(connection), build, arguments, audit)


def run_on(
    ledger: PostgresLedger | MemoryLedger,
    counted: Callable[[], int],
    build: Build,
    arguments: Arguments,
    audit: Audit = Audit.OFF,
) -> None:
    """Run until so many records are counted as are expected."""
    log_everything()
    spark = local_session("benchmark-trident")
    try:
        topology = build(arguments.bootstrap_servers, arguments.topic, arguments.max_records)
        with _stopped_when_done(topology, counted, arguments.expected_records):
            topology.run(spark, ledger=ledger, options=RunOptions(audit=audit))
    finally:
        spark.stop()


if __name__ == "__main__":
    run(payments_topology, parse("the payments example"))
