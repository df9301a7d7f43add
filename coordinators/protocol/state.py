"""Everything that decides what happens next, as frozen values."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from trident.base.identity import BatchId, Epoch, Owner
from trident.coordinators.protocol.transitions import Status


class Phase(StrEnum):
    """What the coordinator as a whole does."""

    RUNNING = "running"
    INACTIVE = "inactive"
    """Deactivated: plans nothing until it is activated; what is live is finished, as while it drains."""
    DRAINING = "draining"
    """Plans no more; what is live is finished."""
    STOPPED = "stopped"
    POISONED = "poisoned"
    """An error ended it; every later event is refused with that error."""

    @property
    def goes_on(self) -> bool:
        """Whether what is live may still be finished."""
        return self in (Phase.RUNNING, Phase.INACTIVE, Phase.DRAINING)


class Live(NamedTuple):
    """A live attempt; `waiting` are the states that a pinned one is not applied to yet."""

    batch: BatchId
    tries: int
    status: Status
    waiting: frozenset[str] = frozenset()


class ProtocolState(NamedTuple):
    """Everything that decides what happens next; `live` is in txid order without gaps."""

    owner: Owner
    epoch: Epoch
    states: frozenset[str]
    beside: frozenset[str]
    """States that are applied in the pin's own transaction; when all are, `done` is in it too (the shortcut)."""
    max_pending: int
    max_tries: int
    done: int
    last_attempt: int
    live: tuple[Live, ...] = ()
    tries: tuple[tuple[int, int], ...] = ()
    """(txid, how often attempted) for txids above `done` that were attempted before."""
    phase: Phase = Phase.RUNNING
    error: BaseException | None = None
    alone_until: int = 0
    """Up to this txid one batch at a time: coordinators have died with these, and which one it is has to show."""
    turn_work: bool = False
    """Whether each batch has work in its commit turn, before the pin."""
    keeps_rows: bool = False
    """Whether rows of batches are in this process only: one that fails while the run ends is tried again."""
    shares_work: bool = False
    """Whether the engine can be told how many tasks read a large batch."""
    last_command: int = 0
    """The number of the last life-cycle command that was heard; none is carried out twice."""
    activating: int = 0
    """The number of the command that lets it plan again once its answer is durable; 0 for none."""

    @property
    def is_processing(self) -> bool:
        """Whether an attempt is being processed at the moment."""
        return any(item.status is Status.PROCESSING for item in self.live)
