"""What is kept of a topology, and what a new holder reads of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from trident.base.identity import Epoch, Owner
from trident.base.ranges import PartitionId
from trident.coordinators.decided import Decision, Refusal, ResetDecision
from trident.coordinators.pinned import Pin
from trident.coordinators.planned import Plan


@dataclass(frozen=True, slots=True)
class StartPosition:
    """Where an incarnation starts to read one partition, resolved to a number once."""

    spout: str
    id: PartitionId
    topic_id: str
    start: int


@dataclass(frozen=True, slots=True)
class TopologySpec:
    """What must stay the same over restarts, by name: spouts and states with their descriptions."""

    name: str
    spouts: dict[str, dict[str, str]]
    states: dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class Lease:
    """Who holds a topology and for how long after its last heartbeat (the database's clock decides)."""

    holder: str
    duration: timedelta


@dataclass(frozen=True, slots=True)
class Acquired:
    """The word that a lease was taken: the epoch, and who held the topology before."""

    epoch: Epoch
    previous_holder: str | None = None


@dataclass(frozen=True, slots=True)
class Keep:
    """How much history of finished txids stays: at least `count` of them and all younger than `age`."""

    count: int = 10_000
    age: timedelta = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a new holder reads after it has raised every fence: all that is durable and not yet done.

    `done_plan` is the plan of txid `done` (None at birth); `pin` is that of `done + 1` if there is
    one. `last_txid` is the highest txid ever planned, `last_attempt` the topology's attempt counter.
    """

    owner: Owner
    birth_txid: int
    done: int
    done_attempt: int
    done_plan: Plan | None
    pin: Pin | None
    live: tuple[Plan, ...]
    starts: tuple[StartPosition, ...] | None
    last_txid: int
    last_attempt: int
    open_reset: ResetDecision | None = None
    start: str | None = None
    """The start policy that the reset named which opened this incarnation; None: the spouts' own."""
    refusal: Refusal | None = None
    """Why the last coordinator stopped at a txid that is not done, unless a person has decided since."""
    decisions: tuple[Decision, ...] = ()
    """What a person decided about txids that are not done, and is not finished; oldest first."""
