"""Staged updates: what a batch will change in one target, held by the driver or written to the target's database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from trident.base.errors import MismatchError
from trident.base.writes import WriteManifest


@dataclass(frozen=True, slots=True)
class HeldUpdates:
    """Staged updates that the driver holds: one row per key, in the layout's schema."""

    rows: pa.Table

    @property
    def count(self) -> int:
        """How many rows are staged."""
        return int(self.rows.num_rows)


@dataclass(frozen=True, slots=True)
class WrittenUpdates:
    """Staged updates that lie in the target's database, found by the write ids of their manifests."""

    writes: tuple[WriteManifest, ...]

    @property
    def count(self) -> int:
        """How many rows are staged, as their manifests say."""
        return sum(write.rows for write in self.writes)


StagedUpdates = HeldUpdates | WrittenUpdates


@dataclass(frozen=True, slots=True)
class AppliedUpdates:
    """Updates that the pin's own transaction has applied: how many rows, and nothing else is kept of them."""

    count: int


class StagingLostError(MismatchError):
    """Rows that were accepted into staging are not all there any more; the batch is not applied.

    Before the pin the attempt is dropped and read again (a server that crashed has emptied its
    unlogged staging); after the pin a person has to decide.
    """


StagingWriter = Callable[[Iterator[pa.RecordBatch]], Iterator[str]]
"""Runs inside a Spark task, can be pickled: commits the rows of the layout under a fresh write id and
yields one encoded `WriteManifest` per id. Called again for a retried task; takes a new id then."""


def up_to(txid: int, lying: Mapping[str, int]) -> list[str]:
    """Return the names of what is staged for txids up to one; `lying` are names with their txids."""
    return [name for name, staged_for in lying.items() if staged_for <= txid]
