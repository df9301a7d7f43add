"""Who decides when something happens to a simulated coordinator, and what that one is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Protocol

from tests.simulation.brokers import SimulatedOutbox, SimulatedSink
from tests.simulation.data import TopicProcessor, TopicSource, TopicSpout
from tests.simulation.jobs import Job
from tests.simulation.messages import MessageStream
from tests.simulation.received import ReceivedStream
from tests.simulation.stores import SimulatedStore
from trident.base.clock import Clock
from trident.coordinators.batches.work import TurnWorker
from trident.coordinators.ledger.base import Ledger
from trident.coordinators.options import RunOptions
from trident.coordinators.plans.maker import DueTimers, nothing_due
from trident.coordinators.registered import TopologySpec

if TYPE_CHECKING:
    from tests.simulation.actor import Coordinator


SimulatedTarget = SimulatedStore | SimulatedSink | SimulatedOutbox


class Host(Protocol):
    """Who decides when things happen; one for seeds, one for the exhaustive exploration."""

    def send(self, actor: Coordinator, job: Job, failures: int) -> None:
        """Execute the job some time, then let the actor hear the answer."""

    def calls_at_once(self) -> int:
        """How many calls of a take-over are made without anything in between; faults fall between any two of them."""

    def moment(self) -> float:
        """Return what time it is for loops."""

    def wake_at(self, actor: Coordinator, moment: float) -> None:
        """Call `actor.wake` then, if nothing else happens to it before."""

    def wait_for_lease(self, actor: Coordinator) -> None:
        """Call `actor.begin()` after a while: another one holds the topology."""

    def took_over(self, actor: Coordinator) -> None:
        """Hear that the actor has raised every fence and found every state where it belongs."""

    def ended(self, actor: Coordinator, error: BaseException | None) -> None:
        """Hear that the actor ended, by itself or by that error."""


@dataclass(frozen=True)
class Surroundings:
    """All that a coordinator of this topology is given."""

    spec: TopologySpec
    ledger: Ledger
    stores: Mapping[str, SimulatedTarget]
    sources: Mapping[str, TopicSource | ReceivedStream | MessageStream]
    spouts: Mapping[str, TopicSpout]
    processor: TopicProcessor
    options: RunOptions
    clock: Clock
    rng: Random
    due: DueTimers = nothing_due
    turn: TurnWorker | None = None
    clean_up_every: int = 11
