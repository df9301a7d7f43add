"""`make bench-acking`: what tracking costs a batch, and each message; the exit code is 1 when a result differs."""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence

from pyspark.sql import SparkSession
from rich.table import Table

from benchmarks.acking.batches import OfBatches, measure_batches
from benchmarks.acking.messages import WAYS, OfMessages, bytes_per_root, measure_messages
from benchmarks.report import wide_console
from benchmarks.servers import Servers, local_servers
from benchmarks.workloads import USUAL, WORKLOADS
from trident.local.session import local_session

_GOAL = 0.02


def main() -> int:
    """Run, show; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=0.2, help="of the payments of a workload")
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    console = wide_console()
    spark = local_session("acking")
    try:
        with local_servers() as servers:
            workloads = [each.scaled(options.scale) for each in WORKLOADS if each.name in USUAL]
            batches = [measure_batches(servers, spark, workload) for workload in workloads]
            console.print(_of_batches(batches))
            measure_messages(servers, spark, WAYS[-1], min(options.messages, 20_000))  # code is generated once
            rounds = [_turn(servers, spark, options.messages) for _ in range(options.rounds)]
    finally:
        spark.stop()
    console.print(_of_messages(rounds, options.messages))
    console.print(f"an acker holds {bytes_per_root():.0f} bytes of a message, while its batch is processed")
    found: list[OfBatches | OfMessages] = [*batches, *(each for turn in rounds for each in turn)]
    return 0 if all(each.is_exact for each in found) else 1


def _turn(servers: Servers, spark: SparkSession, messages: int) -> list[OfMessages]:
    return [measure_messages(servers, spark, way, messages) for way in WAYS]


def _of_batches(found: Sequence[OfBatches]) -> Table:
    table = Table(title="tracking each batch as a whole, in the payments example")
    for name in ("workload", "batches", "s", "s spent", "share", "goal", "exact"):
        table.add_column(name, justify="right" if name in ("batches", "s", "s spent", "share") else "left")
    for each in found:
        reached = f"at most {_GOAL:.0%}: {'reached' if each.share <= _GOAL else 'NOT reached'}"
        spent = f"{each.spent:.3f}"
        name = each.workload.name
        table.add_row(name, str(each.batches), f"{each.seconds:.1f}", spent, f"{each.share:.2%}", reached, _exact(each))
    return table


def _of_messages(rounds: Sequence[Sequence[OfMessages]], messages: int) -> Table:
    table = Table(title=f"{messages:,} messages of a queue through a function over rows, medians of {len(rounds)}")
    for name in ("way", "messages/s", "of map_row", "exact"):
        table.add_column(name, justify="left" if name in ("way", "exact") else "right")
    for place, way in enumerate(WAYS):
        mine = [turn[place] for turn in rounds]
        rate = statistics.median(messages / each.seconds for each in mine)
        ratio = statistics.median(turn[0].seconds / turn[place].seconds for turn in rounds)
        table.add_row(way.name, f"{rate:,.0f}", f"{ratio:.2f}", _exact(*mine))
    return table


def _exact(*found: OfBatches | OfMessages) -> str:
    return "exact" if all(each.is_exact for each in found) else "NOT EXACT"


if __name__ == "__main__":
    sys.exit(main())
