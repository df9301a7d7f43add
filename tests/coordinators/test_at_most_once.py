"""At most once: who was replaced writes nothing, what is no fault of a batch loses no second one, and both are told."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import trident
from tests.coordinators.fakes import ListJob, make_job
from tests.coordinators.receiving import Queue, Taking, receiving_job
from tests.coordinators.test_run import OPTIONS, Place, memory_place, payments, run, sqlite_place
from trident.base.errors import (
    ConfigurationError,
    FatalError,
    FencedError,
    OutcomeUnknownError,
    RefusedError,
    RetryableError,
)
from trident.base.identity import BatchId
from trident.base.levels import Level
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.holding.keeping import Heartbeat
from trident.coordinators.holding.run import RunSummary, TopologyRun
from trident.coordinators.ledger import Ledger, MemoryLedger
from trident.coordinators.levels.behind import Behind
from trident.coordinators.options import RunOptions, Until
from trident.spouts.python.held_rows import HeldRowsSource
from trident.state.memory.plain import PlainMemory
from trident.state.plainly import Holds
from trident.state.staged import HeldUpdates
from trident.testing.coordinators import PlayedClock

Meddle = Callable[[ProcessRequest, ProcessResult], ProcessResult]


@pytest.fixture(params=["memory", "sqlite", "sqlite apart"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return memory_place() if request.param == "memory" else sqlite_place(tmp_path, apart=request.param != "sqlite")


def job_of(place: Place, records: int, meddle: Meddle, *states: str) -> ListJob:
    opened = [place.state(name) for name in states or ("balances",)]
    return make_job(payments(1, records), *opened, level=Level.AT_MOST_ONCE, meddle=meddle)


def leave(_: ProcessRequest, result: ProcessResult) -> ProcessResult:
    return result


def failing(error: BaseException, since: int = 1) -> Meddle:
    def fail(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if request.batch.txid >= since:
            raise error
        return result

    return fail


def counted(place: Place, name: str = "balances") -> int:
    return sum(n for n, _ in place.rows(name).values())


class Life:
    """A run in a thread of its own, and what it came to."""

    def __init__(self, job: ListJob, ledger: Ledger, options: RunOptions, clock: PlayedClock | None = None) -> None:
        self.going = TopologyRun(job.plan(), ledger, options, clock)
        self.ended: RunSummary | BaseException | None = None
        self.thread = threading.Thread(target=self._live)
        self.thread.start()

    def _live(self) -> None:
        try:
            self.ended = self.going.run()
        except BaseException as error:  # noqa: BLE001 - looked at by the test's own thread
            self.ended = error

    def end(self, seconds: float = 20) -> RunSummary | BaseException | None:
        self.thread.join(seconds)
        assert not self.thread.is_alive()
        return self.ended


@contextmanager
def frozen(txid: int) -> Iterator[tuple[Meddle, threading.Event]]:
    """Stop an owner while it processes a batch; the event says that it stands, and the block's end wakes it."""
    stands, woken = threading.Event(), threading.Event()

    def freeze(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if request.batch.txid == txid:
            stands.set()
            woken.wait(40)
        return result

    try:
        yield freeze, stands
    finally:
        woken.set()


def test_an_owner_that_was_replaced_and_wakes_up_writes_nothing(place, monkeypatch):
    """Its heart does not beat either, so that it hears of it when it writes, and not before."""
    monkeypatch.setattr(Heartbeat, "_beat", lambda _: None)
    options = replace(OPTIONS, lease=timedelta(seconds=0.4), give_up_after=timedelta(seconds=10))
    with frozen(3) as (freeze, stands):
        first = Life(job_of(place, 30, freeze), place.ledger(), options)
        assert stands.wait(10)
        time.sleep(0.5)
        second = job_of(place, 30, leave)
        made = second.plan()
        reset_topology(made.spec, made.targets, place.ledger(), keep_rows=False, start="earliest", options=options)
        run(second, place.ledger(), options)
        assert place.rows("balances") == second.topic.expected()
    assert isinstance(ended := first.end(), FencedError)
    assert any("1 batches that are recorded as done were lost" in note for note in ended.__notes__)
    assert place.rows("balances") == second.topic.expected(), "what was read again counts once"


def test_a_run_that_waits_for_what_is_recorded_hears_that_it_was_replaced(caplog):
    place, kept = memory_place(), MemoryLedger()
    clock, later = PlayedClock(), PlayedClock()
    later.outlive(timedelta(hours=2))
    with frozen(3) as (freeze, stands):
        first = Life(job_of(place, 30, freeze), MemoryLedger(clock, database=kept.database), OPTIONS, clock)
        assert stands.wait(10)
        job = job_of(place, 30, leave)
        TopologyRun(job.plan(), MemoryLedger(later, database=kept.database), OPTIONS, later).run()
        assert isinstance(first.end(8), FencedError), "though its engine has not come back"
    assert "txid=3 lost" in caplog.text


@pytest.mark.parametrize("error", [FatalError("the session is gone"), ConfigurationError("no such option"), KeyError()])
def test_what_is_no_fault_of_a_batch_ends_the_run_with_the_first_one(error, caplog):
    place = memory_place()
    job = job_of(place, 400, failing(error))
    with pytest.raises(type(error)) as raised:
        run(job, place.ledger(), replace(OPTIONS, max_pending=4))
    assert raised.value is error
    assert any("1 batches that are recorded as done were lost" in note for note in error.__notes__), "whatever it is"
    assert place.ledger().view().status("payments").done == 1
    assert "txid=1 lost" in caplog.text


def test_what_is_no_fault_of_a_batch_loses_those_that_are_recorded_and_no_more():
    place = memory_place()
    job = job_of(place, 400, failing(FatalError("the session is gone"), since=5))
    with pytest.raises(FatalError, match="the session is gone"):
        run(job, place.ledger(), replace(OPTIONS, max_pending=3))
    done = place.ledger().view().status("payments").done
    assert 5 <= done <= 4 + 3
    assert 10 * done - counted(place) <= 10 * 3, "what was recorded by then, and no more"


def test_one_target_that_can_not_be_written_to_ends_the_run_though_another_one_has_refused_rows(monkeypatch):
    def refusing(self: PlainMemory, batch: BatchId, rows: pa.Table, *holds: Holds) -> None:
        raise RefusedError("a constraint") if self.name == "balances" else FatalError("no right to write")

    monkeypatch.setattr(PlainMemory, "write", refusing)
    place = memory_place()
    with pytest.raises(FatalError, match="no right to write"):
        run(job_of(place, 400, leave, "balances", "totals"), place.ledger())
    assert place.ledger().view().status("payments").done == 1


def test_a_database_that_is_away_for_longer_than_patience_ends_the_run(monkeypatch):
    def away(self: PlainMemory, batch: BatchId, rows: pa.Table, *holds: Holds) -> None:
        raise RetryableError("away")

    monkeypatch.setattr(PlainMemory, "write", away)
    place = memory_place()
    with pytest.raises(FatalError, match="gave up: writing"):
        run(job_of(place, 400, leave), place.ledger(), replace(OPTIONS, give_up_after=timedelta(seconds=0.3)))
    assert place.ledger().view().status("payments").done == 1


def test_until_the_first_batch_of_a_run_is_written_no_second_one_is_recorded():
    place, seen = memory_place(), list[int]()

    def look(_: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if len(seen) < 3:
            time.sleep(0.1)
        seen.append(place.ledger().view().status("payments").done)
        return result

    run(job_of(place, 100, look), place.ledger(), replace(OPTIONS, max_pending=3))
    assert seen[0] == 1
    assert max(seen[1:4]) > 2, "then as many as the run may have"


def test_a_run_that_has_lost_all_that_it_has_recorded_ends_with_an_error():
    place = memory_place()
    with pytest.raises(FatalError, match=r"had something to write are lost \(2\)"):
        run(job_of(place, 20, failing(RetryableError("a function raised"))), place.ledger())
    assert place.ledger().view().status("payments").done == 2


def only_rows_of(since: int, every: int, *of: str) -> Meddle:
    """Let a batch have no rows (a filter lets nothing pass) unless it is one of those, for the targets `of` or all."""

    def filter_out(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if request.batch.txid >= since and request.batch.txid % every == 0:
            return result
        updates = {
            name: HeldUpdates(each.rows.slice(0, 0)) if name in (of or result.updates) else each
            for name, each in result.updates.items()
            if isinstance(each, HeldUpdates)
        }
        return replace(result, updates=updates)

    return filter_out


@pytest.mark.parametrize("of", [(), ("totals",)], ids=["all targets", "one target"])
@pytest.mark.parametrize("every", [1, 2, 5])
def test_a_target_that_refuses_all_its_rows_stops_the_topology_whatever_is_between_them(every, of, monkeypatch):
    asked = list[int]()
    write = PlainMemory.write

    def refusing(self: PlainMemory, batch: BatchId, rows: pa.Table, *holds: Holds) -> None:
        if self.name == "balances":
            write(self, batch, rows, *holds)
            return
        asked.append(batch.txid)
        raise RefusedError("a constraint")

    monkeypatch.setattr(PlainMemory, "write", refusing)
    place, states = memory_place(), ("balances", "totals") if of else ("totals",)
    with pytest.raises(FatalError, match=r"the last [3-9] batches were lost"):
        run(job_of(place, 400, only_rows_of(1, every, *of), *states), place.ledger(), replace(OPTIONS, max_tries=3))
    assert len(asked) <= 3 + OPTIONS.max_pending, "what was recorded by then, and no more"
    assert place.ledger().view().status("payments").done < 40, "its source is not emptied"


def test_batches_without_rows_make_no_room_for_what_a_lasting_fault_loses(monkeypatch):
    def refusing(self: PlainMemory, batch: BatchId, rows: pa.Table, *holds: Holds) -> None:
        time.sleep(0.05)
        raise FatalError("no right to write")

    monkeypatch.setattr(PlainMemory, "write", refusing)
    place = memory_place()
    with pytest.raises(FatalError, match="no right to write") as raised:
        run(job_of(place, 400, only_rows_of(4, 1)), place.ledger(), replace(OPTIONS, max_pending=8))
    assert place.ledger().view().status("payments").done == 4
    assert any("1 batches that are recorded as done were lost" in note for note in raised.value.__notes__)


@pytest.mark.parametrize(("before", "after"), [(4, 1), (1, 4)])
def test_a_rebalance_changes_how_many_may_be_lost(before, after):
    place, changed, begun, seen = memory_place(), threading.Event(), threading.Event(), list[int]()

    def slow(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if request.batch.txid > 1:
            begun.set()
        time.sleep(0.05)
        if changed.is_set():
            seen.append(job.processor.running)
        return result

    job = job_of(place, 3_000, slow)
    life = Life(job, place.ledger(), replace(OPTIONS, max_pending=before))
    assert begun.wait(10)
    trident.rebalance("payments", place.ledger(), max_pending=after)
    time.sleep(0.3)
    changed.set()
    latest = time.monotonic() + 20
    while len(seen) < 8 or (max(seen) < after and time.monotonic() < latest):  # a slow machine needs longer to have all
        time.sleep(0.02)
    life.going.stop()
    life.end()
    assert max(seen) == after


def test_what_is_lost_is_among_the_errors_of_the_ledger():
    place = memory_place()
    job = job_of(place, 60, failing(RetryableError("an executor went away"), since=4))
    assert run(job, place.ledger()).lost == 3
    (row,) = place.ledger().view().errors("payments")
    assert (row.count, row.kind) == (3, "RetryableError")
    told, said = row.text.split(" ", 2)[1:]
    assert told in {"4", "5", "6"}, "those that fail at the same time are told in no order"
    assert said == (
        "is lost: it is recorded as done, and what was not written of it by then is not tried again: an executor "
        "went away"
    )


def test_a_topology_that_is_deactivated_says_what_is_not_written_yet():
    place = memory_place()
    with frozen(2) as (freeze, stands):
        life = Life(job_of(place, 20, freeze), place.ledger(), replace(OPTIONS, until=Until.STOPPED))
        assert stands.wait(10)
        answer = trident.deactivate("payments", place.ledger()).answer
        assert "1 batches that are recorded as done are not written yet" in str(answer)
    life.going.stop()
    life.end()


@pytest.mark.parametrize(
    "then", [OutcomeUnknownError("lost"), RetryableError("away"), FencedError("replaced")], ids=str
)
def test_a_record_whose_answer_is_lost_before_the_run_ends_counts_as_lost(then, monkeypatch):
    """Nobody knows whether it is recorded, and who would write it is gone."""
    place, heard = memory_place(), list[object]()
    commit = MemoryLedger.commit_together

    def unheard(self: MemoryLedger, *given: object) -> None:
        if heard:
            raise then
        commit(self, *given)  # type: ignore[arg-type]
        heard.append(given)
        raise OutcomeUnknownError("the answer was lost")

    monkeypatch.setattr(MemoryLedger, "commit_together", unheard)
    options = replace(OPTIONS, give_up_after=timedelta(seconds=0.2))
    with pytest.raises((FatalError, FencedError), match=str(then)) as raised:
        run(job_of(place, 30, leave), place.ledger(), options)
    assert any("1 batches that are recorded as done were lost" in note for note in raised.value.__notes__)
    assert counted(place) == 0


def test_a_call_of_which_nothing_could_be_heard_does_not_keep_the_run_from_its_end(monkeypatch):
    def broken(self: Behind, *given: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Behind, "_written", broken)
    place = memory_place()
    life = Life(job_of(place, 30, leave), place.ledger(), OPTIONS)
    assert isinstance(life.end(), MemoryError)


def test_a_run_that_has_ended_has_told_of_all_that_it_has_written(monkeypatch):
    told = list[object]()

    def slowly(text: str, *given: object) -> None:
        time.sleep(0.05)
        told.append(text)

    monkeypatch.setattr(logging.getLogger("trident.coordinator"), "info", slowly)
    place = memory_place()
    summary = run(job_of(place, 30, leave), place.ledger())
    assert sum("written records" in str(text) for text in told) == summary.batches == 3


class _NoThreads(threading.Timer):
    def start(self) -> None:
        raise RuntimeError("can't start new thread")


@pytest.mark.parametrize("fails", ["hold", "timer"])
def test_what_is_held_is_let_go_of_whatever_fails(fails, monkeypatch):
    queue, place = Queue({0: [f"r{n}" for n in range(9)], 1: [f"s{n}" for n in range(9)]}), memory_place()
    held: list[HeldRowsSource] = []
    hold = HeldRowsSource.hold

    def half(self: HeldRowsSource, ranges: list[object]) -> None:
        held.append(self)
        hold(self, ranges)  # type: ignore[arg-type]
        if fails == "hold":
            raise FatalError("the second one is gone")

    monkeypatch.setattr(HeldRowsSource, "hold", half)
    if fails == "timer":
        monkeypatch.setattr(threading, "Timer", _NoThreads)
    with pytest.raises((FatalError, RuntimeError)):
        TopologyRun(
            receiving_job(Taking(queue), place.state("counts"), level=Level.AT_MOST_ONCE), place.ledger(), OPTIONS
        ).run()
    assert held
    assert not held[0]._for_later
