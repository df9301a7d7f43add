"""Diverted rows are put back into their state, once, whoever dies where."""

from __future__ import annotations

import json
import sqlite3

import pytest

from tests.coordinators.test_decisions import APART, LIMIT, MIXED, SHORTCUT, Scene, dying_at
from tests.coordinators.test_run import OPTIONS
from trident.base.crash_points import CrashPoint
from trident.base.errors import FatalError, MismatchError, RefusedError
from trident.coordinators.decided import Decision, DecisionKind, RowsOf
from trident.coordinators.decisions.commands import reapply_rows, reset_topology
from trident.coordinators.decisions.reapplying import ReapplyProspect, agree_to_reapply

PLACES = pytest.mark.parametrize("places", [SHORTCUT, MIXED, APART], ids=["shortcut", "mixed", "apart"])


def reapply(scene: Scene, txid: int = 3, state: str = "totals", heard: list[ReapplyProspect] | None = None) -> Decision:
    plan = scene.job().plan()
    agree = agree_to_reapply if heard is None else heard.append
    return reapply_rows(plan.spec, plan.targets, scene.ledger(), RowsOf(txid, state), OPTIONS, agree)


def diverted(scene: Scene, kind: DecisionKind = DecisionKind.DIVERT_REFUSED) -> Scene:
    """Return a scene in which a row was taken out of txid 3, and what refused it is mended."""
    scene.be_refused()
    scene.decide(kind, state="totals")
    scene.topic.partitions[0] += [("a1", 1), ("new", 1)]
    scene.go_on()
    assert scene.rows("totals") != scene.topic.expected()
    scene.mend()
    return scene


def is_exact(scene: Scene) -> bool:
    expected = scene.topic.expected()
    return scene.rows("balances") == scene.rows("totals") == expected


def goes_on_exactly(scene: Scene) -> None:
    """Rows are back once, nothing is left to do, and later batches find every key as it should be."""
    assert is_exact(scene)
    with pytest.raises(MismatchError, match=r"txid \d+ has put these rows back, and nothing is left to do. Nothing"):
        reapply(scene)
    scene.topic.partitions[0] += [("big", 1), ("a1", 1), ("later", 1)]
    scene.go_on()
    assert is_exact(scene)
    assert scene.sql("SELECT count(*) FROM trident_decision WHERE finished_at IS NULL") == [(0,)]
    assert scene.sql("SELECT count(*) FROM trident_decision WHERE kind = 'reapply' AND NOT void") == [(1,)]


@PLACES
@pytest.mark.parametrize("kind", [DecisionKind.DIVERT, DecisionKind.DIVERT_REFUSED])
def test_rows_are_put_back_once_by_a_txid_that_reads_nothing(tmp_path, places, kind):
    scene = diverted(Scene(tmp_path, places), kind)
    done = scene.ledger().view().status("payments").done
    heard: list[ReapplyProspect] = []
    decision = reapply(scene, heard=heard)
    count = 1 if kind is DecisionKind.DIVERT_REFUSED else 3
    assert heard == [ReapplyProspect(3, "totals", "totals", count)]
    assert (decision.kind, decision.txid, decision.state) == (DecisionKind.REAPPLY, done + 1, "3 of totals")
    assert "reapply of txid 3 of totals as txid" in str(decision)
    story = scene.ledger().view().txid("payments", decision.txid)
    assert [row.kind for row in story.decisions] == ["reapply"]
    assert scene.sql(f"SELECT records FROM trident_commit WHERE txid = {decision.txid}") == [(0,)]
    assert len(scene.ledger().diverted("payments")[0][1].rows) == count
    goes_on_exactly(scene)


def test_the_log_names_what_puts_the_rows_back(tmp_path, caplog):
    scene = diverted(Scene(tmp_path, SHORTCUT))
    assert "trident reapply MODULE:TOPOLOGY 3 --state totals puts it back, once, when the cause is" in caplog.text
    reapply(scene)
    assert is_exact(scene)


BEFORE_PIN = [
    CrashPoint.AFTER_LOOKING,
    CrashPoint.AFTER_FENCE,
    CrashPoint.AFTER_READING_LEDGER,
    CrashPoint.AFTER_CHECKING,
    CrashPoint.BEFORE_PLAN,
    CrashPoint.AFTER_PLAN,
    CrashPoint.AFTER_STAGING,
    CrashPoint.IN_TURN,
    CrashPoint.IN_PIN_TRANSACTION,
]
BEHIND_PIN = [CrashPoint.AFTER_PIN, CrashPoint.IN_APPLY, CrashPoint.AFTER_APPLY, CrashPoint.BEFORE_DONE]
BORDERS = [
    *((places, point, False) for places in (SHORTCUT, MIXED, APART) for point in BEFORE_PIN),
    *((places, point, True) for places in (MIXED, APART) for point in BEHIND_PIN),
    *((places, CrashPoint.AFTER_DONE, True) for places in (SHORTCUT, MIXED, APART)),
]


@pytest.mark.parametrize(("places", "point", "is_recorded"), BORDERS)
@pytest.mark.parametrize("then", ["again", "start"])
@pytest.mark.drawn(one_in=4)
def test_whoever_dies_rows_are_back_once(tmp_path, places, point, is_recorded, then):
    if point is CrashPoint.IN_PIN_TRANSACTION and places == APART:
        pytest.skip("no state takes part in it")
    scene = diverted(Scene(tmp_path, places))
    missing = scene.rows("totals")
    with dying_at(point):
        reapply(scene)
    marks = scene.sql("SELECT count(*) FROM trident_decision WHERE kind = 'reapply'")
    assert marks == [(int(is_recorded),)]
    if not is_recorded:
        assert scene.rows("totals") == missing
    if then == "start":
        scene.topic.partitions[0].append(("a2", 5))
        scene.go_on()
        assert is_exact(scene) is is_recorded
    if not is_recorded:
        reapply(scene)
    elif then == "again" and point is not CrashPoint.AFTER_DONE:
        assert reapply(scene).kind is DecisionKind.REAPPLY  # it finishes what is pinned
    goes_on_exactly(scene)


@PLACES
def test_what_is_refused_again_changes_nothing_and_the_topology_goes_on(tmp_path, places):
    scene = Scene(tmp_path, places)
    scene.be_refused()
    scene.decide(DecisionKind.DIVERT_REFUSED, state="totals")
    scene.go_on()
    plans = scene.sql("SELECT txid, attempt, status FROM trident_plan ORDER BY attempt")
    with pytest.raises(RefusedError, match=r"refuses the rows of txid 3 still: .*every one of its 1 keys is refused"):
        reapply(scene)
    assert scene.sql("SELECT txid, attempt, status FROM trident_plan ORDER BY attempt") == plans
    assert scene.sql("SELECT count(*) FROM trident_refusal WHERE settled_at IS NULL") == [(0,)]
    scene.topic.partitions[0] += [("a1", 1)]
    scene.go_on()
    scene.mend()
    reapply(scene)
    goes_on_exactly(scene)


@PLACES
def test_what_is_refused_only_when_it_is_pinned_is_like_any_refusal_of_its_place(tmp_path, places, monkeypatch):
    """It fitted when it was tried; beside the ledger the plan is dropped, elsewhere the txid is pinned and refused."""
    scene = Scene(tmp_path, places)
    scene.be_refused()
    scene.decide(DecisionKind.DIVERT_REFUSED, state="totals")
    scene.go_on()
    monkeypatch.setattr("trident.coordinators.decisions.reapplying._try", lambda *_: None)
    with pytest.raises(FatalError, match="refuse"):
        reapply(scene)
    monkeypatch.undo()
    if places is SHORTCUT:
        assert scene.sql("SELECT count(*) FROM trident_plan WHERE status = 'live'") == [(0,)]
        assert scene.sql("SELECT count(*) FROM trident_decision WHERE kind = 'reapply'") == [(0,)]
        scene.topic.partitions[0] += [("a1", 1)]
        scene.go_on()
        scene.mend()
        reapply(scene)
    else:
        scene.be_refused()
        scene.decide(DecisionKind.UNDO, txid=4)
        assert scene.sql("SELECT void FROM trident_decision WHERE kind = 'reapply'") == [(1,)]
        scene.mend()
        scene.topic.partitions[0] += [("a1", 1)]
        scene.go_on()
        reapply(scene)
    goes_on_exactly(scene)


def test_a_pinned_txid_that_puts_rows_back_is_undone_and_they_may_be_put_back_again(tmp_path):
    scene = diverted(Scene(tmp_path, APART))
    missing = scene.rows("totals")
    with dying_at(CrashPoint.AFTER_APPLY):
        reapply(scene)
    txid = scene.sql("SELECT pinned FROM trident_progress")[0][0]
    assert isinstance(txid, int)
    scene.decide(DecisionKind.UNDO, txid=txid)
    assert scene.rows("totals") == missing
    reapply(scene)
    goes_on_exactly(scene)


@pytest.mark.parametrize("places", [MIXED, APART], ids=["mixed", "apart"])
def test_while_its_txid_is_pinned_a_version_that_does_not_know_it_stops(tmp_path, places):
    """It reads each decision that is open, as it always did, and knows no such kind."""
    scene = diverted(Scene(tmp_path, places))
    with dying_at(CrashPoint.AFTER_PIN):
        reapply(scene)
    open_ones = "SELECT kind FROM trident_decision, trident_progress WHERE finished_at IS NULL AND txid > done"
    assert scene.sql(open_ones) == [("reapply",)]
    scene.go_on()
    assert scene.sql(open_ones) == []
    goes_on_exactly(scene)


@PLACES
def test_one_that_is_done_is_not_undone(tmp_path, places):
    scene = diverted(Scene(tmp_path, places))
    decision = reapply(scene)
    with pytest.raises(MismatchError, match=r"nothing of it is pinned|is done"):
        scene.decide(DecisionKind.UNDO, txid=decision.txid)
    goes_on_exactly(scene)


def test_rows_that_were_diverted_from_what_put_them_back_are_put_back(tmp_path, monkeypatch):
    """They are rows of that txid then."""
    scene = Scene(tmp_path, APART)
    scene.be_refused()
    scene.decide(DecisionKind.DIVERT_REFUSED, state="totals")
    scene.go_on()
    monkeypatch.setattr("trident.coordinators.decisions.reapplying._try", lambda *_: None)
    with pytest.raises(FatalError, match="refuse"):
        reapply(scene)
    monkeypatch.undo()
    scene.decide(DecisionKind.DIVERT, txid=4, state="totals")
    scene.go_on()
    scene.mend()
    with pytest.raises(MismatchError, match="txid 4 has put these rows back"):
        reapply(scene)
    assert reapply(scene, txid=4).txid == 5
    assert is_exact(scene)


def test_what_there_is_nothing_of_is_refused_by_name(tmp_path):
    scene = diverted(Scene(tmp_path, SHORTCUT))
    for txid, state, why in (
        (2, "totals", "none were taken out"),
        (3, "balances", "none were taken out"),
        (3, "nobody", "there is no such state, there are: 'balances', 'totals'"),
    ):
        with pytest.raises(MismatchError, match=rf"rows of txid {txid} can't be put back.*{why}.*Nothing was changed"):
            reapply(scene, txid, state)
    reapply(scene)
    goes_on_exactly(scene)


def test_while_something_waits_for_a_person_nothing_is_put_back(tmp_path):
    scene = diverted(Scene(tmp_path, SHORTCUT))
    with sqlite3.connect(scene.file("totals")) as connection:
        connection.execute(
            f"CREATE TRIGGER small BEFORE INSERT ON totals WHEN NEW.account = 'big' AND NEW.total > {LIMIT} "
            "BEGIN SELECT RAISE(ABORT, 'too much'); END"
        )
    scene.topic.partitions[0] += [("big", LIMIT + 2)]
    scene.be_refused()
    with pytest.raises(MismatchError, match=r"txid 5 was refused and waits for a person: decide about it first"):
        reapply(scene)
    scene.decide(DecisionKind.DIVERT_REFUSED, txid=5, state="totals")
    with pytest.raises(MismatchError, match=r"was decided and waits for the next attempt: start the topology"):
        reapply(scene)
    scene.go_on()
    scene.mend()
    reapply(scene)
    reapply(scene, txid=5)
    assert is_exact(scene)


def test_rows_of_before_a_reset_stay_where_they_are(tmp_path):
    scene = diverted(Scene(tmp_path, SHORTCUT))
    plan = scene.job().plan()
    reset_topology(plan.spec, plan.targets, scene.ledger(), keep_rows=False, start=None, options=OPTIONS)
    with pytest.raises(MismatchError, match="before the topology was reset"):
        reapply(scene)
    scene.go_on()
    assert is_exact(scene)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"account": "big", "n": 1, "total": None}, "'total', which may stand for a sum"),
        ({"account": "big", "n": 1, "total": "1"}, "'total'"),
        ({"account": "big", "n": 1, "total": 2**63}, "'total'"),
        ({"account": "big", "n": 1, "total": 1, "more": 1}, "'more', which the state does not have"),
        ({"n": 1, "total": 1}, "no column 'account'"),
        ([], "no JSON object"),
    ],
)
def test_a_row_that_the_columns_do_not_hold_is_refused_by_its_column(tmp_path, row, why):
    scene = diverted(Scene(tmp_path, SHORTCUT))
    before = scene.rows("totals")
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        connection.execute("UPDATE trident_diverted SET staged_row = ?", (json.dumps(row),))
    with pytest.raises(MismatchError, match=rf"{why}.*Nothing was changed"):
        reapply(scene)
    assert scene.rows("totals") == before


def test_a_column_that_came_since_has_nothing_of_them(tmp_path):
    scene = diverted(Scene(tmp_path, SHORTCUT))
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        connection.execute("UPDATE trident_diverted SET staged_row = ?", (json.dumps({"account": "big", "n": 1}),))
    reapply(scene)
    with sqlite3.connect(scene.file("totals")) as connection:
        assert connection.execute("SELECT n, total FROM totals WHERE account = 'big'").fetchall() == [(1, None)]
