"""A held divert of what is refused never stands in the way: what can't be carried out gives way to all rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.coordinators.test_decisions import APART, BIG, MIXED, SHORTCUT, Scene, dying_at, without_txid
from tests.coordinators.test_diverting_refused import divert, diverted, in_totals
from tests.coordinators.test_run import OPTIONS, run
from trident.base.crash_points import CrashPoint
from trident.base.errors import DecisionNeededError, MismatchError
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult, StagingRefusedError
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.decided import DecisionKind

PLACES = pytest.mark.parametrize("places", [SHORTCUT, MIXED, APART], ids=["shortcut", "mixed", "apart"])
ENDS_ALL = "CREATE TRIGGER e BEFORE INSERT ON totals WHEN NEW.account = 'big' BEGIN SELECT RAISE(ROLLBACK, 'no'); END"


def all_leave(scene: Scene) -> None:
    assert scene.rows("balances") == scene.topic.expected()
    assert scene.rows("totals") == without_txid(scene.topic, 12)
    assert diverted(scene).keys() == {"a1", "big", "new"}


@PLACES
def test_a_refusal_that_ends_the_whole_transaction_is_not_told_apart(tmp_path, places, caplog):
    """SQLite's RAISE(ROLLBACK): no savepoint is left, so nothing can be tried any more."""
    scene = Scene(tmp_path, places)
    scene.mend()
    in_totals(scene, ENDS_ALL)
    assert "which of its 3 keys are refused can't be told" in str(scene.be_refused())
    divert(scene)
    scene.go_on()
    assert "so all" in caplog.text
    all_leave(scene)


@PLACES
@pytest.mark.parametrize("order", [["parent", "x", "child"], ["parent", "child", "x"], ["child", "x", "parent"]])
def test_a_row_that_needs_another_one_of_its_batch_stays_with_it(tmp_path, places, order):
    """Alone it is refused, wherever it lies; the rows are merged in the order of their keys."""
    scene = Scene(tmp_path, places)
    needy = [f"z{name}" if name == "child" else name for name in order]
    in_totals(
        scene,
        "CREATE TRIGGER needs BEFORE INSERT ON totals WHEN NEW.account = 'zchild' AND NOT EXISTS "
        "(SELECT 1 FROM totals WHERE account = 'parent') BEGIN SELECT RAISE(ABORT, 'no'); END",
    )
    scene.topic.partitions[0][12:] = [(key, 1) for key in needy] + [BIG]
    assert "1 of its 4 keys is refused, the others fit" in str(scene.be_refused())
    divert(scene)
    scene.go_on()
    assert diverted(scene).keys() == {"big"}
    assert scene.rows("totals") == {key: sums for key, sums in scene.topic.expected().items() if key != "big"}


def test_all_rows_take_the_place_of_those_that_are_refused_before_the_next_start(tmp_path):
    scene = Scene(tmp_path, SHORTCUT)
    scene.be_refused()
    divert(scene)
    assert scene.decide(DecisionKind.DIVERT, state="totals").kind is DecisionKind.DIVERT
    assert divert(scene).kind is DecisionKind.DIVERT
    assert scene.sql("SELECT kind, void FROM trident_decision ORDER BY epoch") == [
        ("divert refused", True),
        ("divert", False),
    ]
    scene.go_on()
    all_leave(scene)
    assert scene.sql("SELECT count(*) FROM trident_decision WHERE finished_at IS NULL") == [(0,)]


def test_nothing_is_taken_out_is_said_with_what_takes_all(tmp_path, caplog):
    """The state takes all of them when they are tried, and refuses them once more at the next start."""
    scene = Scene(tmp_path, SHORTCUT)
    scene.be_refused()
    divert(scene)
    scene.mend()
    with dying_at(CrashPoint.IN_PIN_TRANSACTION):
        scene.go_on()
    assert (
        "nothing is taken out. If it is refused again, trident divert MODULE:TOPOLOGY 3 --state totals" in caplog.text
    )
    assert "kept in trident_diverted" not in caplog.text
    in_totals(scene, ENDS_ALL)
    scene.decide(DecisionKind.DIVERT, state="totals")
    scene.go_on()
    all_leave(scene)


def test_nothing_but_all_rows_of_that_state_takes_its_place(tmp_path):
    scene = Scene(tmp_path, SHORTCUT)
    scene.be_refused()
    divert(scene)
    with pytest.raises(MismatchError, match="nothing of it was refused"):
        scene.decide(DecisionKind.DIVERT, state="balances")
    with pytest.raises(MismatchError, match="nothing of it was refused"):
        scene.decide(DecisionKind.DIVERT, 4, state="totals")
    scene.decide(DecisionKind.DIVERT, state="totals")
    assert divert(scene).kind is DecisionKind.DIVERT


def test_what_gave_up_with_a_divert_held_goes_on_without_all_rows(tmp_path):
    """Its rows can't be made for the search, and the one try that there is goes for that."""
    scene, once = Scene(tmp_path, SHORTCUT), replace(OPTIONS, max_tries=1)

    def overflow(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if request.batch.txid == 3 and "totals" not in request.diverts:
            raise StagingRefusedError("totals", "a sum of column 'total' is out of its range")
        return result

    job = scene.job(meddle=overflow)
    with pytest.raises(DecisionNeededError):
        run(job, scene.ledger(), once)
    divert(scene)
    with pytest.raises(StoppedError, match="--all-rows"):
        run(job, scene.ledger(), once)
    scene.decide(DecisionKind.DIVERT, state="totals")
    run(job, scene.ledger(), once)
    all_leave(scene)
