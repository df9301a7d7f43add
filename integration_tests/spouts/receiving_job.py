"""A topology over a queue outside of its process, killed with a batch at a border: for the tests of real kills.

python -m integration_tests.spouts.receiving_job DSN FOLDER [CRASH POINT]
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from datetime import timedelta
from pathlib import Path

from integration_tests.crash_matrix.received import OutsideQueue, Taking
from trident import Count, PostgresLedger, RunOptions, Topology
from trident.base.crash_points import CrashPoint, armed
from trident.local.session import local_session
from trident.spouts.base import Source
from trident.spouts.python.receiving import ReceivingSource
from trident.state import PostgresState, PostgresTable

TARGET = 2
"""The txid with which it dies."""


class Watching(Taking):
    """Says of itself what was planned: `made` are the sources that runs have opened."""

    made: list[Source] = []  # noqa: RUF012 - of the whole process, which has one run

    def open(self, name: str) -> ReceivingSource:
        source = super().open(name)
        self.made.append(source)
        return source


def topology(queue: OutsideQueue) -> Topology:
    """Count each row in a state, and keep all of them in a table."""
    made = Topology("received")
    stream = made.stream("rows", Watching(queue))
    stream.group_by("account").persistent_aggregate(PostgresState("counts"), n=Count())
    stream.to_table(PostgresTable("accounts"))
    return made


def main(dsn: str, folder: str, point: str = "") -> None:
    """Run until the queue is empty, or until the process is killed at that point."""
    queue = OutsideQueue(Path(folder) / "queue.sqlite")

    def reach(at: CrashPoint, txid: int) -> None:
        if at is CrashPoint.AFTER_PLAN:
            queue.note(Watching.made[-1])
        if at == point and txid == TARGET:
            os.kill(os.getpid(), signal.SIGKILL)
            threading.Event().wait()  # the signal is on its way

    spark = local_session("received", cores=1)
    options = RunOptions(max_pending=1, lease=timedelta(seconds=3))
    with armed(reach):
        topology(queue).run(spark, ledger=PostgresLedger(dsn), until="caught_up", options=options)


if __name__ == "__main__":
    main(*sys.argv[1:])
