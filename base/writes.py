"""What a task wrote: the manifest of one accepted write."""

from __future__ import annotations

from dataclasses import dataclass

from trident.base.digest import Digest


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
