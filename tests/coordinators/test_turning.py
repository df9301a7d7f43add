"""A batch's work in its turn: what the engine is given, and what becomes of what it makes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from trident.base.clock import SystemClock
from trident.base.errors import RetryableError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.signals import StopSignal
from trident.base.timeouts import DEFAULT_TIMEOUTS
from trident.coordinators.batches.log import log_batch
from trident.coordinators.batches.outcome import Outcome
from trident.coordinators.batches.processor import StagingRefusedError, TurnRequest, UnprocessableError
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.batches.turning import BatchTurn
from trident.coordinators.decided import StopKind
from trident.coordinators.ledger import MemoryLedger
from trident.coordinators.planned import Plan
from trident.state.layout import KeyColumn, Merge, StateKind, StateLayout, ValueColumn
from trident.state.memory.state import MemoryState
from trident.state.staged import HeldUpdates, WrittenUpdates
from trident.state.target import Target

LAYOUT = StateLayout((KeyColumn("k", pa.string()),), (ValueColumn("n", pa.int64(), Merge.ADD),))
ROWS = pa.table({"k": ["a"], "n": [1]}, schema=LAYOUT.schema())
CARRIED = pa.table({"x": [1]})
BATCH = BatchId(Owner("t", "incarnation"), Epoch(1, "token"), 5, 9)
TIME = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class ManualClock(SystemClock):
    """Moves when it is told to."""

    seconds: float = 100.0

    def monotonic(self) -> float:
        return self.seconds


@dataclass
class Engine:
    """Makes the same rows for the state `late`, and keeps what it was asked."""

    error: Exception | None = None
    asked: list[TurnRequest] = field(default_factory=list)
    shown: frozenset[str] = frozenset({"early", "late"})
    clock: ManualClock = field(default_factory=ManualClock)

    def process_turn(self, request: TurnRequest) -> Mapping[str, HeldUpdates]:
        self.asked.append(request)
        self.clock.seconds += 0.25
        if self.error is not None:
            raise self.error
        return {"late": HeldUpdates(ROWS)}


def stores() -> dict[str, Target]:
    database = MemoryLedger().database
    return {
        name: MemoryState(name, kind=StateKind.OPAQUE).open(LAYOUT, database, DEFAULT_TIMEOUTS)
        for name in ("early", "late")
    }


def outcome(diverts: tuple[str, ...] = ()) -> Outcome:
    plan = Plan(txid=5, attempt=9, tries=1, predecessor=8, batch_time=TIME, ranges=(), diverts=diverts)
    early = WrittenUpdates(()) if "early" in diverts else HeldUpdates(ROWS)
    return Outcome(plan, (), (), {"early": early}, 1, 2, (), {"carried:0": CARRIED})


def turn(engine: Engine, over: bool = False) -> BatchTurn:
    is_over = StopSignal()
    if over:
        is_over.set()
    return BatchTurn(stores(), engine, engine.clock, is_over)


def test_the_engine_gets_what_was_carried_and_the_rows_that_are_shown_and_its_updates_join_the_outcome() -> None:
    engine = Engine()
    after = turn(engine).work(BATCH, outcome())
    (asked,) = engine.asked
    assert (asked.batch, asked.batch_time, asked.carried) == (BATCH, TIME, {"carried:0": CARRIED})
    assert asked.staged == {"early": ROWS}, "what is made in the turn itself it has"
    assert set(after.updates) == {"early", "late"}
    assert after.carried == {}
    assert {state.state for state in after.pin().states} == {"early", "late"}


def test_how_long_the_turn_took_is_in_the_batchs_line(caplog: pytest.LogCaptureFixture) -> None:
    after = turn(Engine()).work(BATCH, outcome())
    assert (outcome().turn_ms, after.turn_ms) == (0, 250)
    caplog.set_level(logging.INFO, "trident.batch")
    log_batch(BATCH, after.plan, after.commit(7), 3, after.turn_ms)
    (record,) = caplog.records
    assert "process_ms=2 turn_ms=250 commit_ms=7 lag=3" in record.getMessage()
    assert record.batch["turn_ms"] == 250  # type: ignore[attr-defined]


def test_a_state_that_is_diverted_shows_nothing_and_a_late_one_is_taken_out_of_the_batch() -> None:
    engine = Engine()
    after = turn(engine).work(BATCH, outcome(("early", "late")))
    assert engine.asked[0].staged == {}
    assert [item.state for item in after.diverts] == ["late"]
    assert after.updates["late"].count == 0


def test_what_the_engine_refuses_is_recorded_with_its_state() -> None:
    with pytest.raises(StoppedError) as stopped:
        turn(Engine(StagingRefusedError("early", "too large"))).work(BATCH, outcome())
    assert (stopped.value.refusal.kind, stopped.value.refusal.state) == (StopKind.REFUSED, "early")
    with pytest.raises(StoppedError) as stopped:
        turn(Engine(UnprocessableError("no"))).work(BATCH, outcome())
    assert stopped.value.refusal.kind is StopKind.UNPROCESSABLE


def test_an_engine_that_comes_back_after_the_end_stages_nothing() -> None:
    with pytest.raises(RetryableError, match="nothing was staged"):
        turn(Engine(), over=True).work(BATCH, outcome())
