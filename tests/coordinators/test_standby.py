"""A coordinator that waits for another one's lease: it takes over when that one ends, and stops quietly when asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import Ledger, MemoryLedger, SqliteLedger
from trident.coordinators.options import OnRunning
from trident.coordinators.registered import Lease, pause_between_beats
from trident.state import MemoryState, SqliteState
from trident.state.target import State


@pytest.mark.parametrize("make", [lambda _: MemoryLedger(), lambda folder: SqliteLedger(folder / "l.sqlite")])
def test_one_that_is_stopped_while_it_waits_returns_quietly_with_nothing_done(
    make: Callable[[Path], MemoryLedger | SqliteLedger], tmp_path: Path
) -> None:
    ledger = make(tmp_path)
    state: State = MemoryState("balances") if isinstance(ledger, MemoryLedger) else SqliteState("balances")
    ledger.open()
    held = ledger.acquire("payments", Lease("another", timedelta(minutes=1)))
    waiting = threading.Event()
    options = replace(OPTIONS, on_running=OnRunning.WAIT, lease=timedelta(seconds=20))
    told = cast(Ledger, _Told(ledger, waiting))
    run = TopologyRun(make_job(Topic([[("a", 1)]]), state).plan(), told, options)
    with ThreadPoolExecutor() as threads:
        ending = threads.submit(run.run)
        assert waiting.wait(30)
        begun = time.monotonic()
        run.stop()
        run.stop()
        assert ending.result(30).batches == 0
        assert time.monotonic() - begun < 1, "it need not wait for the next look at the lease"
    ledger.open()
    ledger.renew("payments", held.epoch)  # whoever holds it goes on
    ledger.close()


class _Told:
    """A ledger that says when its lease was asked for."""

    def __init__(self, ledger: Ledger, asked: threading.Event) -> None:
        self._ledger = ledger
        self._asked = asked

    def __getattr__(self, name: str) -> object:
        return getattr(self._ledger, name)

    def acquire(self, topology: str, lease: Lease, above: int = 0) -> object:
        try:
            return self._ledger.acquire(topology, lease, above)
        finally:
            self._asked.set()


@pytest.mark.parametrize(
    ("lease", "longest"), [(timedelta(hours=1), 0.5), (timedelta(seconds=10), 0.5), (timedelta(seconds=0.9), 0.3)]
)
def test_two_beats_are_short_whatever_the_lease_since_a_successor_of_the_dead_waits_for_them(
    lease: timedelta, longest: float
) -> None:
    assert 0 < pause_between_beats(lease) <= longest


def test_who_waits_says_it_once_and_once_that_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    ledger = MemoryLedger()
    ledger.open()
    ledger.acquire("payments", Lease("another", timedelta(seconds=2)))
    options = replace(OPTIONS, on_running=OnRunning.WAIT, lease=timedelta(seconds=2))
    TopologyRun(make_job(Topic([[("a", 1)]]), MemoryState("balances")).plan(), ledger, options).run()
    said = [each.getMessage() for each in caplog.records if each.levelname == "WARNING" and "wait" in each.getMessage()]
    assert [text.partition(":")[0] for text in said] == [
        "waiting for topology 'payments', until nobody holds it",
        "the wait for topology 'payments' is over",
    ]
