"""A program: a function that draws lots, whose rows go two ways and are merged again, on a cluster of two executors.

`python -m integration_tests.failures.drawn_numbers MASTER FOLDER`: both ways want a task's rows at the same time, on
two executors.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import functions as F

from integration_tests.failures.on_cluster import session_on
from trident import SqliteLedger, Topology
from trident.spouts import FixedBatchSpout
from trident.state import SqliteTable

NUMBERS = 4_000


class Draws:
    """Says of each number one of two things, another one each time."""

    def __call__(self, row: Any) -> tuple[int, bool]:
        return row["n"], random.SystemRandom().random() < 0.5


def main(master: str, folder: Path) -> None:
    """Run it until all is done."""
    spark = session_on(master, "draws", locality_wait="0s")
    made = Topology("draws")
    rows = [(number,) for number in range(NUMBERS)]
    numbers = made.stream("numbers", FixedBatchSpout("n bigint", rows, max_records_per_batch=NUMBERS // 4))
    numbers.to_table(SqliteTable("numbers"))
    # with more tasks than executors the second way would find most of what the first one has made
    drawn = numbers.parallelism(1).map_row(Draws(), "n bigint, heads boolean")
    drawn.filter(F.col("heads")).merge(drawn.filter(~F.col("heads"))).to_table(SqliteTable("both"))
    made.run(spark, ledger=SqliteLedger(folder / "ledger.sqlite"), until="caught_up")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
