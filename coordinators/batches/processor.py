"""What the batch coordinator asks of the engine that processes batches, and what it gets back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, runtime_checkable

import pyarrow as pa

from trident.base.errors import FatalError, RefusedError, RetryableError
from trident.base.identity import BatchId
from trident.base.ranges import Edge, RangeManifest
from trident.base.trees import TreeWord
from trident.coordinators.pinned import DeadLetter
from trident.state.staged import HeldUpdates, WrittenUpdates


@dataclass(frozen=True, slots=True)
class ProcessRequest:
    """One attempt, as the engine gets it: `edges[spout]` are the non-empty ranges of that spout.

    A spout is read once per attempt, whatever hangs on it, so a range has one edge.
    """

    batch: BatchId
    tries: int
    batch_time: datetime
    edges: Mapping[str, tuple[Edge, ...]]
    diverts: tuple[str, ...] = ()
    """States whose rows are taken out of the batch: they come back held, never staged by tasks that may refuse them."""
    sifted: tuple[str, ...] = ()
    """States of which some rows are: theirs come back held as well, and each as it is to be stored."""


class StagingRefusedError(RefusedError):
    """Tasks could not stage the rows of a state, and never will: the same rows would be refused again."""

    def __init__(self, state: str, reason: str) -> None:
        super().__init__(state, reason)
        self.state = state
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class MessagesFailedError(RetryableError):
    """Messages can't be in their batch: they go back to their source, and the attempt is no try of the others."""


class UnprocessableError(FatalError):
    """The records can't be processed as the topology is, however often they are tried."""


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """What the attempt's successful actions returned, and nothing that any other run of a task said."""

    manifests: tuple[tuple[str, RangeManifest], ...]
    """(spout, manifest) pairs, each range's once."""
    bad_records: tuple[DeadLetter, ...]
    updates: Mapping[str, HeldUpdates | WrittenUpdates]
    """By target; every target is there, also with nothing to change, but for those that are made in the turn."""
    carried: Mapping[str, pa.Table] = field(default_factory=dict)
    """What the engine will want back in the batch's turn; it goes with the attempt."""
    trees: tuple[TreeWord, ...] = ()
    """What operations that look after acks have said of messages, each word once."""


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """An attempt's work in its turn: every txid before it is done, and nothing of it is seen by a reader."""

    batch: BatchId
    batch_time: datetime
    carried: Mapping[str, pa.Table]
    staged: Mapping[str, pa.Table]
    """The staged rows of the states whose new values are wanted, by state; not of one that is diverted."""
    diverts: tuple[str, ...] = ()


@runtime_checkable
class TurnProcessor(Protocol):
    """Makes what depends on the values that the txid before has left."""

    @property
    def shown(self) -> frozenset[str]:
        """The states whose staged rows it wants."""

    def process_turn(self, request: TurnRequest) -> Mapping[str, HeldUpdates]:
        """Return the updates of each target that is made in the turn, without any effect that a reader could see.

        Called by one thread at a time, in the order of txids, again for another attempt. Raises as `Processor.process`.
        """


@runtime_checkable
class SharesWork(Protocol):
    """A processor that can be told how many tasks share a large batch."""

    def share_work(self, parallelism: int) -> None:
        """Have so many tasks read each large batch that is begun from now on; returns at once."""


class Processor(Protocol):
    """Turns planned ranges into staged updates, without any effect that a reader could see.

    How the work is cut into jobs is its own affair.
    """

    def process(self, request: ProcessRequest) -> ProcessResult:
        """Process the attempt; called from several threads at once, each with its own attempt.

        Raises `RetryableError` when another attempt may succeed, `FatalError` when none can: `StagingRefusedError`,
        `UnprocessableError` and `UncomputableError` are about the records, and are recorded with the attempt.
        """

    def cancel(self, batch: BatchId) -> None:
        """Ask running jobs of the attempt to end; a hint, never relied on for correctness."""
