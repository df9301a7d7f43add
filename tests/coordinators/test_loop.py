"""The loop alone: what it asks for, when it wants to be called, what it refuses to believe."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TypeVar

import pytest

from trident.base.errors import FatalError, FencedError, MismatchError, OutcomeUnknownError, RetryableError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.ranges import Edge, OffsetRange, PartitionId
from trident.coordinators.batches.flight import NEVER
from trident.coordinators.batches.loop import Loop
from trident.coordinators.batches.outcome import Outcome
from trident.coordinators.batches.pace import Pace
from trident.coordinators.batches.requests import (
    Answer,
    BuildPlan,
    CleanUp,
    CommitStep,
    Drop,
    LetGo,
    Processed,
    RecordStop,
    Request,
    RunBatch,
    StorePlan,
    Tell,
    WorkTurn,
)
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.decided import Refusal, StopKind
from trident.coordinators.options import RunOptions, Until
from trident.coordinators.planned import PartFull, Plan, SpoutRange
from trident.coordinators.protocol.messages import Cancel, Command, CommitTogether, DropFrom, MakePlan
from trident.coordinators.protocol.state import Phase, ProtocolState
from trident.state.staged import StagingLostError

R = TypeVar("R")
OWNER, EPOCH = Owner("payments", "life-1"), Epoch(3, "token")
FRESH = ProtocolState(
    OWNER,
    EPOCH,
    frozenset({"balances"}),
    beside=frozenset({"balances"}),
    max_pending=2,
    max_tries=3,
    done=10,
    last_attempt=20,
)
PACE = Pace.of(
    RunOptions(
        batch_timeout=timedelta(seconds=60),
        idle_interval=timedelta(seconds=2),
        retry_pause=timedelta(seconds=1),
    )
)
SPAN = OffsetRange(PartitionId("t", 0), "id", 0, 5)


def plan_of(command: MakePlan) -> Plan:
    batch = command.batch
    return Plan(batch.txid, batch.attempt, command.tries, 0, datetime(2024, 1, 1, tzinfo=UTC), (SpoutRange("s", SPAN),))


def outcome_of(request: RunBatch) -> Outcome:
    return Outcome(request.plan, (), (), {}, request.plan_ms, 0)


def batch(txid: int, attempt: int) -> BatchId:
    return BatchId(OWNER, EPOCH, txid, attempt)


class Driver:
    """Answers requests by hand, at moments that the test names."""

    def __init__(self, state: ProtocolState = FRESH, pace: Pace = PACE, first: tuple[Command, ...] = ()) -> None:
        edges = iter(range(1, 1000))
        self.loop = Loop((state, first), pace, lambda plan: {"s": (Edge(next(edges), SPAN),)})
        self.open = list(self.loop.begin(0.0))

    def take(self, kind: type[R]) -> R:
        found = next(request for request in self.open if type(request) is kind)
        assert isinstance(found, kind)
        self.open.remove(found)
        return found

    def answer(self, request: Request, answer: Answer = None, now: float = 0.0) -> None:
        self.open += self.loop.answered(request, answer, now)

    def fail(self, request: Request, error: BaseException, now: float = 0.0) -> None:
        self.open += self.loop.failed(request, error, now)

    def plan(self, now: float = 0.0) -> RunBatch:
        request = self.take(BuildPlan)
        self.answer(request, plan_of(request.command), now)
        self.answer(self.take(StorePlan), None, now)
        return self.take(RunBatch)

    def process(self, run: RunBatch, now: float = 0.0) -> None:
        edges = tuple(edge.id for edge in run.edges["s"])
        self.answer(run, Processed(edges, outcome_of(run)), now)

    def kinds(self) -> list[type]:
        return [type(request) for request in self.open]


def test_a_batch_goes_from_plan_to_told():
    driver = Driver()
    run = driver.plan(now=0.25)
    assert run.plan_ms == 250
    driver.process(run, now=1.0)
    commit = driver.take(CommitStep)
    assert commit.command == CommitTogether(batch(11, 21))
    assert commit.outcome.plan is run.plan
    driver.answer(commit, None, now=1.0)
    assert driver.take(Tell).plan is run.plan
    assert driver.loop.state.done == 11


def test_the_next_plan_waits_for_the_idle_interval_after_one_that_found_nothing():
    driver = Driver()
    driver.answer(driver.take(BuildPlan), None, now=5.0)
    assert driver.open == []
    assert driver.loop.next_moment == 7.0
    assert driver.loop.wake(6.9) == []
    assert [type(request) for request in driver.loop.wake(7.0)] == [BuildPlan]


def test_plans_are_an_emit_interval_apart_even_if_a_batch_is_processed_before():
    driver = Driver(pace=PACE._replace(emit_interval=3.0))
    driver.process(driver.plan(now=1.0), now=1.5)
    assert BuildPlan not in driver.kinds()
    assert driver.loop.next_moment == 4.0


def test_a_batch_is_timed_out_at_its_deadline_and_its_late_result_changes_nothing():
    driver = Driver(FRESH._replace(max_pending=1))
    run = driver.plan(now=1.0)
    assert driver.loop.next_moment == 61.0
    assert driver.loop.wake(60.9) == []
    driver.open += driver.loop.wake(61.0)
    assert driver.take(Cancel) == Cancel(run.batch)
    again = driver.plan(now=62.0)
    assert again.batch == batch(11, 22)
    before = dict(driver.loop.flights)
    driver.process(run, now=63.0)
    assert (driver.open, driver.loop.flights) == ([], before)


def test_a_batch_that_waits_for_its_turn_never_times_out():
    driver = Driver()
    first, second = driver.plan(), driver.plan()
    driver.process(second)
    assert driver.loop.next_moment == 60.0
    driver.process(first)
    assert driver.loop.wake(1e9) == []


def test_edges_that_were_not_acknowledged_fail_the_attempt():
    driver = Driver(FRESH._replace(max_pending=1))
    run = driver.plan()
    driver.answer(run, Processed((), outcome_of(run)))
    assert driver.take(BuildPlan).command == MakePlan(batch(11, 22), 2, drop_from=11)


@pytest.mark.parametrize(("tries", "pause"), [(2, 1.0), (3, 2.0), (4, 4.0), (9, 10.0)])
def test_each_further_attempt_pauses_twice_as_long_up_to_a_limit(tries, pause):
    driver = Driver(FRESH._replace(max_tries=99, max_pending=1))
    for _ in range(tries - 1):
        driver.fail(driver.plan(), RetryableError("lost"))
    assert driver.take(BuildPlan).pause == pause


def test_an_empty_plan_is_stored_only_for_the_drop_that_goes_with_it():
    driver = Driver(FRESH._replace(max_pending=1))
    driver.fail(driver.plan(), RetryableError("lost"))
    driver.answer(driver.take(BuildPlan), None)
    store = driver.take(StorePlan)
    assert (store.plan, store.command.drop_from) == (None, 11)
    driver.answer(store)
    assert driver.loop.state.live == ()


def test_a_plan_whose_attempt_was_dropped_meanwhile_is_not_stored():
    driver = Driver()
    run = driver.plan()
    building = driver.take(BuildPlan)
    driver.fail(run, RetryableError("lost"))
    driver.answer(building, plan_of(building.command))
    assert StorePlan not in driver.kinds()


def test_work_in_the_turn_comes_before_the_commit_and_what_it_brings_is_committed():
    driver = Driver(FRESH._replace(turn_work=True, max_pending=1))
    run = driver.plan()
    driver.process(run, now=50.0)
    work = driver.take(WorkTurn)
    assert driver.loop.next_moment == 110.0, "a clock of its own"
    made = outcome_of(run)
    driver.answer(work, made)
    assert driver.take(CommitStep).outcome is made


@pytest.mark.parametrize("error", [RetryableError("lost"), OutcomeUnknownError("?"), StagingLostError("gone"), None])
def test_work_in_the_turn_that_fails_or_hangs_drops_the_attempt(error):
    driver = Driver(FRESH._replace(turn_work=True, max_pending=1))
    driver.process(driver.plan(), now=50.0)
    work = driver.take(WorkTurn)
    if error is not None:
        driver.fail(work, error, now=51.0)
    else:
        driver.open += driver.loop.wake(110.0)
    assert driver.take(BuildPlan).command == MakePlan(batch(11, 22), 2, drop_from=11)
    driver.answer(work, outcome_of(RunBatch(work.batch, work.outcome.plan, {}, 0)))
    assert driver.loop.state.phase is Phase.RUNNING


def test_every_so_many_txids_are_cleaned_up_after_done_and_before_the_next_commit():
    driver = Driver(pace=PACE._replace(clean_up_every=11))
    first, second = driver.plan(), driver.plan()
    driver.process(second)
    driver.process(first)
    driver.open = [request for request in driver.open if type(request) is CommitStep]
    driver.answer(driver.take(CommitStep))
    assert driver.kinds()[:4] == [LetGo, CleanUp, Tell, CommitStep]
    driver.answer(driver.take(CommitStep))
    assert (driver.kinds().count(LetGo), driver.kinds().count(CleanUp)) == (1, 1)


def test_a_run_until_caught_up_ends_when_a_plan_that_was_free_finds_nothing():
    driver = Driver(pace=Pace.of(RunOptions(until=Until.CAUGHT_UP)))
    run = driver.plan()
    driver.answer(driver.take(BuildPlan), None)
    assert driver.loop.is_running, "what is processed may fail, and is read again then"
    driver.process(run)
    driver.answer(driver.take(CommitStep))
    driver.answer(driver.take(BuildPlan), None)
    assert not driver.loop.is_running
    assert driver.loop.error is None


@pytest.mark.parametrize(("max_wait", "waits"), [(None, True), (timedelta(0), False), (timedelta(seconds=1), True)])
def test_the_next_batch_waits_for_a_fuller_one_as_the_policy_says_while_one_is_processed(max_wait, waits):
    driver = Driver(pace=Pace.of(RunOptions(max_wait=max_wait)))
    driver.plan()
    assert driver.take(BuildPlan).command.only_full is waits


@pytest.mark.parametrize("max_wait", [None, 5.0])
def test_what_a_coordinator_finds_first_does_not_wait(max_wait):
    """Whoever was here before may have waited for it, and been stopped: again and again it would never be read."""
    driver = Driver(pace=PACE._replace(max_wait=max_wait))
    assert not driver.take(BuildPlan).command.only_full


def waiting() -> Driver:
    """Return one that may wait for five seconds and has found nothing at its start."""
    driver = Driver(pace=PACE._replace(max_wait=5.0))
    driver.answer(driver.take(BuildPlan), None, now=-2.0)
    driver.open += driver.loop.wake(0.0)
    return driver


def test_records_wait_for_a_fuller_batch_as_long_as_they_may_and_no_longer():
    driver = waiting()
    for now, looked in [(1.0, 3.0), (3.5, 5.5), (5.5, 6.0)]:
        request = driver.take(BuildPlan)
        assert request.command.only_full
        driver.answer(request, PartFull(), now)
        assert driver.loop.next_moment == looked, "at the end of the wait, or of an idle interval before it"
        driver.open += driver.loop.wake(looked)
    assert not driver.take(BuildPlan).command.only_full


def test_a_full_batch_ends_the_wait_and_what_comes_behind_it_waits_anew():
    driver = waiting()
    driver.answer(driver.take(BuildPlan), PartFull(), now=1.0)
    driver.open += driver.loop.wake(3.0)
    driver.plan(now=3.0)
    behind = driver.take(BuildPlan)
    assert behind.command.only_full
    driver.answer(behind, PartFull(), now=4.0)
    driver.open += driver.loop.wake(6.5)
    assert driver.take(BuildPlan).command.only_full, "1.0 was when the one before began to wait"


def test_the_wait_begins_anew_where_what_waited_is_gone():
    driver = waiting()
    for answer, now in ((PartFull(), 1.0), (None, 3.0), (PartFull(), 5.0)):
        driver.answer(driver.take(BuildPlan), answer, now)
        driver.open += driver.loop.wake(now + 2)
    assert driver.take(BuildPlan).command.only_full


def test_what_waits_behind_a_batch_that_fails_does_not_wait_anew():
    driver = waiting()
    run = driver.plan(now=0.0)
    driver.answer(driver.take(BuildPlan), PartFull(), now=1.0)
    driver.fail(run, RetryableError("lost"), now=2.0)
    driver.plan(now=4.0)
    driver.answer(driver.take(BuildPlan), PartFull(), now=4.0)
    driver.open += driver.loop.wake(6.0)
    assert not driver.take(BuildPlan).command.only_full, "five seconds after it was seen"


def test_a_run_until_caught_up_does_not_end_while_records_wait_for_a_fuller_batch():
    driver = Driver(pace=Pace.of(RunOptions(until=Until.CAUGHT_UP, max_wait=timedelta(seconds=5))))
    driver.process(driver.plan())
    driver.answer(driver.take(BuildPlan), PartFull(), now=1.0)
    driver.answer(driver.take(CommitStep), now=1.0)
    assert driver.loop.is_running
    driver.answer(driver.take(BuildPlan), PartFull(), now=1.5)
    assert driver.loop.is_running, "nothing is live, and records wait"
    driver.open += driver.loop.wake(6.0)
    driver.process(driver.plan(now=6.0))
    driver.answer(driver.take(BuildPlan), None, now=6.0)
    driver.answer(driver.take(CommitStep), now=6.0)
    driver.answer(driver.take(BuildPlan), None, now=6.0)
    assert not driver.loop.is_running


def test_a_run_until_caught_up_looks_as_soon_as_its_last_batch_is_done_however_long_it_would_be_idle():
    pace = Pace.of(RunOptions(until=Until.CAUGHT_UP, idle_interval=timedelta(hours=1)))
    driver = Driver(FRESH._replace(max_pending=3), pace)
    for run in (driver.plan(), driver.plan()):
        driver.process(run)
        driver.answer(driver.take(BuildPlan), None)
    driver.answer(driver.take(CommitStep))
    assert BuildPlan not in driver.kinds(), "there is a batch left"
    driver.answer(driver.take(CommitStep))
    driver.answer(driver.take(BuildPlan), None)
    assert not driver.loop.is_running


def test_a_stopped_loop_runs_until_its_last_requests_have_ended():
    driver = Driver(first=(DropFrom(11),))
    driver.answer(driver.take(BuildPlan), None)
    driver.open += driver.loop.stop(0.0)
    assert driver.loop.state.phase is Phase.STOPPED
    assert driver.loop.is_running
    driver.fail(driver.take(Drop), FencedError("another one"))
    assert not driver.loop.is_running
    assert isinstance(driver.loop.error, FencedError)


def test_giving_up_is_recorded_and_its_error_is_the_recorded_one():
    driver = Driver(FRESH._replace(max_tries=1, max_pending=1))
    driver.fail(driver.plan(), RetryableError("poison"))
    assert not driver.loop.is_running
    told = FatalError("told")
    driver.answer(driver.take(RecordStop), told)
    assert driver.loop.error is told


def test_a_pause_has_an_end_however_often_a_batch_was_tried():
    tried = FRESH._replace(max_tries=10**6, tries=((11, 5_000),))
    assert Driver(tried).take(BuildPlan).pause == 10.0


def test_the_last_time_out_of_a_later_batch_ends_the_loop_once_the_earlier_one_is_committed():
    driver = Driver(FRESH._replace(max_tries=1))
    driver.process(driver.plan(now=0.0), now=1.0)
    commit = driver.take(CommitStep)
    driver.open += driver.loop.wake(1.0)
    later = driver.plan(now=2.0)
    driver.open = list(driver.loop.wake(62.0))
    assert driver.open == [Cancel(later.batch)]
    driver.process(later, now=63.0)  # too late
    driver.answer(commit, None, now=64.0)
    assert not driver.loop.is_running
    assert driver.loop.state.done == 11
    stopped = driver.take(RecordStop).error
    assert "failed 1 times" in str(stopped)
    assert driver.loop.error is stopped


def bad_record(run: RunBatch) -> StoppedError:
    return StoppedError("it does not decode", Refusal(run.batch.txid, run.batch.attempt, StopKind.BAD_RECORD, "", "?"))


@pytest.mark.parametrize("kind", [StoppedError, FatalError, MismatchError, ValueError])
def test_bad_news_of_a_later_batch_ends_the_loop_once_what_is_before_it_is_done(kind):
    driver = Driver()
    first, second = driver.plan(), driver.plan()
    error = bad_record(second) if kind is StoppedError else kind("a person has to look")
    driver.fail(second, error)
    assert (driver.loop.is_running, driver.loop.error) == (True, None)
    driver.process(first)
    driver.answer(driver.take(CommitStep))
    assert driver.loop.state.done == 11
    assert driver.loop.error is error
    assert (RecordStop in driver.kinds()) is (kind is StoppedError)


def test_bad_news_of_a_later_batch_is_void_when_the_one_before_it_fails():
    driver = Driver()
    first, second = driver.plan(), driver.plan()
    driver.fail(second, bad_record(second))
    driver.fail(first, RetryableError("lost"))
    assert driver.take(BuildPlan).command == MakePlan(batch(11, 23), 2, drop_from=11)
    assert (driver.loop.is_running, driver.loop.error) == (True, None)


def test_a_plan_that_can_not_be_made_ends_the_loop_once_what_is_before_it_is_done():
    driver = Driver()
    first = driver.plan()
    driver.fail(driver.take(BuildPlan), error := FatalError("the topic was created anew"))
    assert driver.loop.is_running
    driver.process(first)
    driver.answer(driver.take(CommitStep))
    assert driver.loop.error is error


def test_being_fenced_ends_the_loop_at_once():
    driver = Driver()
    driver.plan()
    driver.fail(driver.plan(), error := FencedError("another one"))
    assert driver.loop.error is error


def test_bad_news_of_an_attempt_that_was_dropped_is_void():
    driver = Driver()
    first, second = driver.plan(), driver.plan()
    driver.fail(first, RetryableError("lost"))
    driver.fail(second, bad_record(second))
    assert (driver.loop.is_running, driver.loop.error) == (True, None)


def test_after_an_error_nothing_more_is_asked_for():
    driver = Driver()
    run = driver.plan()
    error = FencedError("another one")
    driver.open = list(driver.loop.break_off(error, 0.0))
    assert driver.kinds() == [Cancel, Cancel]
    driver.open.clear()
    driver.process(run)
    assert driver.open == []
    assert driver.loop.error is error


def test_a_copy_decides_the_same_and_shares_nothing_that_changes():
    driver = Driver()
    run = driver.plan()
    other = driver.loop.copy(lambda plan: {})
    flights = dict(other.flights)
    driver.process(run)
    assert other.flights == flights
    assert other.state != driver.loop.state


def test_a_flight_that_is_lost_is_noticed_at_once():
    driver = Driver()
    run = driver.plan()
    del driver.loop.flights[run.batch.attempt]
    with pytest.raises(AssertionError, match="each live batch has a flight"):
        driver.loop.wake(0.0)


def test_a_request_that_is_answered_twice_is_noticed_at_once():
    driver = Driver()
    request = driver.take(BuildPlan)
    driver.answer(request, None)
    with pytest.raises(AssertionError, match="answered twice"):
        driver.answer(request, None)
    assert driver.loop.next_moment < NEVER
