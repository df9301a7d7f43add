"""A divert that is held, and what becomes of it when the attempt that leaves the rows out is refused too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.coordinators.test_decisions import SHORTCUT, Scene, without_txid
from tests.coordinators.test_run import OPTIONS
from trident.base.errors import MismatchError
from trident.cli import app
from trident.coordinators.decided import Decision, DecisionKind
from trident.coordinators.decisions.commands import retry_topology

_POSITION = (
    "CREATE TRIGGER still BEFORE UPDATE ON trident_applied WHEN NEW.state = 'totals' AND NEW.txid > OLD.txid "
    "BEGIN {raise_}; END"
)
_KEPT = "CREATE TRIGGER still BEFORE INSERT ON trident_diverted BEGIN {raise_}; END"
_RAISE = "SELECT RAISE(ABORT, 'no')"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Beside the ledger, so that what is diverted is held: nothing of the refused txid is pinned."""
    return Scene(tmp_path, SHORTCUT)


def divert(scene: Scene, state: str) -> Decision:
    return scene.decide(DecisionKind.DIVERT, state=state)


def decided(scene: Scene) -> list[tuple[object, ...]]:
    return scene.sql("SELECT attempt, state, finished_at IS NOT NULL, void FROM trident_decision ORDER BY epoch")


def settled(scene: Scene) -> list[tuple[object, ...]]:
    return scene.sql("SELECT attempt, settled_by FROM trident_refusal ORDER BY epoch")


def test_the_same_divert_after_another_refusal_is_a_decision_about_that_one(scene: Scene) -> None:
    """The command names a txid and a state, the answer an attempt: the one that was refused last."""
    scene.be_refused()
    first = divert(scene, "totals")
    assert divert(scene, "totals") == first, "asked again before the next start, it is the same decision"
    scene.sql(_POSITION.format(raise_=_RAISE))
    assert "state 'totals' refused" in str(scene.be_refused())
    before = settled(scene)
    second = divert(scene, "totals")
    assert second.attempt == before[-1][0] != first.attempt
    assert settled(scene) == [(first.attempt, "divert"), (second.attempt, "divert")]
    assert decided(scene) == [(first.attempt, "totals", 1, 1), (second.attempt, "totals", 0, 0)]
    assert "state 'totals' refused" in str(scene.be_refused()), "it was tried again"
    assert settled(scene)[-1] == (second.attempt + 1, None)
    divert(scene, "totals")
    scene.sql("DROP TRIGGER still")
    scene.go_on()
    assert scene.rows("balances") == scene.topic.expected()
    assert scene.rows("totals") == without_txid(scene.topic, 12)
    assert [(txid, rows.state) for txid, rows in scene.ledger().diverted("payments")] == [(3, "totals")]
    assert [(done, void) for _, _, done, void in decided(scene)] == [(1, 1), (1, 1), (1, 0)]


def test_where_the_ledger_refuses_what_is_diverted_no_state_is(scene: Scene) -> None:
    """Nobody can say whose rows another divert would be about: what was decided stays, and is tried again."""
    scene.be_refused()
    divert(scene, "totals")
    scene.sql(_KEPT.format(raise_=_RAISE))
    said = str(scene.be_refused())
    assert "the ledger's database refused" in said
    assert "trident divert" not in said
    for state in ("balances", "totals"):
        with pytest.raises(MismatchError, match="it was no state that refused it"):
            divert(scene, state)
    scene.sql("DROP TRIGGER still")
    retry_topology("payments", scene.ledger(), 3, OPTIONS)
    scene.go_on()
    assert scene.rows("balances") == scene.topic.expected()
    assert scene.rows("totals") == without_txid(scene.topic, 12)


def test_a_divert_of_a_state_that_did_not_refuse_the_new_attempt_is_refused(scene: Scene) -> None:
    scene.mend()
    scene.topic.partitions[0].append(("nul\0", 5))
    scene.be_refused()
    divert(scene, "balances")
    scene.be_refused()
    before = decided(scene), settled(scene)
    with pytest.raises(MismatchError, match="it was state 'totals' that refused it"):
        divert(scene, "balances")
    assert (decided(scene), settled(scene)) == before
    divert(scene, "totals")
    with pytest.raises(MismatchError, match="nothing of it was refused, or that was decided before"):
        divert(scene, "nobody")
    scene.go_on()
    assert scene.rows("balances") == scene.rows("totals") == without_txid(scene.topic, 12)


def test_a_retry_of_the_new_attempt_leaves_the_divert_as_it_is(scene: Scene) -> None:
    scene.be_refused()
    divert(scene, "totals")
    scene.sql(_POSITION.format(raise_=_RAISE))
    scene.be_refused()
    scene.sql("DROP TRIGGER still")
    retry_topology("payments", scene.ledger(), 3, OPTIONS)
    scene.go_on()
    assert scene.rows("balances") == scene.topic.expected()
    assert scene.rows("totals") == without_txid(scene.topic, 12)


def test_a_state_whose_rows_were_left_out_is_not_advised_to_be_diverted(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would refuse again: what is left is to mend the cause."""
    scene.be_refused()
    divert(scene, "totals")
    scene.sql(_POSITION.format(raise_=_RAISE))
    texts = [str(scene.be_refused()), str(scene.be_refused())]
    app.run(["status", "payments", "--ledger", str(scene.folder / "ledger.sqlite")])
    for text in (*texts, capsys.readouterr().out):
        assert "trident retry payments 3" in text
        assert "trident divert" not in text
