"""The payments example as its users run it, stopped when all expected records are in the database."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import psycopg

from benchmarks.systems.arguments import Arguments, parse
from examples.payments import payments_topology
from trident import PostgresLedger, Topology
from trident.local.session import local_session

_LOOK_SECONDS = 0.2
_COUNT = "SELECT coalesce(sum(records), 0) FROM trident_commit"


def _stop_when_done(topology: Topology, arguments: Arguments, ended: threading.Event) -> None:
    with psycopg.connect(arguments.dsn, autocommit=True) as connection:
        while not ended.wait(_LOOK_SECONDS):
            if _records(connection) >= arguments.expected_records:
                topology.stop()
                return


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


def run(build: Callable[[str, str, int], Topology], arguments: Arguments) -> None:
    """Run to the end."""
    log_everything()
    spark = local_session("benchmark-trident")
    ended = threading.Event()
    try:
        topology = build(arguments.bootstrap_servers, arguments.topic, arguments.max_records)
        watcher = threading.Thread(target=_stop_when_done, args=(topology, arguments, ended), name="watcher")
        watcher.start()
        try:
            topology.run(spark, ledger=PostgresLedger(arguments.dsn))
        finally:
            ended.set()
            watcher.join()
    finally:
        spark.stop()


if __name__ == "__main__":
    run(payments_topology, parse("the payments example"))
