"""A decision about a txid that is refused has changed nothing, and none puts a version in force that has never run."""

from __future__ import annotations

import sqlite3
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.coordinators.fakes import make_job
from tests.coordinators.test_decisions import APART, MIXED, SHORTCUT, Scene
from tests.coordinators.test_refused_starts import contents
from tests.coordinators.test_run import OPTIONS
from tests.ledger.dumping import expected as expected_of_dump
from tests.ledger.dumping import job_over, restore_sqlite, sqlite_states
from tests.ledger.dumping import topic as topic_of_dump
from trident.base.errors import MismatchError
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions.commands import decide_topology, retry_topology
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.holding.run import TopologyRun
from trident.state import SqliteState
from trident.state.capabilities import CannotUndoError
from trident.state.layout import StateKind

TRANSACTIONAL = (StateKind.TRANSACTIONAL, StateKind.TRANSACTIONAL)


def decide_with_newer(scene: Scene, wanted: WantedDecision) -> None:
    plan = make_job(scene.topic, *scene.states(), SqliteState("added")).plan()
    decide_topology(plan.spec, plan.targets, scene.ledger(), wanted, OPTIONS)


@pytest.mark.parametrize(
    ("kind", "txid", "state", "says"),
    [
        (DecisionKind.UNDO, 2, "", "undo of txid 2: it is done, and this version of the topology adds something"),
        (DecisionKind.UNDO, 4, "", "nothing of it is pinned"),
        (DecisionKind.DIVERT, 3, "balances", "'totals' that refused it"),
        (DecisionKind.DIVERT, 3, "added", "'totals' that refused it"),
        (DecisionKind.DIVERT, 4, "totals", "nothing of it was refused"),
    ],
)
def test_a_decision_of_a_newer_version_that_is_refused_stores_nothing_of_it(
    tmp_path: Path, kind: DecisionKind, txid: int, state: str, says: str
) -> None:
    scene = Scene(tmp_path, MIXED)
    scene.be_refused()
    before = contents(tmp_path)
    with pytest.raises(MismatchError, match=says):
        decide_with_newer(scene, WantedDecision(kind, txid, state))
    assert contents(tmp_path) == before
    scene.mend()
    retry_topology("payments", scene.ledger(), 3, OPTIONS)
    scene.go_on()
    assert scene.rows("balances") == scene.rows("totals") == scene.topic.expected()


def test_an_undo_that_is_not_possible_stores_nothing_of_a_newer_version(tmp_path: Path) -> None:
    scene = Scene(tmp_path, MIXED, TRANSACTIONAL)
    scene.be_refused()
    with pytest.raises(CannotUndoError):
        decide_with_newer(scene, WantedDecision(DecisionKind.UNDO, 3))
    assert "added" not in str(scene.sql("SELECT spec FROM trident_topology"))
    assert scene.sql("SELECT name FROM sqlite_master WHERE name = 'added'") == []
    scene.mend()
    retry_topology("payments", scene.ledger(), 3, OPTIONS)
    scene.go_on()
    assert scene.rows("balances") == scene.rows("totals") == scene.topic.expected()


@pytest.mark.parametrize("apart", [SHORTCUT, MIXED, APART], ids=["shortcut", "one beside, one apart", "apart"])
def test_a_divert_by_a_newer_version_leaves_the_older_one_in_force(tmp_path: Path, apart: frozenset[str]) -> None:
    scene = Scene(tmp_path, apart)
    scene.be_refused()
    decide_with_newer(scene, WantedDecision(DecisionKind.DIVERT, 3, "totals"))
    scene.go_on()
    assert scene.rows("balances") == scene.topic.expected()
    assert "added" not in str(scene.sql("SELECT spec FROM trident_topology"))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_decision_that_is_refused_leaves_the_ledger_to_the_version_that_wrote_it(
    version: int, tmp_path: Path
) -> None:
    restore_sqlite(version, tmp_path)
    before = contents(tmp_path)
    ledger, *states = sqlite_states(tmp_path)
    with pytest.raises(MismatchError, match="nothing of it was refused"):
        retry_topology("payments", ledger, 99, OPTIONS)
    plan = job_over(topic_of_dump(), *states).plan()
    with pytest.raises(MismatchError, match="nothing of it is pinned"):
        decide_topology(plan.spec, plan.targets, ledger, WantedDecision(DecisionKind.UNDO, 99), OPTIONS)
    assert contents(tmp_path) == before
    TopologyRun(plan, ledger, OPTIONS).run()
    assert rows(tmp_path) == expected_of_dump()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_undo_migrates_a_ledger_of_an_older_version(version: int, tmp_path: Path) -> None:
    restore_sqlite(version, tmp_path)
    ledger, *states = sqlite_states(tmp_path)
    plan = job_over(topic_of_dump(), *states).plan()
    decide_topology(plan.spec, plan.targets, ledger, WantedDecision(DecisionKind.UNDO, PINNED), OPTIONS)
    TopologyRun(plan, ledger, OPTIONS).run()
    assert rows(tmp_path) == expected_of_dump()


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("is_lost", [False, True], ids=["whole", "a state is lost"])
def test_an_undo_that_an_older_version_began_is_finished(version: int, is_lost: bool, tmp_path: Path) -> None:
    restore_sqlite(version, tmp_path)
    begin_undo(tmp_path)
    if is_lost:
        (tmp_path / "totals.sqlite").unlink()
    ledger, *states = sqlite_states(tmp_path)
    plan = job_over(topic_of_dump(), *states).plan()
    undo = WantedDecision(DecisionKind.UNDO, PINNED)
    for act in (
        lambda: decide_topology(plan.spec, plan.targets, ledger, undo, OPTIONS),
        TopologyRun(plan, ledger, OPTIONS).run,
    ):
        with pytest.raises(MismatchError, match="'totals' is gone") if is_lost else nullcontext():
            act()
    if not is_lost:
        assert rows(tmp_path) == expected_of_dump()


def begin_undo(folder: Path) -> None:
    """Record an undo of the pinned txid and die, as the versions did that had undos and kept no births."""
    with sqlite3.connect(folder / "ledger.sqlite") as connection:
        connection.execute(
            "INSERT INTO trident_decision (topology, incarnation, epoch, txid, attempt, kind, state, decided_by, "
            "decided_at) SELECT topology, incarnation, 1, pinned, pinned_attempt, 'undo', '', 'a person', "
            "(SELECT max(created_at) FROM trident_plan) FROM trident_progress"
        )
        connection.execute("UPDATE trident_progress SET undoing = pinned_attempt")


PINNED = 5
"""The txid that was pinned when the dumps were made: one of two states has it."""


def rows(folder: Path) -> dict[str, tuple[int, int]]:
    with sqlite3.connect(folder / "ledger.sqlite") as connection:
        found = connection.execute("SELECT account, n, total FROM balances").fetchall()
    return {account: (n, total) for account, n, total in found}
