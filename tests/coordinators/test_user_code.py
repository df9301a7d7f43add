"""What users have written and what never returns keeps neither the run nor the topology."""

from __future__ import annotations

import gc
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS
from tests.state.harnesses import ConditionalMap
from trident.base.clock import SystemClock
from trident.base.errors import FatalError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.timeouts import Timeouts
from trident.base.user_code import Calls, LeftBehindError, UsersCode
from trident.coordinators.batches.lanes import OneByOne
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.coordinators.options import Until
from trident.spouts.base import Limits
from trident.state import BackingMapState, SqliteState
from trident.state.layout import KeyColumn, Merge, StateKind, StateLayout, ValueColumn
from trident.state.memory.database import MemoryDatabase
from trident.state.target import State
from trident.testing.state_harness import COUNTS, counts

LIMIT = 0.5
LONG = 15.0
"""How long what never returns waits, so that a test that fails ends."""
QUICK = replace(OPTIONS, batch_timeout=timedelta(seconds=LIMIT), until=Until.CAUGHT_UP)


class Combiner:
    """Adds; the first call after `hang` waits until it is let go."""

    def __init__(self) -> None:
        self.is_to_hang = False
        self.hangs_always = False
        self.pause = 0.0
        self.hangs = threading.Event()
        self.let_go = threading.Event()

    def __call__(self, stored: Any, staged: Any) -> int:
        time.sleep(self.pause)
        if self.is_to_hang or self.hangs_always:
            self.is_to_hang = False
            self.hangs.set()
            self.let_go.wait(LONG)
        return int(stored + staged)


@pytest.fixture
def combine() -> Iterator[Combiner]:
    found = Combiner()
    yield found
    found.let_go.set()


def let_combine(monkeypatch: pytest.MonkeyPatch, combine: Combiner) -> None:
    columns = (ValueColumn("n", pa.int64(), Merge.COMBINE, combine), ValueColumn("total", pa.int64(), Merge.ADD))
    layout = StateLayout((KeyColumn("account", pa.string()),), columns)
    monkeypatch.setattr("tests.coordinators.fakes.LAYOUT", layout)


def places(folder: Path, map_: ConditionalMap) -> dict[str, State]:
    return {
        "beside": SqliteState("balances"),
        "apart": SqliteState("balances", path=folder / "apart.sqlite"),
        "per key": BackingMapState("balances", map_, kind=StateKind.OPAQUE),
    }


@pytest.mark.parametrize("place", ["beside", "apart", "per key"])
def test_the_run_ends_another_goes_on_and_what_comes_back_changes_nothing(
    place: str, combine: Combiner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    map_ = ConditionalMap()
    let_combine(monkeypatch, combine)
    topic, state = Topic([[("a", 1)] * 20]), places(tmp_path, map_)[place]
    files = [tmp_path / "ledger.sqlite"]

    def a_run() -> TopologyRun:
        return TopologyRun(make_job(topic, state).plan(), SqliteLedger(files[0]), QUICK)

    def counted() -> int:
        if place == "per key":
            return n_of(map_)
        with sqlite3.connect(files[0] if place == "beside" else tmp_path / "apart.sqlite") as connection:
            return int(connection.execute("SELECT n FROM balances").fetchone()[0])

    a_run().run()
    combine.is_to_hang = True
    topic.partitions[0] += [("a", 1)] * 10
    began = time.monotonic()
    with pytest.raises(
        FatalError, match=r"a combiner of state 'balances' has not returned for 0.5 s \(batch_timeout\)"
    ):
        a_run().run()
    assert combine.hangs.is_set()
    assert time.monotonic() - began < 10
    topic.partitions[0] += [("a", 1)] * 5
    a_run().run()
    assert counted() == 35
    assert users_threads()
    combine.let_go.set()
    wait_until(lambda: not users_threads())
    assert counted() == 35


@pytest.mark.parametrize("place", ["beside", "apart", "per key"])
@pytest.mark.drawn(one_in=2)
def test_a_start_after_calls_that_never_returned_is_tried_and_says_why_until_then(
    place: str, combine: Combiner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has not died: what is mended gets its try, however often the txid has failed."""
    let_combine(monkeypatch, combine)
    map_, topic, ledger = ConditionalMap(), Topic([[("a", 1)] * 20]), SqliteLedger(tmp_path / "ledger.sqlite")
    state, options = places(tmp_path, map_)[place], replace(QUICK, max_tries=2)

    def start() -> None:
        TopologyRun(make_job(topic, state).plan(), ledger, options).run()

    start()
    done = ledger.view().status("payments").done
    combine.hangs_always = True
    topic.partitions[0] += [("a", 1)] * 10
    for _ in range(4):
        with pytest.raises(FatalError, match=rf"payments txid {done + 1} attempt \d+: one call of a combiner of state"):
            start()
    refusal = ledger.view().status("payments").refusal
    if place == "beside":  # else it is pinned, and only rolled forward
        assert refusal is not None
        assert "one call of a combiner of state 'balances' has not returned" in refusal.reason
    combine.hangs_always = False
    start()
    assert ledger.view().status("payments").done == done + 1


def test_a_pinned_txid_that_is_rolled_forward_keeps_no_start_and_no_reset(
    combine: Combiner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_combine(monkeypatch, combine)
    topic, ledger = Topic([[("a", 1)] * 20]), tmp_path / "ledger.sqlite"
    apart, more = (SqliteState(name, path=tmp_path / f"{name}.sqlite") for name in ("balances", "more"))

    def a_run(*states: State) -> TopologyRun:
        return TopologyRun(make_job(topic, *states).plan(), SqliteLedger(ledger), QUICK)

    a_run(apart).run()
    topic.partitions[0] += [("a", 1)] * 10
    combine.hangs_always = True
    for wait_for_it in (
        lambda: a_run(apart).run(),  # pins the txid
        lambda: a_run(apart, more).run(),  # the pinned txid is done before a new state is born
        lambda: reset_topology(
            make_job(topic, apart).plan().spec,
            make_job(topic, apart).plan().targets,
            SqliteLedger(ledger),
            keep_rows=True,
            start=None,
            options=QUICK,
        ),
    ):
        with pytest.raises(FatalError, match="a combiner of state 'balances' has not returned for"):
            wait_for_it()
    combine.hangs_always = False
    a_run(apart, more).run()  # the lease was given back each time
    with sqlite3.connect(tmp_path / "balances.sqlite") as connection:
        assert connection.execute("SELECT n FROM balances").fetchone() == (30,)


@pytest.mark.parametrize("place", ["beside", "apart", "per key"])
@pytest.mark.drawn(one_in=2)
def test_many_calls_may_take_longer_than_one(
    place: str, combine: Combiner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_combine(monkeypatch, combine)
    map_ = ConditionalMap()
    keys = [f"a{number}" for number in range(12)]
    topic, state = Topic([[(key, 1) for key in keys]]), places(tmp_path, map_)[place]
    plan = make_job(topic, state, limits=Limits(max_records=1_000)).plan()
    TopologyRun(plan, SqliteLedger(tmp_path / "ledger.sqlite"), QUICK).run()
    topic.partitions[0] += [(key, 1) for key in keys]
    combine.pause = LIMIT / 4
    began = time.monotonic()
    TopologyRun(plan, SqliteLedger(tmp_path / "ledger.sqlite"), QUICK).run()
    assert time.monotonic() - began > 2 * LIMIT


class SilentMap(ConditionalMap):
    """Does not answer one method's calls for a key of the state, once it is silent, until it is let go."""

    def __init__(self, method: str) -> None:
        super().__init__()
        self.method = method
        self.is_silent = False
        self.asked = threading.Event()
        self.let_go = threading.Event()

    def multi_get(self, keys: Any) -> Any:
        return self._answered("multi_get", super().multi_get, keys)

    def multi_put(self, items: Any) -> Any:
        return self._answered("multi_put", super().multi_put, items)

    def multi_put_if(self, changes: Any) -> Any:
        return self._answered("multi_put_if", super().multi_put_if, changes)

    def multi_remove_if(self, items: Any) -> Any:
        return self._answered("multi_remove_if", super().multi_remove_if, items)

    def clear(self) -> None:
        if self.is_silent and self.method == "clear":
            self.let_go.wait(LONG)
        super().clear()

    def _answered(self, name: str, call: Any, argument: Any) -> Any:
        if (
            self.is_silent
            and name == self.method
            and ("a",) in [key if name == "multi_get" else key[0] for key in argument]
        ):
            self.asked.set()
            self.let_go.wait(LONG)
        return call(argument)


def n_of(map_: ConditionalMap) -> int:
    value: Any = map_.rows[("a",)]
    return int(value.current[0])


@pytest.mark.parametrize("method", ["multi_get", "multi_put_if"])
def test_a_map_that_never_answers_is_left_behind_and_called_by_nobody_else(method: str, tmp_path: Path) -> None:
    map_, topic = SilentMap(method), Topic([[("a", 1)] * 20])
    plan = make_job(topic, BackingMapState("balances", map_, kind=StateKind.OPAQUE)).plan()

    def a_run() -> TopologyRun:
        return TopologyRun(plan, SqliteLedger(tmp_path / "ledger.sqlite"), QUICK)

    a_run().run()
    topic.partitions[0] += [("a", 1)] * 10
    map_.is_silent = True
    with pytest.raises(
        FatalError, match=rf"{method} of the map of state 'balances'.* has not returned for 0\.5 s"
    ) as error:
        a_run().run()
    assert map_.asked.is_set()
    assert ("end this process before you have the txid undone" in str(error.value)) == (method == "multi_put_if")
    with pytest.raises(FatalError, match="was left behind by a run of this process and has not returned yet"):
        a_run().run()
    map_.is_silent = False
    map_.let_go.set()
    wait_until(lambda: not users_threads())
    a_run().run()
    assert n_of(map_) == 30


def test_a_plain_put_is_waited_for_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class PlainMap(SilentMap):
        multi_put_if = None  # type: ignore[assignment]

    map_, topic = PlainMap("multi_put"), Topic([[("a", 1)] * 20])
    plan = make_job(topic, BackingMapState("balances", map_, kind=StateKind.OPAQUE)).plan()
    TopologyRun(plan, SqliteLedger(tmp_path / "ledger.sqlite"), QUICK).run()
    topic.partitions[0] += [("a", 1)] * 10
    map_.is_silent = True
    run = TopologyRun(plan, SqliteLedger(tmp_path / "ledger.sqlite"), QUICK)
    thread = threading.Thread(target=run.run, daemon=True)
    thread.start()
    said = rf"multi_put of the map of state 'balances' for {plan.spec.name} txid 3 attempt \d+ has not returned for"
    wait_until(lambda: len(re.findall(said, caplog.text)) >= 2)
    run.stop()
    assert thread.is_alive()
    map_.let_go.set()
    thread.join(10)
    assert not thread.is_alive()
    assert n_of(map_) == 30


@pytest.mark.parametrize("method", ["multi_put_if", "multi_remove_if", "clear"])
@pytest.mark.drawn(one_in=2)
def test_what_an_undo_or_a_reset_does_to_a_map_is_waited_for(
    method: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An equal value may be there again when it comes: it would undo what was applied anew."""
    map_, batch = SilentMap(method), BatchId(Owner("orders", "one"), Epoch(1, "t"), 1, 1)
    state = BackingMapState("balances", map_)
    target = state.open(COUNTS, MemoryDatabase(), Timeouts(batch_timeout=timedelta(seconds=LIMIT / 2)))
    target.raise_fence(batch.owner, batch.epoch)
    target.register(batch.owner, batch.epoch, 0)
    batches = [batch, replace(batch, txid=2, attempt=2)] if method == "multi_put_if" else [batch]
    for each in batches:
        staged = target.stage(each, counts(("a", 1, 1)))
        target.apply(each, staged)
    assert ("a",) in map_.rows
    map_.is_silent = True
    undoing, resetting = target.capabilities.undoing, target.capabilities.resetting
    assert undoing is not None
    assert resetting is not None
    if method == "clear":
        takes = partial(resetting.clear, Owner("orders", "two"), batch.epoch, 1)
    else:
        takes = partial(undoing.undo, batches[-1], 0, staged)
    thread = threading.Thread(target=takes, daemon=True)
    thread.start()
    wait_until(lambda: caplog.text.count(f"{method} of the map of state 'balances' for the ") >= 2)
    assert thread.is_alive()
    map_.let_go.set()
    thread.join(10)
    assert not thread.is_alive()
    assert (("a",) in map_.rows) == (method == "multi_put_if")


class SkippingClock(SystemClock):
    """One that a process reads that stands still for an hour each time it looks away."""

    def __init__(self) -> None:
        self.reads = 0

    def monotonic(self) -> float:
        self.reads += 1
        return self.reads * 3600.0


def test_a_process_that_stood_still_blames_nobody_for_it() -> None:
    clock, gate = SkippingClock(), threading.Event()
    code = UsersCode(Timeouts(batch_timeout=timedelta(seconds=0.4)), clock)

    def end_when_looked_at_again(calls: Calls) -> int:
        wait_until(lambda: clock.reads >= 2)
        return 7

    assert code.run("a function", end_when_looked_at_again) == 7
    with pytest.raises(LeftBehindError, match=r"a function has not returned for 0\.4 s"):
        code.run("a function", lambda calls: gate.wait(LONG))
    gate.set()
    code.close()


def test_who_was_left_behind_makes_no_more_calls() -> None:
    code, gate, raised = UsersCode(Timeouts(batch_timeout=timedelta(seconds=0.1))), threading.Event(), []

    def folds(calls: Calls) -> None:
        calls.begin()
        gate.wait(LONG)
        try:
            calls.begin()
        except LeftBehindError as error:
            raised.append(error)

    with pytest.raises(LeftBehindError, match="one call of a function has not returned"):
        code.run("a function", folds)
    gate.set()
    wait_until(lambda: raised)


def test_calls_share_a_thread_and_what_they_raise_is_the_callers() -> None:
    code = UsersCode()
    first, second = (code.run("a function", lambda calls: threading.get_ident()) for _ in range(2))
    assert first == second != threading.get_ident()
    for error in (ValueError("wrong"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            code.run("a function", partial(raise_it, error))
    code.close()
    assert code.run("a function", lambda calls: 7) == 7
    code.close()
    wait_until(lambda: not users_threads())


def raise_it(error: BaseException, calls: Calls) -> None:
    raise error


def users_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "trident-users-code"]


def wait_until(is_so: Callable[[], object]) -> None:
    latest = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < latest
        gc.collect()
        time.sleep(0.01)


def test_a_lane_takes_one_call_after_the_other_and_drops_what_has_not_begun() -> None:
    lane: OneByOne[int] = OneByOne("lane")
    gate, order = threading.Event(), []

    def call(number: int) -> int:
        gate.wait(10)
        order.append(number)
        return number

    first, second, third = (lane.submit(partial(call, number)) for number in range(3))
    while not first.running():
        time.sleep(0.01)
    assert lane.under_way() == {first, second, third}
    third.cancel()
    gate.set()
    assert (first.result(10), second.result(10)) == (0, 1)
    lane.close(drops=True)
    assert (order, lane.under_way()) == ([0, 1], set())
