"""What goes wrong while a run gives back what it held never hides why the run ended, and never undoes that it ended."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from tests.coordinators.fakes import ListJob, ListSource, ListSpout, make_job
from tests.coordinators.test_run import OPTIONS, memory_place, payments, run
from trident.base.closing import giving_back
from trident.base.errors import FatalError, MismatchError, OutcomeUnknownError, RetryableError, TridentError
from trident.base.identity import BatchId, Epoch
from trident.base.timeouts import DEFAULT_TIMEOUTS, Timeouts
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions.commands import decide_topology, reset_topology, retry_topology
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.ledger import MemoryLedger
from trident.state import MemoryState
from trident.state.layout import StateLayout
from trident.state.memory.database import MemoryDatabase
from trident.state.memory.target import MemoryTarget
from trident.state.target import LedgerDatabase

LEASE = timedelta(milliseconds=300)
PLACES = ("release", "ledger", "source", "store")


class BrokenLedger(MemoryLedger):
    """Can't be let go of in one way."""

    def __init__(self, place: str, error: Exception) -> None:
        super().__init__()
        self.place = place
        self.error = error
        self.asked = 0

    def fail_at(self, place: str) -> None:
        if place == self.place:
            self.asked += 1
            raise self.error

    def release(self, topology: str, epoch: Epoch) -> None:
        self.fail_at("release")
        super().release(topology, epoch)

    def close(self) -> None:
        self.fail_at("ledger")


@dataclass(frozen=True)
class BrokenSource(ListSource):
    ledger: BrokenLedger

    def close(self) -> None:
        self.ledger.fail_at("source")


@dataclass(frozen=True)
class BrokenSpout(ListSpout):
    ledger: BrokenLedger | None = None

    def open(self, name: str) -> ListSource:
        assert self.ledger is not None
        return BrokenSource(self.topic, name, self.ledger)


class BrokenStore(MemoryTarget):
    ledger: BrokenLedger

    def close(self) -> None:
        self.ledger.fail_at("store")


@dataclass(frozen=True)
class BrokenState(MemoryState):
    ledger: BrokenLedger | None = None

    def open(
        self, layout: StateLayout, ledger_database: LedgerDatabase, timeouts: Timeouts = DEFAULT_TIMEOUTS
    ) -> BrokenStore:
        assert self.ledger is not None
        assert isinstance(ledger_database, MemoryDatabase)
        store = BrokenStore(ledger_database, self.name, self.kind, layout)
        store.ledger = self.ledger
        return store


def broken_job(ledger: BrokenLedger, **options: Any) -> ListJob:
    job = make_job(payments(), BrokenState("balances", ledger=ledger), **options)
    return replace(job, spout=BrokenSpout(job.topic, ledger=ledger))


def fail(request, result):
    raise MismatchError("what ended the run")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("error", [RetryableError("away"), OutcomeUnknownError("cut off"), FatalError("no")])
def test_a_run_that_did_all_its_work_has_done_it(place, error, caplog):
    ledger = BrokenLedger(place, error)
    job = broken_job(ledger)
    with caplog.at_level(logging.WARNING, "trident.coordinator"):
        assert run(job, ledger).batches == 8
    assert ledger.asked == 1
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert str(error) in caplog.text
    rows = {row["account"]: (row["n"], row["total"]) for row in MemoryState("balances").rows(ledger.database)}
    assert rows == job.topic.expected()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("error", [RetryableError("away"), ValueError("a mistake"), FatalError("no")])
def test_the_error_that_ended_a_run_is_the_one_that_is_raised(place, error, caplog):
    ledger = BrokenLedger(place, error)
    with pytest.raises(MismatchError, match="what ended the run"):
        run(broken_job(ledger, meddle=fail), ledger)
    assert ledger.asked == 1
    assert str(error) in caplog.text


@pytest.mark.parametrize("place", PLACES)
def test_a_mistake_in_somebodys_code_is_not_kept_quiet(place):
    ledger = BrokenLedger(place, ValueError("a mistake"))
    with pytest.raises(ValueError, match="a mistake"):
        run(broken_job(ledger), ledger)


def test_all_is_given_back_although_some_of_it_fails():
    given: list[str] = []
    ledger = BrokenLedger("release", RetryableError("away"))

    def fail_everywhere(place: str) -> None:
        given.append(place)
        raise RetryableError("away")

    ledger.fail_at = fail_everywhere
    run(broken_job(ledger), ledger)
    assert given == ["release", "store", "source", "ledger"]


def test_a_lease_that_could_not_be_given_back_ends_by_itself():
    ledger = BrokenLedger("release", RetryableError("away"))
    options = replace(OPTIONS, lease=LEASE)
    job = broken_job(ledger)
    run(job, ledger, options)
    ended = time.monotonic()
    job.topic.partitions[0].append(("late", 1))
    run(job, ledger, options)
    assert time.monotonic() - ended > LEASE.total_seconds() / 2
    rows = {row["account"]: (row["n"], row["total"]) for row in MemoryState("balances").rows(ledger.database)}
    assert rows == job.topic.expected()


@pytest.mark.parametrize("decide", ["retry", "undo", "reset"])
def test_a_decision_that_was_refused_says_why_also_when_the_lease_can_not_be_given_back(decide):
    ledger = BrokenLedger("release", RetryableError("away"))
    job = broken_job(ledger)
    options = replace(OPTIONS, lease=LEASE)
    run(job, ledger, options)
    time.sleep(LEASE.total_seconds())
    plan = job.plan()
    wanted = WantedDecision(DecisionKind.UNDO, 8)
    commands: dict[str, Callable[[], object]] = {
        "retry": lambda: retry_topology("payments", ledger, 8, options),
        "undo": lambda: decide_topology(plan.spec, plan.targets, ledger, wanted, options),
        "reset": lambda: reset_topology(
            replace(plan.spec, states={}), {}, ledger, keep_rows=True, start=None, options=options
        ),
    }
    with pytest.raises(MismatchError):
        commands[decide]()
    assert ledger.asked == 2


def test_a_decision_that_was_carried_out_is_returned_also_when_the_lease_can_not_be_given_back(caplog):
    ledger = BrokenLedger("release", RetryableError("away"))
    plan = broken_job(ledger).plan()
    decision = reset_topology(plan.spec, plan.targets, ledger, keep_rows=False, start=None, options=OPTIONS)
    assert decision.states == "clear"
    assert "giving back the lease of topology 'payments' failed: away" in caplog.text


def test_an_engine_that_can_not_cancel_does_not_hide_why_the_run_ended(caplog):
    place = memory_place()
    job = make_job(payments(), place.state("balances"), meddle=fail)

    def cancel(batch: BatchId) -> None:
        raise OSError("the engine is gone")

    job.processor.cancel = cancel
    with pytest.raises(MismatchError, match="what ended the run"):
        run(job, place.ledger())
    assert "the engine is gone" in caplog.text


@pytest.mark.parametrize("second", [RetryableError("away"), ValueError("a mistake")])
def test_an_interrupt_is_not_hidden(second):
    with pytest.raises(KeyboardInterrupt), giving_back("closing", lambda: _raise(second)):
        raise KeyboardInterrupt


def test_an_interrupt_while_giving_back_after_an_error_is_raised():
    with pytest.raises(KeyboardInterrupt), giving_back("closing", lambda: _raise(KeyboardInterrupt())):
        raise TridentError("the first")


def _raise(error: BaseException) -> None:
    raise error
