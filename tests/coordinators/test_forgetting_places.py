"""A forget that was cut off is finished where each state and sink really is, or without one whose place is lost."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.advised import carry_out, commands_in
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_decisions import APART, MIXED, SHORTCUT, Scene, dying_at
from tests.coordinators.test_forgetting import DROP, KEEP, forget, forget_life, let_go, tables_of
from tests.coordinators.test_outbox_lives import Life
from tests.coordinators.test_renaming import Renamed
from tests.coordinators.test_renaming import made as made_to_rename
from tests.coordinators.test_run import OPTIONS, run
from trident.base.crash_points import CrashPoint
from trident.base.errors import ConfigurationError, MismatchError
from trident.coordinators.decided import ForgottenTables
from trident.coordinators.decisions.commands import forget_topology
from trident.coordinators.decisions.forgetting import ForgetProspect
from trident.coordinators.ledger import MemoryLedger
from trident.state import MemoryState
from trident.state.memory.database import MemoryDatabase

NOT_HERE = r"'(balances|totals)' was not let go of: where its address leads.*correct the address.*--lost-state"
HALVES = [CrashPoint.AFTER_DECIDING_FORGET, CrashPoint.AFTER_FORGETTING_TARGET, CrashPoint.AFTER_NOTING_TARGET]


def cut_off(folder: Path, point: CrashPoint, tables: ForgottenTables, places: frozenset[str] = APART) -> Scene:
    scene = Scene(folder, places)
    scene.mend()
    scene.topic.partitions[0][12:] = []
    with dying_at(point):
        forget(scene, tables)
    let_go(scene)
    return scene


def exchange(scene: Scene) -> None:
    """Let the addresses of both states lead to each other's files, or back again."""
    balances, totals, aside = scene.file("balances"), scene.file("totals"), scene.folder / "aside"
    balances.rename(aside)
    totals.rename(balances)
    aside.rename(totals)


def positions(scene: Scene) -> list[tuple[object, ...]]:
    found = []
    for name in ("balances", "totals"):
        with closing(sqlite3.connect(scene.file(name))) as connection:
            found += connection.execute("SELECT topology, state FROM trident_applied").fetchall()
    return found


def without(scene: Scene, *lost: str, heard: list[ForgetProspect] | None = None) -> None:
    plan, said = scene.job().plan(), [] if heard is None else heard
    forget_topology(plan.spec, plan.targets, scene.ledger(), DROP, OPTIONS, said.append, lost)


@pytest.mark.parametrize("point", HALVES, ids=lambda point: point.name)
@pytest.mark.parametrize("tables", [KEEP, DROP])
def test_addresses_that_were_exchanged_are_not_taken_for_let_go_of(
    tables: ForgottenTables, point: CrashPoint, tmp_path: Path
) -> None:
    """Both lead to a database with a fence of the topology, and in neither is a position of the state asked for."""
    scene = cut_off(tmp_path, point, tables)
    exchange(scene)
    before = positions(scene)
    for _ in range(2):
        with pytest.raises(MismatchError, match=NOT_HERE):
            forget(scene, tables)
    assert positions(scene) == before
    assert scene.ledger().view().topologies() == ("payments",)
    exchange(scene)
    forget(scene, tables)
    assert positions(scene) == []
    assert scene.ledger().view().topologies() == ()


@pytest.mark.parametrize("point", HALVES, ids=lambda point: point.name)
def test_an_address_that_leads_to_another_state_of_the_topology_is_noticed(point: CrashPoint, tmp_path: Path) -> None:
    """Where that one was let go of already, nothing stands there at all."""
    scene = cut_off(tmp_path, point, KEEP)
    scene.file("totals").rename(tmp_path / "kept")
    shutil.copy(scene.file("balances"), scene.file("totals"))
    with pytest.raises(MismatchError, match=r"'totals' was not let go of"):
        forget(scene)
    (tmp_path / "kept").rename(scene.file("totals"))
    forget(scene)
    assert positions(scene) == []


def test_a_mark_of_the_life_before_says_nothing_of_this_one(tmp_path: Path) -> None:
    scene = Scene(tmp_path, APART)
    scene.mend()
    scene.topic.partitions[0][12:] = []
    forget(scene, DROP)
    shutil.copy(scene.file("totals"), tmp_path / "let go of before")
    scene.go_on()
    with dying_at(CrashPoint.AFTER_DECIDING_FORGET):
        forget(scene, DROP)
    let_go(scene)
    scene.file("totals").rename(tmp_path / "kept")
    (tmp_path / "let go of before").rename(scene.file("totals"))
    with pytest.raises(MismatchError, match=r"'totals' was not let go of"):
        forget(scene, DROP)
    (tmp_path / "kept").rename(scene.file("totals"))
    forget(scene, DROP)
    assert positions(scene) == []


def test_what_the_ledger_has_noted_is_not_asked_for_again(tmp_path: Path) -> None:
    """Its database may be gone by then: nothing of the topology was in it any more."""
    scene = cut_off(tmp_path, CrashPoint.AFTER_NOTING_TARGET, DROP)
    scene.file("balances").unlink()
    forget(scene, DROP)
    assert scene.ledger().view().topologies() == ()
    scene.go_on()
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()


@pytest.mark.parametrize("places", [SHORTCUT, MIXED, APART], ids=["beside", "one beside, one apart", "apart"])
@pytest.mark.parametrize("point", [CrashPoint.AFTER_DECIDING_FORGET, None], ids=["cut off", "at once"])
def test_what_was_never_born_is_let_go_of_with_the_record(
    point: CrashPoint | None, places: frozenset[str], tmp_path: Path
) -> None:
    """The first start died before its states were, and they stand nowhere."""
    scene = Scene(tmp_path, places)
    for file in {scene.file("balances"), scene.file("totals"), tmp_path / "ledger.sqlite"}:
        file.unlink()
    with dying_at(CrashPoint.AFTER_REGISTRATION):
        scene.go_on()
    let_go(scene)
    if point is not None:
        with dying_at(point):
            forget(scene)
        let_go(scene)
    forget(scene)
    assert scene.ledger().view().topologies() == ()
    scene.topic.partitions[0][12:] = []
    scene.go_on()
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()


def test_the_command_that_is_named_finishes_without_what_is_lost(tmp_path: Path) -> None:
    scene = cut_off(tmp_path, CrashPoint.AFTER_DECIDING_FORGET, DROP)
    shutil.copy(scene.file("balances"), scene.file("totals"))  # what stood there is gone for good
    with pytest.raises(MismatchError) as refused:
        forget(scene, DROP)
    commands = commands_in(str(refused.value))
    assert commands == {"forget": ["forget", "MODULE:TOPOLOGY", "--tables", "drop", "--lost-state", "totals"]}
    assert carry_out(scene, scene.folder, commands["forget"], {}) == 0
    assert scene.ledger().view().topologies() == ()
    scene.file("totals").unlink()
    scene.go_on()
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()


@pytest.mark.parametrize("point", HALVES, ids=lambda point: point.name)
def test_one_that_is_lost_is_not_even_opened(point: CrashPoint, tmp_path: Path) -> None:
    """Its server may be gone; the name is free then, and what comes back of it is nobody's but noted."""
    scene = cut_off(tmp_path, point, DROP)
    kept, heard = tmp_path / "kept", list[ForgetProspect]()
    scene.file("totals").rename(kept)
    without(scene, "totals", heard=heard)
    assert not scene.file("totals").exists()
    (said,) = (each for each in heard[0].targets if each.name == "totals")
    assert (said.is_lost, said.keeps_rows, said.place["table"]) == (True, True, "totals")
    assert scene.ledger().view().topologies() == ()
    kept.rename(scene.file("totals"))
    with pytest.raises(MismatchError, match="'totals' belongs to incarnation"):
        scene.go_on()  # an old life's rows are not taken for the new one's
    scene.file("totals").unlink()
    scene.go_on()
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()


def test_one_that_is_lost_is_said_once_and_the_rest_may_be_cut_off_again(tmp_path: Path) -> None:
    scene = cut_off(tmp_path, CrashPoint.AFTER_DECIDING_FORGET, DROP)
    scene.file("balances").unlink()
    with dying_at(CrashPoint.AFTER_NOTING_TARGET):
        without(scene, "balances")
    let_go(scene)
    without(scene, "balances")  # which is noted by now
    assert not scene.file("balances").exists()
    assert "totals" not in tables_of(scene.file("totals"))
    assert scene.ledger().view().topologies() == ()


def test_nothing_is_lost_before_a_forget_is_begun(tmp_path: Path) -> None:
    scene = Scene(tmp_path, APART)
    scene.mend()
    scene.topic.partitions[0][12:] = []
    with pytest.raises(MismatchError, match=r"no forget of 'payments' was begun") as refused:
        without(scene, "totals")
    with pytest.raises(ConfigurationError, match=r"has no state or sink 'others' \(there are: 'balances', 'totals'\)"):
        without(scene, "others")
    scene.file("totals").unlink()
    commands = commands_in(str(refused.value))
    assert commands.keys() == {"clear"}
    assert carry_out(scene, scene.folder, commands["clear"], {}) == 0
    forget(scene, DROP)
    assert positions(scene) == []


def test_a_sink_whose_cluster_was_exchanged_is_not_taken_for_let_go_of(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.come("a")
    life.run()
    with dying_at(CrashPoint.AFTER_DECIDING_FORGET):
        forget_life(life)
    life.ask("UPDATE trident_heartbeat SET released = 1")
    markers = life.kafka.logs["markers"]
    life.kafka.logs["markers"] = [[] for _ in markers]
    with pytest.raises(MismatchError, match="marker"):
        forget_life(life)
    life.kafka.logs["markers"] = markers
    forget_life(life)
    assert life.ledger().view().topologies() == ()


def test_memory_that_was_exchanged_is_not_taken_for_let_go_of() -> None:
    ledger, topic = MemoryLedger(), Topic([[("a", 1), ("b", 2)]])
    run(make_job(topic, MemoryState("balances")), ledger)
    plan = make_job(topic, MemoryState("balances")).plan()
    with dying_at(CrashPoint.AFTER_DECIDING_FORGET):
        forget_topology(plan.spec, plan.targets, ledger, DROP, OPTIONS)
    elsewhere = MemoryDatabase()
    targets = {"balances": lambda _, timeouts: plan.targets["balances"](elsewhere, timeouts)}
    with pytest.raises(MismatchError, match="'balances' was not let go of"):
        forget_topology(plan.spec, targets, ledger, DROP, OPTIONS)
    forget_topology(plan.spec, plan.targets, ledger, DROP, OPTIONS)
    assert ledger.view().topologies() == ()


def back_to_before(scene: Renamed, act: Callable[[], object]) -> None:
    """Do something, and put the second state's file back to what it was before."""
    file = scene.file("totals")
    before = file.read_bytes()
    act()
    file.write_bytes(before)


@pytest.mark.parametrize("tables", [KEEP, DROP])
def test_a_state_that_was_restored_to_before_its_rename_is_found_there(tables: ForgottenTables, tmp_path: Path) -> None:
    scene = made_to_rename(tmp_path, APART)

    def rename_and_begin() -> None:
        scene.rename()
        with dying_at(CrashPoint.AFTER_DECIDING_FORGET):
            forget_renamed(scene, tables)
        scene.let_go()

    back_to_before(scene, rename_and_begin)
    assert scene.positions() == {"balances", "totals"}
    forget_renamed(scene, tables)
    assert scene.positions() == set()
    assert ("totals" in tables_of(scene.file("totals"))) is (tables is KEEP)


@pytest.mark.parametrize("places", [SHORTCUT, APART], ids=["beside", "apart"])
@pytest.mark.parametrize("tables", [KEEP, DROP])
def test_a_state_that_has_not_followed_its_rename_is_let_go_of(
    tables: ForgottenTables, places: frozenset[str], tmp_path: Path
) -> None:
    scene = made_to_rename(tmp_path, places)
    with dying_at(CrashPoint.AFTER_RENAMING):
        scene.rename()
    scene.let_go()
    forget_renamed(scene, tables)
    assert scene.positions() == set()
    assert ("totals" in tables_of(scene.file("totals"))) is (tables is KEEP)


def forget_renamed(scene: Renamed, tables: ForgottenTables) -> None:
    plan = scene.version().plan()
    forget_topology(plan.spec, plan.targets, scene.ledger(), tables, OPTIONS)
