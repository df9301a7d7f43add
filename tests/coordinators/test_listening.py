"""Listeners hear what happens in a run, in order, and can neither hold up nor harm a batch."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.coordinators.fakes import POISON, make_job
from tests.coordinators.test_run import OPTIONS, memory_place, payments
from trident import (
    BatchCommitted,
    BatchFailed,
    BatchPlanned,
    BatchProcessed,
    BatchRefused,
    OffsetsLost,
    RunListener,
    RunStarted,
    RunStopped,
    TookOver,
)
from trident.base.errors import FatalError, RetryableError
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.listening import Listening
from trident.coordinators.options import RunOptions
from trident.coordinators.run_events import RunEvent
from trident.spouts.base import LostOffsets


class Notes(RunListener):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[RunEvent] = []
        self.threads: set[int] = set()

    def hear(self, event: RunEvent) -> None:
        self.heard.append(event)
        self.threads.add(threading.get_ident())

    took_over = started = planned = processed = committed = failed = refused = lost = stopped = hear

    def kinds(self) -> list[type[RunEvent]]:
        return [type(event) for event in self.heard]

    def of(self, *kinds: type[RunEvent]) -> list[RunEvent]:
        return [event for event in self.heard if isinstance(event, kinds)]


ONE_BY_ONE = replace(OPTIONS, max_pending=1)


def test_a_batch_is_told_from_its_plan_to_its_commit():
    place, notes = memory_place(), Notes()
    job = make_job(payments(1, 20), place.state("balances"))
    TopologyRun(job.plan(), place.ledger(), replace(ONE_BY_ONE, listeners=[notes])).run()
    batch = [BatchPlanned, BatchProcessed, BatchCommitted]
    assert notes.kinds() == [TookOver, RunStarted, *batch, *batch, RunStopped]
    first, second = notes.of(BatchCommitted)
    assert isinstance(first, BatchCommitted)
    assert isinstance(second, BatchCommitted)
    assert (first.topology, first.epoch, first.txid, first.tries, first.records) == ("payments", 1, 1, 1, 10)
    assert ([first.lag, second.lag], first.lags[0].stream, first.lags[0].partition) == ([10, 0], "s", 0)
    assert notes.heard[-1] == RunStopped(topology="payments", error=None)
    taken = notes.heard[0]
    assert isinstance(taken, TookOver)
    assert (taken.done, taken.pinned, taken.epoch) == (0, None, 1)
    assert threading.get_ident() not in notes.threads
    assert len(notes.threads) == 1


def test_a_failed_attempt_and_what_was_lost_are_told():
    place, notes = memory_place(), Notes()
    failed: list[object] = []

    def once(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if not failed:
            failed.append(request.batch)
            raise RetryableError("a worker was lost")
        return result

    job = make_job(
        payments(1, 10), place.state("balances"), meddle=once, on_lost_offsets=LostOffsets.RESUME_AT_EARLIEST
    )
    options = replace(ONE_BY_ONE, listeners=[notes])
    TopologyRun(job.plan(), place.ledger(), options).run()
    (told,) = notes.of(BatchFailed)
    assert isinstance(told, BatchFailed)
    assert (told.txid, told.attempt, told.kind, told.error) == (1, 1, "RetryableError", "a worker was lost")
    job.topic.partitions[0] += [("late", 1)] * 6
    job.topic.earliest[0] = 13
    TopologyRun(job.plan(), place.ledger(), options).run()
    (lost,) = notes.of(OffsetsLost)
    assert isinstance(lost, OffsetsLost)
    assert (lost.stream, lost.partition, lost.start, lost.stop, lost.epoch) == ("s", 0, 10, 13, 2)


def test_that_a_run_stops_is_told_with_its_reason():
    place, notes = memory_place(), Notes()
    job = make_job(payments(1, 5), place.state("balances"))
    job.topic.partitions[0].append(POISON)
    with pytest.raises(FatalError, match="does not decode"):
        TopologyRun(job.plan(), place.ledger(), replace(ONE_BY_ONE, listeners=[notes])).run()
    (refused,) = notes.of(BatchRefused)
    assert isinstance(refused, BatchRefused)
    assert (refused.txid, refused.kind, "does not decode" in refused.reason) == (1, "bad record", True)
    stopped = notes.heard[-1]
    assert isinstance(stopped, RunStopped)
    assert "does not decode" in str(stopped.error)


def test_what_a_listener_raises_is_said_once_and_harms_nobody(caplog):
    class Broken(RunListener):
        def committed(self, event: BatchCommitted, /) -> None:
            raise ValueError(f"no {event.txid}")

    place, notes = memory_place(), Notes()
    job = make_job(payments(), place.state("balances"))
    TopologyRun(job.plan(), place.ledger(), replace(OPTIONS, listeners=[Broken(), notes])).run()
    assert place.rows("balances") == job.topic.expected()
    assert len(notes.of(BatchCommitted)) == 8
    said = [record.getMessage() for record in caplog.records if record.name == "trident.listeners"]
    assert len(said) == 1
    assert "Broken failed at BatchCommitted, which touches no batch" in said[0]


def test_what_comes_while_a_listener_is_too_slow_is_counted(caplog):
    goes_on, notes = threading.Event(), Notes()

    class Slow(RunListener):
        def started(self, event: RunStarted, /) -> None:
            goes_on.wait(20)

    listening = Listening([Slow(), notes], most=3)
    with listening.until_the_end("t"):
        for epoch in range(10):
            listening.tell(RunStarted(topology="t", epoch=epoch))
        goes_on.set()
    missed = 10 + 1 - len(notes.heard)
    assert missed >= 6, "one is with the listener, three wait"
    said = [record.args for record in caplog.records if record.name == "trident.listeners"]
    assert sum(int(args[0]) for args in said) == missed
    listening.tell(RunStarted(topology="t", epoch=11))  # a thread that has been left behind may come back late
    assert len(notes.heard) == 11 - missed


def test_a_listener_that_does_not_come_back_is_left_behind(caplog, monkeypatch):
    monkeypatch.setattr("trident.coordinators.listening._LONGEST_LAST_CALL_S", 0.05)
    ends = threading.Event()

    class Stuck(RunListener):
        def stopped(self, event: RunStopped, /) -> None:
            ends.wait(20)

    with Listening([Stuck()]).until_the_end("t"):
        pass
    ends.set()
    assert "has not come back and is left behind" in caplog.text


def test_that_events_are_missed_is_said_while_a_listener_does_not_come_back(caplog, monkeypatch):
    monkeypatch.setattr("trident.coordinators.listening._LONGEST_LAST_CALL_S", 0.05)
    ends, beside = threading.Event(), Notes()

    class Stuck(RunListener):
        def started(self, event: RunStarted, /) -> None:
            ends.wait(20)

    listening = Listening([Stuck()], most=4, beside=[beside])
    with listening.until_the_end("t"):
        for epoch in range(20):
            listening.tell(RunStarted(topology="t", epoch=epoch))
            latest = time.monotonic() + 10
            while len(beside.heard) <= epoch and time.monotonic() < latest:
                time.sleep(0.001)
        said = [record.args for record in caplog.records if record.name == "trident.listeners"]
        assert [int(args[0]) for args in said][:3] == [1, 4, 4], "one at once, and then as many as may wait"
    ends.set()
    assert len(beside.heard) == 20 + 1


def test_without_listeners_there_is_no_thread():
    before = threading.active_count()
    listening = Listening(())
    listening.tell(RunStarted(topology="t", epoch=1))
    assert threading.active_count() == before


def test_on_started_is_called_once_when_the_run_is_up_and_before_anything_is_planned():
    place = memory_place()
    calls: list[tuple[int, bool, int]] = []
    job = make_job(payments(1, 20), place.state("balances"))

    def started() -> None:
        standing = place.ledger().view().status("payments")
        calls.append((threading.get_ident(), standing.is_held, standing.last_txid))

    TopologyRun(job.plan(), place.ledger(), replace(OPTIONS, on_started=started)).run()
    assert calls == [(threading.get_ident(), True, 0)]


def test_what_on_started_raises_ends_the_run_and_nothing_is_planned():
    def started() -> None:
        raise OSError("no port")

    place = memory_place()
    job = make_job(payments(1, 20), place.state("balances"))
    with pytest.raises(OSError, match="no port"):
        TopologyRun(job.plan(), place.ledger(), replace(OPTIONS, on_started=started)).run()
    standing = place.ledger().view().status("payments")
    assert (standing.last_txid, standing.is_held) == (0, False)


@pytest.mark.parametrize("make", [lambda: RunOptions(listeners=[object()]), lambda: RunOptions(on_started=5)])  # type: ignore[list-item,arg-type]
def test_what_is_no_listener_is_refused(make: Callable[[], RunOptions]) -> None:
    with pytest.raises(FatalError, match="must be a"):
        make()


def test_the_end_is_told_however_much_waits():
    heard: list[str] = []

    class Slow(RunListener):
        def started(self, event: RunStarted, /) -> None:
            time.sleep(0.01)
            heard.append("started")

        def stopped(self, event: RunStopped, /) -> None:
            heard.append("stopped")

    listening = Listening([Slow()], most=3)
    with listening.until_the_end("payments"):
        for _ in range(50):
            listening.tell(RunStarted(topology="payments", epoch=1))
    assert heard[-1] == "stopped"
    assert len(heard) < 50
