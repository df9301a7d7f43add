"""The last done txid is undone: every state as if it had never been, whoever dies in between, and then all once."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.coordinators.fakes import POISON, ListJob, ListSource, ListSpout, Topic, make_job
from tests.coordinators.test_decisions import dying_at
from tests.coordinators.test_run import OPTIONS, Place, memory_place, run, sqlite_place
from tests.state.harnesses import ClearableMap
from trident.base.crash_points import CrashPoint, armed
from trident.base.errors import DecisionNeededError, MismatchError
from trident.coordinators.decided import Decision, DecisionKind
from trident.coordinators.decisions.commands import decide_topology, drop_from_topology
from trident.coordinators.decisions.taking_back import UndoProspect, agree_to_undo
from trident.coordinators.decisions.wanted import WantedDecision
from trident.spouts.base import BadRecord, Limits, SpoutKind
from trident.state import BackingMapState, StateKind
from trident.state.capabilities import CannotUndoError
from trident.state.target import State


@pytest.fixture(params=["memory", "beside", "one beside, one apart"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "memory":
        return memory_place()
    return sqlite_place(tmp_path, apart=request.param != "beside", beside="totals")


@dataclass
class Scene:
    """Two states, two txids that are done, and a third one with records of both partitions behind them."""

    place: Place
    options: dict[str, Any] = field(default_factory=lambda: {"limits": Limits(max_records=100)})
    topic: Topic = field(default_factory=lambda: Topic([[(f"a{n % 5}", n) for n in range(1, 13)], []], epoch=1))
    states: list[State] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.states = self.states or [self.place.state("balances"), self.place.state("totals")]
        self.come([("a1", 7)], [])
        self.come([("a2", 1), ("a2", 1)], [])
        self.before = self.rows()
        self.come([("a1", 5), ("new", 3)], [("a2", 4), ("far", 9)])
        assert self.rows() != self.before

    def come(self, *records: list[tuple[str, int]]) -> None:
        """Let records come, and be done in a txid of their own."""
        for partition, more in zip(self.topic.partitions, records, strict=True):
            partition.extend(more)
        self.go_on()

    def job(self, *states: State) -> ListJob:
        return make_job(self.topic, *(states or self.states), **self.options)

    def go_on(self) -> None:
        run(self.job(), self.place.ledger())

    def rows(self) -> list[dict[str, tuple[int, int]]]:
        return [self.place.rows(state.name) for state in self.states]

    @property
    def all(self) -> list[dict[str, tuple[int, int]]]:
        """Every record once, in both states."""
        return [self.topic.expected()] * 2

    def undo(self, txid: int = 3, agree: Any = agree_to_undo, job: ListJob | None = None) -> Decision:
        plan = (job or self.job()).plan()
        wanted = WantedDecision(DecisionKind.UNDO, txid)
        ledger = self.place.ledger()
        return decide_topology(plan.spec, plan.targets, ledger, wanted, OPTIONS, plan.spouts, agree)

    def refused(self, txid: int = 3, job: ListJob | None = None) -> str:
        """Return why an undo is refused; it has changed nothing, and the topology goes on."""
        rows, points = self.rows(), []
        with armed(lambda point, _: points.append(point)), pytest.raises((MismatchError, CannotUndoError)) as refused:
            self.undo(txid, job=job)
        assert CrashPoint.AFTER_DECIDING_UNDO not in points
        assert self.rows() == rows
        self.go_on()
        assert self.rows() == self.all
        return str(refused.value)


@pytest.fixture
def scene(place: Place) -> Scene:
    return Scene(place)


@pytest.mark.parametrize("kind", SpoutKind)
def test_every_state_is_as_if_the_txid_had_never_been_and_then_has_all_once(place: Place, kind: SpoutKind) -> None:
    scene = Scene(place, {"limits": Limits(max_records=100), "kind": kind})
    decision = scene.undo()
    assert (decision.kind, decision.txid, decision.attempt) == (DecisionKind.UNDO, 3, 3)
    assert scene.rows() == scene.before
    status = scene.place.ledger().view().status("payments")
    assert (status.done, status.pinned, status.decisions) == (2, None, ())
    scene.come([("a1", 2)], [("late", 8)])
    assert scene.rows() == scene.all
    story = scene.place.ledger().view().txid("payments", 3)
    assert [(row.kind, row.attempt, row.is_finished) for row in story.decisions] == [("undo", 3, True)]
    assert [row.status for row in story.attempts] == ["dropped", "done"]


def test_what_is_read_again_is_said_before_anything_is_changed(scene: Scene) -> None:
    heard: list[UndoProspect] = []

    def disagree(prospect: UndoProspect) -> None:
        heard.append(prospect)
        raise MismatchError("no")

    rows = scene.rows()
    with pytest.raises(MismatchError, match="no"):
        scene.undo(agree=disagree)
    assert scene.rows() == rows
    (prospect,) = heard
    assert [(item.range.id.partition, item.range.start, item.range.stop) for item in prospect.ranges] == [
        (0, 15, 17),
        (1, 0, 2),
    ]
    assert [item.records for item in prospect.ranges] == [2, 2]
    assert (prospect.records, prospect.keys) == ((("s", 4),), (("balances", 4), ("totals", 4)))
    scene.come([("a1", 2)], [])
    assert scene.rows() == scene.all


POINTS = (
    CrashPoint.AFTER_LOOKING,
    CrashPoint.AFTER_READING_LEDGER,
    CrashPoint.AFTER_CHECKING,
    CrashPoint.AFTER_DECIDING_UNDO,
    CrashPoint.AFTER_UNDOING_STATE,
    CrashPoint.AFTER_UNPINNING,
)


@pytest.mark.parametrize("again", ["run", "undo", "undo that dies, too"])
@pytest.mark.parametrize(("point", "count"), [*((point, 1) for point in POINTS), (CrashPoint.AFTER_UNDOING_STATE, 2)])
@pytest.mark.drawn(one_in=6)
def test_whoever_dies_in_it_another_finishes_it(scene: Scene, point: CrashPoint, count: int, again: str) -> None:
    _die(scene, point, count)
    is_decided = point not in POINTS[:3]
    if again == "undo that dies, too" and point is not CrashPoint.AFTER_UNPINNING:
        _die(scene, CrashPoint.AFTER_UNPINNING)
    elif again == "undo" and point is not CrashPoint.AFTER_UNPINNING:
        assert scene.undo().txid == 3
        assert scene.rows() == scene.before
        is_decided = True
    scene.go_on()
    assert scene.rows() == scene.all
    status = scene.place.ledger().view().status("payments")
    assert (status.done, status.pinned, status.decisions) == (3, None, ())
    if is_decided:
        assert scene.place.ledger().view().txid("payments", 3).attempts[-1].attempt > 3
    scene.come([("a1", 2)], [("late", 8)])
    assert scene.rows() == scene.all


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("count", [1, 2])
def test_a_death_in_the_transaction_of_a_state_undoes_nothing_of_it(tmp_path: Any, apart: bool, count: int) -> None:
    scene = Scene(sqlite_place(tmp_path, apart))
    _die(scene, CrashPoint.IN_UNDO, count)
    assert scene.rows()[-1] != scene.before[-1]
    assert scene.undo().txid == 3
    assert scene.rows() == scene.before
    scene.go_on()
    assert scene.rows() == scene.all


def test_what_was_undone_is_done_and_undone_again_and_what_is_before_it_stays(scene: Scene) -> None:
    scene.undo()
    assert "have lost what was before this txid, as it was undone before" in _refusal(scene, 2)
    scene.come([("a1", 1)], [])
    scene.undo()
    assert scene.rows() == scene.before
    assert "have lost what was before this txid, as it was undone before" in _refusal(scene, 2)
    scene.go_on()
    assert scene.rows() == scene.all


def test_rows_that_nothing_has_brought_back_are_gone_back_with_one_txid_more(tmp_path: Any) -> None:
    """A txid that made keys only leaves the one before it as it was: that one can be undone too, to the one before."""
    place = sqlite_place(tmp_path)
    scene = Scene.__new__(Scene)
    scene.place, scene.options, scene.states = place, {}, [place.state("balances"), place.state("totals")]
    scene.topic = Topic([[("a", 1)], []], epoch=1)
    scene.go_on()
    first = scene.rows()
    scene.come([("a", 2)], [])
    scene.come([("b", 3)], [])
    scene.undo(3)
    scene.undo(2)
    assert scene.rows() == first
    scene.go_on()
    assert scene.rows() == scene.all


@pytest.mark.parametrize("txid", [1, 2, 4])
def test_only_the_last_txid_is_undone(scene: Scene, txid: int) -> None:
    expected = "txid 3 is done" if txid < 3 else "nothing of it is pinned"
    assert expected in scene.refused(txid)


def test_what_the_source_has_no_more_is_not_undone(scene: Scene) -> None:
    scene.topic.earliest = {0: 16}
    rows = scene.rows()
    with pytest.raises(MismatchError, match="stream 's' can't read it again: its beginning is gone"):
        scene.undo()
    assert scene.rows() == rows
    scene.topic.earliest = {0: 15}
    scene.undo()
    assert scene.rows() == scene.before


def test_what_the_source_lets_go_of_while_a_person_is_asked_is_not_undone(scene: Scene) -> None:
    def think_long(_: UndoProspect) -> None:
        scene.topic.earliest = {0: 16}

    rows = scene.rows()
    with pytest.raises(MismatchError, match="stream 's' can't read it again: its beginning is gone"):
        scene.undo(agree=think_long)
    assert scene.rows() == rows
    assert scene.place.ledger().view().status("payments").done == 3
    scene.come([("a1", 2)], [("late", 8)])
    assert scene.rows() == scene.all


def test_dead_letters_keep_it_done_when_somebody_has_seen_to_them(tmp_path: Path) -> None:
    options = {"limits": Limits(max_records=100), "on_bad_record": BadRecord.DEAD_LETTER}
    scene = Scene(sqlite_place(tmp_path), options)
    scene.come([POISON, ("a1", 1)], [])
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        connection.execute("DELETE FROM trident_dead_letter")
    rows = scene.rows()
    with pytest.raises(MismatchError, match="it has 1 dead letters, which somebody may have read"):
        scene.undo(4)
    assert scene.rows() == rows


class ForgetfulSource:
    """A source that does not say whether it keeps its records."""

    def __init__(self, source: ListSource) -> None:
        self._source = source

    def __getattr__(self, name: str) -> Any:
        if name == "why_gone":
            raise AttributeError(name)
        return getattr(self._source, name)


class ForgetfulSpout(ListSpout):
    def open(self, name: str) -> Any:
        return ForgetfulSource(super().open(name))


def test_a_stream_that_does_not_say_that_it_keeps_its_records_is_refused(scene: Scene) -> None:
    job = scene.job()
    job = replace(job, spout=ForgetfulSpout(scene.topic, limits=Limits(max_records=100)))
    assert "only topics of Kafka that keep their records can" in scene.refused(job=job)


@pytest.mark.parametrize("kind", [StateKind.TRANSACTIONAL, StateKind.NON_TRANSACTIONAL])
def test_a_state_that_does_not_know_what_was_before_is_refused(place: Place, kind: StateKind) -> None:
    scene = Scene(place, states=[place.state("balances"), place.state("totals", kind=kind)])
    assert f"state 'totals' is {kind}: only an opaque one knows the values before" in scene.refused()


def test_a_map_is_refused(tmp_path: Any) -> None:
    place = memory_place()
    backing = BackingMapState("totals", ClearableMap())

    def rows(name: str) -> dict[str, tuple[int, int]]:
        return place.rows("balances")

    scene = Scene(replace(place, rows=rows), states=[place.state("balances"), backing])
    assert "state 'totals' is in a store that takes back only what is pinned" in scene.refused()


def test_a_version_that_has_never_run_undoes_nothing(scene: Scene) -> None:
    newer = scene.job(*scene.states, scene.place.state("more"))
    assert "adds something that has never run" in scene.refused(job=newer)


def test_the_first_txid_stays(place: Place) -> None:
    topic, states = Topic([[("a", 1)]], epoch=1), [place.state("balances")]
    job = make_job(topic, *states)
    run(job, place.ledger())
    plan, wanted = job.plan(), WantedDecision(DecisionKind.UNDO, 1)
    with pytest.raises(MismatchError, match="it is the first of its incarnation"):
        decide_topology(plan.spec, plan.targets, place.ledger(), wanted, OPTIONS, plan.spouts)
    assert place.rows("balances") == {"a": (1, 1)}


def test_a_state_that_was_taken_out_behind_it_keeps_it_done(place: Place) -> None:
    scene = Scene(place)
    plan = scene.job().plan()
    drop_from_topology(plan.spec, plan.targets, place.ledger(), "totals", OPTIONS)
    with pytest.raises(MismatchError, match="'totals' was taken out behind it"):
        scene.undo(job=scene.job(scene.states[0]))


def test_rows_that_somebody_has_changed_are_refused(tmp_path: Any) -> None:
    scene = Scene(sqlite_place(tmp_path))
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        connection.execute("UPDATE totals SET txid = 2 WHERE account = 'far'")
    rows = scene.rows()
    with pytest.raises(CannotUndoError, match="has 3 rows of this txid, 4 were applied"):
        scene.undo()
    assert scene.rows() == rows
    assert scene.place.ledger().view().status("payments").done == 3


def test_while_a_refusal_waits_it_stays_done(tmp_path: Any) -> None:
    scene = Scene(sqlite_place(tmp_path))
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        connection.execute(
            "CREATE TRIGGER small BEFORE INSERT ON totals WHEN NEW.account = 'big' BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
    with pytest.raises(DecisionNeededError):
        scene.come([("big", 1)], [])
    with pytest.raises(MismatchError, match="txid 4 was refused and waits for a person"):
        scene.undo()


def _die(scene: Scene, point: CrashPoint, count: int = 1) -> None:
    with dying_at(point, count):
        scene.undo()


def _refusal(scene: Scene, txid: int) -> str:
    rows = scene.rows()
    with pytest.raises(CannotUndoError) as refused:
        scene.undo(txid)
    assert scene.rows() == rows
    return str(refused.value)
