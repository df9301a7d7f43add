"""Between any two calls of a take-over and of a person's decision a fault can fall."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulation import scripts
from tests.simulation.faults import Call, Fault, FaultKind
from tests.simulation.running import failure_of
from tests.simulation.scripts import Answer, Progressed, Tape
from tests.simulation.sinking import SinkMode
from tests.simulation.stores import LockedError, SimulatedDatabase
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
        if world.mode is SinkMode.OUTBOX:
            continue  # two places in one call: between them its caller dies or stands still, at a call to the brokers
        assert failure_of(world) is None
        happened += world.counts[kind]
    assert happened > 5
    assert max(of_calls) == 1


@pytest.mark.parametrize("before", [0, 1])
def test_a_script_that_waits_for_a_lock_lets_go_of_nothing_on_its_way_out(before: int) -> None:
    """Or else what it says at its end would really be done, and the lease be let go of in the middle."""
    asked: list[str] = []

    def locked() -> None:
        raise LockedError("apart")

    def script(tape: Tape) -> None:
        try:
            for number in range(before):
                tape.call(f"call {number}", lambda: asked.append("call"))
            tape.call("waits", locked)
        finally:
            tape.call("release", lambda: asked.append("release"))

    if before:
        assert [answer.asked for answer in scripts.run_on((), script, 5).answers] == ["call 0"]
    else:
        with pytest.raises(LockedError):
            scripts.run_on((), script, 5)
    assert asked == ["call"] * before


def test_an_answer_is_played_back_to_the_call_that_it_was_given_to() -> None:
    with pytest.raises(AssertionError, match="renew is called where release was"):
        scripts.run_on((Answer(None, None, "release"),), lambda tape: tape.call("renew", int), 1)
