"""Life-cycle commands in the loop: read once at a time, in their order; a kill's wait is a moment to wake at."""

from __future__ import annotations

from datetime import timedelta

from tests.coordinators.test_loop import EPOCH, FRESH, OWNER, PACE, Driver
from trident.base.errors import FencedError
from trident.coordinators.batches.flight import NEVER
from trident.coordinators.batches.requests import BuildPlan, CommitStep, Drop, Request, RunBatch, TakeCommands, Taken
from trident.coordinators.lifecycle import Activate, Activity, Deactivate, Given, Kill, LifeCycleCommand, Verdict
from trident.coordinators.protocol.messages import AnswerCommand, Cancel, DropFrom
from trident.coordinators.protocol.state import Phase


def wait(driver: Driver, now: float = 0.0) -> None:
    driver.open += driver.loop.commands_wait(now)


def hear(driver: Driver, *commands: LifeCycleCommand, now: float = 0.0) -> None:
    wait(driver, now)
    given = tuple(Given(number, command) for number, command in enumerate(commands, 1))
    driver.answer(driver.take(TakeCommands), Taken(given), now)


def answers(driver: Driver) -> list[AnswerCommand]:
    return [each for each in driver.open if isinstance(each, AnswerCommand)]


def of_kind(driver: Driver, *kinds: type[Request]) -> list[type]:
    return [kind for kind in driver.kinds() if kind in kinds]


def test_commands_are_read_once_at_a_time_however_often_a_beat_says_that_they_wait() -> None:
    driver = Driver()
    for _ in range(3):
        wait(driver)
    assert [each for each in driver.open if isinstance(each, TakeCommands)] == [TakeCommands(OWNER, EPOCH)]
    driver.answer(driver.take(TakeCommands), Taken(()))
    wait(driver)
    assert of_kind(driver, TakeCommands) == [TakeCommands]


def test_they_are_answered_in_their_order() -> None:
    driver = Driver()
    hear(driver, Deactivate(), Activate())
    assert [(each.number, each.reply.activity) for each in answers(driver)] == [
        (1, Activity.INACTIVE),
        (2, Activity.ACTIVE),
    ]
    for _ in (1, 2):
        driver.answer(driver.take(AnswerCommand))
    assert driver.loop.state.phase is Phase.RUNNING


def test_one_whose_answer_is_on_its_way_is_not_carried_out_again() -> None:
    driver = Driver()
    hear(driver, Deactivate())
    hear(driver, Deactivate())
    assert len(answers(driver)) == 1


def test_a_run_that_ends_reads_none() -> None:
    driver = Driver()
    driver.plan()
    driver.open += driver.loop.stop(0.0)
    wait(driver)
    assert of_kind(driver, TakeCommands) == []


def test_an_answer_ends_before_a_killed_run_does() -> None:
    driver = Driver()
    driver.answer(driver.take(BuildPlan), None)
    hear(driver, Kill(timedelta(seconds=5)))
    assert driver.loop.state.phase is Phase.STOPPED
    assert driver.loop.is_running, "its answer is on its way"
    assert driver.loop.next_moment == NEVER, "only that is awaited"
    (answer,) = answers(driver)
    assert (answer.reply.verdict, answer.reply.activity) == (Verdict.DONE, Activity.KILLED)
    driver.answer(driver.take(AnswerCommand))
    assert not driver.loop.is_running


def test_a_kills_wait_is_a_moment_to_wake_at() -> None:
    driver = Driver(FRESH._replace(max_pending=1))
    run = driver.plan()
    hear(driver, Kill(timedelta(seconds=5)), now=1.0)
    assert driver.loop.next_moment == 6.0
    driver.open += driver.loop.wake(5.9)
    assert of_kind(driver, Cancel, Drop) == []
    driver.open += driver.loop.wake(6.0)
    assert [each for each in driver.open if isinstance(each, Cancel | Drop)] == [Cancel(run.batch), Drop(DropFrom(11))]
    assert driver.loop.next_moment == NEVER
    driver.process(run)
    assert of_kind(driver, CommitStep) == [], "what was dropped comes too late"


def test_a_kill_without_a_wait_drops_at_once() -> None:
    driver = Driver(FRESH._replace(max_pending=1))
    run = driver.plan()
    hear(driver, Kill())
    assert Cancel(run.batch) in driver.open


def test_a_run_until_caught_up_that_is_deactivated_ends_once_what_is_live_is_done() -> None:
    driver = Driver(FRESH._replace(max_pending=1), PACE._replace(ends_caught_up=True))
    run = driver.plan()
    hear(driver, Deactivate())
    assert driver.loop.is_running
    driver.process(run)
    driver.answer(driver.take(CommitStep))
    assert driver.loop.state.phase is Phase.STOPPED


def test_a_run_until_caught_up_that_begins_inactive_ends_with_nothing_planned() -> None:
    driver = Driver(FRESH._replace(phase=Phase.INACTIVE), PACE._replace(ends_caught_up=True))
    assert (driver.open, driver.loop.state.phase, driver.loop.is_running) == ([], Phase.STOPPED, False)


def test_who_is_fenced_while_it_reads_ends_and_answers_nothing() -> None:
    driver = Driver()
    wait(driver)
    driver.fail(driver.take(TakeCommands), FencedError("another one"))
    assert isinstance(driver.loop.error, FencedError)
    assert answers(driver) == []


def test_activated_it_plans_as_soon_as_that_is_durable() -> None:
    driver = Driver(FRESH._replace(phase=Phase.INACTIVE))
    assert of_kind(driver, BuildPlan, RunBatch) == []
    hear(driver, Activate(), now=3.0)
    assert of_kind(driver, BuildPlan) == []
    driver.answer(driver.take(AnswerCommand), None, 3.0)
    assert of_kind(driver, BuildPlan) == [BuildPlan]
