"""What it costs to track each message: the same queue and function, with and without trees."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import numpy as np
import psycopg
from pyspark.sql import SparkSession

from benchmarks.servers import Servers
from trident import Collector, Count, InputRecord, PostgresLedger, RunOptions, Stream, Sum, Topology
from trident.base.trees import first_edges, roots_of
from trident.coordinators.acking.trees import Ackers
from trident.coordinators.options import Until
from trident.spouts import AckingSpout
from trident.spouts.queue.acking import SpoutContext
from trident.spouts.queue.message import Message
from trident.state import PostgresState

_GROUPS: Final = 1_000
_BATCH: Final = 10_000


class NumbersSpout(AckingSpout):
    """Gives numbers as fast as it is asked."""

    schema = "n bigint"
    max_batch_size = _BATCH

    def __init__(self, count: int) -> None:
        self.count = count
        self.next = 0

    def open(self, context: SpoutContext) -> None:
        """Have nothing to connect to."""

    def next_tuple(self) -> Message | None:
        """Return the next number."""
        if self.next == self.count:
            return None
        self.next += 1
        return Message((self.next,), str(self.next))


@dataclass(frozen=True, slots=True)
class Way:
    """One way to pass the numbers through a function."""

    name: str
    looks_after_acks: bool
    ackers: int = 1


WAYS: Final = (
    Way("map_row: messages are tracked with their batch", looks_after_acks=False),
    Way("process, ackers=0", looks_after_acks=True, ackers=0),
    Way("process, ackers=1: a tree for each message", looks_after_acks=True),
)


@dataclass(frozen=True, slots=True)
class OfMessages:
    """What one run took."""

    way: Way
    seconds: float
    is_exact: bool


def measure_messages(servers: Servers, spark: SparkSession, way: Way, count: int) -> OfMessages:
    """Pass so many numbers through, and count them in a table."""
    with servers.database() as dsn:
        topology = Topology("numbers")
        stream = topology.stream("numbers", NumbersSpout(count))
        passed = stream.process(_given, "n bigint, part bigint") if way.looks_after_acks else _mapped(stream)
        passed.group_by("part").persistent_aggregate(PostgresState("parts"), n=Count(), total=Sum("n"))
        options = RunOptions(until=Until.CAUGHT_UP, ackers=way.ackers, retry_pause=timedelta(milliseconds=10))
        started = time.monotonic()
        topology.run(spark, ledger=PostgresLedger(dsn), options=options)
        seconds = time.monotonic() - started
        with psycopg.connect(dsn) as connection:
            row = connection.execute("SELECT sum(n), sum(total) FROM parts").fetchone()
    return OfMessages(way, seconds, row == (count, count * (count + 1) // 2))


def bytes_per_root(roots: int = _BATCH) -> float:
    """Return what the acker of one attempt holds of each of its messages, at most."""
    given = roots_of(0, 0, roots)
    edges = first_edges(given)
    tracemalloc.start()
    try:
        ackers = Ackers(1)
        before = tracemalloc.get_traced_memory()[0]
        ackers.begin(given, edges)
        ackers.ack(given, np.copy(edges))
        tracemalloc.reset_peak()
        ackers.processed(given)
        return (tracemalloc.get_traced_memory()[1] - before) / roots
    finally:
        tracemalloc.stop()


def _given(record: InputRecord, collector: Collector) -> None:
    collector.emit(_split(record), anchors=[record])
    collector.ack(record)


def _mapped(stream: Stream) -> Stream:
    return stream.map_row(_split, "n bigint, part bigint")


def _split(row: Mapping[str, object]) -> dict[str, object]:
    number = row["n"]
    assert isinstance(number, int)
    return {"n": number, "part": number % _GROUPS}
