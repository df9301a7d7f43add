"""A target that lacks a capability is refused where it is asked for, before anything is recorded or changed."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS, run
from tests.state.harnesses import ClearableMap, DictMap
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import ConfigurationError, RefusedError
from trident.base.identity import BatchId
from trident.base.timeouts import Timeouts
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions.commands import decide_topology, reset_topology
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.ledger import MemoryLedger
from trident.state import BackingMapState, MemoryState, StateKind
from trident.state.capabilities import CannotUndoError, Capabilities
from trident.state.layout import StateLayout
from trident.state.memory.database import MemoryDatabase
from trident.state.memory.target import MemoryTarget
from trident.state.staged import StagedUpdates
from trident.state.target import LedgerDatabase


class LesserTarget(MemoryTarget):
    """Can do what every target can, and nothing more; refuses a batch when it is told to."""

    refuses = False

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities()

    def apply(self, batch: BatchId, updates: StagedUpdates) -> None:
        if LesserTarget.refuses:
            raise RefusedError("too large")
        super().apply(batch, updates)


@dataclass(frozen=True)
class LesserState:
    name: str
    kind: StateKind = StateKind.OPAQUE
    database: MemoryDatabase = field(default_factory=MemoryDatabase, compare=False)

    def description(self) -> dict[str, str]:
        return {"store": "lesser"}

    def open(self, layout: StateLayout, ledger_database: LedgerDatabase, timeouts: Timeouts) -> LesserTarget:
        return LesserTarget(self.database, self.name, self.kind, layout, beside_ledger=False)


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> tuple[MemoryLedger, Topic, tuple[MemoryState, LesserState]]:
    """A topology whose txid 1 is pinned: `balances` has it, `sink` refuses it."""
    ledger, topic = MemoryLedger(), Topic([[("ann", 1), ("bob", 2)]])
    states = (MemoryState("balances"), LesserState("sink"))
    monkeypatch.setattr(LesserTarget, "refuses", True)
    with pytest.raises(Exception, match="state 'sink' refused"):
        run(make_job(topic, *states), ledger)
    return ledger, topic, states


def test_every_target_runs_without_any_capability():
    ledger, topic = MemoryLedger(), Topic([[("ann", 1), ("bob", 2)]])
    sink = LesserState("sink")
    run(make_job(topic, MemoryState("balances"), sink), ledger)
    rows = MemoryState("sink", database=sink.database).rows(ledger.database)
    assert {row["account"]: (row["n"], row["total"]) for row in rows} == topic.expected()


def test_an_undo_names_the_target_that_can_not_be_undone(refused):
    ledger, topic, states = refused
    plan = make_job(topic, *states).plan()
    before = states[0].rows(ledger.database)
    with pytest.raises(CannotUndoError, match="state 'sink' keeps nothing of what was before"):
        decide_topology(plan.spec, plan.targets, ledger, WantedDecision(DecisionKind.UNDO, 1), OPTIONS)
    assert states[0].rows(ledger.database) == before
    with pytest.raises(Exception, match=r"an undo is not possible: .*state 'sink' keeps nothing"):
        run(make_job(topic, *states), ledger)


def test_a_divert_names_the_target_that_can_not_give_rows_back(refused):
    ledger, topic, states = refused
    plan = make_job(topic, *states).plan()
    with pytest.raises(ConfigurationError, match="rows of state 'sink' can't be read back"):
        decide_topology(plan.spec, plan.targets, ledger, WantedDecision(DecisionKind.DIVERT, 1, "sink"), OPTIONS)
    with pytest.raises(Exception, match="trident divert"):
        run(make_job(topic, *states), ledger)


@pytest.mark.parametrize("keep_rows", [True, False])
def test_a_reset_names_the_target_that_can_not_follow(keep_rows):
    ledger, topic = MemoryLedger(), Topic([[("ann", 1), ("bob", 2)]])
    job = make_job(topic, MemoryState("balances"), LesserState("sink"))
    run(job, ledger)
    plan = job.plan()
    with pytest.raises(ConfigurationError, match="state 'sink' can't follow a reset; nothing was changed"):
        reset_topology(plan.spec, plan.targets, ledger, keep_rows=keep_rows, start=None, options=OPTIONS)
    topic.partitions[0].append(("cyd", 3))
    run(job, ledger)  # nothing was recorded, so nothing has to be finished first
    assert job.topic.told == [1, 2]


def test_a_reset_that_can_not_empty_a_map_is_refused_before_it_is_recorded():
    ledger, topic = MemoryLedger(), Topic([[("ann", 1), ("bob", 2)]])
    job = make_job(topic, MemoryState("balances"), BackingMapState("totals", DictMap()))
    run(job, ledger)
    plan = job.plan()
    with pytest.raises(ConfigurationError, match=r"has no clear\(\)"):
        reset_topology(plan.spec, plan.targets, ledger, keep_rows=False, start=None, options=OPTIONS)
    topic.partitions[0].append(("cyd", 3))
    run(job, ledger)
    assert job.topic.told == [1, 2]


def test_a_reset_that_was_recorded_is_finished_whatever_is_asked_for_next():
    ledger, topic = MemoryLedger(), Topic([[("ann", 1)]])
    job = make_job(topic, MemoryState("balances"), BackingMapState("totals", ClearableMap()))
    run(job, ledger)
    plan = job.plan()

    def die(point: CrashPoint, _: int) -> None:
        if point is CrashPoint.AFTER_DECIDING_RESET:
            raise KeyboardInterrupt

    with armed(die), pytest.raises(KeyboardInterrupt):
        reset_topology(plan.spec, plan.targets, ledger, keep_rows=False, start="earliest", options=OPTIONS)
    decision = reset_topology(plan.spec, plan.targets, ledger, keep_rows=True, start=None, options=OPTIONS)
    assert decision.states == "clear"
