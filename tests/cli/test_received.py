"""What is said of received rows that ended with their process: every command of it carried out, and what it came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.advised import carry_out, commands_in
from tests.coordinators.test_receiving_decisions import FIRST, REFUSED, Scene
from tests.coordinators.test_run import OPTIONS
from trident.base.errors import DecisionNeededError, RetryableError
from trident.cli.app import run
from trident.coordinators.batches.processor import ProcessRequest
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.holding.run import TopologyRun

GONE = "without its rows of stream 's': these ended with the process that had received them"
AGAIN = "what it had of stream 'k' is read again"


def shown(scene: Scene, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return what a command says, which may end with any exit code."""
    capsys.readouterr()
    run([*words, "--ledger", str(scene.folder / "ledger.sqlite")])
    return capsys.readouterr().out


def expected(scene: Scene, way: str, state: str) -> set[str]:
    """Return what a state has once a way was gone and the topology has run on."""
    kept = FIRST | {"later"}
    if way == "undo" or not scene.is_apart:  # it is read again where it can be
        return kept | ({"k0"} if scene.is_mixed else set())
    refused = {"bad"} if way == "divert" and state == "others" else set()
    return kept | (REFUSED - refused) | ({"k0"} if scene.is_mixed else set())


@pytest.mark.parametrize("is_mixed", [False, True], ids=["received only", "mixed"])
@pytest.mark.parametrize("is_apart", [False, True], ids=["not pinned", "pinned"])
def test_each_way_out_of_a_refusal_comes_to_what_it_says(
    is_apart: bool, is_mixed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ways = ["divert", "retry", "undo"] if is_apart else ["retry"]
    for way in ways:
        folder = tmp_path / way
        folder.mkdir()
        scene = Scene(folder, is_apart, is_mixed)
        with pytest.raises(DecisionNeededError) as raised:
            scene.go_on()
        texts = [scene.said, str(raised.value), shown(scene, capsys, "status", "queued")]
        for text in texts:
            commands = commands_in(text)
            assert sorted(commands) == ways
            assert text.count(GONE) == 1, "of the undo, or of the only way"
            assert (AGAIN in text) is is_mixed
        assert carry_out(scene, folder, commands[way], {}) == 0
        note = capsys.readouterr().out
        is_lost = way == "undo" or not is_apart
        assert (GONE in note, AGAIN in note) == (is_lost, is_lost and is_mixed)
        if way != "divert":
            scene.mend()
        scene.go_on()
        assert {name: scene.rows(name) for name in ("counts", "others")} == {
            name: expected(scene, way, name) for name in ("counts", "others")
        }
        assert scene.lost == (3 if is_lost else 0)


@pytest.mark.parametrize("is_mixed", [False, True], ids=["received only", "mixed"])
def test_a_divert_that_nobody_advised_says_that_it_is_void(
    is_mixed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = Scene(tmp_path, is_apart=False, is_mixed=is_mixed)
    assert carry_out(scene, tmp_path, ["divert", "MODULE:TOPOLOGY", "2", "--state", "others"], {}) == 0
    said = capsys.readouterr().out
    assert "there is nothing to divert of its rows of stream 's'" in said
    assert "This decision is void then" in said
    assert (AGAIN in said) is is_mixed
    scene.go_on()
    both = FIRST | {"later"} | ({"k0"} if is_mixed else set())
    assert scene.rows("counts") == scene.rows("others") == both
    assert (scene.lost, scene.ledger().view().status("queued").diverted_rows) == (3, 0)


def test_of_a_batch_that_had_nothing_received_all_ways_are_those_of_any_other(tmp_path: Path) -> None:
    scene = Scene(tmp_path, is_apart=False, is_mixed=True)
    assert carry_out(scene, tmp_path, commands_in(scene.said)["retry"], {}) == 0
    assert scene.topic is not None
    scene.mend()
    scene.go_on()
    scene.refuse("others")
    scene.topic.partitions[0] += [("bad", 1), ("good", 1)]
    with pytest.raises(DecisionNeededError) as raised:
        scene.go_on()
    commands = commands_in(str(raised.value))
    assert sorted(commands) == ["divert", "retry"]
    assert "without" not in str(raised.value)
    assert carry_out(scene, tmp_path, commands["divert"], {}) == 0
    scene.queue.waiting[0] = ["last"]
    scene.go_on()
    assert scene.rows("counts") == FIRST | {"later", "k0", "bad", "good", "last"}
    assert scene.rows("others") == FIRST | {"later", "k0", "good", "last"}
    assert scene.lost == 3, "as before"


def fail(request: ProcessRequest, accounts: Sequence[str]) -> None:
    raise RetryableError("no engine")


@pytest.mark.parametrize("is_mixed", [False, True], ids=["received only", "mixed"])
def test_a_txid_that_failed_too_often_goes_on_without_what_is_gone(
    is_mixed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = Scene(tmp_path, is_apart=True, is_mixed=is_mixed)
    scene.mend()
    assert carry_out(scene, tmp_path, commands_in(scene.said)["retry"], {}) == 0
    scene.go_on()
    assert "without" not in shown(scene, capsys, "status", "queued"), "nothing is gone"
    scene.queue.waiting[0] = ["x", "y"]
    if scene.topic is not None:
        scene.topic.partitions[0].append(("k1", 1))
    scene.meddle = fail
    with pytest.raises(StoppedError) as raised:
        TopologyRun(scene.job(), scene.ledger(), replace(OPTIONS, max_tries=2)).run()
    txid = scene.ledger().view().status("queued").done + 1
    said = str(raised.value)
    assert said.count("it goes on with this txid") == 1
    for text in (said, shown(scene, capsys, "status", "queued"), shown(scene, capsys, "show", "queued", str(txid))):
        assert GONE in text
        assert (AGAIN in text) is is_mixed
    assert not getattr(raised.value, "__notes__", ()), "it is said once"
    assert carry_out(scene, tmp_path, ["retry", "queued", str(txid)], {}) == 0
    assert GONE in capsys.readouterr().out
    scene.meddle = lambda *_: None
    before, lost = scene.rows("counts"), scene.lost
    scene.queue.waiting[0] = ["z"]
    scene.go_on()
    assert scene.rows("counts") - before == {"z"} | ({"k1"} if is_mixed else set())
    assert scene.lost - lost == 2
    assert "without" not in shown(scene, capsys, "status", "queued")
