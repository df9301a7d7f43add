"""`trident evolve`: what is asked, what is changed, and how it is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cli.advised import CURRENT
from tests.coordinators.test_decisions import APART, dying_at
from tests.coordinators.test_renaming import Renamed, Runs, made
from trident.base.crash_points import CrashPoint
from trident.cli.app import app, run
from trident.cli.evolving import question
from trident.coordinators.decisions.renaming import RenameProspect


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Renamed:
    monkeypatch.setenv("TRIDENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    return made(tmp_path, APART)


def module_of(scene: Renamed, name: str) -> str:
    CURRENT["topology"] = Runs(scene, name)
    module = scene.folder / "evolving_module.py"
    module.write_text(
        "from tests.cli.advised import CURRENT, SceneTopology\ntopology = SceneTopology(CURRENT['topology'])\n"
    )
    return f"{module}:topology"


def test_it_says_what_it_does_and_does_it_when_told_so(scene: Renamed, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["evolve", module_of(scene, "sums"), "--rename-state", "totals=sums"]
    answer = CliRunner().invoke(app, words, input="n\n")
    assert answer.exit_code == 4
    for said in (
        "Of payments state totals is sums from now on (its rows stay in table totals).",
        "Nothing is read again",
        "The version with the former names is refused from then on, and goes back by trident evolve MODULE:TOPOLOGY "
        "--rename-state sums=totals.",
    ):
        assert said in " ".join(answer.output.split())
    assert scene.positions() == {"balances", "totals"}
    capsys.readouterr()
    assert run([*words, "--yes", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["decided"], told["txid"], told["renamed"]) == ("rename", 2, {"totals": "sums"})
    assert "start this version" in told["next"]
    assert scene.positions() == {"balances", "sums"}
    assert run(["status", "payments", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["renamed"] == ["totals is sums since txid 2"]
    scene.more()
    scene.go_on_as("sums")
    scene.require_whole()


def test_what_was_cut_off_is_said_to_be_finished(scene: Renamed) -> None:
    with dying_at(CrashPoint.AFTER_RENAMING):
        scene.rename()
    scene.let_go()
    words = ["evolve", module_of(scene, "sums"), "--rename-state", "totals=sums"]
    answer = CliRunner().invoke(app, words, input="n\n")
    assert "states that have not followed follow now. Go on?" in " ".join(answer.output.split())
    assert scene.positions() == {"balances", "totals"}
    assert CliRunner().invoke(app, words, input="y\n").exit_code == 0
    assert scene.positions() == {"balances", "sums"}


def test_what_is_finished_first_is_said() -> None:
    renames, tables = (("a", "b"), ("the sums", "c")), (("b", "t"), ("c", None))
    said = question("payments", RenameProspect(renames, tables, 4, 5, finishes=True))
    assert "state a is b from now on (its rows stay in table t), state the sums is c from now on." in said
    assert "What was decided before and cut off is finished first. Txid 5 is pinned, and is finished first" in said
    assert "--rename-state b=a --rename-state 'c=the sums'" in said
    assert said.endswith("Rename?")


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ([], 2, "say what is to change: --rename-state FORMER=NEW"),
        (["--rename-state", "totals"], 2, "takes FORMER=NEW, each former name once, not 'totals'"),
        (["--rename-state", "=sums"], 2, "not '=sums'"),
        (["--rename-state", "a=b=c"], 2, "not 'a=b=c'"),
        (["--rename-state", "totals=sums", "--rename-state", "totals=x"], 2, "not 'totals=x'"),
        (["--rename-state", "others=sums"], 1, "the ledger knows no state of that name"),
        (["--rename-state", "totals=sums", "--json"], 2, "--json asks nothing"),
    ],
)
def test_what_is_no_rename_is_refused_and_nobody_is_asked(
    scene: Renamed, words: list[str], code: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["evolve", module_of(scene, "sums"), *words]) == code
    heard = capsys.readouterr()
    assert text in heard.err
    assert "[y/N]" not in heard.out
    assert scene.positions() == {"balances", "totals"}
