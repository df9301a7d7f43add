"""A state or sink is taken out of a topology: it has every txid up to the one that is done, and the rest goes on."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.cli.advised import carry_out, commands_in
from tests.coordinators.fakes import ListJob, Topic, make_job
from tests.coordinators.test_bulk_lives import BulkLife
from tests.coordinators.test_decisions import APART, MIXED, SHORTCUT, Scene, dying_at
from tests.coordinators.test_outbox_lives import Life
from tests.coordinators.test_run import OPTIONS, run
from tests.state.memory_kafka import memory_sender
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import DecisionNeededError, FencedError, LeaseHeldError, MismatchError
from trident.base.timeouts import Timeouts
from trident.coordinators.decided import Decision, DecisionKind
from trident.coordinators.decisions.commands import drop_from_topology, reset_topology
from trident.coordinators.holding.run import RunnableTopology
from trident.coordinators.registered import Lease
from trident.state import SqliteState
from trident.state.kafka.bulk.folder import StagingFolder
from trident.state.kafka.target import KafkaTarget
from trident.state.layout import StateKind
from trident.state.maps.blobs import _SqlBlobs, open_blobs
from trident.state.target import LedgerDatabase

DROPPING = [
    CrashPoint.AFTER_LEASE,
    CrashPoint.AFTER_LOOKING,
    CrashPoint.AFTER_FENCE,
    CrashPoint.AFTER_READING_LEDGER,
    CrashPoint.AFTER_CHECKING,
    CrashPoint.AFTER_APPLY,
    CrashPoint.AFTER_DONE,
    CrashPoint.BEFORE_DROPPING,
    CrashPoint.AFTER_DROPPING,
]


def drop(scene: Scene, name: str = "totals", plan: RunnableTopology | None = None) -> Decision:
    plan = plan or scene.job().plan()
    return drop_from_topology(plan.spec, plan.targets, scene.ledger(), name, OPTIONS)


def drop_sink(life: Life) -> Decision:
    plan = life.plan()
    return drop_from_topology(plan.spec, plan.targets, life.ledger(), "alerts", OPTIONS)


def without(scene: Scene) -> ListJob:
    return make_job(scene.topic, scene.states()[0])


def with_another(scene: Scene) -> ListJob:
    return make_job(scene.topic, scene.states()[0], SqliteState("others", path=scene.folder / "others.sqlite"))


@pytest.fixture(params=[SHORTCUT, MIXED, APART], ids=["shortcut", "one beside, one apart", "apart"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Scene:
    made = Scene(tmp_path, request.param)
    made.mend()
    made.topic.partitions[0][12:] = []
    return made


def test_what_is_dropped_keeps_what_it_has_and_the_rest_goes_on(scene: Scene) -> None:
    before = scene.topic.expected()
    assert drop(scene) == Decision(DecisionKind.DROP, 2, 2, "totals")
    scene.topic.partitions[0] += [("a1", 7), ("new", 3)]
    for _ in range(2):
        run(without(scene), scene.ledger())
    assert (scene.rows("totals"), scene.rows("balances")) == (before, scene.topic.expected())


def test_another_is_born_in_its_place(scene: Scene) -> None:
    drop(scene)
    late = Topic([[("a1", 7), ("new", 3)]])
    scene.topic.partitions[0] += late.partitions[0]
    run(with_another(scene), scene.ledger())
    scene.apart |= {"others"}
    assert (scene.rows("others"), scene.rows("balances")) == (late.expected(), scene.topic.expected())


def test_the_command_that_a_version_without_it_names_takes_it_out(scene: Scene) -> None:
    with pytest.raises(MismatchError, match=r"'totals' is stored as .* and is gone") as refused:
        run(without(scene), scene.ledger())
    commands = commands_in(str(refused.value))
    assert commands == {"drop": ["drop", "MODULE:TOPOLOGY", "totals"]}
    assert carry_out(scene, scene.folder, commands["drop"], {}) == 0
    scene.topic.partitions[0] += [("a1", 7)]
    run(without(scene), scene.ledger())
    assert scene.rows("balances") == scene.topic.expected()


def test_what_is_pinned_is_finished_first(tmp_path: Path) -> None:
    scene = Scene(tmp_path, APART)
    scene.mend()
    with dying_at(CrashPoint.AFTER_PIN):
        scene.go_on()
    scene.sql("UPDATE trident_heartbeat SET released = 1")
    decision = drop(scene)
    assert decision.txid == scene.sql("SELECT MAX(txid) FROM trident_pin")[0][0]
    done = scene.rows("totals")
    assert done == scene.rows("balances") != Topic([scene.topic.partitions[0][:12]]).expected()
    run(without(scene), scene.ledger())
    assert (scene.rows("totals"), scene.rows("balances")) == (done, scene.topic.expected())


@pytest.mark.parametrize("point", DROPPING, ids=lambda point: point.name)
@pytest.mark.parametrize("places", [MIXED, APART], ids=["one beside, one apart", "apart"])
def test_a_drop_that_is_cut_off_anywhere_goes_on(places: frozenset[str], point: CrashPoint, tmp_path: Path) -> None:
    """Either the topology has it still, and the same command takes it out, or it has it no more."""
    scene = Scene(tmp_path, places)
    scene.mend()
    with dying_at(CrashPoint.AFTER_PIN):
        scene.go_on()
    scene.sql("UPDATE trident_heartbeat SET released = 1")
    with dying_at(point):
        drop(scene)
    scene.sql("UPDATE trident_heartbeat SET released = 1")
    if point is CrashPoint.AFTER_DROPPING:
        with pytest.raises(MismatchError, match="taken out before"):
            drop(scene)
    else:
        drop(scene)
    dropped = scene.rows("totals")
    assert dropped == scene.rows("balances")
    scene.topic.partitions[0] += [("a1", 7)]
    run(without(scene), scene.ledger())
    assert (scene.rows("totals"), scene.rows("balances")) == (dropped, scene.topic.expected())


def test_every_place_of_a_drop_is_one_where_it_is_cut_off(tmp_path: Path) -> None:
    scene = Scene(tmp_path, APART)
    scene.mend()
    with dying_at(CrashPoint.AFTER_PIN):
        scene.go_on()
    scene.sql("UPDATE trident_heartbeat SET released = 1")
    passed: set[CrashPoint] = set()
    with armed(lambda point, _: passed.add(point)):
        drop(scene)
    elsewhere = {CrashPoint.AFTER_PREPARATION, CrashPoint.IN_APPLY, CrashPoint.BEFORE_DONE}
    elsewhere |= {CrashPoint.BEFORE_RENEWAL, CrashPoint.AFTER_RENEWAL}
    assert passed - elsewhere == set(DROPPING)


def test_while_a_refusal_waits_nothing_is_dropped(tmp_path: Path) -> None:
    """A divert that is held for its attempt is waited for, too: the version that has the state takes it."""
    scene = Scene(tmp_path, SHORTCUT)
    scene.be_refused()
    for name in ("totals", "balances"):
        with pytest.raises(DecisionNeededError, match="trident divert"):
            drop(scene, name)
    scene.decide(DecisionKind.DIVERT, 3, "totals")
    with pytest.raises(MismatchError, match="waits for the next attempt"):
        drop(scene)
    scene.go_on()
    kept = scene.rows("totals")
    drop(scene)
    scene.topic.partitions[0] += [("a1", 7)]
    run(without(scene), scene.ledger())
    assert (scene.rows("totals"), scene.rows("balances")) == (kept, scene.topic.expected())


def test_only_what_the_ledger_has_is_dropped(scene: Scene) -> None:
    with pytest.raises(MismatchError, match=r"no state or sink 'others' in this version .* 'balances', 'totals'"):
        drop(scene, "others")
    with pytest.raises(MismatchError, match="has never run"):
        drop(scene, "others", with_another_added(scene).plan())
    drop(scene)
    with pytest.raises(MismatchError, match="taken out before"):
        drop(scene)
    run(without(scene), scene.ledger())
    assert scene.rows("balances") == scene.topic.expected()


def with_another_added(scene: Scene) -> ListJob:
    return make_job(scene.topic, *scene.states(), SqliteState("others", path=scene.folder / "others.sqlite"))


def test_a_topology_that_never_ran_is_not_begun_by_a_drop(tmp_path: Path) -> None:
    from trident.coordinators.ledger import SqliteLedger

    plan = make_job(Topic([[("a", 1)]]), SqliteState("balances")).plan()
    with pytest.raises(MismatchError, match="has never run"):
        drop_from_topology(plan.spec, plan.targets, SqliteLedger(tmp_path / "new.sqlite"), "balances", OPTIONS)


def test_while_a_coordinator_runs_nothing_is_dropped(scene: Scene) -> None:
    ledger = scene.ledger()
    ledger.open()
    ledger.acquire("payments", Lease("somebody", OPTIONS.lease))
    with pytest.raises(LeaseHeldError):
        drop(scene)


def test_the_version_that_has_it_takes_it_back_as_long_as_nothing_was_done_since(scene: Scene) -> None:
    drop(scene)
    scene.topic.partitions[0] += [("a1", 7)]
    scene.go_on()
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()


def test_what_was_dropped_comes_back_as_nothing_else(scene: Scene) -> None:
    """The start that is refused names the command; it is carried out, and the refused version is started again."""
    path = scene.file("totals") if "totals" in scene.apart else None
    totals = SqliteState("totals", path=path, kind=StateKind.TRANSACTIONAL)
    another = make_job(scene.topic, scene.states()[0], totals)
    with pytest.raises(
        MismatchError, match=r"trident drop MODULE:TOPOLOGY totals.*another name and a place of its own"
    ):
        run(another, scene.ledger())
    drop(scene)
    for _ in range(2):
        with pytest.raises(
            MismatchError, match=r"'totals': one of that name was taken out after txid 2.* another name"
        ):
            run(another, scene.ledger())
    scene.topic.partitions[0] += [("a1", 7)]
    scene.go_on()
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()


def test_what_was_dropped_does_not_come_back_while_a_txid_is_pinned_without_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path, APART)
    scene.mend()
    kept = scene.rows("totals")
    drop(scene)
    with dying_at(CrashPoint.AFTER_PIN):
        run(without(scene), scene.ledger())
    scene.sql("UPDATE trident_heartbeat SET released = 1")
    for _ in range(2):
        with pytest.raises(MismatchError, match=r"after txid 2, and txid 3 is pinned without it.*Start the version"):
            scene.go_on()
    run(without(scene), scene.ledger())
    assert (scene.rows("totals"), scene.rows("balances")) == (kept, scene.topic.expected())


def test_what_comes_back_is_still_missed_where_its_rows_are_gone(tmp_path: Path) -> None:
    """The reset that kept its rows is remembered: it has never been empty."""
    scene = Scene(tmp_path, APART)
    scene.mend()
    plan = scene.job().plan()
    reset_topology(plan.spec, plan.targets, scene.ledger(), keep_rows=True, start="resume", options=OPTIONS)
    drop(scene)
    scene.file("totals").rename(tmp_path / "kept")
    with pytest.raises(
        MismatchError, match=r"'totals' is gone: it was taken out .* Start the version without it"
    ) as gone:
        scene.go_on()
    assert "reset" not in str(gone.value)
    (tmp_path / "kept").rename(scene.file("totals"))
    scene.go_on()
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()


def test_a_table_that_was_deleted_after_a_drop_is_no_reason_to_reset(tmp_path: Path) -> None:
    scene = Scene(tmp_path, APART)
    scene.mend()
    drop(scene)
    with closing(sqlite3.connect(scene.file("totals"))) as connection:
        connection.execute("DROP TABLE totals")
    with pytest.raises(
        MismatchError, match=r"was taken out of the topology before: start the version without it"
    ) as gone:
        scene.go_on()
    assert "reset" not in str(gone.value)
    scene.topic.partitions[0] += [("a1", 7)]
    run(without(scene), scene.ledger())
    assert scene.rows("balances") == scene.topic.expected()


def test_a_position_that_nobody_has_recorded_the_drop_of_misses_no_pinned_txid(tmp_path: Path) -> None:
    scene = Scene(tmp_path, APART)
    scene.mend()
    drop(scene)
    scene.sql("UPDATE trident_topology SET spec = json_set(spec, '$.dropped', json('[]'))")
    with dying_at(CrashPoint.AFTER_PIN):
        run(without(scene), scene.ledger())
    scene.sql("UPDATE trident_heartbeat SET released = 1")
    with pytest.raises(MismatchError, match=r"one of that name was taken out .* another name"):
        scene.go_on()
    run(without(scene), scene.ledger())
    assert scene.rows("balances") == scene.topic.expected()


def test_the_same_name_does_not_begin_again_behind_a_gap(scene: Scene) -> None:
    before = scene.rows("totals")
    drop(scene)
    scene.topic.partitions[0] += [("a1", 7)]
    run(without(scene), scene.ledger())
    for _ in range(2):
        with pytest.raises(MismatchError, match=r"one of that name was taken out .* another name") as refused:
            scene.go_on()
        assert "reset" not in str(refused.value)
    assert scene.rows("totals") == before
    run(with_another(scene), scene.ledger())
    assert scene.rows("balances") == scene.topic.expected()


def test_a_sink_sends_all_that_waits_and_another_goes_on_behind_it(tmp_path: Path) -> None:
    """The old one's outbox holds a txid that was not sent when its coordinator died."""
    life = Life(tmp_path)
    life.come("a", "b")
    with dying_at(CrashPoint.BEFORE_RELAY):
        life.run()
    life.ask("UPDATE trident_heartbeat SET released = 1")
    assert life.sent() == []
    drop_sink(life)
    assert life.sent() == ["a", "b"]
    life.come("c")
    renamed = replace(life, sink="warnings")
    renamed.run()
    assert life.sent() == ["a", "b", "c"]


def test_what_waits_and_can_not_be_sent_keeps_the_sink(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.come("a")
    with dying_at(CrashPoint.BEFORE_RELAY):
        life.run()
    life.ask("UPDATE trident_heartbeat SET released = 1")
    life.kafka.logs["markers"] = [[] for _ in life.kafka.logs["markers"]]
    with pytest.raises(MismatchError, match="marker"):
        drop_sink(life)
    assert "alerts" in str(life.ask("SELECT spec FROM trident_topology"))


def test_txids_go_on_after_a_drop_and_who_decided_it_is_kept(scene: Scene) -> None:
    before = scene.sql("SELECT incarnation, done FROM trident_progress")
    decision = drop(scene)
    assert scene.sql("SELECT incarnation, done FROM trident_progress") == before
    told = scene.sql("SELECT kind, txid, state, decided_by FROM trident_decision WHERE finished_at IS NOT NULL")
    assert told == [("drop", 2, "totals", decision.decided_by)]


def test_a_sink_that_was_registered_and_never_born_is_dropped(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.come("a")
    with dying_at(CrashPoint.AFTER_REGISTRATION):
        life.run()
    life.ask("UPDATE trident_heartbeat SET released = 1")
    drop_sink(life)
    replace(life, sink="warnings").run()
    assert life.sent() == ["a"]


def test_a_name_that_was_dropped_is_not_taken_for_another_life_of_it_after_a_reset(tmp_path: Path) -> None:
    scene = Scene(tmp_path, APART)
    scene.mend()
    before = scene.rows("totals")
    drop(scene)
    run(without(scene), scene.ledger())
    plan = without(scene).plan()
    reset_topology(plan.spec, plan.targets, scene.ledger(), keep_rows=True, start="resume", options=OPTIONS)
    with pytest.raises(MismatchError, match=r"one of that name was taken out .* another name"):
        scene.go_on()
    run(without(scene), scene.ledger())
    assert (scene.rows("totals"), scene.rows("balances")) == (before, scene.topic.expected())


@dataclass
class Direct(Life):
    """Its sink sends before done, from rows that are staged beside the ledger."""

    def _open(self, database: LedgerDatabase, timeouts: Timeouts) -> KafkaTarget:
        return KafkaTarget(memory_sender(self.kafka, sink=self.sink), open_blobs(self.sink, database))


@pytest.mark.parametrize("kind", [Life, Direct, BulkLife])
def test_what_a_sink_has_staged_and_never_sent_goes_with_it(kind: type[Life], tmp_path: Path) -> None:
    life = kind(tmp_path)
    life.come("a")
    life.run()
    life.come("b")
    with dying_at(CrashPoint.AFTER_STAGING, 2 if kind is Direct else 1):
        life.run()
    life.ask("UPDATE trident_heartbeat SET released = 1")
    if kind is Direct:
        assert life.ask("SELECT txid FROM trident_staged_blob WHERE txid = 2")
    if kind is BulkLife:
        assert list(tmp_path.glob("staged/**/*02/*.parquet"))
    drop_sink(life)
    assert life.sent() == ["a"]
    assert life.ask(f"SELECT * FROM {'trident_staged_blob' if kind is Direct else 'trident_outbox'}") == []
    assert not list(tmp_path.glob("staged/**/*.parquet"))


def test_what_a_state_has_staged_and_never_applied_goes_with_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path, APART)
    scene.mend()
    with dying_at(CrashPoint.AFTER_STAGING, 2):
        scene.go_on()
    scene.sql("UPDATE trident_heartbeat SET released = 1")
    with closing(sqlite3.connect(scene.file("totals"))) as connection:
        assert connection.execute("SELECT * FROM trident_staging_totals").fetchall()
        drop(scene)
        assert connection.execute("SELECT * FROM trident_staging_totals").fetchall() == []
    run(without(scene), scene.ledger())
    assert scene.rows("balances") == scene.topic.expected()


def test_a_state_that_was_registered_and_never_born_is_dropped(tmp_path: Path) -> None:
    scene = Scene(tmp_path, APART)
    scene.mend()
    with dying_at(CrashPoint.AFTER_REGISTRATION):
        run(with_another_added(scene), scene.ledger())
    scene.sql("UPDATE trident_heartbeat SET released = 1")
    drop(scene, "others", with_another_added(scene).plan())
    scene.go_on()
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()
    scene.topic.partitions[0] += [("a1", 7)]
    run(with_another_added(scene), scene.ledger())
    scene.apart |= {"others"}
    assert scene.rows("others") == {"a1": (1, 7)}, "its name was never used"


@pytest.mark.parametrize(
    ("kind", "place", "point", "is_lost"),
    [
        (Direct, _SqlBlobs, CrashPoint.AFTER_PIN, False),
        (Direct, _SqlBlobs, CrashPoint.AFTER_PIN, True),
        (BulkLife, StagingFolder, CrashPoint.BEFORE_RELAY, False),
    ],
)
def test_a_drop_that_stood_still_deletes_nothing_that_its_successor_has_staged(
    kind: type[Life], place: type, point: CrashPoint, is_lost: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger that was lost meanwhile hands out attempts from 1 again."""
    life = kind(tmp_path)
    for word in "abc":
        life.come(word)
        life.run()
    delete: Callable[..., None] = getattr(place, "delete")  # noqa: B009 - of either

    def wake_up(*given: object, **named: object) -> None:
        monkeypatch.undo()
        if is_lost:
            empty(tmp_path / "ledger.sqlite")
            life.reset(keep=False, ledger_lost=True)
        else:
            life.ask("UPDATE trident_heartbeat SET released = 1")
        life.come("d")
        with dying_at(point):
            life.run()
        delete(*given, **named)

    monkeypatch.setattr(place, "delete", wake_up)
    with pytest.raises(FencedError):
        drop_sink(life)
    life.ask("UPDATE trident_heartbeat SET released = 1")
    life.run()
    assert life.sent() == ["a", "b", "c", *("abc" if is_lost else ""), "d"]


def empty(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            connection.execute(f'DROP TABLE "{name}"')
