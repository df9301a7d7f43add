"""Calls that take long are told of by one thread, the innermost of each caller's, for as long as they last."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from trident.base.watching import Watch

EVERY = 0.05
LONG = 10.0


class Told:
    """What was told, and a wait for it."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, float]] = []
        self._changed = threading.Condition()

    def of(self, name: str) -> Callable[[float], None]:
        def tell(seconds: float) -> None:
            with self._changed:
                self.lines.append((name, seconds))
                self._changed.notify_all()

        return tell

    def wait_for(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.lines) >= count, LONG)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.lines]


def threads() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name == "trident-watch"}


def test_what_does_not_return_is_told_again_and_again_and_no_more_afterwards() -> None:
    watch, told = Watch(), Told()
    with watch.over(told.of("put"), EVERY):
        told.wait_for(3)
    count, pause = len(told.lines), threading.Event()
    pause.wait(3 * EVERY)
    assert len(told.lines) == count
    seconds = [each for _, each in told.lines]
    assert seconds == sorted(seconds)
    assert seconds[0] >= EVERY
    assert seconds[2] >= 3 * EVERY


def test_what_returns_in_time_is_not_told_and_takes_no_thread_of_its_own() -> None:
    watch, told, before = Watch(), Told(), threads()
    for _ in range(100):
        with watch.over(told.of("put"), LONG):
            assert len(threads() - before) <= 1
    assert not told.lines


def test_its_thread_rests_at_once_when_that_is_asked_for() -> None:
    watch, told, before = Watch(), Told(), threads()
    watch.rest()
    with watch.over(told.of("put"), LONG):
        assert threads() - before
    watch.rest()
    assert not threads() - before
    with watch.over(told.of("put"), EVERY):
        told.wait_for(1)


def test_of_calls_inside_of_each_other_the_innermost_is_told() -> None:
    watch, told = Watch(), Told()
    with watch.over(told.of("commit"), EVERY):
        with watch.over(told.of("put"), EVERY):
            told.wait_for(2)
        inside = len(told.lines)
        told.wait_for(inside + 1)
    assert set(told.names[:inside]) == {"put"}
    assert set(told.names[inside:]) == {"commit"}
    assert told.lines[inside][1] > told.lines[0][1]


def test_a_call_that_goes_on_is_not_told_at_the_moment_at_which_an_inner_one_has_returned() -> None:
    watch, told, seldom = Watch(), Told(), 20 * EVERY
    with watch.over(told.of("commit"), seldom):
        with watch.over(told.of("put"), EVERY):
            told.wait_for(25)
        threading.Event().wait(4 * EVERY)
    assert set(told.names) == {"put"}


def test_a_call_of_another_thread_that_is_due_sooner_is_told_in_time() -> None:
    watch, told = Watch(), Told()
    with watch.over(told.of("long"), LONG):
        waits = threading.Event()

        def call() -> None:
            with watch.over(told.of("short"), EVERY):
                waits.wait(LONG)

        thread = threading.Thread(target=call)
        thread.start()
        told.wait_for(1)
        waits.set()
        thread.join()
    assert set(told.names) == {"short"}


def test_one_that_doubles_is_told_ever_more_seldom() -> None:
    watch, told = Watch(), Told()
    with watch.over(told.of("receive"), EVERY, doubles=True):
        told.wait_for(3)
    first, second, third = (seconds for _, seconds in told.lines[:3])
    assert second >= 2 * first
    assert third >= 2 * second


def test_where_there_is_no_thread_to_be_had_the_call_is_made_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    watch, told = Watch(), Told()

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with watch.over(told.of("put"), EVERY):
            assert not told.lines
    with watch.over(told.of("put"), EVERY):
        told.wait_for(1)


def test_a_thread_that_has_nothing_to_look_after_ends_and_the_next_call_has_another() -> None:
    watch, told, before = Watch(), Told(), threads()
    for count in (1, 2):
        with watch.over(told.of("put"), EVERY):
            told.wait_for(count)
        pause = threading.Event()
        for _ in range(200):
            if not threads() - before:
                break
            pause.wait(EVERY)
        assert not threads() - before


def test_what_goes_wrong_where_one_is_told_keeps_nobody_else_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    watch, told, wrong = Watch(), Told(), Told()
    monkeypatch.setattr(sys, "excepthook", lambda *_: None)

    def fail(seconds: float) -> None:
        wrong.of("wrong")(seconds)
        raise ValueError("a filter of the log")

    def call() -> None:
        with watch.over(fail, EVERY):
            wrong.wait_for(2)

    thread = threading.Thread(target=call)
    with watch.over(told.of("put"), 2 * EVERY):
        thread.start()
        told.wait_for(2)
        thread.join()


FORKS = """
import os, signal, threading
from trident.base.watching import WATCH

busy, over = threading.Event(), threading.Event()

def enter():
    while not over.is_set():
        with WATCH.over(lambda _: None, 10):
            busy.set()

def forked():
    child = os.fork()
    if child == 0:
        signal.alarm(5)
        with WATCH.over(lambda _: None, 10):
            os._exit(0 if set(WATCH._calls) == {threading.get_ident()} else 1)
    return os.waitpid(child, 0)[1]

threading.Thread(target=enter).start()
busy.wait()
with WATCH.over(lambda _: None, 10):
    codes = [forked() for _ in range(20)]
over.set()
assert codes == [0] * 20, codes
"""


def test_a_process_that_is_forked_looks_after_its_own_calls_alone() -> None:
    """Whatever its parent was about to do: another thread may hold the lock, or wait for a call that is not its own.

    In a process of its own: this one has the threads and locks of every library that a test has used before.
    """
    ended = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
