"""A user's function in the commit turn that never returns keeps neither the run nor the topology."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
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
from trident.base.user_code import LeftBehindError, UserCode, users_code
from trident.coordinators.batches.lanes import OneByOne
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.coordinators.options import Until
from trident.state import BackingMapState, SqliteState
from trident.state.layout import KeyColumn, Merge, StateKind, StateLayout, ValueColumn
from trident.state.target import State

QUICK = replace(OPTIONS, batch_timeout=timedelta(seconds=1), until=Until.CAUGHT_UP)


class Combiner:
    """Adds; the first call after `hang` waits until it is let go."""

    def __init__(self) -> None:
        self.is_to_hang = False
        self.hangs = threading.Event()
        self.let_go = threading.Event()

    def __call__(self, stored: Any, staged: Any) -> int:
        if self.is_to_hang:
            self.is_to_hang = False
            self.hangs.set()
            self.let_go.wait(60)
        return int(stored + staged)


@pytest.fixture
def combine() -> Iterator[Combiner]:
    found = Combiner()
    yield found
    found.let_go.set()


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
    columns = (ValueColumn("n", pa.int64(), Merge.COMBINE, combine), ValueColumn("total", pa.int64(), Merge.ADD))
    layout = StateLayout((KeyColumn("account", pa.string()),), columns)
    monkeypatch.setattr("tests.coordinators.fakes.LAYOUT", layout)
    topic, state = Topic([[("a", 1)] * 20]), places(tmp_path, map_)[place]
    files = [tmp_path / "ledger.sqlite"]

    def a_run() -> TopologyRun:
        return TopologyRun(make_job(topic, state).plan(), SqliteLedger(files[0]), QUICK)

    def counted() -> int:
        if place == "per key":
            value: Any = map_.rows[("a",)]
            return int(value.current[0])
        with sqlite3.connect(files[0] if place == "beside" else tmp_path / "apart.sqlite") as connection:
            return int(connection.execute("SELECT n FROM balances").fetchone()[0])

    a_run().run()
    combine.is_to_hang = True
    topic.partitions[0] += [("a", 1)] * 10
    began = time.monotonic()
    with pytest.raises(FatalError, match=r"a combiner of state 'balances' has not returned for 1 s \(batch_timeout\)"):
        a_run().run()
    assert combine.hangs.is_set()
    assert time.monotonic() - began < 10
    topic.partitions[0] += [("a", 1)] * 5
    a_run().run()
    assert counted() == 35
    left = [thread for thread in threading.enumerate() if thread.name.startswith("trident-commit")]
    combine.let_go.set()
    for thread in left:
        thread.join(10)
        assert not thread.is_alive()
    assert counted() == 35


def test_who_was_left_behind_learns_it() -> None:
    code = UserCode(SystemClock())
    with code.mine():
        with users_code("a function"):
            assert code.longer_than(0) == "a function"
            assert code.longer_than(60) is None
            assert not code.leave_behind(60)
        assert code.longer_than(0) is None
        with pytest.raises(LeftBehindError, match="a function has returned after"), users_code("a function"):
            assert code.leave_behind(0)
    with users_code("of nobody's thread"):
        assert code.longer_than(0) is None


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
