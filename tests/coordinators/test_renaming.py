"""A state goes on under another name: its rows, where it stands and what the ledger keeps of it, whoever dies when."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.cli.advised import carry_out, commands_in
from tests.coordinators.fakes import ListJob, Topic, make_job
from tests.coordinators.other_columns import FIRST, GROWN, TURNED
from tests.coordinators.other_columns import version as columns_of
from tests.coordinators.test_decisions import APART, MIXED, SHORTCUT, Scene, dying_at
from tests.coordinators.test_run import OPTIONS, run
from tests.state.harnesses import DictMap
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import (
    ConfigurationError,
    DecisionNeededError,
    FencedError,
    LeaseHeldError,
    MismatchError,
)
from trident.base.identity import Epoch
from trident.base.levels import Level
from trident.coordinators.decided import Decision, DecisionKind
from trident.coordinators.decisions.commands import (
    decide_topology,
    drop_from_topology,
    rename_states,
    reset_topology,
)
from trident.coordinators.decisions.renaming import RenameProspect, agree_to_rename
from trident.coordinators.decisions.taking_back import agree_to_undo
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.holding.run import RunnableTopology, TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.coordinators.registered import Lease
from trident.state import BackingMapState, SqliteState, StateKind
from trident.state.layout import StateLayout
from trident.state.target import State

RENAMING = [
    CrashPoint.AFTER_LEASE,
    CrashPoint.AFTER_LOOKING,
    CrashPoint.AFTER_FENCE,
    CrashPoint.AFTER_READING_LEDGER,
    CrashPoint.AFTER_CHECKING,
    CrashPoint.AFTER_APPLY,
    CrashPoint.AFTER_DONE,
    CrashPoint.BEFORE_RENAMING,
    CrashPoint.AFTER_RENAMING,
    CrashPoint.AFTER_FOLLOWING,
]
BACK = {"sums": "totals"}


@dataclass
class Renamed(Scene):
    """The scene with versions whose second state has another name; its table stays."""

    table: str | None = "totals"
    kept: list[RenameProspect] = field(default_factory=list)

    def version(self, name: str = "sums", **options: object) -> ListJob:
        balances, totals = self.states()
        if name == "totals":
            return make_job(self.topic, balances, totals)
        path = self.file("totals") if "totals" in self.apart else None
        table = options.pop("table", self.table)
        renamed = SqliteState(name, path=path, table=table, **options)  # type: ignore[arg-type]
        return make_job(self.topic, balances, renamed)

    def rename(self, name: str = "sums", former: str = "totals", job: ListJob | None = None) -> Decision:
        plan = (job or self.version(name)).plan()
        return rename_states(plan.spec, plan.targets, self.ledger(), {former: name}, OPTIONS, self.kept.append)

    def go_on_as(self, name: str = "sums") -> None:
        run(self.version(name), self.ledger())

    def positions(self) -> set[str]:
        files = {self.file(name) for name in ("balances", "totals")}
        found = set()
        for file in files:
            found |= {str(row[0]) for row in Renamed.asked(file, "SELECT state FROM trident_applied")}
        return found

    @staticmethod
    def asked(file: Path, statement: str) -> list[tuple[object, ...]]:
        with sqlite3.connect(file) as connection:
            return connection.execute(statement).fetchall()

    def let_go(self) -> None:
        self.sql("UPDATE trident_heartbeat SET released = 1")

    def more(self) -> None:
        self.topic.partitions[0] += [("a1", 7), ("new", 3)]

    def require_whole(self) -> None:
        assert self.rows("balances") == self.rows("totals") == self.topic.expected()


@pytest.fixture(params=[SHORTCUT, MIXED, APART], ids=["shortcut", "one beside, one apart", "apart"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Renamed:
    return made(tmp_path, request.param)


def made(folder: Path, apart: frozenset[str]) -> Renamed:
    scene = Renamed(folder, apart)
    scene.mend()
    scene.topic.partitions[0][12:] = []
    return scene


def test_a_renamed_state_goes_on_from_where_it_stood(scene: Renamed) -> None:
    assert scene.rename() == Decision(DecisionKind.RENAME, 2, 2, "totals=sums")
    assert scene.positions() == {"balances", "sums"}
    scene.more()
    for _ in range(2):
        scene.go_on_as("sums")
    scene.require_whole()
    assert scene.kept == [RenameProspect((("totals", "sums"),), (("sums", "totals"),), 2, None)]


def test_the_command_that_the_refused_start_names_renames_it(scene: Renamed) -> None:
    with pytest.raises(MismatchError, match=r"'sums' is 'totals' by another name, rename it") as refused:
        scene.go_on_as("sums")
    words = commands_in(str(refused.value))["evolve"]
    assert words == ["evolve", "MODULE:TOPOLOGY", "--rename-state", "totals=sums"]
    before = scene.sql("SELECT spec FROM trident_topology")
    assert carry_out(Runs(scene, "sums"), scene.folder, words, {}) == 0
    assert scene.sql("SELECT spec FROM trident_topology") != before
    scene.more()
    scene.go_on_as("sums")
    scene.require_whole()


def test_the_advised_command_pairs_states_by_their_tables(scene: Renamed) -> None:
    """The version lists them in the other order, each with its very table."""
    job = with_both_renamed(scene)
    job = make_job(scene.topic, *reversed(job.states))
    with pytest.raises(MismatchError) as refused:
        run(job, scene.ledger())
    words = commands_in(str(refused.value))["evolve"]
    assert sorted(words[3::2]) == ["balances=new balances", "totals=new totals"]
    assert "table=" not in str(refused.value).partition("by another name")[2]


@dataclass
class Runs:
    """One version of the scene, as the command line finds it."""

    scene: Renamed
    name: str

    def job(self) -> ListJob:
        return self.scene.version(self.name)


def test_a_version_that_says_another_table_is_told_which_one_it_is(scene: Renamed) -> None:
    scene.table = None
    with pytest.raises(MismatchError, match=r"give 'sums' table='totals', where its rows stay, and then rename it"):
        scene.go_on_as("sums")
    with pytest.raises(MismatchError, match=r"its rows stay in table 'totals'.*give 'sums' table='totals'"):
        scene.rename()
    assert not scene.kept
    scene.table = "totals"
    scene.rename()
    scene.more()
    scene.go_on_as("sums")
    scene.require_whole()


def test_the_older_version_is_refused_by_name_and_goes_back_by_the_command_that_it_names(scene: Renamed) -> None:
    scene.rename()
    scene.more()
    scene.go_on_as("sums")
    for _ in range(2):
        with pytest.raises(
            MismatchError, match=r"'totals': that is the former name of state 'sums', .* renamed after txid 2"
        ) as refused:
            scene.go_on()
    words = commands_in(str(refused.value))["evolve"]
    assert words == ["evolve", "MODULE:TOPOLOGY", "--rename-state", "sums=totals"]
    assert carry_out(Runs(scene, "totals"), scene.folder, words, {}) == 0
    assert scene.positions() == {"balances", "totals"}
    scene.more()
    scene.go_on()
    scene.require_whole()
    with pytest.raises(MismatchError, match="'sums': that is the former name of state 'totals'"):
        scene.go_on_as("sums")
    scene.rename()
    scene.more()
    scene.go_on_as("sums")
    scene.require_whole()


def test_what_is_pinned_is_finished_under_the_former_name(tmp_path: Path) -> None:
    scene = made(tmp_path, APART)
    scene.more()
    with dying_at(CrashPoint.AFTER_PIN):
        scene.go_on()
    scene.let_go()
    assert scene.rename().txid == 3
    assert scene.kept[0].pinned == 3
    scene.require_whole()
    scene.more()
    scene.go_on_as("sums")
    scene.require_whole()


@pytest.mark.parametrize("point", RENAMING, ids=lambda point: point.name)
@pytest.mark.parametrize("places", [MIXED, APART], ids=["one beside, one apart", "apart"])
@pytest.mark.parametrize("then", ["again", "start", "back"])
@pytest.mark.drawn(one_in=3)
def test_a_rename_that_is_cut_off_anywhere_goes_on(
    places: frozenset[str], point: CrashPoint, then: str, tmp_path: Path
) -> None:
    """By the same command, by a start of whichever version the ledger knows, or by a rename back."""
    scene = made(tmp_path, places)
    scene.more()
    with dying_at(CrashPoint.AFTER_PIN):
        scene.go_on()
    scene.let_go()
    with dying_at(point):
        scene.rename()
    scene.let_go()
    is_recorded = point in (CrashPoint.AFTER_RENAMING, CrashPoint.AFTER_FOLLOWING)
    known, unknown = ("sums", "totals") if is_recorded else ("totals", "sums")
    scene.more()
    with pytest.raises(MismatchError, match=r"trident evolve MODULE:TOPOLOGY --rename-state"):
        scene.go_on_as(unknown)
    if then == "again":
        scene.rename()
        known = "sums"
    elif then == "back" and is_recorded:
        scene.rename("totals", "sums")
        known = "totals"
    scene.go_on_as(known)
    scene.require_whole()
    assert scene.positions() == {"balances", known}


def test_every_place_of_a_rename_is_one_where_it_is_cut_off(tmp_path: Path) -> None:
    scene = made(tmp_path, APART)
    scene.more()
    with dying_at(CrashPoint.AFTER_PIN):
        scene.go_on()
    scene.let_go()
    passed: set[CrashPoint] = set()
    with armed(lambda point, _: passed.add(point)):
        scene.rename()
    elsewhere = {CrashPoint.AFTER_PREPARATION, CrashPoint.IN_APPLY, CrashPoint.BEFORE_DONE}
    elsewhere |= {CrashPoint.BEFORE_RENEWAL, CrashPoint.AFTER_RENEWAL}
    assert passed - elsewhere == set(RENAMING)


def with_both_renamed(scene: Renamed) -> ListJob:
    files = {name: scene.file(name) if name in scene.apart else None for name in ("balances", "totals")}
    states = [SqliteState(f"new {name}", path=path, table=name) for name, path in files.items()]
    return make_job(scene.topic, *states)


@pytest.mark.parametrize("point", [None, CrashPoint.AFTER_RENAMING, CrashPoint.AFTER_FOLLOWING])
def test_two_states_are_renamed_by_one_decision(scene: Renamed, point: CrashPoint | None) -> None:
    """And where one has followed and the other one has not, the next start goes on."""
    plan = with_both_renamed(scene).plan()
    renames = {"balances": "new balances", "totals": "new totals"}
    with pytest.raises(MismatchError, match=r"--rename-state 'balances=new balances' --rename-state 'totals=new to"):
        run(with_both_renamed(scene), scene.ledger())
    with dying_at(point) if point is not None else nullcontext():
        rename_states(plan.spec, plan.targets, scene.ledger(), renames, OPTIONS)
    scene.let_go()
    scene.more()
    run(with_both_renamed(scene), scene.ledger())
    scene.require_whole()
    assert scene.positions() == {"new balances", "new totals"}
    told = scene.sql("SELECT kind, txid, state FROM trident_decision WHERE finished_at IS NOT NULL")
    assert told == [("rename", 2, "balances=new balances, totals=new totals")]


def test_a_reset_finds_a_state_that_has_not_followed(scene: Renamed) -> None:
    with dying_at(CrashPoint.AFTER_RENAMING):
        scene.rename()
    scene.let_go()
    plan = scene.version().plan()
    reset_topology(plan.spec, plan.targets, scene.ledger(), keep_rows=True, start="resume", options=OPTIONS)
    scene.more()
    scene.go_on_as("sums")
    scene.require_whole()
    assert scene.positions() == {"balances", "sums"}


def test_a_drop_finds_a_state_that_has_not_followed(scene: Renamed) -> None:
    with dying_at(CrashPoint.AFTER_RENAMING):
        scene.rename()
    scene.let_go()
    plan, kept = scene.version().plan(), scene.rows("totals")
    drop_from_topology(plan.spec, plan.targets, scene.ledger(), "sums", OPTIONS)
    scene.more()
    run(make_job(scene.topic, scene.states()[0]), scene.ledger())
    assert (scene.rows("totals"), scene.rows("balances")) == (kept, scene.topic.expected())
    for name in ("totals", "sums"):
        with pytest.raises(MismatchError, match=r"another name"):
            scene.go_on_as(name)


def test_the_last_done_txid_is_taken_back_under_the_new_name(tmp_path: Path) -> None:
    scene = made(tmp_path, APART)
    before = scene.rows("totals")
    scene.more()
    scene.go_on()
    scene.rename()
    job = scene.version()
    plan = job.plan()
    wanted = WantedDecision(DecisionKind.UNDO, 3)
    decide_topology(plan.spec, plan.targets, scene.ledger(), wanted, OPTIONS, plan.spouts, agree_to_undo)
    assert scene.rows("totals") == scene.rows("balances") == before
    scene.go_on_as("sums")
    scene.require_whole()


@pytest.mark.parametrize("name", ["totals", "sums", "back"])
def test_txids_are_taken_back_one_after_the_other_behind_a_rename(name: str, tmp_path: Path) -> None:
    scene, stood = made(tmp_path, APART), []
    for number in range(2):
        stood.append(scene.rows("totals"))
        scene.topic.partitions[0].append((f"x{number}", 7))
        scene.go_on()
    if name != "totals":
        scene.rename()
    if name == "back":
        scene.rename("totals", "sums")
    plan = scene.version("sums" if name == "sums" else "totals").plan()
    for txid in (4, 3):
        wanted = WantedDecision(DecisionKind.UNDO, txid)
        decide_topology(plan.spec, plan.targets, scene.ledger(), wanted, OPTIONS, plan.spouts, agree_to_undo)
        assert scene.rows("totals") == scene.rows("balances") == stood.pop()
    scene.go_on_as("sums" if name == "sums" else "totals")
    scene.require_whole()


def test_while_a_refusal_waits_or_a_divert_is_held_nothing_is_renamed(tmp_path: Path) -> None:
    scene = Renamed(tmp_path, SHORTCUT)
    scene.be_refused()
    with pytest.raises(DecisionNeededError, match="trident divert"):
        scene.rename()
    scene.decide(DecisionKind.DIVERT, 3, "totals")
    with pytest.raises(MismatchError, match="waits for the next attempt"):
        scene.rename()
    scene.go_on()
    kept = scene.rows("totals")
    scene.rename()
    scene.topic.partitions[0].append(("other", 1))
    scene.go_on_as("sums")
    assert scene.rows("totals") == {**kept, "other": (1, 1)}
    assert scene.rows("balances") == scene.topic.expected()


def test_while_a_coordinator_runs_nothing_is_renamed(scene: Renamed) -> None:
    ledger = scene.ledger()
    ledger.open()
    ledger.acquire("payments", Lease("somebody", OPTIONS.lease))
    with pytest.raises(LeaseHeldError):
        scene.rename()


def refused_cases(scene: Renamed) -> list[tuple[ListJob, dict[str, str], str]]:
    balances, totals = scene.states()
    path = scene.file("totals") if "totals" in scene.apart else None

    def job(*states: State) -> ListJob:
        return make_job(scene.topic, *states)

    def sums(name: str = "sums", **more: object) -> State:
        return SqliteState(name, **{"path": path, "table": "totals", **more})  # type: ignore[arg-type]

    return [
        (job(balances, sums()), {"totals": "others"}, "no state 'others'"),
        (
            job(balances, sums()),
            {"nothing": "sums"},
            r"knows no state of that name \(there are: 'balances'",
        ),
        (job(balances, totals, sums()), {"totals": "sums"}, "this version has 'totals' as well"),
        (job(balances, sums("BALANCES")), {"totals": "BALANCES"}, "the topology has 'balances'; give it another"),
        (job(balances, sums(kind=StateKind.TRANSACTIONAL)), {"totals": "sums"}, "another kind"),
        (job(sums()), {"totals": "sums"}, "'balances' is stored as .* and is gone"),
        (job(balances, totals), {"totals": "totals"}, "that is its name"),
        (job(sums()), {"totals": "sums", "balances": "sums"}, "more than once|can't have one name|table"),
        (job(balances, sums("bad:name")), {"totals": "bad:name"}, "a renamed state's name"),
    ]


@pytest.mark.parametrize("number", range(9))
def test_what_can_not_be_renamed_is_refused_by_name_and_changes_nothing(number: int, tmp_path: Path) -> None:
    scene = made(tmp_path, APART)
    job, renames, why = refused_cases(scene)[number]
    plan = job.plan()
    before = everything(scene)
    with pytest.raises((MismatchError, ConfigurationError), match=why):
        rename_states(plan.spec, plan.targets, scene.ledger(), renames, OPTIONS, scene.kept.append)
    assert (everything(scene), scene.kept) == (before, [])
    scene.more()
    scene.go_on()
    scene.require_whole()


def everything(scene: Renamed) -> list[object]:
    """Return all of ledger and states but who holds the lease."""
    found: list[object] = [scene.sql(f"SELECT * FROM {name}") for name in ("trident_topology", "trident_decision")]
    found.append(scene.sql("SELECT births FROM trident_incarnation"))
    found.append([Renamed.asked(scene.file(name), "SELECT * FROM trident_applied") for name in ("balances", "totals")])
    return found


def test_names_that_differ_in_case_only_are_two(scene: Renamed) -> None:
    scene.rename("Totals")
    scene.more()
    scene.go_on_as("Totals")
    scene.require_whole()
    assert scene.positions() == {"balances", "Totals"}
    scene.rename("totals", "Totals")
    scene.more()
    scene.go_on()
    scene.require_whole()


def test_a_person_who_says_no_has_changed_nothing(scene: Renamed) -> None:
    class No(Exception):
        pass

    def refuse(_: RenameProspect) -> None:
        raise No

    before, plan = everything(scene), scene.version().plan()
    with pytest.raises(No):
        rename_states(plan.spec, plan.targets, scene.ledger(), {"totals": "sums"}, OPTIONS, refuse)
    assert everything(scene) == before
    scene.go_on()


def test_a_topology_that_never_ran_is_not_begun_by_a_rename(tmp_path: Path) -> None:
    plan = make_job(Topic([[("a", 1)]]), SqliteState("balances")).plan()
    ledger = SqliteLedger(tmp_path / "new.sqlite")
    with pytest.raises(MismatchError, match="'payments'"):
        rename_states(plan.spec, plan.targets, ledger, {"sums": "balances"}, OPTIONS)


def test_a_name_that_stands_for_something_where_the_state_lives_is_refused(scene: Renamed) -> None:
    """Put there by another ledger of a topology of that name, whose rows would be nobody's then."""
    with sqlite3.connect(scene.file("totals")) as connection:
        connection.execute(
            "INSERT INTO trident_applied (topology, state, table_name, incarnation, epoch, token, txid, attempt, "
            "birth_txid) VALUES ('payments', 'sums', 'elsewhere', 'other', 1, 't', 9, 9, 0)"
        )
    before = everything(scene)
    with pytest.raises(MismatchError, match="something of topology 'payments' stands under that name already"):
        scene.rename()
    assert (everything(scene), scene.kept) == (before, [])
    scene.more()
    scene.go_on()
    scene.require_whole()


def test_a_state_does_not_follow_onto_a_name_that_stands_for_something(scene: Renamed) -> None:
    """It came behind the record of the rename: nothing moves until it is away."""
    with dying_at(CrashPoint.AFTER_RENAMING):
        scene.rename()
    scene.let_go()
    with sqlite3.connect(scene.file("totals")) as connection:
        connection.execute(
            "INSERT INTO trident_applied (topology, state, table_name, incarnation, epoch, token, txid, attempt, "
            "birth_txid) VALUES ('payments', 'sums', 'elsewhere', 'other', 1, 't', 9, 9, 0)"
        )
    for _ in range(2):
        with pytest.raises(MismatchError, match="stands under that name already"):
            scene.go_on_as("sums")
    assert scene.positions() == {"balances", "totals", "sums"}
    with sqlite3.connect(scene.file("totals")) as connection:
        connection.execute("DELETE FROM trident_applied WHERE table_name = 'elsewhere'")
    scene.more()
    scene.go_on_as("sums")
    scene.require_whole()


def test_maps_are_refused_by_name(tmp_path: Path) -> None:
    stored, topic = DictMap(), Topic([[("a", 1)]])

    def job(name: str) -> ListJob:
        return make_job(topic, BackingMapState(name, stored))

    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    run(job("counts"), ledger)
    with pytest.raises(MismatchError, match=r"'counts' is stored as .* and is gone") as refused:
        run(job("sums"), ledger)
    assert "evolve" not in str(refused.value), "a way that this store can't go"
    plan = job("sums").plan()
    with pytest.raises(ConfigurationError, match="state 'sums' can't be renamed: its store keeps"):
        rename_states(plan.spec, plan.targets, ledger, {"counts": "sums"}, OPTIONS)
    topic.partitions[0].append(("a", 2))
    run(job("counts"), ledger)


def test_what_has_no_txid_is_refused_by_name(tmp_path: Path) -> None:
    topic = Topic([[("a", 1)]])

    def job(name: str) -> ListJob:
        return make_job(topic, SqliteState(name, table="sums"), level=Level.AT_LEAST_ONCE)

    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    run(job("counts"), ledger)
    with pytest.raises(MismatchError) as refused:
        run(job("sums"), ledger)
    assert "rename" not in str(refused.value)
    plan = job("sums").plan()
    with pytest.raises(MismatchError, match="only a state of a topology at level exactly_once"):
        rename_states(plan.spec, plan.targets, ledger, {"counts": "sums"}, OPTIONS)
    run(job("counts"), ledger)


def test_a_former_name_is_used_up(scene: Renamed) -> None:
    scene.rename()
    others = SqliteState("totals", path=scene.folder / "others.sqlite", table="others")
    job = make_job(scene.topic, *scene.version().states, others)
    with pytest.raises(MismatchError, match=r"'totals': that is the former name .* Give what is new another name"):
        run(job, scene.ledger())
    plan = make_job(scene.topic, *scene.version("third").states).plan()
    rename_states(plan.spec, plan.targets, scene.ledger(), {"sums": "third"}, OPTIONS)
    for name in ("totals", "sums"):
        with pytest.raises(MismatchError, match=rf"{name!r}: that is the former name of state 'third'"):
            scene.go_on_as(name)
    scene.more()
    scene.go_on_as("third")
    scene.require_whole()
    scene.rename("totals", "third")
    scene.more()
    scene.go_on()
    scene.require_whole()


def test_other_changes_of_the_version_wait_for_its_first_start(scene: Renamed) -> None:
    """A new state beside the renamed one: the command neither makes nor records it."""
    fresh = SqliteState("fresh", path=scene.folder / "fresh.sqlite")
    job = make_job(scene.topic, *scene.version().states, fresh)
    scene.rename(job=job)
    assert "fresh" not in str(scene.sql("SELECT spec FROM trident_topology"))
    scene.go_on_as("sums")
    late = Topic([[("a1", 7), ("new", 3)]])
    scene.more()
    run(job, scene.ledger())
    scene.require_whole()
    scene.apart |= {"fresh"}
    assert scene.rows("fresh") == late.expected()


# -- who wakes up behind it, and what was restored


@pytest.mark.parametrize(
    ("places", "point"),
    [
        *((SHORTCUT, point) for point in (CrashPoint.AFTER_STAGING, CrashPoint.AFTER_ACK)),
        *((places, point) for places in (MIXED, APART) for point in (CrashPoint.AFTER_PIN, CrashPoint.BEFORE_PIN)),
    ],
)
def test_an_owner_that_wakes_up_behind_the_rename_is_fenced(
    places: frozenset[str], point: CrashPoint, tmp_path: Path
) -> None:
    """It stood still with a batch in its hands; the topology was renamed, and has gone on, meanwhile."""
    scene = made(tmp_path, places)
    scene.more()
    stood: list[str] = []

    def act(reached: CrashPoint, txid: int) -> None:
        if reached is point and not stood:
            stood.append("still")
            with armed(lambda *_: None):
                scene.let_go()
                scene.rename()
                scene.go_on_as("sums")

    with armed(act), pytest.raises((FencedError, MismatchError)):
        run(scene.version("totals"), scene.ledger())
    assert stood
    scene.require_whole()
    assert scene.positions() == {"balances", "sums"}
    scene.more()
    scene.go_on_as("sums")
    scene.require_whole()


@pytest.mark.parametrize("places", [SHORTCUT, APART], ids=["beside", "apart"])
def test_under_the_former_name_an_older_epoch_does_nothing(places: frozenset[str], tmp_path: Path) -> None:
    scene = made(tmp_path, places)
    ledger = scene.ledger()
    ledger.open()
    old = ledger.acquire("payments", Lease("old", OPTIONS.lease)).epoch
    plan = scene.version("totals").plan()
    store = plan.targets["totals"](ledger.database, OPTIONS.timeouts)
    owner = ledger.snapshot(old, "payments").owner
    store.prepare()
    store.raise_fence(owner, old)
    ledger.release("payments", old)
    scene.rename()
    before = everything(scene)
    for action in deeds(store, owner, old):
        with pytest.raises((FencedError, MismatchError)):
            action()
    assert everything(scene) == before
    scene.more()
    scene.go_on_as("sums")
    scene.require_whole()


def deeds(store: object, owner: object, epoch: Epoch) -> list[Callable[[], object]]:
    from trident.base.identity import BatchId
    from trident.state.staged import WrittenUpdates

    batch = BatchId(owner, epoch, 3, 3)  # type: ignore[arg-type]
    return [
        lambda: store.register(owner, epoch, 2),  # type: ignore[attr-defined]
        lambda: store.apply(batch, WrittenUpdates(())),  # type: ignore[attr-defined]
        lambda: store.forget_staging(owner, epoch),  # type: ignore[attr-defined]
        lambda: store.clean_up(owner, epoch, 2),  # type: ignore[attr-defined]
        lambda: store.capabilities.renaming.follow(owner, epoch, "sums"),  # type: ignore[attr-defined]
    ]


def test_a_rename_that_stood_still_does_not_undo_the_one_that_went_back(tmp_path: Path) -> None:
    """Its record is in, its state has not followed; a person has renamed back meanwhile, and the topology has run."""
    for places in (SHORTCUT, APART):
        folder = tmp_path / str(len(places))
        folder.mkdir()
        scene = made(folder, places)
        stood: list[str] = []

        def act(reached: CrashPoint, txid: int, scene: Renamed = scene, stood: list[str] = stood) -> None:
            if reached is CrashPoint.AFTER_RENAMING and not stood:
                stood.append("still")
                with armed(lambda *_: None):
                    scene.let_go()
                    scene.rename("totals", "sums")
                    scene.more()
                    scene.go_on()

        with armed(act), pytest.raises((FencedError, MismatchError)):
            scene.rename()
        scene.require_whole()
        assert scene.positions() == {"balances", "totals"}
        scene.more()
        scene.go_on()
        scene.require_whole()


def test_a_state_that_was_restored_to_just_before_the_rename_follows(tmp_path: Path) -> None:
    scene = made(tmp_path, APART)
    shutil.copy(scene.file("totals"), tmp_path / "backup")
    scene.rename()
    shutil.copy(tmp_path / "backup", scene.file("totals"))
    assert scene.positions() == {"balances", "totals"}
    scene.more()
    scene.go_on_as("sums")
    scene.require_whole()
    assert scene.positions() == {"balances", "sums"}


def test_a_state_that_was_restored_to_long_before_the_rename_is_refused_as_any_other(tmp_path: Path) -> None:
    scene = made(tmp_path, APART)
    shutil.copy(scene.file("totals"), tmp_path / "backup")
    scene.more()
    scene.go_on()
    scene.rename()
    shutil.copy(tmp_path / "backup", scene.file("totals"))
    for _ in range(2):
        with pytest.raises(MismatchError, match=r"state 'sums' stands at txid 2 attempt 2, but the ledger") as said:
            scene.go_on_as("sums")
    assert scene.positions() == {"balances", "totals"}
    assert carry_out(Runs(scene, "sums"), scene.folder, commands_in(str(said.value))["clear"], {}) == 0
    scene.go_on_as("sums")
    scene.require_whole()
    assert scene.positions() == {"balances", "sums"}


def test_a_state_that_was_restored_to_before_a_reset_and_a_rename_is_emptied_by_the_reset(tmp_path: Path) -> None:
    scene = made(tmp_path, APART)
    shutil.copy(scene.file("totals"), tmp_path / "backup")
    plan = scene.version("totals").plan()
    reset_topology(plan.spec, plan.targets, scene.ledger(), keep_rows=True, start="resume", options=OPTIONS)
    scene.go_on()
    scene.rename()
    shutil.copy(tmp_path / "backup", scene.file("totals"))
    with pytest.raises(MismatchError, match=r"belongs to incarnation") as said:
        scene.go_on_as("sums")
    assert carry_out(Runs(scene, "sums"), scene.folder, commands_in(str(said.value))["clear"], {}) == 0
    assert scene.positions() == {"balances", "sums"}
    scene.go_on_as("sums")
    scene.require_whole()


@pytest.mark.parametrize("apart", [True, False], ids=["apart", "beside"])
@pytest.mark.parametrize("layout", [GROWN, TURNED], ids=["grown", "turned"])
def test_columns_that_come_with_the_name_wait_for_the_start(layout: StateLayout, apart: bool, tmp_path: Path) -> None:
    ledger, topic = tmp_path / "ledger.sqlite", Topic([[("a", 1), ("b", 2)]])
    path = tmp_path / "apart.sqlite" if apart else None

    def job(name: str, layout: StateLayout) -> RunnableTopology:
        return columns_of(topic, SqliteState(name, path=path, table="sums"), layout)

    TopologyRun(job("sums", FIRST), SqliteLedger(ledger), OPTIONS).run()
    renamed = job("totals", layout)
    rename_states(renamed.spec, renamed.targets, SqliteLedger(ledger), {"sums": "totals"}, OPTIONS)
    columns = [str(row[1]) for row in Renamed.asked(path or ledger, "PRAGMA table_info(sums)")]
    assert "twice" not in columns
    topic.partitions[0].append(("a", 5))
    TopologyRun(job("totals", layout), SqliteLedger(ledger), OPTIONS).run()
    rows = Renamed.asked(path or ledger, "SELECT account, n, total FROM sums")
    assert {row[0]: row[1:] for row in rows} == topic.expected()


def restored_to_before_the_rename(folder: Path, places: frozenset[str]) -> Renamed:
    """The ledger knows the former name, a place of its own has the new one; what the ledger knew since is gone."""
    scene = made(folder, places)
    shutil.copy(folder / "ledger.sqlite", folder / "backup")
    scene.rename()
    scene.more()
    scene.go_on_as("sums")
    shutil.copy(folder / "ledger.sqlite", folder / "newer")
    shutil.copy(folder / "backup", folder / "ledger.sqlite")
    return scene


def test_a_ledger_that_was_restored_to_before_the_rename_is_refused_by_all_versions(tmp_path: Path) -> None:
    scene = restored_to_before_the_rename(tmp_path, APART)
    before = everything(scene)
    with pytest.raises(MismatchError, match=r"belongs to state 'sums' .* restored to a point before it was renamed"):
        scene.go_on()
    with pytest.raises(MismatchError, match="trident evolve"):
        scene.go_on_as("sums")
    with pytest.raises(MismatchError, match=r"belongs to state 'sums' .*already.*restore both to the same point"):
        scene.rename()
    with pytest.raises(MismatchError, match=r"belongs to state 'sums' .* restored to a point before it was renamed"):
        scene.rename("third")
    assert everything(scene) == before
    shutil.copy(tmp_path / "newer", tmp_path / "ledger.sqlite")
    scene.more()
    scene.go_on_as("sums")
    scene.require_whole()


@pytest.mark.parametrize("then", [None, "cut off"])
@pytest.mark.parametrize("places", [MIXED, APART], ids=["one beside, one apart", "apart"])
@pytest.mark.parametrize("told_by", ["totals", "sums", "evolve", "third"])
def test_the_way_out_of_a_ledger_that_was_restored_to_before_the_rename(
    told_by: str, places: frozenset[str], then: str | None, tmp_path: Path
) -> None:
    """Whoever is asked names it: the version with the former name resets, and the rename is given once more."""
    scene = restored_to_before_the_rename(tmp_path, places)
    words = told(scene, told_by)
    if then == "cut off":
        plan = scene.version("totals").plan()
        with dying_at(CrashPoint.AFTER_FOLLOWING):
            reset_topology(
                plan.spec,
                plan.targets,
                scene.ledger(),
                keep_rows=False,
                start="earliest",
                options=OPTIONS,
                ledger_lost=True,
            )
        scene.let_go()
    assert carry_out(Runs(scene, "totals"), scene.folder, words["lost clear"], {}) == 0
    assert scene.positions() == {"balances", "totals"}
    scene.go_on()
    scene.require_whole()
    with pytest.raises(MismatchError) as refused:
        scene.go_on_as("sums")
    assert carry_out(Runs(scene, "sums"), scene.folder, commands_in(str(refused.value))["evolve"], {}) == 0
    scene.more()
    scene.go_on_as("sums")
    scene.require_whole()
    assert scene.positions() == {"balances", "sums"}


def told(scene: Renamed, told_by: str) -> dict[str, list[str]]:
    """Return the commands that a refusal names, carried out up to the one that resets."""
    asks = {"evolve": scene.rename, "third": lambda: scene.rename("third")}
    with pytest.raises(MismatchError) as refused:
        asks.get(told_by, lambda: scene.go_on_as(told_by))()
    words = commands_in(str(refused.value))
    return told(scene, "evolve") if told_by == "sums" else words


def test_beside_a_lost_ledger_rows_are_kept_under_the_name_that_it_knows(tmp_path: Path) -> None:
    scene = restored_to_before_the_rename(tmp_path, APART)
    kept, plan = scene.rows("totals"), scene.version("totals").plan()
    for _ in range(2):
        reset_topology(
            plan.spec, plan.targets, scene.ledger(), keep_rows=True, start="earliest", options=OPTIONS, ledger_lost=True
        )
    assert scene.rows("totals") == kept
    assert scene.positions() == {"balances", "totals"}


def test_beside_a_lost_ledger_a_state_of_another_incarnation_goes_back_to_its_name(tmp_path: Path) -> None:
    """What the ledger knew since was a rename and a reset."""
    scene = restored_to_before_the_rename(tmp_path, APART)
    shutil.copy(tmp_path / "newer", tmp_path / "ledger.sqlite")
    plan = scene.version().plan()
    reset_topology(plan.spec, plan.targets, scene.ledger(), keep_rows=True, start="resume", options=OPTIONS)
    shutil.copy(tmp_path / "backup", tmp_path / "ledger.sqlite")
    words = told(scene, "totals")
    assert carry_out(Runs(scene, "totals"), scene.folder, words["lost clear"], {}) == 0
    assert scene.positions() == {"balances", "totals"}
    scene.go_on()
    scene.require_whole()


@pytest.mark.parametrize("bearer", ["taken out", "beside it"])
def test_a_name_that_the_ledger_or_the_version_knows_is_no_later_one(bearer: str, tmp_path: Path) -> None:
    """What another state holds is not given to this one by a ledger that was lost."""
    scene = made(tmp_path, APART)
    others = SqliteState("sums", path=tmp_path / "others.sqlite", table="others")
    job = make_job(scene.topic, *scene.states(), others)
    run(job, scene.ledger())
    if bearer == "taken out":
        plan = job.plan()
        drop_from_topology(plan.spec, plan.targets, scene.ledger(), "sums", OPTIONS)
        job = scene.version("totals")
    with sqlite3.connect(scene.file("totals")) as connection:
        connection.execute("UPDATE trident_applied SET state = 'sums'")
    plan, before = job.plan(), everything(scene)
    with pytest.raises(MismatchError, match="belongs to state 'sums'"):
        reset_topology(
            plan.spec,
            plan.targets,
            scene.ledger(),
            keep_rows=False,
            start="earliest",
            options=OPTIONS,
            ledger_lost=True,
        )
    assert everything(scene) == before


__all__ = ["Renamed", "agree_to_rename", "made"]
