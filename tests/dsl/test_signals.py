"""SIGTERM and the first Ctrl-C drain a run; a second Ctrl-C ends it; what a program has set itself stays."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import cast

import pytest

from trident.coordinators.holding.run import RunSummary, TopologyRun
from trident.engine.running import run_to_end


class Run:
    def __init__(self, work: Callable[[], None]) -> None:
        self.stops = 0
        self._work = work

    def stop(self) -> None:
        self.stops += 1

    def run(self) -> RunSummary:
        self._work()
        return RunSummary(0, 1)


def ended(run: Run) -> RunSummary:
    return run_to_end(cast(TopologyRun, run))


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """Ctrl-C is Python's own, as in a program that has set nothing."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_signal_drains_and_the_run_returns(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    run = Run(lambda: signal.raise_signal(number))
    assert ended(run) == RunSummary(0, 1)
    assert run.stops == 1
    assert signal.getsignal(number) == before


def test_a_second_interrupt_ends_it_at_once() -> None:
    def twice() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    run = Run(twice)
    with pytest.raises(KeyboardInterrupt):
        ended(run)
    assert run.stops == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_sparks_handler_is_nobodys() -> None:
    def of_spark(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    of_spark.__module__ = "pyspark.core.context"
    signal.signal(signal.SIGINT, of_spark)
    run = Run(lambda: signal.raise_signal(signal.SIGINT))
    ended(run)
    assert run.stops == 1
    assert signal.getsignal(signal.SIGINT) is of_spark


def test_a_handler_of_the_programs_own_stays() -> None:
    heard: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    run = Run(lambda: signal.raise_signal(signal.SIGINT))
    ended(run)
    assert (run.stops, heard) == (0, [signal.SIGINT])


def test_an_interrupt_that_is_ignored_stays_so() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    run = Run(lambda: signal.raise_signal(signal.SIGINT))
    ended(run)
    assert run.stops == 0
