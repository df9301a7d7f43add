"""docs/howto/forget-a-topology.md: each command that it prints, and what is there then."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli.advised import CURRENT
from tests.coordinators.test_decisions import APART, Scene, dying_at
from tests.coordinators.test_forgetting import DROP, forget, let_go, tables_of
from tests.coordinators.test_run import OPTIONS
from tests.pages.blocks import blocks_of
from tests.pages.shell import commands_in
from trident.base.crash_points import CrashPoint
from trident.cli.app import run
from trident.coordinators.holding.run import TopologyRun

PAGE = "docs/howto/forget-a-topology.md"
MODULE = """
from tests.cli.advised import CURRENT, SceneTopology
topology = SceneTopology(CURRENT[{name!r}])
"""
_BLOCKS = [block for block in blocks_of(PAGE) if block.language == "sh"]
KEPT, DROPPED, ADOPTED, LOST = (words for block in _BLOCKS for words in commands_in(block.text))


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    made = Scene(tmp_path, APART)
    made.mend()
    made.topic.partitions[0][12:] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRIDENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    for name in ("payments", "reports"):
        (tmp_path / f"{name}.py").write_text(MODULE.format(name=name))
        CURRENT[name] = SimpleNamespace(job=lambda name=name: made.job().plan(name))
    return made


def do(words: list[str]) -> int:
    """Give a command of the page, with a yes."""
    return run([*words[1:], "--yes", *(["--json"] if words[1] == "forget" else [])])


def test_kept_tables_are_another_topologys_then(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    """Offsets are Kafka's, which nothing is here: with them `integration_tests/pages/test_start_and_rewind.py` resets.

    They are what the result of the forget says.
    """
    assert do(KEPT) == 0
    said = json.loads(capsys.readouterr().out)
    assert [start.replace("t:", "payments:") for start in said["read"].values()] == [ADOPTED[-1]], shlex.join(ADOPTED)
    assert do([*ADOPTED[:-1], "latest"]) == 0
    for record in (None, ("a1", 7)):
        scene.topic.partitions[0] += [record] if record is not None else []
        TopologyRun(scene.job().plan("reports"), scene.ledger(), OPTIONS).run()
    assert scene.rows("totals") == scene.rows("balances") == scene.topic.expected()


def test_dropped_tables_are_gone(scene: Scene) -> None:
    assert do(DROPPED) == 0
    assert not {"balances", "totals"} & (tables_of(scene.file("balances")) | tables_of(scene.file("totals")))
    assert do(DROPPED) != 0, "it is let go of once"


def test_one_that_was_cut_off_is_finished_without_what_is_lost(scene: Scene) -> None:
    with dying_at(CrashPoint.AFTER_DECIDING_FORGET):
        forget(scene, DROP)
    let_go(scene)
    scene.file("totals").unlink()
    assert do(DROPPED) != 0
    assert do(LOST) == 0
    assert scene.ledger().view().topologies() == ()
