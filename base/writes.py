"""What a task wrote: the manifest of one accepted write."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trident.base.digest import Digest, hash64, seed_of


@dataclass(frozen=True, slots=True)
class WriteManifest:
    """One accepted write of a task to a state's staging: its rows are found by `write_id`."""

    state: str
    write_id: str
    digest: Digest

    @property
    def rows(self) -> int:
        """Number of rows under the write id."""
        return self.digest.count


def digest_of(write_id: str, count: int) -> Digest:
    """Return the digest of so many rows that lie under a write id, numbered as they were written."""
    return Digest.of(hash64(seed_of(write_id), np.arange(count, dtype=np.int64)))
