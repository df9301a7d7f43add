"""An engine that answers no more keeps neither the loop, nor the lease, nor the tries of later attempts."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.coordinators.fakes import ListJob, Topic, make_job
from tests.coordinators.test_run import OPTIONS
from trident.base.errors import FatalError, FencedError, RetryableError
from trident.base.identity import BatchId, Epoch
from trident.coordinators.batches import threads
from trident.coordinators.batches.committer import Committer
from trident.coordinators.batches.lanes import SideBySide
from trident.coordinators.batches.outcome import Outcome
from trident.coordinators.batches.processor import Processor, ProcessRequest, ProcessResult
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.holding.run import RunnableTopology, TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.coordinators.options import OnRunning
from trident.coordinators.pinned import Commit
from trident.coordinators.registered import Lease
from trident.engine.parallel import run_all
from trident.state import SqliteState
from trident.state.staged import HeldUpdates, StagedUpdates
from trident.state.tables.target import TableTarget

pytestmark = pytest.mark.timeout(60)

SHORT = replace(
    OPTIONS, batch_timeout=timedelta(seconds=1), max_tries=3, max_pending=1, retry_pause=timedelta(milliseconds=10)
)


@pytest.fixture
def frozen() -> Iterator[threading.Event]:
    """Nobody answers until the test is over."""
    until = threading.Event()
    yield until
    until.set()


@pytest.fixture
def job() -> ListJob:
    return make_job(Topic([[(f"a{n}", n) for n in range(30)]]), SqliteState("balances"))


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_LONGEST_LAST_CALL_S", 0.2)


def silent(job: ListJob, frozen: threading.Event) -> None:
    """From txid 2 on, no call comes back."""

    def wait(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if request.batch.txid >= 2:
            frozen.wait()
        return result

    job.processor.meddle = wait


def never_cancelled(job: ListJob, frozen: threading.Event) -> None:
    silent(job, frozen)
    job.processor.cancel = lambda _: frozen.wait()  # type: ignore[assignment]


@pytest.mark.parametrize("freeze", [silent, never_cancelled])
@pytest.mark.drawn(one_in=2)
def test_the_run_ends_records_why_and_gives_the_topology_back(
    freeze: Callable[[ListJob, threading.Event], None], job: ListJob, frozen: threading.Event, tmp_path: Path
) -> None:
    freeze(job, frozen)
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    with pytest.raises(StoppedError, match="not processed within"):
        TopologyRun(job.plan(), ledger, SHORT).run()
    assert [each.tries for each in job.processor.attempts if each.batch.txid == 2] == [1, 2, 3]
    again = make_job(job.topic, SqliteState("balances"))
    TopologyRun(again.plan(), ledger, replace(OPTIONS, on_running=OnRunning.REFUSE)).run()
    assert again.processor.attempts


def test_attempts_that_are_still_out_cost_no_try_of_the_next(job: ListJob, tmp_path: Path) -> None:
    """One call of the engine lasts longer than all tries of its txid together."""

    def slow(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if request.batch.txid == 2 and request.tries == 1:
            time.sleep(4.5)
        return result

    job.processor.meddle = slow
    TopologyRun(job.plan(), SqliteLedger(tmp_path / "ledger.sqlite"), SHORT).run()
    assert [each.tries for each in job.processor.attempts if each.batch.txid == 2] == [1, 2]


def test_a_run_that_is_fenced_while_its_engine_is_made_ends(job: ListJob, tmp_path: Path) -> None:
    """Nothing else would tell it: its heartbeat has ended, and there is nothing to commit."""
    file, plan = tmp_path / "ledger.sqlite", job.plan()
    TopologyRun(plan, SqliteLedger(file), OPTIONS).run()
    lease = replace(OPTIONS, lease=timedelta(seconds=0.6), until="stopped")  # type: ignore[arg-type]

    def make_slowly(*parts: object) -> object:
        other = SqliteLedger(file)
        other.release("payments", epochs[0])
        other.acquire("payments", Lease("another", timedelta(seconds=30)))
        time.sleep(1.0)
        return plan.make_processor(*parts)  # type: ignore[arg-type]

    ledger, epochs = SqliteLedger(file), []
    acquire = ledger.acquire

    def remember(topology: str, lease: Lease, above: int = 0) -> object:
        acquired = acquire(topology, lease, above)
        epochs.append(acquired.epoch)
        return acquired

    ledger.acquire = remember  # type: ignore[assignment]
    with pytest.raises(FencedError):
        TopologyRun(replace(plan, make_processor=make_slowly), ledger, lease).run()  # type: ignore[arg-type]


def silent_from_the_start(plan: RunnableTopology, frozen: threading.Event) -> RunnableTopology:
    def never(*parts: object) -> Processor:
        frozen.wait()
        raise AssertionError

    return replace(plan, make_processor=never)


def test_an_engine_that_never_begins_keeps_the_topology_no_longer_than_anything_else(
    job: ListJob, frozen: threading.Event, tmp_path: Path
) -> None:
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    impatient = replace(OPTIONS, give_up_after=timedelta(seconds=0.5))
    with pytest.raises(FatalError, match="the engine did not answer for 0 s"):
        TopologyRun(silent_from_the_start(job.plan(), frozen), ledger, impatient).run()
    TopologyRun(job.plan(), ledger, replace(OPTIONS, on_running=OnRunning.REFUSE)).run()


def test_a_run_whose_engine_never_begins_can_be_stopped(
    job: ListJob, frozen: threading.Event, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trident.coordinators.holding.run._LONGEST_LAST_WRITE", timedelta(seconds=0.3))
    run = TopologyRun(silent_from_the_start(job.plan(), frozen), SqliteLedger(tmp_path / "ledger.sqlite"), OPTIONS)
    threading.Timer(0.5, run.stop).start()
    assert run.run().batches == 0


def test_a_call_that_comes_back_after_the_end_stages_nothing(
    job: ListJob, frozen: threading.Event, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its states are closed: it would open them again, for nobody to close."""
    silent(job, frozen)
    staged: list[int] = []

    def noted(self: TableTarget, batch: BatchId, updates: HeldUpdates) -> StagedUpdates:
        staged.append(batch.txid)
        return stage(self, batch, updates)

    stage = TableTarget.stage
    monkeypatch.setattr(TableTarget, "stage", noted)
    with pytest.raises(StoppedError):
        TopologyRun(job.plan(), SqliteLedger(tmp_path / "ledger.sqlite"), SHORT).run()
    frozen.set()
    time.sleep(0.3)
    assert staged == [1]


_ENDS = """
import threading
from trident.engine.parallel import run_all
threading.Thread(target=run_all, args=([threading.Event().wait] * 3, print), daemon=True).start()
import time; time.sleep(0.3)
print("ended")
"""


def test_a_process_ends_although_jobs_of_an_attempt_never_come_back() -> None:
    ended = subprocess.run([sys.executable, "-c", _ENDS], capture_output=True, text=True, check=True, timeout=30)
    assert ended.stdout.strip() == "ended"


def test_there_may_be_no_thread_to_cancel_in(job: ListJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ended the run is raised all the same, after all that it holds was given back."""

    def fail(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        raise FatalError("the real error")

    def none_left(*_: object) -> object:
        raise RuntimeError("can't start new thread")

    job.processor.meddle = fail
    submit = SideBySide.submit
    monkeypatch.setattr(
        SideBySide, "submit", lambda self, call: (none_left if "cancel" in self._name else submit)(self, call)
    )
    with pytest.raises(FatalError, match="the real error"):
        TopologyRun(job.plan(), SqliteLedger(tmp_path / "ledger.sqlite"), SHORT).run()
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("trident-plan")]


def test_nothing_is_given_back_while_the_runs_own_commit_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever broke the run: a store that can't compare would take the late put from its successor."""
    job = make_job(Topic([[(f"a{n}", n) for n in range(30)]]), SqliteState("balances"))
    committing, ended = threading.Event(), []

    def slow(self: Committer, batch: BatchId, outcome: Outcome) -> Commit:
        committing.set()
        time.sleep(0.5)
        ended.append(batch.txid)
        return together(self, batch, outcome)

    def no_thread(self: SideBySide[object], call: Callable[[], object]) -> object:
        if committing.is_set():
            raise RuntimeError("can't start new thread")
        return submit(self, call)

    together, submit = Committer.together, SideBySide.submit
    monkeypatch.setattr(Committer, "together", slow)
    monkeypatch.setattr(SideBySide, "submit", no_thread)
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    released: list[int] = []
    release = ledger.release

    def noted(topology: str, epoch: Epoch) -> None:
        released.append(len(ended))
        release(topology, epoch)

    monkeypatch.setattr(ledger, "release", noted)
    with pytest.raises(RuntimeError, match="new thread"):
        TopologyRun(job.plan(), ledger, replace(SHORT, max_pending=3)).run()
    assert released == [1]


def test_the_error_of_one_job_is_told_although_another_never_comes_back(
    frozen: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trident.engine.parallel._LONGEST_WAIT_S", 0.1)
    cancelled: list[int] = []

    def fail() -> bool:
        raise FatalError("the real error")

    with pytest.raises(FatalError, match="the real error"):
        run_all([fail, lambda: frozen.wait()], lambda: cancelled.append(1))
    assert cancelled


def test_a_job_that_fails_cancels_the_first_one_too(frozen: threading.Event) -> None:
    def first() -> bool:
        assert frozen.wait(20)
        raise RetryableError("cancelled")

    def fail() -> bool:
        raise FatalError("the real error")

    with pytest.raises(FatalError, match="the real error"):
        run_all([first, fail], frozen.set)


def test_an_error_and_what_it_held_go_with_their_future() -> None:
    class Large:
        pass

    def fail() -> str:
        large = Large()
        kept.append(weakref.ref(large))
        raise ValueError

    kept: list[weakref.ref[Large]] = []
    side: SideBySide[str] = SideBySide("test")
    gc.disable()
    try:
        future = side.submit(fail)
        wait([future])
        del future
        for _ in range(50):
            if kept[0]() is None:
                break
            time.sleep(0.02)
        assert kept[0]() is None
    finally:
        gc.enable()
    side.close()


def test_an_idle_thread_keeps_nothing_of_its_last_call() -> None:
    class Large:
        pass

    side: SideBySide[Large] = SideBySide("test")
    future = side.submit(Large)
    kept = weakref.ref(future.result(30))
    del future
    for _ in range(50):
        if kept() is None:
            break
        time.sleep(0.02)
    assert kept() is None
    side.close()


def test_every_call_begins_at_once_and_threads_are_used_again() -> None:
    side: SideBySide[str] = SideBySide("test")
    go = threading.Event()
    blocked = [side.submit(lambda: str(go.wait(10))) for _ in range(3)]
    for _ in range(5):
        side.submit(lambda: "at once").result(30)
        time.sleep(0.05)
    assert sum(thread.name.startswith("test_") for thread in threading.enumerate()) == len(blocked) + 1
    assert side.under_way() == set(blocked)
    go.set()
    assert [each.result(30) for each in blocked] == ["True"] * 3
    side.close()


def test_what_a_call_raises_is_brought_back() -> None:
    side: SideBySide[str] = SideBySide("test")

    def interrupt() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        side.submit(interrupt).result(30)
    side.close()
