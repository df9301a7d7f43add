"""A rename that is recorded, and what comes before its state has followed: a lost ledger, a drop, neighbours."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.advised import carry_out, commands_in
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_decisions import APART, MIXED, SHORTCUT, dying_at
from tests.coordinators.test_renaming import Renamed, Runs, made
from tests.coordinators.test_run import OPTIONS, run
from trident.base.crash_points import CrashPoint
from trident.base.errors import MismatchError
from trident.coordinators.decisions.commands import drop_from_topology, rename_states, reset_topology
from trident.coordinators.holding.run import RunnableTopology, TopologyRun
from trident.coordinators.ledger import MemoryLedger
from trident.state import MemoryState

RECORDED = [CrashPoint.AFTER_RENAMING, CrashPoint.AFTER_FOLLOWING]


def lose_the_ledger(scene: Renamed) -> None:
    for file in scene.folder.glob("ledger.sqlite*"):
        file.unlink()


@pytest.mark.parametrize("point", RECORDED, ids=lambda point: point.name)
@pytest.mark.parametrize("version", ["sums", "totals"])
def test_what_is_said_leads_out_where_the_ledger_is_lost_behind_a_rename(
    version: str, point: CrashPoint, tmp_path: Path
) -> None:
    """Nobody knows of the rename any more, and the state may lie under either name."""
    scene = made(tmp_path, APART)
    with dying_at(point):
        scene.rename()
    lose_the_ledger(scene)
    for _ in range(2):
        with pytest.raises(MismatchError) as refused:
            scene.go_on_as(version)
    words = commands_in(str(refused.value))
    assert words.keys() == {"lost clear", "lost moment"}
    assert carry_out(Runs(scene, version), scene.folder, words["lost clear"], {}) == 0
    assert scene.positions() == {"balances", version}
    scene.more()
    scene.go_on_as(version)
    scene.require_whole()


def test_rows_are_kept_where_the_ledger_is_lost_behind_a_rename(tmp_path: Path) -> None:
    scene = made(tmp_path, APART)
    with dying_at(CrashPoint.AFTER_RENAMING):
        scene.rename()
    lose_the_ledger(scene)
    plan = scene.version().plan()
    reset_topology(
        plan.spec, plan.targets, scene.ledger(), keep_rows=True, start="latest", options=OPTIONS, ledger_lost=True
    )
    scene.go_on_as("sums")
    scene.more()
    scene.go_on_as("sums")
    scene.require_whole()
    assert scene.positions() == {"balances", "sums"}


def test_a_reset_without_a_lost_ledger_takes_no_other_name(tmp_path: Path) -> None:
    scene = made(tmp_path, APART)
    with dying_at(CrashPoint.AFTER_RENAMING):
        scene.rename()
    lose_the_ledger(scene)
    plan = scene.version().plan()
    with pytest.raises(MismatchError, match="belongs to"):
        reset_topology(plan.spec, plan.targets, scene.ledger(), keep_rows=True, start="latest", options=OPTIONS)
    assert scene.positions() == {"balances", "totals"}


@pytest.mark.parametrize("places", [SHORTCUT, MIXED, APART], ids=["shortcut", "one beside, one apart", "apart"])
@pytest.mark.parametrize("followed", [True, False])
def test_a_rename_of_what_was_taken_out_since_is_refused_by_name(
    followed: bool, places: frozenset[str], tmp_path: Path
) -> None:
    scene = made(tmp_path, places)
    if followed:
        scene.rename()
    else:
        with dying_at(CrashPoint.AFTER_RENAMING):
            scene.rename()
        scene.let_go()
    plan, kept = scene.version().plan(), scene.rows("totals")
    drop_from_topology(plan.spec, plan.targets, scene.ledger(), "sums", OPTIONS)
    job = make_job(scene.topic, scene.states()[0])
    with pytest.raises(MismatchError, match=r"'totals' .* was renamed to 'sums', and 'sums' was taken out .* since"):
        scene.rename(job=job)
    scene.more()
    run(job, scene.ledger())
    assert (scene.rows("totals"), scene.rows("balances")) == (kept, scene.topic.expected())


@pytest.mark.parametrize("point", [None, CrashPoint.AFTER_RENAMING], ids=["at once", "cut off"])
def test_a_rename_leaves_another_topology_in_the_same_memory_alone(point: CrashPoint | None) -> None:
    """The other one has a state of the former name since, which is free by then."""
    ledger = MemoryLedger()
    topics = {"payments": Topic([[("a", 1), ("b", 2)]]), "others": Topic([[("c", 5)]])}

    def plan(topology: str, state: str) -> RunnableTopology:
        return make_job(topics[topology], MemoryState(state)).plan(topology)

    def start(topology: str, state: str) -> None:
        TopologyRun(plan(topology, state), ledger, OPTIONS).run()

    def rename() -> None:
        renamed = plan("payments", "sums")
        rename_states(renamed.spec, renamed.targets, ledger, {"totals": "sums"}, OPTIONS)

    def rows(state: str) -> dict[object, object]:
        return {row["account"]: (row["n"], row["total"]) for row in MemoryState(state).rows(ledger.database)}

    start("payments", "totals")
    if point is not None:
        with dying_at(point):
            rename()
        with closing(ledger), pytest.raises(MismatchError, match="belongs to another topology"):
            start("others", "totals")  # it has not followed yet
        start("payments", "sums")
    else:
        rename()
    start("others", "totals")
    topics["payments"].partitions[0].append(("a", 7))
    topics["others"].partitions[0].append(("c", 1))
    rename()
    for _ in range(2):
        start("payments", "sums")
        start("others", "totals")
    assert rows("sums") == topics["payments"].expected()
    assert rows("totals") == topics["others"].expected()
    back = plan("payments", "totals")
    with pytest.raises(MismatchError, match="belongs to another topology"):
        rename_states(back.spec, back.targets, ledger, {"sums": "totals"}, OPTIONS)
    start("others", "totals")
    start("payments", "sums")
