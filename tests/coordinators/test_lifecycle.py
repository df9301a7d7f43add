"""A topology's life cycle on the real coordinator, ledgers and states: nothing is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.coordinators.fakes import ListJob, Topic, make_job
from tests.coordinators.test_run import OPTIONS, Place, memory_place, sqlite_place
from tests.ledger.lifecycle_contract import sent
from tests.ledger.making import LONG
from trident.base.errors import FatalError, MismatchError
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.decisions import sending
from trident.coordinators.holding.at_rest import KilledError
from trident.coordinators.holding.run import RunSummary, TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.coordinators.ledger.view import TopologyStatus
from trident.coordinators.lifecycle import Activity, Deactivate, Kill
from trident.coordinators.options import OnRunning, Until
from trident.coordinators.registered import Lease
from trident.managing.lifecycle import NotEndedError, activate, deactivate, kill, rebalance
from trident.state import SqliteState

RUNS = replace(OPTIONS, until=Until.STOPPED, lease=timedelta(seconds=3))
SOON = timedelta(seconds=20)


@pytest.fixture(params=["memory", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return memory_place() if request.param == "memory" else sqlite_place(tmp_path)


class Alive:
    """A run in a thread of its own."""

    def __init__(self, pool: ThreadPoolExecutor, place: Place, *, on_running: OnRunning = OnRunning.REFUSE) -> None:
        self.place = place
        self.gate = threading.Event()
        self.gate.set()
        self.job = make_job(Topic([[("a", 1)] * 25, [("b", 2)] * 5]), place.state("balances"), meddle=self._meddle)
        self._pool = pool
        self._run: TopologyRun | None = None
        self._on_running = on_running
        self.ended: Future[RunSummary] | None = None
        self.processing = threading.Event()

    def _meddle(self, request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        self.processing.set()
        assert self.gate.wait(30)
        return result

    def start(self) -> Future[RunSummary]:
        options = replace(RUNS, on_running=self._on_running)
        self._run = TopologyRun(self.job.plan(), self.place.ledger(), options)
        self.ended = self._pool.submit(self._run.run)
        return self.ended

    def stop(self) -> None:
        self.gate.set()
        if self._run is not None:
            self._run.stop()

    def come(self) -> None:
        self.job.topic.partitions[0].extend([("a", 1)] * 3)

    def is_exact(self) -> bool:
        return self.place.rows("balances") == self.job.topic.expected()


@pytest.fixture
def alive(place: Place) -> Iterator[Callable[..., Alive]]:
    made: list[Alive] = []
    with ThreadPoolExecutor() as pool:

        def make(**options: OnRunning) -> Alive:
            made.append(Alive(pool, place, **options))
            return made[-1]

        yield make
        for each in made:
            each.stop()


def wait_until(what: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it has not happened in time"
        time.sleep(0.02)


def status(place: Place) -> TopologyStatus:
    return place.ledger().view().status("payments")


def is_done(place: Place, alive: Alive) -> bool:
    try:
        return alive.is_exact()
    except Exception:  # noqa: BLE001 - before the first batch there is no table
        return False


def test_deactivated_it_reads_nothing_and_goes_on_where_it_was(place, alive):
    running = alive()
    running.start()
    wait_until(lambda: is_done(place, running))
    row = deactivate("payments", place.ledger(), within=SOON)
    assert (row.verdict, row.epoch) == ("done", 1)
    done = status(place).done
    running.come()
    time.sleep(0.3)
    assert (status(place).done, status(place).live, status(place).is_held) == (done, 0, True)
    activate("payments", place.ledger(), within=SOON)
    wait_until(running.is_exact)
    assert status(place).activity is Activity.ACTIVE


def test_a_start_of_a_deactivated_topology_plans_nothing_until_it_is_activated(place, alive):
    running = alive()
    running.start()
    wait_until(lambda: is_done(place, running))
    deactivate("payments", place.ledger(), within=SOON)
    running.stop()
    running.ended.result(20)
    done = status(place).done
    running.come()
    running.start()
    wait_until(lambda: status(place).is_held)
    time.sleep(0.3)
    assert (status(place).done, status(place).live) == (done, 0)
    activate("payments", place.ledger(), within=SOON)
    wait_until(running.is_exact)


def test_a_run_until_caught_up_of_a_deactivated_topology_ends_with_nothing_read(place):
    job = make_job(Topic([[("a", 1)] * 5]), place.state("balances"))
    assert TopologyRun(job.plan(), place.ledger(), OPTIONS).run().batches == 1
    deactivate("payments", place.ledger(), within=SOON)
    job.topic.partitions[0].extend([("a", 1)] * 3)
    assert TopologyRun(job.plan(), place.ledger(), OPTIONS).run().batches == 0
    activate("payments", place.ledger(), within=SOON)
    assert TopologyRun(job.plan(), place.ledger(), OPTIONS).run().batches == 1
    assert place.rows("balances") == job.topic.expected()


def test_killed_it_finishes_what_is_in_flight_and_no_start_begins_anything(place, alive):
    running = alive()
    running.gate.clear()
    running.start()
    assert running.processing.wait(20)
    threading.Timer(1.0, running.gate.set).start()
    row = kill("payments", place.ledger(), wait=SOON, within=SOON)
    assert (row.verdict, status(place).is_held, status(place).live) == ("done", False, 0)
    assert running.ended.result(20).batches > 0
    done = status(place).done
    assert (done, status(place).activity) == (running.ended.result().last_done, Activity.KILLED)
    for _ in range(2):
        with pytest.raises(KilledError, match="trident activate payments"):
            running.start().result(20)
    assert status(place).done == done
    row = activate("payments", place.ledger(), within=SOON)
    assert row.answer == "it was killed; the next start plans again"
    running.start()
    wait_until(running.is_exact)


def test_what_is_not_finished_within_the_wait_is_read_again_after_the_next_start(place, alive):
    running = alive()
    running.gate.clear()
    running.start()
    assert running.processing.wait(20)
    threading.Timer(2.5, running.gate.set).start()  # the engine does not hear of a cancel
    kill("payments", place.ledger(), wait=timedelta(0), within=SOON)
    assert running.ended.result(20).batches == 0
    assert (status(place).done, status(place).live, status(place).activity) == (0, 0, Activity.KILLED)
    activate("payments", place.ledger(), within=SOON)
    running.start()
    wait_until(lambda: is_done(place, running))


def test_a_kill_whose_run_has_not_ended_in_time_is_no_kill_that_is_done(place, alive, monkeypatch):
    monkeypatch.setattr(sending, "_ENDING", timedelta(seconds=0.5))
    running = alive()
    running.gate.clear()
    running.start()
    assert running.processing.wait(20)
    began = time.monotonic()
    with pytest.raises(
        NotEndedError, match=r"was taken .*, and its run has not ended yet: .* holds the topology"
    ) as told:
        kill("payments", place.ledger(), wait=timedelta(0), within=SOON)
    assert time.monotonic() - began < SOON.total_seconds()
    assert (told.value.row.verdict, status(place).is_held) == ("done", True)
    running.gate.set()
    running.ended.result(20)
    assert kill("payments", place.ledger(), within=SOON).verdict == "done"


def test_a_standby_ends_quietly_with_the_kill(place, alive):
    running, standby = alive(), alive(on_running=OnRunning.WAIT)
    running.start()
    wait_until(lambda: is_done(place, running))
    waiting = standby.start()
    time.sleep(0.5)
    kill("payments", place.ledger(), wait=SOON, within=SOON)
    assert running.ended.result(20).batches > 0
    assert waiting.result(20) == RunSummary(0, 0)
    wait_until(lambda: not status(place).is_held)
    assert status(place).activity is Activity.KILLED


def test_what_a_dead_owner_had_read_is_carried_out_by_the_next_one(place, alive):
    job = make_job(Topic([[("a", 1)] * 5]), place.state("balances"))
    TopologyRun(job.plan(), place.ledger(), OPTIONS).run()
    ledger = place.ledger()
    ledger.open(OPTIONS.timeouts)
    dead = ledger.acquire("payments", Lease("dead", timedelta(0))).epoch
    owner = ledger.snapshot(dead, "payments").owner
    number = ledger.send("payments", sent(Deactivate(), "a"))
    assert [given.number for given in ledger.take_commands(owner, dead)] == [number]
    ledger.close()
    running = alive()
    running.start()
    wait_until(lambda: status(place).activity is Activity.INACTIVE)
    (row,) = place.ledger().view().commands("payments")
    assert (row.verdict, row.epoch) == ("done", dead.number + 1)


def test_a_kill_that_waits_is_carried_out_by_the_next_owner_and_ends_it(place, alive):
    job = make_job(Topic([[("a", 1)] * 5]), place.state("balances"))
    TopologyRun(job.plan(), place.ledger(), OPTIONS).run()
    ledger = place.ledger()
    ledger.open(OPTIONS.timeouts)
    ledger.send("payments", sent(Kill(timedelta(seconds=5)), "a", LONG))
    ledger.close()
    running = alive()
    assert running.start().result(20) is not None
    assert status(place).activity is Activity.KILLED


def test_where_nobody_runs_it_the_command_itself_holds_it(place):
    job = make_job(Topic([[("a", 1)] * 5]), place.state("balances"))
    TopologyRun(job.plan(), place.ledger(), OPTIONS).run()
    ledger = place.ledger()
    assert "nobody runs it" in str(kill("payments", ledger, within=SOON).answer)
    assert "already" in str(kill("payments", ledger, within=SOON).answer)
    with pytest.raises(FatalError, match=r"deactivate of topology 'payments' \(command 3\) is refused: it is killed"):
        deactivate("payments", ledger, within=SOON)
    with pytest.raises(FatalError, match="options of a run are its program's"):
        rebalance("payments", ledger, max_pending=2, within=SOON)
    activate("payments", ledger, within=SOON)
    verdicts = [row.verdict for row in ledger.view().commands("payments")]
    assert verdicts == ["done", "done", "refused", "refused", "done"]
    assert not status(place).is_held


def test_a_topology_that_is_not_there_is_told(place):
    job = make_job(Topic([[("a", 1)] * 5]), place.state("balances"))
    TopologyRun(job.plan(), place.ledger(), OPTIONS).run()
    for command in (activate, deactivate, kill):
        with pytest.raises(MismatchError, match="'other' is not in this ledger"):
            command("other", place.ledger(), within=SOON)


def test_one_that_its_owner_does_not_read_is_withdrawn(place):
    job = make_job(Topic([[("a", 1)] * 5]), place.state("balances"))
    TopologyRun(job.plan(), place.ledger(), OPTIONS).run()
    ledger = place.ledger()
    ledger.open(OPTIONS.timeouts)
    silent = ledger.acquire("payments", Lease("silent", LONG)).epoch
    with pytest.raises(FatalError, match=r"is void: whoever holds the topology did not read it within 0\.3 s"):
        deactivate("payments", place.ledger(), within=timedelta(seconds=0.3))
    assert ledger.take_commands(ledger.snapshot(silent, "payments").owner, silent) == ()
    ledger.send("payments", sent(Deactivate(), "a"))
    ledger.take_commands(ledger.snapshot(silent, "payments").owner, silent)
    ledger.release("payments", silent)
    ledger.close()


def test_one_that_was_read_and_not_answered_says_so(place):
    job = make_job(Topic([[("a", 1)] * 5]), place.state("balances"))
    TopologyRun(job.plan(), place.ledger(), OPTIONS).run()
    ledger = place.ledger()
    ledger.open(OPTIONS.timeouts)
    silent = ledger.acquire("payments", Lease("silent", LONG)).epoch
    owner = ledger.snapshot(silent, "payments").owner
    taking = threading.Timer(0.3, lambda: ledger.take_commands(owner, silent))
    taking.start()
    with pytest.raises(FatalError, match=f"was read by epoch {silent.number} and not answered within 1 s"):
        deactivate("payments", place.ledger(), within=timedelta(seconds=1))
    taking.join()
    assert status(place).commands == ("1 deactivate",)
    ledger.release("payments", silent)
    ledger.close()


def test_fewer_batches_at_once_from_the_next_plan_on_and_every_record_once(place, alive):
    running = alive()
    running.job.spout = replace(running.job.spout, limits=replace(running.job.spout.limits, max_records=1))
    running.gate.clear()
    running.start()
    wait_until(lambda: running.job.processor.running == RUNS.max_pending)
    row = rebalance("payments", place.ledger(), max_pending=1, within=SOON)
    assert row.answer == "from the next plan on max_pending is 1 (it was 3), until this run ends"
    running.gate.set()
    wait_until(lambda: running.job.processor.running <= 1)
    running.job.processor.most_running = 0
    running.come()
    wait_until(lambda: is_done(place, running))
    assert running.job.processor.most_running <= 1
    with pytest.raises(FatalError, match="its engine reads every batch by itself"):
        rebalance("payments", place.ledger(), parallelism=4, within=SOON)


def test_an_engine_is_told_how_many_tasks_share_a_batch(place, alive):
    told: list[int] = []
    running = alive()
    running.job.processor.share_work = told.append
    running.start()
    wait_until(lambda: is_done(place, running))
    row = rebalance("payments", place.ledger(), parallelism=4, within=SOON)
    assert (told, row.answer) == ([4], "from the next plan on 4 tasks read a large batch, until this run ends")


def test_two_programs_under_one_name_are_told_apart_at_the_start(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    first: ListJob = make_job(Topic([[("a", 1)]]), SqliteState("balances"))
    TopologyRun(first.plan(), ledger, OPTIONS).run()
    second = make_job(Topic([[("a", 1)]]), SqliteState("totals"))
    with pytest.raises(MismatchError, match="balances"):
        TopologyRun(second.plan(), ledger, OPTIONS).run()
