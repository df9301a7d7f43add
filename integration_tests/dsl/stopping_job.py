"""Spark is stopped in the middle of a run, in a process of its own: the tests share one session."""

from __future__ import annotations

import sqlite3
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from trident import Count, SqliteLedger, Sum, Topology
from trident.base.errors import TridentError
from trident.local.session import local_session
from trident.spouts import FixedBatchSpout
from trident.state import SqliteState

RECORDS = 60


class Slow:
    """Adds one to each number and says that it is at work."""

    def __init__(self, folder: str) -> None:
        self.mark = Path(folder, "at work")

    def __call__(self, batch: pa.RecordBatch) -> pa.Array[Any]:
        self.mark.touch()
        time.sleep(0.3)
        return batch.column("n")


def build(folder: Path, states: int) -> Topology:
    topology = Topology("stopped")
    rows = [(n,) for n in range(RECORDS)]
    stream = topology.stream("rows", FixedBatchSpout("n bigint", rows, max_records_per_batch=10))
    slow = stream.each(Slow(str(folder)), "m bigint")
    for number in range(states):
        state = SqliteState(f"s{number}", path=folder / f"s{number}.sqlite" if number else None)
        slow.persistent_aggregate(state, n=Count(), total=Sum("m"))
    return topology


def run_and_stop(spark: SparkSession, topology: Topology, folder: Path, moment: str) -> None:
    """Stop Spark at a moment of the run, and print how the run ends."""
    mark = folder / "at work"
    mark.unlink(missing_ok=True)

    def stop() -> None:
        while not mark.exists():
            time.sleep(0.01)
        spark.stop()

    stopping = threading.Thread(target=stop)
    if moment == "before":
        spark.stop()
    else:
        stopping.start()
    try:
        topology.run(spark, ledger=SqliteLedger(folder / "ledger.sqlite"), until="caught_up")
    except TridentError as error:
        print("ended", type(error).__name__, error)
    if moment != "before":
        stopping.join()


def main() -> None:
    """Print how each run has ended, and the sums; through Spark Connect only of one that is stopped."""
    folder, states, connect = Path(sys.argv[1]), int(sys.argv[2]), "connect" in sys.argv
    if connect:
        spark = SparkSession.builder.remote("local[1]").getOrCreate()
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        run_and_stop(spark, build(folder, states), folder, "during")
        return
    for moment in ("during", "before", "never"):
        spark = local_session("stopping", cores=2)
        topology = build(folder, states)
        if moment == "never":
            topology.run(spark, ledger=SqliteLedger(folder / "ledger.sqlite"), until="caught_up")
            spark.stop()
        else:
            run_and_stop(spark, topology, folder, moment)
    for number in range(states):
        with sqlite3.connect(folder / (f"s{number}.sqlite" if number else "ledger.sqlite")) as connection:
            print("sum", *connection.execute(f"SELECT n, total FROM s{number}").fetchone())


if __name__ == "__main__":
    main()
