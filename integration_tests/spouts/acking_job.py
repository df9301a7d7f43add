"""A topology over a queue whose messages have ids, killed with a batch at a border: for the tests of real kills.

python -m integration_tests.spouts.acking_job DSN QUEUE [CRASH POINT]
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from datetime import timedelta
from pathlib import Path

from tests.spouts.queue.file_queue import FileQueueSpout
from trident import Count, PostgresLedger, RunOptions, Topology
from trident.base.crash_points import CrashPoint, armed
from trident.local.session import local_session
from trident.state import PostgresState, PostgresTable

TARGET = 2
"""The txid with which it dies."""


def topology(queue: Path) -> Topology:
    """Count each message in a state, and keep all of them in a table."""
    made = Topology("acking")
    stream = made.stream("messages", FileQueueSpout(queue))
    stream.group_by("account").persistent_aggregate(PostgresState("counts"), n=Count())
    stream.to_table(PostgresTable("accounts"))
    return made


def main(dsn: str, queue: str, point: str = "") -> None:
    """Run until the queue is empty, or until the process is killed at that point."""

    def reach(at: CrashPoint, txid: int) -> None:
        if at == point and txid == TARGET:
            os.kill(os.getpid(), signal.SIGKILL)
            threading.Event().wait()  # the signal is on its way

    spark = local_session("acking", cores=1)
    options = RunOptions(max_pending=1, lease=timedelta(seconds=3))
    with armed(reach):
        topology(Path(queue)).run(spark, ledger=PostgresLedger(dsn), until="caught_up", options=options)


if __name__ == "__main__":
    main(*sys.argv[1:])
