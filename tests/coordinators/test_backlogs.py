"""Sinks that send later: asked for what is done, one call at a time, and waited for before too much lies there."""

from __future__ import annotations

import pytest

from tests.coordinators.test_loop import EPOCH, FRESH, OWNER, PACE, SPAN, Driver
from trident.base.errors import FatalError
from trident.base.ranges import Edge
from trident.coordinators.batches.backlogs import NO_BACKLOGS, Backlogs
from trident.coordinators.batches.loop import Loop
from trident.coordinators.batches.pace import Pace
from trident.coordinators.batches.requests import BuildPlan, CommitStep, Relay, Tell
from trident.coordinators.options import RunOptions, Until
from trident.coordinators.protocol.state import Phase, ProtocolState


class Relaying(Driver):
    """The driver of a topology with one sink that sends later."""

    def __init__(self, state: ProtocolState = FRESH, pace: Pace = PACE) -> None:
        edges = iter(range(1, 1000))
        backlogs = Backlogs.of(frozenset({"alerts"}))
        self.loop = Loop((state, ()), pace, lambda plan: {"s": (Edge(next(edges), SPAN),)}, None, backlogs)
        self.open = list(self.loop.begin(0.0))

    def commit_one(self) -> None:
        self.process(self.plan())
        self.answer(self.take(CommitStep))
        self.take(Tell)


def test_what_earlier_runs_left_is_sent_first():
    driver = Relaying()
    assert driver.take(Relay) == Relay(OWNER, EPOCH, "alerts", 10)


def test_a_sink_is_asked_for_what_is_done_and_not_twice_at_once():
    driver = Relaying()
    first = driver.take(Relay)
    driver.commit_one()
    assert Relay not in driver.kinds()
    driver.answer(first, 10)
    assert driver.take(Relay).done == 11


def test_it_is_asked_again_until_nothing_waits():
    driver = Relaying()
    driver.answer(driver.take(Relay), 4)
    assert driver.take(Relay).done == 10
    driver.answer(Relay(OWNER, EPOCH, "alerts", 10), 10)
    assert Relay not in driver.kinds()


def test_a_backlog_holds_back_the_next_pin_and_nothing_else():
    driver = Relaying(FRESH._replace(done=100))
    relay = driver.take(Relay)
    driver.process(driver.plan())
    assert CommitStep not in driver.kinds()
    assert BuildPlan in driver.kinds(), "batches are planned and processed meanwhile"
    driver.answer(relay, 79)
    assert CommitStep not in driver.kinds()
    driver.answer(driver.take(Relay), 80)
    commit = driver.take(CommitStep)
    assert commit.command.batch.txid == 101
    driver.answer(commit)
    assert driver.loop.state.done == 101


def test_a_run_ends_when_all_is_sent():
    driver = Relaying(pace=Pace.of(RunOptions(until=Until.CAUGHT_UP)))
    driver.answer(driver.take(BuildPlan), None)
    assert driver.loop.state.phase is Phase.STOPPED
    relay = driver.take(Relay)
    assert driver.loop.is_running
    driver.answer(relay, 7)
    assert driver.loop.is_running
    driver.answer(driver.take(Relay), 10)
    assert not driver.loop.is_running
    assert driver.loop.error is None


def test_a_sink_that_can_not_send_ends_the_run():
    driver = Relaying()
    driver.fail(driver.take(Relay), FatalError("no such topic"))
    assert driver.loop.state.phase is Phase.POISONED
    assert isinstance(driver.loop.error, FatalError)


def test_a_copy_of_a_loop_shares_nothing():
    driver = Relaying()
    copy = driver.loop.copy(lambda plan: {})
    driver.answer(driver.take(Relay), 10)
    assert copy.backlogs != driver.loop.backlogs


@pytest.mark.parametrize(("sent", "is_held"), [(79, True), (80, False)])
def test_twenty_txids_may_wait(sent: int, is_held: bool) -> None:
    backlogs = Backlogs.of(frozenset({"a", "b"})).answered("a", 100).answered("b", sent)
    assert backlogs.hold_back(100) is is_held


def test_without_such_sinks_nothing_is_asked_or_held_back():
    assert NO_BACKLOGS.asked(5) == (NO_BACKLOGS, ())
    assert not NO_BACKLOGS.hold_back(10**6)
