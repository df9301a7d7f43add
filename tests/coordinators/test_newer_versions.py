"""A newer version, one state more, that is refused has stored nothing: once the cause is mended the old one goes on."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn, cast

import pytest

from tests.coordinators.fakes import ListJob, ListSource, ListSpout, Topic, make_job
from tests.coordinators.test_decisions import APART, MIXED, SHORTCUT, Scene, dying_at
from tests.coordinators.test_run import OPTIONS, run
from trident.base.crash_points import CrashPoint
from trident.base.errors import ConfigurationError, DecisionNeededError, MismatchError
from trident.base.ranges import PartitionBounds
from trident.coordinators.decided import DecisionKind
from trident.coordinators.decisions.commands import decide_topology, reset_topology, retry_topology
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.holding.fencing import LedgerBehindError
from trident.coordinators.holding.run import RunnableTopology, TopologyRun
from trident.coordinators.holding.standing import ApartError
from trident.coordinators.ledger import MemoryLedger
from trident.engine import places
from trident.engine.compiled import CompiledTopology
from trident.language.topology import Topology
from trident.managing.resets import reset
from trident.state import SqliteState
from trident.state.tables.target import TableTarget

NOT_THE_VERSIONS = ("trident_fence", "trident_heartbeat", "trident_state_fence", "trident_state_schema")
EPOCHS = ("epoch", "token")


def held(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return every row of every database but leases and epochs; a table that is made may be there or not."""
    found = {}
    for file in sorted(folder.glob("*.sqlite")):
        with sqlite3.connect(file) as connection:
            for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
                kept = ", ".join(name for name in columns if name not in EPOCHS)
                rows = connection.execute(f"SELECT {kept} FROM {table}").fetchall()
                if rows and table not in NOT_THE_VERSIONS:
                    found[f"{file.name} {table}"] = sorted(rows, key=repr)
    return found


def newer(scene: Scene) -> ListJob:
    return make_job(scene.topic, *scene.states(), SqliteState("added", path=scene.folder / "added.sqlite"))


def start(scene: Scene) -> None:
    run(newer(scene), scene.ledger())


def adopt(scene: Scene) -> None:
    plan = newer(scene).plan()
    reset_topology(plan.spec, plan.targets, scene.ledger(), keep_rows=True, start="resume", options=OPTIONS)


def clear(scene: Scene) -> None:
    plan = newer(scene).plan()
    reset_topology(plan.spec, plan.targets, scene.ledger(), keep_rows=False, start=None, options=OPTIONS)


def divert(scene: Scene) -> None:
    plan = newer(scene).plan()
    decide_topology(plan.spec, plan.targets, scene.ledger(), WantedDecision(DecisionKind.DIVERT, 3, "totals"), OPTIONS)


@contextmanager
def dying(scene: Scene, point: CrashPoint) -> Iterator[None]:
    """Let what runs in the block die there, and its lease run out."""
    with dying_at(point):
        yield
    scene.sql("UPDATE trident_heartbeat SET released = 1")


def kept(file: Path) -> Path:
    return file.with_suffix(".kept")


def keep(scene: Scene, name: str) -> Path:
    file = scene.file(name) if name != "ledger" else scene.folder / "ledger.sqlite"
    shutil.copy(file, kept(file))
    return file


def put_back(name: str) -> Callable[[Scene], None]:
    def act(scene: Scene) -> None:
        file = scene.file(name) if name != "ledger" else scene.folder / "ledger.sqlite"
        shutil.copy(kept(file), file)

    return act


def go_on(scene: Scene) -> None:
    scene.mend()
    scene.go_on()


def retry(scene: Scene) -> None:
    scene.mend()
    retry_topology("payments", scene.ledger(), 3, OPTIONS)


def be_refused(scene: Scene) -> None:
    scene.be_refused()


def change_by_hand(scene: Scene) -> None:
    go_on(scene)
    with closing(sqlite3.connect(keep(scene, "totals"))) as connection, connection:
        connection.execute("DELETE FROM totals WHERE account = 'a1'")


def lose_a_state(scene: Scene) -> None:
    go_on(scene)
    keep(scene, "totals").unlink()


def put_the_ledger_back(scene: Scene) -> None:
    go_on(scene)
    file = scene.folder / "ledger.sqlite"
    older = shutil.copy(file, scene.folder / "older")
    for _ in range(2):
        scene.go_on()
    keep(scene, "ledger")
    shutil.copy(older, file)


def die_with_a_pin(scene: Scene) -> None:
    with dying(scene, CrashPoint.AFTER_PIN):
        scene.go_on()


def begin_an_undo_that_is_not_possible(scene: Scene) -> None:
    scene.be_refused()
    with dying(scene, CrashPoint.AFTER_DECIDING_UNDO):
        scene.decide(DecisionKind.UNDO)
    with closing(sqlite3.connect(keep(scene, "balances"))) as connection, connection:
        connection.execute("UPDATE balances SET txid = 2 WHERE account = 'big'")


@dataclass(frozen=True)
class Case:
    """What a newer version meets, and how a person mends it for the old one."""

    apart: frozenset[str]
    spoil: Callable[[Scene], None]
    act: Callable[[Scene], None]
    error: type[Exception]
    says: str
    mend: Callable[[Scene], None]


PINNED = "It is pinned: 'balances' has it, waiting for it: 'totals'"
CASES = {
    "a refusal waits": Case(SHORTCUT, be_refused, start, DecisionNeededError, "Nothing of it is pinned", retry),
    "a pinned refusal waits": Case(MIXED, be_refused, start, DecisionNeededError, PINNED, retry),
    "a pinned refusal waits, apart": Case(APART, be_refused, start, DecisionNeededError, PINNED, retry),
    "a pinned refusal waits, reset": Case(APART, be_refused, adopt, DecisionNeededError, PINNED, retry),
    "rows changed by hand": Case(
        MIXED, change_by_hand, start, MismatchError, "state 'totals' holds . rows, not the", put_back("totals")
    ),
    "a state lost": Case(MIXED, lose_a_state, start, ApartError, "state 'totals' is gone", put_back("totals")),
    "a state lost, reset": Case(MIXED, lose_a_state, adopt, ApartError, "state 'totals' is gone", put_back("totals")),
    "the ledger put back": Case(
        APART, put_the_ledger_back, start, LedgerBehindError, "knows a later epoch", put_back("ledger")
    ),
    "the ledger put back, reset": Case(
        APART, put_the_ledger_back, clear, LedgerBehindError, "knows a later epoch", put_back("ledger")
    ),
    "an undo that can't be carried out": Case(
        APART,
        begin_an_undo_that_is_not_possible,
        start,
        MismatchError,
        "undo of txid 3 was recorded and can't be finished: .* rows",
        put_back("balances"),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.drawn(one_in=2)
def test_a_newer_version_that_is_refused_has_stored_nothing(case: Case, tmp_path: Path) -> None:
    scene = Scene(tmp_path, case.apart)
    case.spoil(scene)
    before = held(tmp_path)
    with pytest.raises(case.error, match=case.says):
        case.act(scene)
    assert held(tmp_path) == before
    case.mend(scene)
    if case.spoil is begin_an_undo_that_is_not_possible:
        scene.mend()
    both_go_on(scene)


@pytest.mark.parametrize("act", [start, adopt])
def test_a_newer_version_under_which_a_pinned_txid_is_refused_is_not_stored(
    act: Callable[[Scene], None], tmp_path: Path
) -> None:
    """It finishes what is pinned before its state is born, and all that is recorded is the refusal."""
    scene = Scene(tmp_path, APART)
    die_with_a_pin(scene)
    before = held(tmp_path)
    with pytest.raises(DecisionNeededError, match="state 'totals'"):
        act(scene)
    after = held(tmp_path)
    assert {name for name in after if after[name] != before.get(name)} == {
        "ledger.sqlite trident_refusal",
        "balances.sqlite balances",
        "balances.sqlite trident_applied",
    }
    retry(scene)
    both_go_on(scene)


@pytest.mark.parametrize(("act", "step"), [(start, "position"), (adopt, "raise_fence"), (clear, "prepare")])
def test_a_newer_version_whose_state_is_refused_late_is_not_stored(
    act: Callable[[Scene], None], step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one has changed its table since it was looked at."""
    scene = Scene(tmp_path, MIXED)
    go_on(scene)
    before, real = held(tmp_path), getattr(TableTarget, step)

    def refuse(target: TableTarget, *arguments: object) -> object:
        if target.name == "added":
            raise MismatchError("another table")
        return real(target, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(TableTarget, step, refuse)
        with pytest.raises(MismatchError, match="another table"):
            act(scene)
    assert held(tmp_path) == before
    both_go_on(scene)


@pytest.mark.parametrize("asks", [1, 2], ids=["while it looks", "after it has looked"])
def test_a_newer_version_with_a_stream_that_can_not_start_is_not_stored(asks: int, tmp_path: Path) -> None:
    scene = Scene(tmp_path, MIXED)
    go_on(scene)
    before = held(tmp_path)
    with pytest.raises(ConfigurationError, match="no topic 'late'"):
        start_with_stream(scene, asks)
    assert held(tmp_path) == before
    both_go_on(scene)


@pytest.mark.parametrize("finishes", ["a start that is refused", "a divert", "a reset"])
def test_a_reset_of_the_old_version_that_a_newer_one_finishes_leaves_the_old_one_in_force(
    finishes: str, tmp_path: Path
) -> None:
    scene = Scene(tmp_path, MIXED)
    go_on(scene)
    plan = scene.job().plan()
    with dying(scene, CrashPoint.AFTER_RESETTING_STATE):
        reset_topology(plan.spec, plan.targets, scene.ledger(), keep_rows=False, start=None, options=OPTIONS)
    if finishes == "a reset":
        clear(scene)
    else:
        with pytest.raises((ConfigurationError, MismatchError), match=r"no topic 'late'|txid 3 is done"):
            start_with_stream(scene, 2) if finishes == "a start that is refused" else divert(scene)
    assert scene.sql("SELECT 1 FROM trident_reset WHERE finished_at IS NULL") == []
    assert "added" not in str(scene.sql("SELECT spec FROM trident_topology"))
    both_go_on(scene)


@pytest.mark.parametrize("point", [CrashPoint.AFTER_DECIDING_RESET, CrashPoint.AFTER_RESETTING_STATE])
@pytest.mark.parametrize("act", [adopt, clear])
def test_a_reset_of_a_newer_version_is_finished_by_a_decision_for_all_of_its_states(
    act: Callable[[Scene], None], point: CrashPoint, tmp_path: Path
) -> None:
    scene = Scene(tmp_path, MIXED)
    go_on(scene)
    if act is clear:
        leave_rows_in_added(scene)
    with dying(scene, point):
        act(scene)
    with pytest.raises(MismatchError, match="txid 3 is done"):
        divert(scene)
    assert scene.sql("SELECT 1 FROM trident_reset WHERE finished_at IS NULL") == []
    born = str(scene.sql("SELECT births FROM trident_incarnation WHERE status = 'open'"))
    assert all(f'{{"state":"{name}","txid":3,' in born for name in ("added", "balances", "totals"))
    scene.topic.partitions[0].append(("late", 1))
    start(scene)
    assert scene.rows("balances") == scene.rows("totals") == scene.topic.expected()
    assert rows_of_added(scene) == ({"late": (1, 1)} if act is adopt else scene.topic.expected())


@pytest.mark.parametrize("asks", [1, 2])
def test_what_a_version_itself_finds_wrong_leaves_the_one_before(asks: int, tmp_path: Path) -> None:
    """It is asked before a fence is raised, and again behind them, when what was away has answered."""
    scene = Scene(tmp_path, MIXED)
    go_on(scene)
    before = held(tmp_path)
    plan = replace(newer(scene).plan(), check=refusing(asks))
    with pytest.raises(ConfigurationError, match="no such topic"):
        TopologyRun(plan, scene.ledger(), OPTIONS).run()
    assert held(tmp_path) == before
    scene.go_on()
    start(scene)


@pytest.mark.parametrize("asks", [1, 2])
@pytest.mark.parametrize("keep_rows", [True, False])
def test_a_reset_by_a_version_that_could_not_start_leaves_the_one_before(
    keep_rows: bool, asks: int, tmp_path: Path
) -> None:
    """A wrong name that it had stored could neither be corrected nor taken out, and nobody could run."""
    scene = Scene(tmp_path, MIXED)
    go_on(scene)
    before = held(tmp_path)
    plan = newer(scene).plan()
    with pytest.raises(ConfigurationError, match="no such topic"):
        reset_topology(
            plan.spec,
            plan.targets,
            scene.ledger(),
            keep_rows=keep_rows,
            start="resume",
            options=OPTIONS,
            check=refusing(asks),
        )
    assert held(tmp_path) == before
    both_go_on(scene)


@pytest.mark.parametrize("keep_rows", [True, False])
@pytest.mark.parametrize("start", ["resume", "latest"])
def test_a_reset_by_a_version_whose_stream_can_not_start_leaves_the_one_before(
    start: str, keep_rows: bool, tmp_path: Path
) -> None:
    scene = Scene(tmp_path, MIXED)
    go_on(scene)
    before, plan = held(tmp_path), with_stream(scene, 1)
    with pytest.raises(ConfigurationError, match="no topic 'late'"):
        reset_topology(
            plan.spec,
            plan.targets,
            scene.ledger(),
            keep_rows=keep_rows,
            start=start,
            options=OPTIONS,
            spouts=plan.spouts,
        )
    assert held(tmp_path) == before
    both_go_on(scene)


@pytest.mark.parametrize("wrong", ["a place", "a stream"])
def test_a_reset_that_a_person_gives_is_held_to_places_and_streams(
    wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(tmp_path, MIXED)
    go_on(scene)
    before = held(tmp_path)
    plan = newer(scene).plan() if wrong == "a place" else with_stream(scene, 1)

    class Newer(Topology):
        def compile(self) -> CompiledTopology:
            compiled = SimpleNamespace(
                name=self.name, spec=lambda: plan.spec, targets=plan.targets, spouts=plan.spouts, ends=()
            )
            return cast(CompiledTopology, compiled)

    def refuse(*_: object) -> NoReturn:
        raise ConfigurationError("there is no topic 'late'")

    if wrong == "a place":
        monkeypatch.setattr(places, "check_places", refuse)
    with pytest.raises(ConfigurationError, match="no topic 'late'"):
        reset(Newer("payments"), scene.ledger(), states="clear", options=OPTIONS)
    assert held(tmp_path) == before
    both_go_on(scene)


def test_a_reset_by_the_version_that_is_stored_asks_no_stream_and_looks_at_no_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is wrong with it now, it has run: a reset may be the way out. So where the ledger was lost."""
    scene = Scene(tmp_path, MIXED)
    go_on(scene)
    plan = scene.job().plan()

    def refuse(*_: object) -> NoReturn:
        raise ConfigurationError("no such topic")

    monkeypatch.setattr(ListSpout, "open", refuse)
    for lost in (False, True):
        if lost:
            (tmp_path / "ledger.sqlite").unlink()
        reset_topology(
            plan.spec,
            plan.targets,
            scene.ledger(),
            keep_rows=False,
            start=None,
            options=OPTIONS,
            ledger_lost=lost,
            spouts=plan.spouts,
            check=refuse,
        )
    monkeypatch.undo()
    scene.go_on()
    assert scene.rows("balances") == scene.topic.expected()


def refusing(asks: int) -> Callable[[], None]:
    """Return a check that finds something wrong when it is asked for the so manieth time, and then only."""
    asked: list[int] = []

    def refuse() -> None:
        asked.append(1)
        if len(asked) == asks:
            raise ConfigurationError("no such topic")

    return refuse


def both_go_on(scene: Scene) -> None:
    """Let the old version go on, then the newer one, whose state holds what comes from then on."""
    assert "added" not in str(scene.sql("SELECT spec FROM trident_topology"))
    scene.topic.partitions[0].append(("a1", 1))
    scene.go_on()
    assert scene.rows("balances") == scene.rows("totals") == scene.topic.expected()
    scene.topic.partitions[0].append(("last", 1))
    start(scene)
    assert scene.rows("balances") == scene.rows("totals") == scene.topic.expected()
    assert rows_of_added(scene) == {"last": (1, 1)}


def leave_rows_in_added(scene: Scene) -> None:
    """Fill the new state's table by another topology, of which nothing else is left."""
    job = make_job(Topic([[("stranger", 1)]]), SqliteState("added", path=scene.folder / "added.sqlite"))
    run(job, MemoryLedger())
    with closing(sqlite3.connect(scene.folder / "added.sqlite")) as connection, connection:
        connection.execute("DELETE FROM trident_applied")
        connection.execute("DELETE FROM trident_state_fence")


def rows_of_added(scene: Scene) -> dict[str, tuple[int, int]]:
    with sqlite3.connect(scene.folder / "added.sqlite") as connection:
        return {row[0]: (row[1], row[2]) for row in connection.execute("SELECT account, n, total FROM added")}


def start_with_stream(scene: Scene, asks: int) -> None:
    """Start a newer version with a stream more, whose topic is gone when it is asked for the so manieth time."""
    TopologyRun(with_stream(scene, asks), scene.ledger(), OPTIONS).run()


def with_stream(scene: Scene, asks: int) -> RunnableTopology:
    """Return the newer version with such a stream."""
    plan: RunnableTopology = newer(scene).plan()
    late = _LateSpout(scene.topic, asks=asks)
    spec = replace(plan.spec, spouts={**plan.spec.spouts, "late": late.description()})
    return replace(plan, spec=spec, spouts={**plan.spouts, "late": late})


@dataclass(frozen=True)
class _LateSource(ListSource):
    left: list[int] = field(default_factory=list)

    def starts(self, policy: object = None) -> tuple[PartitionBounds, ...]:
        self.left.pop()
        if not self.left:
            raise ConfigurationError("there is no topic 'late'; correct the name")
        return super().starts(policy)


@dataclass(frozen=True)
class _LateSpout(ListSpout):
    asks: int = 1

    def open(self, name: str) -> ListSource:
        return _LateSource(self.topic, name, [0] * self.asks)
