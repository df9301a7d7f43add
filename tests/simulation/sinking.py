"""What goes wrong between a sink and its cluster, and which worlds have a sink."""

from __future__ import annotations

import random
from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Final

from tests.simulation.accounts import TOPOLOGY
from tests.simulation.data import SINK
from tests.simulation.faults import SINK_KINDS, Call, Fault, FaultKind
from tests.simulation.jobs import Job, Start
from tests.state.memory_kafka import End
from trident.base.errors import RefusedError
from trident.coordinators.batches.requests import CleanUp, CommitStep, Relay
from trident.coordinators.protocol.messages import Apply
from trident.state.kafka.marker import transactional_id

if TYPE_CHECKING:
    from tests.simulation.world import Request, World


class SinkMode(Enum):
    """Whether a world has a sink, and when it sends."""

    NONE = "there is none"
    DIRECT = "it sends before done"
    OUTBOX = "what it sends waits beside the ledger until it is done"


_ENDS: Final = {
    FaultKind.SINK_ANSWER_LOST: End.ANSWER_LOST,
    FaultKind.SINK_END_LOST: End.REQUEST_LOST,
    FaultKind.SINK_END_LATE: End.LATE,
    FaultKind.SINK_END_TWICE: End.SENT_TWICE,
}
_SHARE: Final = 0.075
_STEPS: Final = 6
"""How many calls one request makes to the brokers, about."""


class DiedError(BaseException):
    """Who made the call is gone in the middle of it; no part of the product catches it."""


def draw_mode(seed: int) -> SinkMode:
    """Return it; what else is drawn with the seed does not depend on it."""
    drawn = random.Random(seed ^ 0x51AC).random()
    return SinkMode.DIRECT if drawn < _SHARE else SinkMode.OUTBOX if drawn < 2 * _SHARE else SinkMode.NONE


def draw_sink_faults(seed: int, commits: int) -> Iterator[Fault]:
    """Yield what comes on top of the other faults."""
    rng = random.Random(seed ^ 0xCAF4A)
    for kind in rng.choices(SINK_KINDS, k=rng.randint(2, 4)):
        call = rng.choice((Call.ANY, Call.TAKE_OVER, Call.COMMIT, Call.COMMIT))
        yield Fault(int(rng.random() * (commits - 1)), int(rng.random() * 30), kind, call, int(rng.random() * 1000))


def reaches_the_sink(job: Job) -> bool:
    """Tell whether a request may make calls to the sink's cluster."""
    match job:
        case Start() | Relay():
            return True
        case CommitStep(command, _):
            return type(command) is Apply and command.state == SINK
        case CleanUp(_, state):
            return state == SINK
    return False


def sends(job: Job) -> bool:
    """Tell whether a request sends records."""
    return type(job) is Relay or (type(job) is CommitStep and reaches_the_sink(job))


class SinkFaults:
    """Lets them happen; one that finds nothing to hit is armed again by whoever has it."""

    def __init__(self, world: World) -> None:
        self._world = world

    def hits(self, fault: Fault, request: Request) -> bool:
        """Make the call with the fault; tells whether it has happened."""
        world, kafka = self._world, self._world.kafka
        assert kafka is not None
        if fault.kind is FaultKind.SINK_REFUSED:
            kafka.refusing = RefusedError("too large for the topic")
            world.execute(request)
            was_hit, kafka.refusing = kafka.refusing is None, None
        elif fault.kind in _ENDS:
            kafka.ends = [_ENDS[fault.kind]]
            world.execute(request)
            was_hit, kafka.ends = not kafka.ends, []
            if was_hit and kafka.late:
                self._deliver_later(fault)
        else:
            was_hit = self._strikes(fault, request)
        if was_hit:
            world.count(fault.kind, request.actor.name)
        return was_hit

    def happens(self, fault: Fault) -> bool:
        """Let something happen to the cluster itself."""
        world, kafka = self._world, self._world.kafka
        assert kafka is not None
        match fault.kind:
            case FaultKind.SINK_ID_EXPIRED:
                return kafka.expire(transactional_id(TOPOLOGY, SINK))
            case FaultKind.SINK_AWAY:
                kafka.is_away = True
                world.at(10 + fault.number % 200, self._is_back)
            case FaultKind.SINK_HANGS:
                kafka.hangs = True
                world.at(10 + fault.number % 200, self._is_settled)
        return True

    def _is_back(self) -> None:
        assert self._world.kafka is not None
        self._world.kafka.is_away = False

    def _is_settled(self) -> None:
        assert self._world.kafka is not None
        self._world.kafka.hangs = False

    def _deliver_later(self, fault: Fault) -> None:
        """Let the request arrive after some time, or in the middle of what is sent then."""
        world, kafka = self._world, self._world.kafka
        assert kafka is not None
        if fault.number % 2:
            kafka.is_late_in_the_middle = True
        else:
            world.at(1 + fault.number % 300, kafka.deliver)

    def _strikes(self, fault: Fault, request: Request) -> bool:
        """Make the call, and let who makes it stand still or die before one of the calls to the brokers."""
        world, kafka = self._world, self._world.kafka
        assert kafka is not None
        left, was_hit, actor = fault.number % _STEPS, False, request.actor
        if actor.number >= 0 and world.versions.is_refused(actor.around):
            world.execute(request)  # unhurt: what the others do meanwhile would be taken for its own doing
            return False
        # deaths of a person's command are drawn apart
        dies = fault.kind is FaultKind.SINK_DIED and actor.number >= 0

        def at_step() -> None:
            nonlocal left, was_hit
            left -= 1
            if left >= 0:
                return
            kafka.at_step, was_hit = None, True
            if dies:
                world.kill(actor)
            else:
                world.stand_still(actor, 30 + fault.number // _STEPS % 60 * 10, is_whole=fault.number % 2 == 0)
            if actor.is_dead:
                raise DiedError

        kafka.at_step = at_step
        world.execute(request)
        kafka.at_step = None
        return was_hit
