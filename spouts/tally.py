"""What a task counts while it reads one range, up to its manifest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from trident.base.digest import Digest, hash64, seed_of
from trident.base.ranges import Edge, RangeManifest


def position_digest(topic: str, partition: int, offsets: npt.NDArray[np.int64]) -> Digest:
    """Return the digest of some records' source positions: equal in every run, for every reader."""
    return Digest.of(hash64(seed_of(topic, partition), offsets))


@dataclass(slots=True)
class RangeTally:
    """Counts the records of one range; used by the one task that reads it."""

    edge: Edge
    digest: Digest = field(default_factory=Digest)
    size_bytes: int = 0
    newest: int | None = None

    def add(
        self, offsets: npt.NDArray[np.int64], timestamps: npt.NDArray[np.int64], values: Sequence[bytes | None]
    ) -> None:
        """Count records, all of them before the range's stop."""
        if not len(offsets):
            return
        id_ = self.edge.range.id
        self.digest += position_digest(id_.topic, id_.partition, offsets)
        self.size_bytes += sum(map(len, filter(None, values)))
        newest = int(timestamps.max())
        if newest >= 0:
            self.newest = newest if self.newest is None else max(self.newest, newest)

    def manifest(self, position: int | None) -> RangeManifest:
        """Return the word on the whole range; `position` None where the reader can't know it."""
        return RangeManifest(self.edge.id, self.edge.range.id, position, self.digest, self.size_bytes, self.newest)
