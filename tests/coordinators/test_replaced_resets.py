"""A reset that keeps rows was recorded, and the rows are gone before it was finished: clearing takes its place."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_decisions import dying_at
from tests.coordinators.test_run import OPTIONS
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import MismatchError
from trident.cli.app import run as command
from trident.coordinators.decided import ResetDecision
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import Ledger, MemoryLedger, SqliteLedger
from trident.state import MemoryState, SqliteState
from trident.state.memory.database import MemoryDatabase
from trident.state.target import State

Sums = dict[str, tuple[int, int]]
IN_ADOPTING = [CrashPoint.AFTER_DECIDING_RESET, CrashPoint.AFTER_RESETTING_STATE]
IN_REPLACING = [None, CrashPoint.AFTER_DECIDING_RESET, CrashPoint.AFTER_RESETTING_STATE, CrashPoint.AFTER_RESET]


class Scene:
    """A state beside the ledger, which follows a reset first, and one apart, whose rows are lost."""

    ledger: Ledger

    def __init__(self) -> None:
        self.topic = Topic([[(f"a{n % 5}", n + 1) for n in range(25)]])

    def states(self) -> tuple[State, State]:
        raise NotImplementedError

    def sums(self) -> tuple[Sums, Sums]:
        raise NotImplementedError

    def lose(self) -> None:
        raise NotImplementedError

    def run(self) -> None:
        TopologyRun(make_job(self.topic, *self.states()).plan(), self.ledger, OPTIONS).run()

    def reset(self, *, keep_rows: bool) -> ResetDecision:
        plan = make_job(self.topic, *self.states()).plan()
        start = "resume" if keep_rows else None
        return reset_topology(plan.spec, plan.targets, self.ledger, keep_rows=keep_rows, start=start, options=OPTIONS)

    def begin(self, point: CrashPoint) -> None:
        """Fill both, and die in a reset that keeps their rows."""
        self.run()
        with dying_at(point):
            self.reset(keep_rows=True)


class MemoryScene(Scene):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.ledger, self.away = MemoryLedger(), MemoryDatabase()

    def states(self) -> tuple[State, State]:
        return MemoryState("one"), MemoryState("two", database=self.away)

    def sums(self) -> tuple[Sums, Sums]:
        places = (self.ledger.database, self.away)
        found = [MemoryState(name).rows(place) for name, place in zip(("one", "two"), places, strict=True)]
        one, two = ({str(row["account"]): (row["n"], row["total"]) for row in rows} for rows in found)
        return one, two  # type: ignore[return-value]  # whole numbers

    def lose(self) -> None:
        self.away = MemoryDatabase()


class SqliteScene(Scene):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.file, self.away = folder / "ledger.sqlite", folder / "away.sqlite"
        self.ledger = SqliteLedger(self.file)

    def states(self) -> tuple[State, State]:
        return SqliteState("one"), SqliteState("two", path=self.away)

    def sums(self) -> tuple[Sums, Sums]:
        return read(self.file, "one"), read(self.away, "two")

    def lose(self) -> None:
        self.away.unlink()


class EmptiedScene(SqliteScene):
    """The position stays, the rows are gone."""

    def lose(self) -> None:
        with sqlite3.connect(self.away) as connection:
            connection.execute("DELETE FROM two")


def read(file: Path, table: str) -> Sums:
    with sqlite3.connect(file) as connection:
        return {row[0]: (row[1], row[2]) for row in connection.execute(f"SELECT account, n, total FROM {table}")}


@pytest.fixture(params=[MemoryScene, SqliteScene, EmptiedScene], ids=["memory", "sqlite", "emptied"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Scene:
    make: Callable[[Path], Scene] = request.param
    return make(tmp_path)


@pytest.mark.parametrize("point", IN_ADOPTING)
@pytest.mark.parametrize("again", IN_REPLACING)
@pytest.mark.drawn(one_in=2)
def test_clearing_takes_the_place_of_a_reset_that_lost_its_rows(
    scene: Scene, point: CrashPoint, again: CrashPoint | None
) -> None:
    scene.begin(point)
    scene.lose()
    for _ in range(2):
        with pytest.raises(MismatchError, match=r"was recorded and can't be finished; .*--states clear"):
            scene.run()
    with pytest.raises(MismatchError, match=r"was recorded and can't be finished; .*--states clear"):
        scene.reset(keep_rows=True)
    if again is None:
        assert scene.reset(keep_rows=False).states == "clear"
    else:
        with dying_at(again):
            scene.reset(keep_rows=False)
        scene.topic.partitions[0] += [("late", 1)] * 3
    scene.run()
    assert scene.sums() == (scene.topic.expected(),) * 2
    assert scene.ledger.view().status("payments").open_reset is None


@pytest.mark.parametrize("point", IN_ADOPTING)
def test_clearing_takes_its_place_also_while_the_rows_are_there(scene: Scene, point: CrashPoint) -> None:
    """Emptied is what the person asked for; to finish the other one would have counted everything twice later on."""
    scene.begin(point)
    decision = scene.reset(keep_rows=False)
    assert decision.states == "clear"
    assert scene.sums() == ({}, {})
    scene.run()
    assert scene.sums() == (scene.topic.expected(),) * 2


def test_one_that_clears_is_finished_whatever_is_asked_for(scene: Scene) -> None:
    scene.run()
    with dying_at(CrashPoint.AFTER_RESETTING_STATE):
        scene.reset(keep_rows=False)
    assert scene.reset(keep_rows=True).states == "clear"
    scene.run()
    assert scene.sums() == (scene.topic.expected(),) * 2


def test_the_ledger_keeps_both_and_shows_the_one_that_is_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = SqliteScene(tmp_path)
    scene.begin(CrashPoint.AFTER_RESETTING_STATE)
    with dying_at(CrashPoint.AFTER_DECIDING_RESET):
        scene.reset(keep_rows=False)
    with sqlite3.connect(scene.file) as connection:
        rows = connection.execute("SELECT states, finished_at IS NULL FROM trident_reset ORDER BY states").fetchall()
    assert rows == [("adopt", 0), ("clear", 1)]
    assert command(["status", "payments", "--ledger", str(scene.file), "--json"]) == 0
    assert "states='clear'" in capsys.readouterr().out


def test_what_has_no_rows_to_keep_is_refused_before_it_is_recorded(scene: Scene) -> None:
    scene.run()
    scene.lose()
    for _ in range(2):
        with pytest.raises(MismatchError, match="two"):
            scene.reset(keep_rows=True)
        assert scene.ledger.view().status("payments").open_reset is None


def test_what_is_lost_while_the_reset_is_decided_is_not_recorded_either(tmp_path: Path) -> None:
    scene = SqliteScene(tmp_path)
    scene.run()

    def lose(point: CrashPoint, txid: int) -> None:
        if point is CrashPoint.AFTER_FENCE:
            with sqlite3.connect(scene.away) as connection:
                connection.execute("DELETE FROM two")
                connection.execute("DELETE FROM trident_applied")

    plan = make_job(scene.topic, *scene.states()).plan()
    with armed(lose), pytest.raises(MismatchError, match="state 'two' is gone"):
        reset_topology(plan.spec, plan.targets, scene.ledger, keep_rows=True, start="earliest", options=OPTIONS)
    assert scene.ledger.view().status("payments").open_reset is None
