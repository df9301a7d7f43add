"""A divert takes the rows that a state refuses, and no others; once, whoever dies where."""

from __future__ import annotations

import json
import logging
import sqlite3

import pyarrow as pa
import pytest

from tests.coordinators.fakes import LAYOUT, Topic, make_job
from tests.coordinators.test_decisions import APART, BIG, LIMIT, MIXED, SHORTCUT, Scene, dying_at, without_txid
from tests.coordinators.test_run import OPTIONS, run
from tests.state.harnesses import ConditionalMap
from trident.base.crash_points import CrashPoint
from trident.base.errors import DecisionNeededError, MismatchError
from trident.base.timeouts import DEFAULT_TIMEOUTS
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult, StagingRefusedError
from trident.coordinators.decided import Decision, DecisionKind
from trident.coordinators.decisions.commands import decide_topology, retry_topology
from trident.coordinators.decisions.wanted import WantedDecision
from trident.coordinators.ledger import MemoryLedger
from trident.spouts.base import SpoutKind
from trident.state import BackingMapState, MemoryState, StateKind
from trident.state.capabilities import CannotUndoError
from trident.state.staged import HeldUpdates

PLACES = pytest.mark.parametrize("places", [SHORTCUT, MIXED, APART], ids=["shortcut", "mixed", "apart"])
ALL_REFUSED = "CREATE TRIGGER no_{name} BEFORE {what} ON totals BEGIN SELECT RAISE(ABORT, 'no'); END"
POSITION = (
    "CREATE TRIGGER still BEFORE UPDATE ON trident_applied WHEN NEW.state = 'totals' AND NEW.txid > OLD.txid "
    "BEGIN SELECT RAISE(ABORT, 'no'); END"
)


def divert(scene: Scene) -> Decision:
    return scene.decide(DecisionKind.DIVERT_REFUSED, state="totals")


def in_totals(scene: Scene, *statements: str) -> None:
    with sqlite3.connect(scene.file("totals")) as connection:
        for statement in statements:
            connection.execute(statement)


def diverted(scene: Scene) -> dict[str, tuple[int, int]]:
    found = scene.ledger().diverted("payments")
    rows = [json.loads(row) for _, item in found for row in item.rows]
    assert len({row["account"] for row in rows}) == len(rows), "a row is kept twice"
    return {row["account"]: (row["n"], row["total"]) for row in rows}


def all_but_big(scene: Scene) -> dict[str, tuple[int, int]]:
    return {account: sums for account, sums in scene.topic.expected().items() if account != "big"}


def goes_on_exactly(scene: Scene) -> None:
    """Later batches find every key as it should be, that of the refused row too."""
    scene.topic.partitions[0] += [("a1", 1), ("new", 1), ("later", 1)]
    scene.go_on()
    assert scene.rows("balances") == scene.topic.expected()
    assert scene.rows("totals") == all_but_big(scene)
    assert diverted(scene) == {"big": (1, LIMIT + 1)}
    assert scene.sql("SELECT count(*) FROM trident_decision WHERE finished_at IS NULL") == [(0,)]


@PLACES
@pytest.mark.parametrize("kind", [StateKind.OPAQUE, StateKind.TRANSACTIONAL, StateKind.NON_TRANSACTIONAL])
def test_one_bad_key_leaves_and_all_others_stay(tmp_path, places, kind):
    scene = Scene(tmp_path, places, kinds=(kind, kind))
    scene.be_refused()
    decision = divert(scene)
    assert (decision.kind, decision.state) == (DecisionKind.DIVERT_REFUSED, "totals")
    goes_on_exactly(scene)


@PLACES
def test_the_refusal_says_how_many_keys_and_of_which_records(tmp_path, places):
    scene = Scene(tmp_path, places)
    said = str(scene.be_refused())
    reason = str(scene.sql("SELECT reason FROM trident_refusal")[0][0])
    for text in (said, reason, str(scene.be_refused())):
        assert "1 of its 3 keys is refused, the others fit" in text
        assert "12 to 14 of partition 0 of 't'" in text
        assert str(LIMIT + 1) not in text
    refusal = scene.ledger().view().status("payments").refusal
    assert refusal is not None
    assert refusal.reason == reason


BORDERS = {
    SHORTCUT: [
        CrashPoint.AFTER_DECIDING_DIVERT,
        CrashPoint.AFTER_PLAN,
        CrashPoint.AFTER_PROCESSING,
        CrashPoint.AFTER_STAGING,
        CrashPoint.IN_TURN,
        CrashPoint.IN_PIN_TRANSACTION,
        CrashPoint.AFTER_DONE,
    ],
    MIXED: [CrashPoint.AFTER_STAGING_KEPT, CrashPoint.AFTER_DIVERTING, CrashPoint.IN_APPLY, CrashPoint.BEFORE_DONE],
    APART: [CrashPoint.AFTER_STAGING_KEPT, CrashPoint.AFTER_DIVERTING, CrashPoint.IN_APPLY, CrashPoint.AFTER_DONE],
}
DECIDING = {CrashPoint.AFTER_DECIDING_DIVERT, CrashPoint.AFTER_STAGING_KEPT, CrashPoint.AFTER_DIVERTING}


@pytest.mark.parametrize(("places", "point"), [(places, each) for places, points in BORDERS.items() for each in points])
@pytest.mark.parametrize("kind", [SpoutKind.OPAQUE, SpoutKind.TRANSACTIONAL])
@pytest.mark.drawn(one_in=4)
def test_whoever_dies_the_row_leaves_once_and_the_others_are_in_once(tmp_path, places, point, kind):
    scene = Scene(tmp_path, places)
    with pytest.raises(DecisionNeededError):
        run(scene.job(kind=kind), scene.ledger())
    if point in DECIDING:
        with dying_at(point):
            divert(scene)
        if point is CrashPoint.AFTER_STAGING_KEPT:
            assert diverted(scene) == {}
            assert scene.sql("SELECT count(*) FROM trident_decision") == [(0,)]
            divert(scene)
    else:
        divert(scene)
        with dying_at(point):
            run(scene.job(kind=kind), scene.ledger())
    goes_on_exactly(scene)


@pytest.mark.parametrize("point", [CrashPoint.AFTER_DECIDING_DIVERT, CrashPoint.AFTER_STAGING_KEPT])
def test_the_same_command_after_a_death_is_the_same_decision(tmp_path, point):
    scene = Scene(tmp_path, SHORTCUT if point is CrashPoint.AFTER_DECIDING_DIVERT else MIXED)
    scene.be_refused()
    with dying_at(point):
        divert(scene)
    assert divert(scene).kind is DecisionKind.DIVERT_REFUSED
    assert scene.sql("SELECT count(*) FROM trident_decision") == [(1,)]
    goes_on_exactly(scene)


@PLACES
def test_where_every_row_is_refused_all_leave_and_that_is_said(tmp_path, places, caplog):
    scene = Scene(tmp_path, places)
    in_totals(scene, *(ALL_REFUSED.format(name=what, what=what) for what in ("insert", "update")))
    assert "every one of its 3 keys is refused" in str(scene.be_refused())
    divert(scene)
    scene.go_on()
    assert "every one of its 3 keys is refused; so all" in caplog.text
    assert scene.rows("totals") == without_txid(scene.topic, 12)
    assert diverted(scene) == {"a1": (1, 7), "big": (1, LIMIT + 1), "new": (1, 3)}


@PLACES
def test_what_is_refused_only_together_leaves_as_a_whole(tmp_path, places, caplog):
    """Two new accounts at once are one too many, whichever it is."""
    scene = Scene(tmp_path, places)
    scene.mend()
    count = len(scene.rows("totals"))
    in_totals(
        scene,
        f"CREATE TRIGGER few BEFORE INSERT ON totals WHEN (SELECT count(*) FROM totals) > {count} "
        "BEGIN SELECT RAISE(ABORT, 'no'); END",
    )
    assert "they are refused together" in str(scene.be_refused())
    divert(scene)
    scene.go_on()
    assert "they are refused together; so all" in caplog.text
    assert scene.rows("totals") == without_txid(scene.topic, 12)
    assert diverted(scene).keys() == {"a1", "big", "new"}


@PLACES
def test_what_no_row_is_the_cause_of_takes_none_out(tmp_path, places):
    scene = Scene(tmp_path, places)
    scene.mend()
    in_totals(scene, POSITION)
    assert "none of them is the cause" in str(scene.be_refused())
    if places is SHORTCUT:
        divert(scene)
        scene.be_refused()
    else:
        with pytest.raises(MismatchError, match=r"none of them is the cause.*trident retry payments 3"):
            divert(scene)
        assert scene.sql("SELECT count(*) FROM trident_decision") == [(0,)]
    assert diverted(scene) == {}
    in_totals(scene, "DROP TRIGGER still")
    retry_topology("payments", scene.ledger(), 3, OPTIONS)
    scene.go_on()
    assert scene.rows("balances") == scene.rows("totals") == scene.topic.expected()


@PLACES
def test_what_was_mended_meanwhile_is_taken_whole(tmp_path, places):
    scene = Scene(tmp_path, places)
    scene.be_refused()
    if places is SHORTCUT:
        divert(scene)
        scene.mend()
        scene.go_on()
        assert scene.sql("SELECT count(*) FROM trident_decision WHERE finished_at IS NULL") == [(0,)]
    else:
        scene.mend()
        with pytest.raises(MismatchError, match=r"takes every row of it now.*trident retry payments 3"):
            divert(scene)
        retry_topology("payments", scene.ledger(), 3, OPTIONS)
        scene.go_on()
    assert scene.rows("balances") == scene.rows("totals") == scene.topic.expected()
    assert diverted(scene) == {}


@pytest.mark.parametrize("places", [MIXED, APART], ids=["mixed", "apart"])
def test_what_is_left_may_be_refused_too_and_leaves_behind_the_first(tmp_path, places):
    scene = Scene(tmp_path, places)
    scene.be_refused()
    divert(scene)
    in_totals(
        scene,
        "CREATE TRIGGER news BEFORE INSERT ON totals WHEN NEW.account = 'new' BEGIN SELECT RAISE(ABORT, 'no'); END",
    )
    assert "1 of its 2 keys is refused" in str(scene.be_refused())
    divert(scene)
    scene.go_on()
    assert diverted(scene) == {"big": (1, LIMIT + 1), "new": (1, 3)}
    assert scene.sql("SELECT number FROM trident_diverted ORDER BY number") == [(1,), (2,)]
    left = {account: sums for account, sums in all_but_big(scene).items() if account != "new"}
    assert scene.rows("totals") == left


def test_what_is_left_can_leave_as_a_whole(tmp_path):
    scene = Scene(tmp_path, MIXED)
    scene.be_refused()
    divert(scene)
    in_totals(scene, *(ALL_REFUSED.format(name=what, what=what) for what in ("insert", "update")))
    scene.be_refused()
    assert scene.decide(DecisionKind.DIVERT, state="totals").kind is DecisionKind.DIVERT
    scene.go_on()
    assert scene.rows("totals") == without_txid(scene.topic, 12)
    assert diverted(scene).keys() == {"a1", "big", "new"}


def test_a_txid_can_be_undone_after_some_rows_have_left(tmp_path):
    scene = Scene(tmp_path, APART)
    scene.be_refused()
    divert(scene)
    with dying_at(CrashPoint.BEFORE_DONE):
        scene.go_on()
    assert scene.rows("totals") == all_but_big(scene)
    scene.decide(DecisionKind.UNDO)
    assert scene.rows("balances") == scene.rows("totals") == without_txid(scene.topic, 12)
    assert diverted(scene) == {}
    scene.mend()
    scene.go_on()
    assert scene.rows("balances") == scene.rows("totals") == scene.topic.expected()


@pytest.mark.parametrize("places", [SHORTCUT, MIXED], ids=["shortcut", "mixed"])
def test_what_is_done_without_some_rows_stays_done(tmp_path, places):
    """Somebody may have read what was taken out."""
    scene = Scene(tmp_path, places)
    scene.be_refused()
    divert(scene)
    scene.go_on()
    with pytest.raises((MismatchError, CannotUndoError), match="were diverted"):
        scene.decide(DecisionKind.UNDO)


def test_other_records_make_it_void(tmp_path):
    """As any held divert: nobody has looked at these."""
    scene = Scene(tmp_path, SHORTCUT)
    scene.be_refused()
    divert(scene)
    scene.topic.earliest[0] = 13
    with pytest.raises(Exception, match="offsets"):
        scene.go_on()
    assert diverted(scene) == {}


def test_a_state_that_refuses_what_tasks_make_leaves_as_a_whole(tmp_path, caplog):
    """What can't be made as it is to be stored can't be told apart; a value that is left out is never stored."""
    scene, strict = Scene(tmp_path, SHORTCUT), []

    def overflow(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        strict.append((request.diverts, request.sifted))
        if request.batch.txid == 3 and "totals" not in request.diverts:
            raise StagingRefusedError("totals", "a sum of column 'total' is out of its range")
        held = result.updates["totals"]
        assert isinstance(held, HeldUpdates)
        rows = held.rows.set_column(2, "total", pa.nulls(3, pa.int64()))
        return (
            ProcessResult(result.manifests, result.bad_records, {**result.updates, "totals": HeldUpdates(rows)})
            if request.batch.txid == 3
            else result
        )

    job = scene.job(meddle=overflow)
    with pytest.raises(DecisionNeededError):
        run(job, scene.ledger())
    divert(scene)
    run(job, scene.ledger())
    assert strict[-2:] == [((), ("totals",)), (("totals",), ())]
    assert scene.rows("balances") == scene.topic.expected()
    assert scene.rows("totals") == without_txid(scene.topic, 12)
    assert diverted(scene).keys() == {"a1", "big", "new"}


def test_what_does_not_fit_into_a_column_is_told_apart_before_it_is_staged(tmp_path):
    """A text that no table holds, in a state with a file of its own: nothing is pinned then."""
    topic = Topic([[("a", 1), ("b", 2)]])
    scene = Scene(tmp_path, APART)
    scene.topic.partitions[0][-2] = ("b\0ig", 1)
    said = str(scene.be_refused())
    assert "1 of its 3 keys is refused" in said
    assert "Nothing of it is pinned" in str(scene.be_refused())
    (state,) = scene.sql("SELECT state FROM trident_refusal")[0]
    scene.decide(DecisionKind.DIVERT_REFUSED, state=str(state))
    other = {"balances": "totals", "totals": "balances"}[str(state)]
    scene.be_refused()
    scene.decide(DecisionKind.DIVERT_REFUSED, state=other)
    scene.go_on()
    left = {account: sums for account, sums in scene.topic.expected().items() if account != "b\0ig"}
    assert scene.rows("balances") == scene.rows("totals") == left
    assert {state for _, state in ((txid, item.state) for txid, item in scene.ledger().diverted("payments"))} == {
        "balances",
        "totals",
    }
    assert topic


def test_a_state_over_a_map_leaves_as_a_whole(tmp_path):
    """It can't be asked: what it is given once it has."""
    ledger = MemoryLedger()
    store = BackingMapState("totals", ConditionalMap()).open(LAYOUT, ledger.database, DEFAULT_TIMEOUTS)
    assert store.capabilities.sifting is None


def test_memory_tells_it_apart_too():
    topic, ledger = Topic([[("a", 2**62)]]), MemoryLedger()
    job = make_job(topic, MemoryState("balances"), MemoryState("totals"))
    run(job, ledger)
    topic.partitions[0] += [("a", 2**62), ("b", 1)]
    with pytest.raises(DecisionNeededError, match="1 of its 2 keys is refused"):
        run(job, ledger)
    plan = job.plan()
    for state in ("balances", "totals"):
        decide_topology(plan.spec, plan.targets, ledger, WantedDecision(DecisionKind.DIVERT_REFUSED, 2, state), OPTIONS)
        if state == "balances":
            with pytest.raises(DecisionNeededError, match="1 of its 2 keys is refused"):
                run(job, ledger)
    run(job, ledger)
    for txid, item in ledger.diverted("payments"):
        assert (txid, [json.loads(row)["account"] for row in item.rows]) == (2, ["a"])
    assert len(ledger.diverted("payments")) == 2


def test_a_held_divert_of_all_is_no_divert_of_some(tmp_path):
    """What an older version has recorded is carried out as it was decided."""
    scene = Scene(tmp_path, SHORTCUT)
    scene.be_refused()
    scene.decide(DecisionKind.DIVERT, state="totals")
    scene.go_on()
    assert diverted(scene).keys() == {"a1", "big", "new"}


def test_rows_of_another_state_that_come_first_are_there(tmp_path):
    """A trigger of `totals` looks at `balances`: alone, every new account would be refused."""
    scene = Scene(tmp_path, SHORTCUT)
    in_totals(
        scene,
        "CREATE TRIGGER known BEFORE INSERT ON totals WHEN NOT EXISTS "
        "(SELECT 1 FROM balances WHERE account = NEW.account) BEGIN SELECT RAISE(ABORT, 'unknown'); END",
    )
    assert "1 of its 3 keys is refused" in str(scene.be_refused())
    divert(scene)
    goes_on_exactly(scene)


def test_a_refusal_of_many_is_counted_up_to_a_bound(tmp_path, caplog):
    caplog.set_level(logging.DEBUG, "trident")
    scene = Scene(tmp_path, SHORTCUT)
    scene.topic.partitions[0] += [(f"big{n}", LIMIT + 1) for n in range(7)]
    in_totals(
        scene,
        f"CREATE TRIGGER bigs BEFORE INSERT ON totals WHEN NEW.total > {LIMIT} BEGIN SELECT RAISE(ABORT, 'no'); END",
    )
    assert "8 of its 10 keys are refused, the others fit" in str(scene.be_refused())
    divert(scene)
    scene.go_on()
    assert len(diverted(scene)) == 8
    assert {BIG[0]} <= diverted(scene).keys()


def test_two_states_that_refuse_are_decided_one_after_the_other(tmp_path):
    """What is held for the one stays held while the other waits, whichever comes first in the transaction."""
    scene = Scene(tmp_path, SHORTCUT)
    scene.mend()
    late = "CREATE TRIGGER late BEFORE INSERT ON {} WHEN NEW.account = '{}' BEGIN SELECT RAISE(ABORT, 'no'); END"
    in_totals(scene, late.format("totals", "big"))
    assert "state 'totals' refused" in str(scene.be_refused())
    divert(scene)
    in_totals(scene, late.replace("TRIGGER late", "TRIGGER early").format("balances", "new"))
    assert "state 'balances' refused" in str(scene.be_refused())
    assert scene.decide(DecisionKind.DIVERT_REFUSED, state="balances").state == "balances"
    scene.go_on()
    left = {account: sums for account, sums in scene.topic.expected().items() if account != "new"}
    assert scene.rows("balances") == left
    assert scene.rows("totals") == all_but_big(scene)
    kept = {
        (item.state, json.loads(row)["account"]) for _, item in scene.ledger().diverted("payments") for row in item.rows
    }
    assert kept == {("balances", "new"), ("totals", "big")}
