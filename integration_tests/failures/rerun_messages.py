"""A program: messages through `process` and a grouping on a cluster, whose executor dies while its rows are used.

`python -m integration_tests.failures.rerun_messages MASTER FOLDER`: a function that asks a service lets all messages
through at first. Once a task behind the grouping is done, the executor that has run it is killed, and the service is
away until the source has heard of it: what Spark makes anew is other than what was used.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import deque
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark import TaskContext

from integration_tests.failures.on_cluster import session_on
from trident import Count, RunOptions, SqliteLedger, Topology
from trident.coordinators.options import Until
from trident.spouts import AckingSpout, Message, SpoutContext
from trident.state import SqliteTable

BATCHES = 3
EACH = 60
REDUCERS = 4
_PATIENCE_S = 20.0


class Numbers(AckingSpout):
    """Gives each number until it is acked; what has failed once comes in a batch in which nobody is killed."""

    schema = "batch string, n bigint"
    max_batch_size = EACH

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._waiting: deque[tuple[str, int]] = deque()

    def open(self, context: SpoutContext) -> None:
        self._waiting.extend((str(number // EACH), number) for number in range(BATCHES * EACH))

    def next_tuple(self) -> Message | None:
        if not self._waiting:
            return None
        batch, number = self._waiting.popleft()
        return Message((f"{batch} {number % 16}", number), str(number))

    def ack(self, id_: str) -> None:  # type: ignore[override]
        with (self._folder / "acked").open("a") as file:
            file.write(f"{id_}\n")

    def fail(self, id_: str) -> None:  # type: ignore[override]
        (self._folder / "away").unlink(missing_ok=True)
        self._waiting.append(("again", int(id_)))


class AsksAService:
    """Fails every fifth message while the service is away."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, row: Any, collector: Any) -> None:
        if (self._folder / "away").exists() and row["n"] % 5 == 0:
            collector.fail(row, "the service is away")
            return
        collector.emit((row["batch"], row["n"]), anchors=[row])
        collector.ack(row)


class Kills:
    """Has each batch's first task end, and kills its executor before the others have read anything."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, row: Any) -> tuple[str, int]:
        batch, context = row["batch"].split()[0], TaskContext.get()
        assert context is not None
        if batch != "again":
            self._take_part(batch, context.partitionId())
        return (row["batch"], row["c"])

    def _take_part(self, batch: str, task: int) -> None:
        mine = self._folder / f"seen {batch} {task}"
        if mine.exists():
            return
        mine.write_text(str(_executor()))
        first, struck = self._folder / f"seen {batch} 0", self._folder / f"struck {batch}"
        if task == 0 or struck.exists():
            return
        _wait_for(first)
        time.sleep(1.0)  # it returns its rows
        victim = int(first.read_text())
        if victim == _executor():
            _wait_for(struck)  # the other one strikes, and this task dies with its executor
            return
        try:
            os.close(os.open(struck, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        (self._folder / "away").touch()
        os.kill(victim, signal.SIGKILL)


def _wait_for(file: Path) -> None:
    latest = time.monotonic() + _PATIENCE_S
    while not file.exists() and time.monotonic() < latest:
        time.sleep(0.05)


def _executor() -> int:
    """Return the process of the executor that this worker works for."""
    process = os.getpid()
    while "CoarseGrainedExecutorBackend" not in Path(f"/proc/{process}/cmdline").read_text():
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return process


def main(master: str, folder: Path) -> None:
    """Run it until all is done."""
    parts = str(REDUCERS)
    spark = session_on(master, "rerun", default_parallelism=parts, sql_shuffle_partitions=parts)
    made = Topology("rerun")
    judged = made.stream("in", Numbers(folder)).parallelism(2).process(AsksAService(folder), "batch string, n bigint")
    counted = judged.group_by("batch").aggregate(c=Count()).map_row(Kills(folder), "batch string, c bigint")
    counted.to_table(SqliteTable("counted"))
    once = RunOptions(until=Until.CAUGHT_UP, max_pending=1, retry_pause=timedelta(milliseconds=10))
    made.run(spark, ledger=SqliteLedger(folder / "ledger.sqlite"), options=once)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
