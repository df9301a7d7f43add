"""A topology is let go of: its tables are others' or gone, and nothing of it comes back, whoever wakes up later."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.advised import carry_out, commands_in
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_bulk_lives import BulkLife
from tests.coordinators.test_decisions import APART, MIXED, SHORTCUT, Scene, dying_at
from tests.coordinators.test_dropping import Direct
from tests.coordinators.test_outbox_lives import Life
from tests.coordinators.test_run import OPTIONS, run
from tests.state.harnesses import ConditionalMap
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import ConfigurationError, LeaseHeldError, MismatchError
from trident.base.levels import Level
from trident.coordinators.decided import Decision, DecisionKind, ForgottenTables
from trident.coordinators.decisions.commands import (
    decide_topology,
    drop_from_topology,
    forget_topology,
    reset_topology,
    retry_topology,
)
from trident.coordinators.decisions.forgetting import ForgetProspect
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.holding.run import RunnableTopology, TopologyRun
from trident.coordinators.ledger import MemoryLedger, SqliteLedger
from trident.coordinators.registered import Lease
from trident.state import BackingMapState, MemoryState, SqliteState, StateKind
from trident.state.memory.database import MemoryDatabase

KEEP, DROP = ForgottenTables.KEEP, ForgottenTables.DROP
FORGETTING = [
    CrashPoint.AFTER_LEASE,
    CrashPoint.AFTER_LOOKING,
    CrashPoint.AFTER_FENCE,
    CrashPoint.AFTER_READING_LEDGER,
    CrashPoint.AFTER_CHECKING,
    CrashPoint.BEFORE_DECIDING_FORGET,
    CrashPoint.AFTER_DECIDING_FORGET,
    CrashPoint.IN_FORGETTING,
    CrashPoint.AFTER_FORGETTING_TARGET,
    CrashPoint.AFTER_NOTING_TARGET,
    CrashPoint.AFTER_FORGETTING,
]
RECORDED = FORGETTING[FORGETTING.index(CrashPoint.AFTER_DECIDING_FORGET) : -1]
BY_NAME = r"'payments' is being forgotten.*trident forget MODULE:TOPOLOGY --tables"


def forget(scene: Scene, tables: ForgottenTables = KEEP) -> Decision:
    plan = scene.job().plan()
    return forget_topology(plan.spec, plan.targets, scene.ledger(), tables, OPTIONS)


def forget_life(life: Life, tables: ForgottenTables = KEEP) -> Decision:
    plan = life.plan()
    return forget_topology(plan.spec, plan.targets, life.ledger(), tables, OPTIONS)


def let_go(scene: Scene) -> None:
    scene.sql("UPDATE trident_heartbeat SET released = 1")


def tables_of(file: Path) -> set[str]:
    with closing(sqlite3.connect(file)) as connection:
        return {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def adopt(scene: Scene, name: str) -> RunnableTopology:
    """Let another topology take what was kept, from what comes from now on."""
    return adopted(scene, scene.job().plan(name))


def adopted(scene: Scene, plan: RunnableTopology) -> RunnableTopology:
    reset_topology(plan.spec, plan.targets, scene.ledger(), keep_rows=True, start="latest", options=OPTIONS)
    TopologyRun(plan, scene.ledger(), OPTIONS).run()
    return plan


@pytest.fixture(params=[SHORTCUT, MIXED, APART], ids=["shortcut", "one beside, one apart", "apart"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Scene:
    made = Scene(tmp_path, request.param)
    made.mend()
    made.topic.partitions[0][12:] = []
    return made


def test_another_topology_goes_on_with_the_tables_that_were_kept(scene: Scene) -> None:
    before = scene.topic.expected()
    with pytest.raises(MismatchError, match="belongs to"):
        TopologyRun(scene.job().plan("others"), scene.ledger(), OPTIONS).run()
    assert forget(scene) == Decision(DecisionKind.FORGET, 2, 2, "keep")
    assert scene.rows("totals") == scene.rows("balances") == before
    plan = adopt(scene, "others")
    scene.topic.partitions[0] += [("a1", 7), ("new", 3)]
    TopologyRun(plan, scene.ledger(), OPTIONS).run()
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()


def test_the_ledger_has_only_what_was_used_up(scene: Scene) -> None:
    fence = scene.sql("SELECT number FROM trident_fence")
    forget(scene)
    for table in tables_of(scene.folder / "ledger.sqlite"):
        if table in {"trident_fence", "trident_state_fence", "trident_heartbeat", "trident_progress"}:
            continue
        columns = [row[1] for row in scene.sql(f"PRAGMA table_info({table})")]
        if {"topology"} & {*columns} or table == "trident_topology":
            assert scene.sql(f"SELECT * FROM {table}") == []
    assert scene.sql("SELECT incarnation, done, last_txid, last_attempt FROM trident_progress") == [("", 2, 2, 2)]
    assert scene.sql("SELECT number FROM trident_fence") > fence
    assert scene.ledger().view().topologies() == ()


def test_dropped_tables_go_with_their_rows_and_their_staging(scene: Scene) -> None:
    forget(scene, DROP)
    for state in ("balances", "totals"):
        assert not {state, f"trident_staging_{state}"} & tables_of(scene.file(state))
    TopologyRun(scene.job().plan("others"), scene.ledger(), OPTIONS).run()
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()


@pytest.mark.parametrize("tables", [KEEP, DROP])
def test_the_same_name_begins_anew_above_all_that_was_used(scene: Scene, tables: ForgottenTables) -> None:
    (before,) = scene.sql("SELECT incarnation FROM trident_progress")
    forget(scene, tables)
    (fence,) = scene.sql("SELECT number FROM trident_fence")
    if tables is KEEP:
        with pytest.raises(MismatchError, match="has rows but no owner"):
            scene.go_on()
        for state in ("balances", "totals"):
            with closing(sqlite3.connect(scene.file(state))) as connection, connection:
                connection.execute(f"DELETE FROM {state}")
    scene.go_on()
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()
    assert scene.sql("SELECT txid, attempt FROM trident_commit ORDER BY txid") == [(3, 3), (4, 4)]
    assert scene.sql("SELECT number FROM trident_fence") > [fence]
    assert scene.sql("SELECT incarnation FROM trident_progress")[0] not in {("",), before}


@pytest.mark.parametrize("point", FORGETTING, ids=lambda point: point.name)
@pytest.mark.parametrize("tables", [KEEP, DROP])
@pytest.mark.parametrize("places", [SHORTCUT, MIXED, APART], ids=["beside", "one beside, one apart", "apart"])
def test_a_forget_that_is_cut_off_anywhere_is_finished(
    places: frozenset[str], tables: ForgottenTables, point: CrashPoint, tmp_path: Path
) -> None:
    """Until it is recorded the topology goes on as it was; from then on it is refused by name, and never runs again."""
    scene = Scene(tmp_path, places)
    scene.mend()
    scene.topic.partitions[0][12:] = []
    if point is CrashPoint.AFTER_FENCE and not places:
        pytest.skip("nothing has a fence of its own there")
    with dying_at(point):
        forget(scene, tables)
    let_go(scene)
    if point in RECORDED:
        refused_by_name(scene)
        if tables is KEEP:
            with pytest.raises(MismatchError, match="--tables keep"):
                forget(scene, DROP)
    elif point is not CrashPoint.AFTER_FORGETTING:
        scene.topic.partitions[0] += [("a1", 7)]
        scene.go_on()
        assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()
    if point is CrashPoint.AFTER_FORGETTING:
        with pytest.raises(MismatchError, match="was forgotten before, or has never run"):
            forget(scene, tables)
    else:
        forget(scene, tables)
    if tables is DROP:
        scene.go_on()
    else:
        plan = adopt(scene, "others")
        scene.topic.partitions[0] += [("a2", 5)]
        TopologyRun(plan, scene.ledger(), OPTIONS).run()
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()


@pytest.mark.parametrize("places", [SHORTCUT, APART], ids=["beside", "apart"])
@pytest.mark.parametrize("point", RECORDED, ids=lambda point: point.name)
def test_what_was_to_be_dropped_may_be_kept_instead(point: CrashPoint, places: frozenset[str], tmp_path: Path) -> None:
    scene = Scene(tmp_path, places)
    scene.mend()
    scene.topic.partitions[0][12:] = []
    before = scene.topic.expected()
    with dying_at(point):
        forget(scene, DROP)
    let_go(scene)
    with pytest.raises(MismatchError, match=r"--tables drop\); or, where a table can't be dropped.*--tables keep"):
        scene.go_on()
    with dying_at(CrashPoint.IN_FORGETTING):
        forget(scene, KEEP)
    let_go(scene)
    with pytest.raises(MismatchError, match="being forgotten, with its tables: keep"):
        forget(scene, DROP)
    assert forget(scene, KEEP).state == KEEP
    assert scene.rows("totals") == before
    is_gone = point in (CrashPoint.AFTER_FORGETTING_TARGET, CrashPoint.AFTER_NOTING_TARGET)
    assert ("balances" in tables_of(scene.file("balances"))) is not is_gone
    assert scene.ledger().view().topologies() == ()


def refused_by_name(scene: Scene) -> None:
    """Whatever else is asked for while a forget is not finished."""
    plan, ledger = scene.job().plan(), scene.ledger()
    with pytest.raises(MismatchError, match=BY_NAME):
        scene.go_on()
    with pytest.raises(MismatchError, match=BY_NAME):
        reset_topology(plan.spec, plan.targets, ledger, keep_rows=False, start=None, options=OPTIONS)
    with pytest.raises(MismatchError, match=BY_NAME):
        drop_from_topology(plan.spec, plan.targets, ledger, "totals", OPTIONS)
    with pytest.raises(MismatchError, match=BY_NAME):
        retry_topology("payments", ledger, 3, OPTIONS)
    with pytest.raises(MismatchError, match=BY_NAME):
        decide_topology(plan.spec, plan.targets, ledger, WantedDecision(DecisionKind.UNDO, 2), OPTIONS)
    assert scene.ledger().view().status("payments").decisions[-1].startswith("forget after txid ")


def test_every_place_of_a_forget_is_one_where_it_is_cut_off(tmp_path: Path) -> None:
    scene, passed = Scene(tmp_path, MIXED), set[CrashPoint]()
    scene.mend()
    scene.topic.partitions[0][12:] = []
    with armed(lambda point, _: passed.add(point)):
        forget(scene)
    elsewhere = {CrashPoint.AFTER_PREPARATION, CrashPoint.BEFORE_RENEWAL, CrashPoint.AFTER_RENEWAL}
    assert passed - elsewhere == set(FORGETTING)


def test_a_place_that_is_another_ones_by_now_is_asked_for_nothing(tmp_path: Path) -> None:
    """Between the two halves of a forget another topology has taken the table that was let go of."""
    scene = Scene(tmp_path, APART)
    scene.mend()
    scene.topic.partitions[0][12:] = []
    with dying_at(CrashPoint.AFTER_FORGETTING_TARGET):
        forget(scene)
    let_go(scene)
    other = adopted(scene, make_job(scene.topic, scene.states()[0]).plan("others"))
    scene.topic.partitions[0] += [("a1", 7)]
    TopologyRun(other, scene.ledger(), OPTIONS).run()
    forget(scene)
    scene.topic.partitions[0] += [("a2", 5)]
    TopologyRun(other, scene.ledger(), OPTIONS).run()
    assert scene.rows("balances") == scene.topic.expected()
    assert "totals" in tables_of(scene.file("totals"))


def test_a_database_that_was_exchanged_between_the_halves_is_not_taken_for_let_go_of(tmp_path: Path) -> None:
    scene = Scene(tmp_path, APART)
    scene.mend()
    scene.topic.partitions[0][12:] = []
    with dying_at(CrashPoint.AFTER_DECIDING_FORGET):
        forget(scene)
    let_go(scene)
    scene.file("totals").rename(tmp_path / "kept")
    for _ in range(2):
        with pytest.raises(MismatchError, match="no fence of 'payments' that its ledger has raised"):
            forget(scene)
    scene.file("totals").unlink()
    (tmp_path / "kept").rename(scene.file("totals"))
    forget(scene)
    adopt(scene, "others")


def test_what_is_open_is_decided_first(tmp_path: Path) -> None:
    scene = Scene(tmp_path, SHORTCUT)
    scene.be_refused()
    with pytest.raises(MismatchError, match=r"txid 3 was refused by 'totals' and waits.*trident reset"):
        forget(scene)
    scene.decide(DecisionKind.DIVERT, 3, "totals")
    with pytest.raises(MismatchError, match=r"a divert of txid 3 of state 'totals' was decided and waits"):
        forget(scene)
    plan = scene.job().plan()
    with dying_at(CrashPoint.AFTER_DECIDING_RESET):
        reset_topology(plan.spec, plan.targets, scene.ledger(), keep_rows=False, start=None, options=OPTIONS)
    let_go(scene)
    with pytest.raises(MismatchError, match=r"a reset to incarnation \w+ was decided and is not finished"):
        forget(scene)
    reset_topology(plan.spec, plan.targets, scene.ledger(), keep_rows=False, start=None, options=OPTIONS)
    forget(scene, DROP)
    assert scene.ledger().view().topologies() == ()


def test_the_command_that_a_start_names_finishes_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path, APART)
    scene.mend()
    scene.topic.partitions[0][12:] = []
    with dying_at(CrashPoint.AFTER_FORGETTING_TARGET):
        forget(scene, DROP)
    let_go(scene)
    with pytest.raises(MismatchError) as refused:
        scene.go_on()
    commands = commands_in(str(refused.value))
    assert commands == {"forget": ["forget", "MODULE:TOPOLOGY", "--tables", "drop"]}
    assert carry_out(scene, scene.folder, commands["forget"], {}) == 0
    scene.go_on()
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()


def test_the_reset_that_a_forget_names_makes_void_what_is_open(tmp_path: Path) -> None:
    scene = Scene(tmp_path, APART)
    scene.be_refused()
    with pytest.raises(MismatchError) as refused:
        forget(scene, DROP)
    commands = commands_in(str(refused.value))
    assert commands.keys() == {"clear"}
    assert carry_out(scene, scene.folder, commands["clear"], {}) == 0
    forget(scene, DROP)
    scene.go_on()
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()


def test_what_is_pinned_is_rolled_forward_or_made_void_first(tmp_path: Path) -> None:
    scene = Scene(tmp_path, APART)
    scene.mend()
    with dying_at(CrashPoint.AFTER_PIN):
        scene.go_on()
    let_go(scene)
    with pytest.raises(MismatchError, match=r"txid 3 attempt 3 is pinned and not done.*start the topology until"):
        forget(scene)
    scene.go_on()
    forget(scene)
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()


def test_a_topology_that_runs_or_never_ran_is_not_forgotten(scene: Scene) -> None:
    plan = scene.job().plan("others")
    with pytest.raises(MismatchError, match="has never run"):
        forget_topology(plan.spec, plan.targets, scene.ledger(), KEEP, OPTIONS)
    ledger = scene.ledger()
    ledger.open()
    ledger.acquire("payments", Lease("somebody", OPTIONS.lease))
    with pytest.raises(LeaseHeldError):
        forget(scene)


def test_nothing_is_changed_unless_a_person_agrees_to_what_they_hear(scene: Scene) -> None:
    heard: list[ForgetProspect] = []

    def refuse(prospect: ForgetProspect) -> None:
        heard.append(prospect)
        raise RuntimeError

    plan = scene.job().plan()
    with pytest.raises(RuntimeError):
        forget_topology(plan.spec, plan.targets, scene.ledger(), DROP, OPTIONS, refuse)
    ((said,), places) = heard, [each.place["table"] for each in heard[0].targets]
    assert (said.topology, said.tables, said.done, places) == ("payments", DROP, 2, ["balances", "totals"])
    assert not any(each.keeps_rows for each in said.targets)
    scene.topic.partitions[0] += [("a1", 7)]
    scene.go_on()
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()


def test_a_state_that_is_gone_or_of_another_moment_is_refused(tmp_path: Path) -> None:
    scene = Scene(tmp_path, APART)
    scene.mend()
    backup = scene.file("totals").read_bytes()
    scene.topic.partitions[0][12:] = [("a1", 7)]
    scene.go_on()
    now = scene.file("totals").read_bytes()
    scene.file("totals").write_bytes(backup)
    with closing(sqlite3.connect(scene.file("totals"))) as connection:
        fence = connection.execute("SELECT * FROM trident_state_fence").fetchall()
        with pytest.raises(MismatchError, match=r"state 'totals' stands at txid 2 attempt 2, but the ledger"):
            forget(scene)
        assert connection.execute("SELECT * FROM trident_state_fence").fetchall() == fence
    scene.file("totals").unlink()
    with pytest.raises(MismatchError, match="state 'totals' is gone"):
        forget(scene)
    scene.file("totals").write_bytes(now)
    scene.go_on()
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()


def test_another_ledgers_topology_of_that_name_is_left_alone(tmp_path: Path) -> None:
    scene = Scene(tmp_path, APART)
    scene.mend()
    scene.topic.partitions[0][12:] = []
    plan, another = scene.job().plan(), SqliteLedger(tmp_path / "another.sqlite")
    own = make_job(scene.topic, SqliteState("balances", path=tmp_path / "own.sqlite")).plan()
    TopologyRun(own, another, OPTIONS).run()
    mixed = replace(own, targets={"balances": plan.targets["balances"]})
    with pytest.raises(MismatchError, match="which this ledger has never had"):
        forget_topology(mixed.spec, mixed.targets, another, DROP, OPTIONS)
    scene.topic.partitions[0] += [("a1", 7)]
    scene.go_on()
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()


def test_rows_that_only_the_ledger_has_are_told_and_go_with_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path, SHORTCUT)
    scene.be_refused()
    scene.decide(DecisionKind.DIVERT, 3, "totals")
    scene.go_on()
    heard: list[ForgetProspect] = []
    plan = scene.job().plan()
    forget_topology(plan.spec, plan.targets, scene.ledger(), KEEP, OPTIONS, heard.append)
    assert (heard[0].left.dead_letters, heard[0].left.diverted) == (0, 3)
    assert scene.sql("SELECT * FROM trident_diverted") == []


@pytest.mark.parametrize("kind", [Life, Direct, BulkLife])
def test_a_sink_sends_what_waits_and_its_marker_stands_nowhere(kind: type[Life], tmp_path: Path) -> None:
    life = kind(tmp_path)
    life.come("a", "b")
    with dying_at(CrashPoint.AFTER_DONE if kind is Direct else CrashPoint.BEFORE_RELAY):
        life.run()
    life.ask("UPDATE trident_heartbeat SET released = 1")
    forget_life(life, DROP)
    assert life.sent() == ["a", "b"]
    life.topic = Topic([[]])
    life.come("c")
    life.run()
    assert life.sent() == ["a", "b", "c"]
    assert life.ask("SELECT min(txid) FROM trident_commit") > [(1,)]


@pytest.mark.parametrize("point", [*RECORDED, CrashPoint.BETWEEN_FORGETTINGS], ids=lambda point: point.name)
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("kind", [Life, Direct, BulkLife])
def test_a_sink_is_let_go_of_wherever_a_forget_is_cut_off(
    kind: type[Life], point: CrashPoint, count: int, tmp_path: Path
) -> None:
    if (kind is Direct and point is CrashPoint.BETWEEN_FORGETTINGS) or (count == 2 and _once(kind, point)):
        pytest.skip("it is not passed there")
    life = kind(tmp_path)
    life.come("a", "b")
    life.run()
    with dying_at(point, count):
        forget_life(life, DROP)
    life.ask("UPDATE trident_heartbeat SET released = 1")
    with pytest.raises(MismatchError, match=BY_NAME):
        life.run()
    forget_life(life, DROP)
    life.topic = Topic([[]])
    life.come("c")
    life.run()
    assert life.sent() == ["a", "b", "c"]


def _once(kind: type[Life], point: CrashPoint) -> bool:
    once = {CrashPoint.AFTER_DECIDING_FORGET, CrashPoint.BETWEEN_FORGETTINGS}
    return point in once or (kind is Direct and point is CrashPoint.IN_FORGETTING)


def test_what_waits_and_can_not_be_sent_keeps_the_topology(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.come("a")
    with dying_at(CrashPoint.BEFORE_RELAY):
        life.run()
    life.ask("UPDATE trident_heartbeat SET released = 1")
    markers = life.kafka.logs["markers"]
    life.kafka.logs["markers"] = [[] for _ in markers]
    with pytest.raises(MismatchError, match="marker"):
        forget_life(life)
    life.kafka.logs["markers"] = markers
    life.run()
    assert life.sent() == ["a"]


def test_what_can_not_be_let_go_of_is_refused_by_name_before_anything_is_changed(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    job = make_job(Topic([[("a", 1)]]), BackingMapState("balances", ConditionalMap()))
    run(job, ledger)
    plan, status = job.plan(), ledger.view().status("payments")
    with pytest.raises(ConfigurationError, match="'balances' can't be let go of"):
        forget_topology(plan.spec, plan.targets, ledger, KEEP, OPTIONS)
    assert ledger.view().status("payments") == status


def test_a_weaker_level_is_refused_by_name(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    job = make_job(Topic([[("a", 1)]]), SqliteState("balances"), level=Level.AT_LEAST_ONCE)
    run(job, ledger)
    plan = job.plan()
    with pytest.raises(ConfigurationError, match="'balances' can't be let go of"):
        forget_topology(plan.spec, plan.targets, ledger, KEEP, OPTIONS)


@pytest.mark.parametrize("point", [*RECORDED, CrashPoint.AFTER_FORGETTING], ids=lambda point: point.name)
@pytest.mark.parametrize("tables", [KEEP, DROP])
def test_a_memory_ledger_lets_go_too(tables: ForgottenTables, point: CrashPoint) -> None:
    if point is CrashPoint.IN_FORGETTING:
        pytest.skip("memory has no transaction of its own there")
    ledger, topic = MemoryLedger(), Topic([[("a", 1), ("b", 2)]])
    job = make_job(topic, MemoryState("balances"))
    run(job, ledger)
    plan = job.plan()
    with dying_at(point):
        forget_topology(plan.spec, plan.targets, ledger, tables, OPTIONS)
    holding = ledger.view()
    assert holding.topologies() == (() if point is CrashPoint.AFTER_FORGETTING else ("payments",))


@pytest.mark.parametrize("kind", [StateKind.OPAQUE, StateKind.TRANSACTIONAL])
@pytest.mark.parametrize("is_apart", [False, True])
def test_rows_in_memory_that_others_adopt_keep_what_they_hold(kind: StateKind, is_apart: bool) -> None:
    """Their first batch has another txid than any row: for its own it would take back what a row has."""
    ledger, database, topic = MemoryLedger(), MemoryDatabase() if is_apart else None, Topic([[("a", 1)] * 4])

    def plan(topology: str) -> RunnableTopology:
        return make_job(topic, MemoryState("balances", kind=kind, database=database)).plan(topology)

    def go_on(topology: str) -> None:
        TopologyRun(plan(topology), ledger, OPTIONS).run()

    go_on("payments")
    kept, others = plan("payments"), plan("others")
    forget_topology(kept.spec, kept.targets, ledger, KEEP, OPTIONS)
    reset_topology(others.spec, others.targets, ledger, keep_rows=True, start="latest", options=OPTIONS)
    for amount in (2, 3):
        go_on("others")
        topic.partitions[0].append(("a", amount))
    go_on("others")
    (row,) = MemoryState("balances", kind=kind, database=database).rows(ledger.database)
    assert (row["n"], row["total"]) == topic.expected()["a"]
