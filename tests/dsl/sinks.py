"""A sink that graphs end in and that nothing opens."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from trident.base.timeouts import Timeouts
from trident.state.target import LedgerDatabase, Target


@dataclass(frozen=True)
class UnopenedSink:
    """Names itself and its columns."""

    name: str
    schema: pa.Schema

    def description(self) -> dict[str, str]:
        return {"store": "nowhere"}

    def open(self, ledger_database: LedgerDatabase, timeouts: Timeouts) -> Target:
        raise AssertionError(f"{self.name!r} is not to be opened")
