"""A stop that comes from a signal handler, which interrupts the thread that it is to stop, wherever that one is."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from types import CodeType, FrameType
from typing import Any

import pytest

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS
from trident.base.errors import FatalError, RetryableError
from trident.base.signals import StopSignal
from trident.coordinators.holding import run as runs
from trident.coordinators.holding.run import RunSummary, TopologyRun
from trident.coordinators.ledger import MemoryLedger
from trident.coordinators.options import SHORTEST_LEASE, OnRunning
from trident.coordinators.registered import Acquired, Lease
from trident.state import MemoryState

_LONGEST_S = 10.0
_WAITING = ("signals.py", "threading.py", "queue.py")
_REPEATING = ("retrying.py", "signals.py")
_RUNNING = ("keeping.py", "threads.py", "run.py", *_REPEATING, *_WAITING)


def interrupted(
    action: Callable[[], object], handler: Callable[[], None], moment: int, files: tuple[str, ...], *, opcodes: bool
) -> int:
    """Run the action in a thread, and the handler in the midst of it at a moment; returns how many there were.

    A moment is before a line (or an instruction) of `files` that it comes to for the first time. A handler runs in the
    thread that it interrupts, between two of its instructions: so does a trace function.
    """
    places, errors = set[tuple[CodeType, int]](), list[BaseException]()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if not frame.f_code.co_filename.endswith(files):
            return None
        frame.f_trace_opcodes = opcodes
        place = frame.f_code, frame.f_lasti if opcodes else frame.f_lineno
        if event == ("opcode" if opcodes else "line") and place not in places:
            places.add(place)
            if len(places) == moment:
                handler()
        return trace

    def play() -> None:
        sys.settrace(trace)
        try:
            action()
        except BaseException as error:  # noqa: BLE001 - raised below, in the test's own thread
            errors.append(error)
        finally:
            sys.settrace(None)

    thread = threading.Thread(target=play, daemon=True)
    thread.start()
    thread.join(_LONGEST_S)
    assert not thread.is_alive(), f"it waits for itself since it was interrupted at moment {moment}"
    if errors:
        raise errors[0]
    return len(places)


def test_who_is_interrupted_anywhere_while_it_waits_or_sets_is_woken() -> None:
    def wait_and_set(signal: StopSignal) -> None:
        signal.wait(0.001)
        signal.set()
        assert signal.wait(60)
        assert signal.wait(60)

    moments = interrupted(lambda: wait_and_set(StopSignal()), lambda: None, 0, _WAITING, opcodes=True)
    assert moments > 20
    for moment in range(1, moments + 1):
        signal = StopSignal()
        interrupted(lambda signal=signal: wait_and_set(signal), signal.set, moment, _WAITING, opcodes=True)  # type: ignore[misc]


def test_all_who_wait_are_woken() -> None:
    signal = StopSignal()
    woken = [threading.Thread(target=signal.wait, args=(60,)) for _ in range(5)]
    for thread in woken:
        thread.start()
    signal.set()
    for thread in woken:
        thread.join(5)
        assert not thread.is_alive()


class _Hindering(MemoryLedger):
    """Payments' lease is another one's at first, or the first try to take it fails."""

    def __init__(self, hinder: str) -> None:
        super().__init__()
        self.hinder = hinder
        self.asked = 0
        if hinder == "held":
            super().acquire("payments", Lease("another", timedelta(minutes=1)))
        options = replace(OPTIONS, on_running=OnRunning.WAIT, lease=SHORTEST_LEASE)
        job = make_job(Topic([[("a", 1), ("b", 2)]]), MemoryState("balances"))
        self.run = TopologyRun(job.plan(), self, options)

    def acquire(self, topology: str, lease: Lease, above: int = 0) -> Acquired:
        self.asked += 1
        if self.asked > 3:
            self.run.stop()
        if self.hinder == "fails" and self.asked < 2:
            raise RetryableError("not now")
        return super().acquire(topology, lease, above)


@pytest.mark.parametrize("hinder", ["nothing", "held", "fails"])
@pytest.mark.drawn(one_in=2)
def test_a_run_that_is_stopped_by_a_handler_ends_wherever_it_was(hinder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_LOOK_S", 0.001)

    def play(moment: int) -> int:
        ledger = _Hindering(hinder)
        ended = list[RunSummary]()
        files = _REPEATING if hinder == "fails" else _RUNNING
        try:
            return interrupted(lambda: ended.append(ledger.run.run()), ledger.run.stop, moment, files, opcodes=False)
        except FatalError:
            assert hinder == "fails", "only what was just being repeated is given up"
            return 0

    moments = play(0)
    assert moments > 20
    for moment in range(1, moments + 1):
        play(moment)
