"""What the batch coordinator asks of the engine that processes batches, and what it gets back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from trident.base.identity import BatchId
from trident.base.ranges import Edge, RangeManifest
from trident.coordinators.records import DeadLetter
from trident.state.staged import HeldUpdates, WrittenUpdates


@dataclass(frozen=True, slots=True)
class Job:
    """One engine job of a batch: all that ends in one state, and the spouts that it reads."""

    state: str
    spouts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProcessRequest:
    """One attempt, as the engine gets it: `edges[state][spout]` are the non-empty ranges of that job."""

    batch: BatchId
    tries: int
    batch_time: datetime
    edges: Mapping[str, Mapping[str, tuple[Edge, ...]]]


@dataclass(frozen=True, slots=True)
class JobResult:
    """What one job's successful action returned, and nothing that any other run of a task said."""

    state: str
    manifests: tuple[tuple[str, RangeManifest], ...]
    """(spout, manifest) pairs."""
    bad_records: tuple[DeadLetter, ...]
    updates: HeldUpdates | WrittenUpdates


class Processor(Protocol):
    """Turns planned ranges into staged updates, without any effect that a reader could see."""

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The jobs of each batch, the same for every batch of a run."""

    def process(self, request: ProcessRequest) -> tuple[JobResult, ...]:
        """Run all jobs of the attempt; called from several threads at once, each with its own attempt.

        Raises `RetryableError` when another attempt may succeed, `FatalError` when none can.
        """

    def cancel(self, batch: BatchId) -> None:
        """Ask running jobs of the attempt to end; a hint, never relied on for correctness."""
