"""Between any two calls of a take-over and of a person's decision a fault can fall."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulation import scripts
from tests.simulation.faults import Call, Fault, FaultKind
from tests.simulation.running import failure_of
from tests.simulation.scripts import Answer, Progressed, Tape
from tests.simulation.stores import SimulatedDatabase
from tests.simulation.world import World
from trident.state.memory.database import MemoryTransaction

_KINDS = (FaultKind.RESET, FaultKind.UNDO, FaultKind.REFUSED, FaultKind.CRASH)


@pytest.mark.parametrize("kind", _KINDS, ids=lambda kind: kind.name.lower())
def test_no_call_of_a_script_makes_more_than_one_transaction(kind: FaultKind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two transactions in one call nothing ever comes between, and the second is not part of what is played back."""
    opened = 0
    of_calls: list[int] = []
    begin, run_on = SimulatedDatabase.__enter__, scripts.run_on

    def counted(database: SimulatedDatabase) -> MemoryTransaction:
        nonlocal opened
        transaction = begin(database)
        opened += 1
        return transaction

    def watched(answers: tuple[Answer, ...], script: Callable[[Tape], object], calls: int) -> Progressed:
        before = opened
        progressed = run_on(answers, script, calls)
        of_calls.append(opened - before)
        return progressed

    monkeypatch.setattr(SimulatedDatabase, "__enter__", counted)
    monkeypatch.setattr(scripts, "run_on", watched)
    monkeypatch.setattr(World, "calls_at_once", lambda _: 1)
    happened = 0
    for seed in range(20):
        world = World(seed, (Fault(2, 5, kind, Call.ANY, seed),), commits=6)
        assert failure_of(world) is None
        happened += world.counts[kind]
    assert happened > 5
    assert max(of_calls) == 1
