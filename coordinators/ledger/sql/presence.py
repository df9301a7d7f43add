"""Whether a lease's holder is gone, found out sooner than its lease runs out.

A hint for speed only: what keeps a holder that lives on from writing is the epoch. A holder shows
that it is there per epoch, known by its token, so an old holder's end never looks like a new one's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class PresenceMark:
    """What is stored of a holder: the server's process for its connection, or its own process on a named host."""

    pid: int | None = None
    host: str | None = None
    started: float | None = None


class Presence(Protocol):
    """How this ledger object shows that it is there, for each epoch that it raised; for several threads."""

    def hold(self, topology: str, token: str) -> PresenceMark:
        """Be there for an epoch, until `end`, `close`, or the end of the process."""

    def is_gone(self, topology: str, token: str, mark: PresenceMark) -> bool:
        """Tell whether the holder of a stored epoch is surely not there any more."""

    def keep(self, topology: str, token: str) -> None:
        """Be there again for an epoch if the connection was lost; each heartbeat calls it, and never waits."""

    def end(self, topology: str, token: str) -> None:
        """Be there for an epoch no longer; a no-op when it is not."""

    def close(self) -> None:
        """End for all epochs; may be called again."""
