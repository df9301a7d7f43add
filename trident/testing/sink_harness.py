"""What a sink's contract is tested with: a harness per sink, and short words for its rows."""

from __future__ import annotations

from abc import ABC, abstractmethod

import pyarrow as pa

from trident.base.crash_points import CrashPoint
from trident.base.identity import BatchId
from trident.state.staged import HeldUpdates, StagedUpdates
from trident.state.target import Target
from trident.testing.state_harness import EPOCH, OWNER, batch_of


class SinkHarness(ABC):
    """Makes sinks over one fresh place, and reads what has come out past them."""

    points: tuple[CrashPoint, ...] = (CrashPoint.IN_APPLY,)
    """The crash points that its `apply` reaches, at each of which it may die."""

    @abstractmethod
    def open(self) -> Target:
        """Open the sink; called again it opens the same one, as after a restart or in another process."""

    @abstractmethod
    def rows(self, *words: str) -> pa.Table:
        """Return staged rows, one per word, that leave in this order."""

    def stage(self, sink: Target, batch: BatchId, rows: pa.Table) -> StagedUpdates:
        """Stage a batch's rows as the sink's topology does: held by the driver, unless tasks write them."""
        return sink.stage(batch, HeldUpdates(rows))

    @abstractmethod
    def words(self) -> list[str]:
        """Return the words of all that readers can see, in its order; may wait for what is still open to end."""


def begun(harness: SinkHarness, birth_txid: int = 0) -> Target:
    """Return a sink that was taken over and registered."""
    sink = harness.open()
    sink.prepare()
    sink.raise_fence(OWNER, EPOCH)
    sink.register(OWNER, EPOCH, birth_txid)
    return sink


def staged(harness: SinkHarness, sink: Target, batch: BatchId, *words: str) -> StagedUpdates:
    """Stage a batch's words."""
    return harness.stage(sink, batch, harness.rows(*words))


def send(harness: SinkHarness, sink: Target, txid: int, *words: str) -> None:
    """Stage and apply a batch."""
    batch = batch_of(txid)
    sink.apply(batch, staged(harness, sink, batch, *words))
