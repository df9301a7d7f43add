"""Where a topology stands, and its plans as they are stored: what every rule is given."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from trident.coordinators.planned import Plan


class PlanStatus(StrEnum):
    """What became of an attempt; the only thing of a stored plan that ever changes."""

    LIVE = "live"
    DROPPED = "dropped"
    DONE = "done"


class Progress(NamedTuple):
    """A topology's one locked row: where it stands, and the highest numbers ever handed out.

    `pinned` is the txid that is pinned and not done, always `done + 1`; `reset_to` the incarnation
    of a reset that was decided and not finished.
    """

    incarnation: str
    done: int
    done_attempt: int
    pinned: int | None
    pinned_attempt: int | None
    last_txid: int
    last_attempt: int
    reset_to: str | None
    undoing: int | None = None
    """The pinned attempt that a person decided to undo, until it is unpinned."""
    held: int = 0
    """How many decided diverts wait for the attempt that commits."""

    @property
    def pinned_batch(self) -> tuple[int, int] | None:
        """Txid and attempt of what is pinned."""
        if self.pinned is None or self.pinned_attempt is None:
            return None
        return self.pinned, self.pinned_attempt


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """A plan as the ledger holds it."""

    incarnation: str
    epoch: int
    status: PlanStatus
    plan: Plan
    is_whole: bool = True
    """Whether the plan names every partition ever seen, or only those that it changes (see `changes`)."""
