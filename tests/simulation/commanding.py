"""Life-cycle commands in some worlds: given at any moment, until the world comes to rest."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import TYPE_CHECKING

from tests.simulation.accounts import TOPOLOGY
from tests.simulation.faults import EVOLUTION_KINDS
from tests.simulation.received import ReceivedRowsAccount
from tests.simulation.stores import Ending
from trident.coordinators.ledger.memory.lifecycle import wait_in
from trident.coordinators.lifecycle import (
    Activate,
    Activity,
    Deactivate,
    Kill,
    LifeCycleCommand,
    Rebalance,
    Sent,
)

if TYPE_CHECKING:
    from tests.simulation.world import World

_SHARE = 0.25
_AGAIN_MS = 40
_REST_MS = 1_000
_LONG = timedelta(hours=1)
_SHORT = timedelta(milliseconds=60)


class Commands:
    """A second person, who gives commands; what else is drawn does not depend on them."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._rng = random.Random(seed ^ 0xC0DE)
        evolves = any(fault.kind in EVOLUTION_KINDS for fault in world.faults)
        has_rows = isinstance(world.monitor.outside, ReceivedRowsAccount)
        self.is_drawn = self._rng.random() < _SHARE and not has_rows and not evolves
        self._sent = 0

    def begin(self) -> None:
        """Give the first one some time after the start."""
        if self.is_drawn:
            self._world.at(self._rng.randint(50, 500), self._give_some)

    def seal(self) -> None:
        """Let it be active at the end, whatever was given before, or is lost with a ledger that is put back."""
        if not self.is_drawn:
            return
        entry = self._world.monitor.account.entry
        if entry is None or entry.activity is not Activity.ACTIVE or wait_in(entry):
            self._give(Activate(), _LONG)
        self._world.at(_REST_MS, self.seal)

    def _give_some(self) -> None:
        world, draw = self._world, self._rng
        if world.sealed:
            return
        world.at(draw.randint(100, 900), self._give_some)
        drawn = draw.random()
        if drawn < 0.3:
            self._give(Rebalance(max_pending=draw.randint(1, 4)), _LONG)
            return
        waits = timedelta(milliseconds=draw.choice([0, 30, 400]))
        command: LifeCycleCommand = Deactivate() if drawn < 0.7 else Kill(waits)
        self._give(command, draw.choice([_SHORT, _LONG]))
        if draw.random() < 0.3:
            self._give(Activate() if draw.random() < 0.5 else Deactivate(), _LONG)
        world.at(draw.randint(1, 400), self._give, Activate(), _LONG)

    def _give(self, command: LifeCycleCommand, within: timedelta) -> None:
        world, call = self._world, self._world.call
        if world.monitor.account.entry is None:  # nobody has registered it yet
            world.at(_AGAIN_MS, self._give, command, within)
            return
        self._sent += 1
        call.waits, call.epoch, call.ending, call.failing = False, None, Ending.KEPT, None
        number = world.ledger.send(TOPOLOGY, Sent(f"c{self._sent}", command, "a person", within))
        world.note("*** command", number, command)
        world.counts["a command was given"] += 1
