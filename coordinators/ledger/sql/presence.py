"""Whether a lease's holder is gone, found out sooner than its lease runs out.

A hint for speed only: what keeps a holder that lives on from writing is the epoch. A session
belongs to one epoch, known by its token, so an old holder's end never looks like a new one's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SessionMark:
    """What is stored of a holder's session: a server process, or a process on a named host."""

    pid: int | None = None
    host: str | None = None
    started: float | None = None


class Sessions(Protocol):
    """The sessions that this ledger object holds, one per epoch that it raised; for several threads."""

    def hold(self, topology: str, token: str) -> SessionMark:
        """Start a session for an epoch; it ends with `end`, with `close`, or with the process."""

    def is_gone(self, topology: str, token: str, mark: SessionMark) -> bool:
        """Tell whether the session of a stored epoch has surely ended."""

    def keep(self, topology: str, token: str) -> None:
        """Start the session of an epoch anew if its connection was lost; called at every heartbeat."""

    def end(self, topology: str, token: str) -> None:
        """End the session of an epoch; a no-op when there is none."""

    def close(self) -> None:
        """End all sessions; may be called again."""
