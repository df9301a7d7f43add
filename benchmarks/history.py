"""When each batch was committed and what it held, read from a system's own tables after its run.

The time is the server's own record of the commit (`track_commit_timestamp`), the same clock for all
systems and the one that Kafka's timestamps were made with. It is taken just before the commit
record is flushed to the disk. One system has no row of its own per batch: `systems/trident_without.py` says what its
clock is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg

from benchmarks.workloads import PARTITIONS

Stretches = tuple[tuple[int, int, int], ...]
"""Partition, first offset, offset behind the last."""


NOTED = "noted_batches"
"""Where a system without a ledger in the database writes, at its end, what it has noted."""
_FEWEST_LATE = 20


@dataclass(frozen=True, slots=True)
class Steps:
    """When a batch's plan was begun (seconds since the epoch), and how long plan and processing took."""

    planned_at: float
    plan_ms: int
    process_ms: int


@dataclass(frozen=True, slots=True)
class Batch:
    """One committed batch; the time is in seconds since the epoch. Only the library's own have steps."""

    committed_at: float
    stretches: Stretches
    steps: Steps | None = None

    @property
    def records(self) -> int:
        """How many records it held; the topics have no holes."""
        return sum(stop - start for _, start, stop in self.stretches)

    def numbers(self) -> npt.NDArray[np.int64]:
        """Return the numbers of its records: k has offset k // PARTITIONS of partition k % PARTITIONS."""
        parts = [np.arange(start, stop) * PARTITIONS + partition for partition, start, stop in self.stretches]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class History:
    """All batches of a run in the order of their commits."""

    batches: Sequence[Batch]

    @property
    def records(self) -> int:
        """How many records were read by all batches."""
        return sum(batch.records for batch in self.batches)

    @property
    def span(self) -> tuple[float, float]:
        """When the first and the last batch were committed."""
        return self.batches[0].committed_at, self.batches[-1].committed_at

    def records_per_second(self) -> float:
        """Return the rate between the first and the last commit; the first batch only starts the clock.

        So what a system does once, such as starting a JVM, does not count for any of them.
        """
        first, last = self.span
        return (self.records - self.batches[0].records) / (last - first)

    def commit_gap_ms_median(self, commits: int | None = None) -> float:
        """Return the median time between two commits, of the first so many or of all."""
        return float(np.median(self._gaps_ms()[:commits]))

    def commit_gap_ms_late(self, commits: int) -> float | None:
        """Return the median after the first so many commits, None of a run that has hardly more."""
        late = self._gaps_ms()[commits - 1 :]
        return float(np.median(late)) if len(late) >= _FEWEST_LATE else None

    def _gaps_ms(self) -> npt.NDArray[np.float64]:
        return np.diff(np.array([batch.committed_at for batch in self.batches])) * 1000

    def latencies_ms(self, timestamps: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the time from each record's Kafka timestamp to its commit, by the record's number.

        Raises RuntimeError when the batches don't hold each record once.
        """
        latencies = np.full(len(timestamps), np.nan)
        for batch in self.batches:
            numbers = batch.numbers()
            latencies[numbers] = batch.committed_at * 1000 - timestamps[numbers]
        if self.records != len(timestamps) or np.isnan(latencies).any():
            raise RuntimeError("the batches of the run don't hold each record once")
        return latencies


def trident_history(dsn: str, after: int = 0) -> History:
    """Read the ledger's txids after one."""
    rows = _rows(
        dsn,
        "SELECT extract(epoch FROM pg_xact_commit_timestamp(c.xmin)), p.ranges, "
        "extract(epoch FROM p.batch_time), c.plan_ms, c.process_ms FROM trident_commit AS c "
        "JOIN trident_plan AS p ON p.topology = c.topology AND p.attempt = c.attempt "
        f"WHERE c.txid > {int(after)} ORDER BY c.txid",
    )
    return History(
        [Batch(float(at), _of_plan(ranges), Steps(float(begun), *took)) for at, ranges, begun, *took in rows]
    )


def noted_history(dsn: str) -> History:
    """Read what a system has noted by its own clock."""
    rows = _rows(
        dsn,
        f"SELECT committed_at, stretches, planned_at, plan_ms, process_ms FROM {NOTED} ORDER BY id",
    )
    return History(
        [Batch(at, tuple((p, a, z) for p, a, z in parts), Steps(begun, *took)) for at, parts, begun, *took in rows]
    )


def plain_history(dsn: str) -> History:
    """Read the tables that the hand-written systems keep: a row per batch, and the offsets that it read."""
    rows = _rows(
        dsn,
        "SELECT b.id, extract(epoch FROM pg_xact_commit_timestamp(b.xmin)), "
        "array_agg(ARRAY[o.partition, o.start_offset, o.stop_offset]) "
        "FROM batches AS b JOIN batch_offsets AS o ON o.batch = b.id GROUP BY b.id, b.xmin ORDER BY b.id",
    )
    return History([Batch(float(at), tuple((p, a, z) for p, a, z in parts)) for _, at, parts in rows])


def _of_plan(ranges: str) -> Stretches:
    changed = json.loads(ranges)["changed"]
    return tuple((partition, start, stop) for *_, parts in changed for partition, start, stop in parts)


def _rows(dsn: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(dsn) as connection:
        return connection.execute(query).fetchall()
