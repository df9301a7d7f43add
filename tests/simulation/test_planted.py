"""Each search has bugs that it alone finds, and a bug is planted in no run that did not ask for it by name."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from tests.mutants.mutant import Layer
from tests.mutants.run import ROOT
from tests.simulation import proving
from tests.simulation.planted import BUGS

_PLANTED_BY = "tests.simulation.planting"
_NOTICED = "tests/ledger/test_memory_ledger.py::TestMemoryLedger::test_every_write_of_an_old_epoch_is_refused"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)


def test_each_search_is_said_to_find_at_least_three_bugs_alone() -> None:
    layers = Counter(bug.layer for bug in BUGS)
    assert layers[Layer.EXPLORATION] >= 3
    assert layers[Layer.SIMULATION] >= 3


def test_the_exploration_can_reach_what_it_alone_finds_and_not_what_the_simulation_does() -> None:
    assert all(bug.scope is not None for bug in BUGS if bug.layer is Layer.EXPLORATION)
    assert all(bug.scope is None for bug in BUGS if bug.layer is Layer.SIMULATION)


def test_a_bug_is_planted_for_a_whole_run_that_names_it() -> None:
    planted = run("-p", _PLANTED_BY, "--planted", "no epoch check in the ledger", _NOTICED)
    assert planted.returncode == 1, planted.stdout
    assert "PLANTED: no epoch check in the ledger" in planted.stdout
    assert run(_NOTICED).returncode == 0


@pytest.mark.parametrize("words", [("-p", _PLANTED_BY), ("-p", _PLANTED_BY, "--planted", "x"), ("--planted", "x")])
def test_a_run_that_does_not_say_which_bug_is_refused(words: tuple[str, ...]) -> None:
    refused = run(*words, _NOTICED)
    assert refused.returncode == pytest.ExitCode.USAGE_ERROR, refused.stdout
    assert "planted" in refused.stderr


def test_nothing_is_planted_here(pytestconfig: pytest.Config) -> None:
    assert not pytestconfig.pluginmanager.has_plugin(_PLANTED_BY)


def test_a_bug_that_a_quicker_test_notices_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    bug = next(bug for bug in BUGS if bug.name == "no epoch check in the ledger")
    assert proving.noticed_sooner(bug, "", (_NOTICED,)) == _NOTICED
