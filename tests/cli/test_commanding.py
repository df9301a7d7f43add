"""Life-cycle commands on the command line: what they say of the data, what to do next, how they end."""

from __future__ import annotations

import json
import shlex
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import trident.managing.lifecycle as lifecycle
from tests.coordinators.fakes import ListJob, Topic, make_job
from tests.coordinators.test_lifecycle import RUNS, wait_until
from tests.coordinators.test_run import OPTIONS
from tests.ledger.dumping import restore_sqlite
from tests.ledger.lifecycle_contract import sent
from trident.cli.app import run
from trident.coordinators.holding.at_rest import KilledError
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.coordinators.ledger.view import CommandRow
from trident.coordinators.lifecycle import Deactivate
from trident.state import SqliteState

NAME = "pay ments"
"""Has to be quoted."""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIDENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def job() -> ListJob:
    return make_job(Topic([[("a", 1)] * 5]), SqliteState("balances"))


@pytest.fixture
def running(file: Path, job: ListJob) -> Iterator[None]:
    begun = TopologyRun(job.plan(NAME), SqliteLedger(file), RUNS)
    thread = threading.Thread(target=begun.run)
    thread.start()
    wait_until(lambda: file.exists() and job.topic.told == [1])
    yield
    begun.stop()
    thread.join(30)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = run([words[0], NAME, *words[1:], "--json"])
    heard = capsys.readouterr()
    return code, json.loads((heard.out or heard.err).splitlines()[-1])


def test_a_running_topology_is_deactivated_rebalanced_activated_and_killed(running, capsys):
    code, heard = said(capsys, "deactivate")
    assert (code, heard["verdict"], heard["done"], heard["live"]) == (0, "done", 1, 0)
    assert heard["next"] == f"txids up to 1 are in every state and sink; to go on: trident activate {shlex.quote(NAME)}"
    assert said(capsys, "status")[1]["activity"] == "inactive"
    code, heard = said(capsys, "rebalance", "--max-pending", "2")
    assert (code, heard["answer"]) == (0, "from the next plan on max_pending is 2 (it was 3), until this run ends")
    assert "the next start has what its program says" in heard["next"]
    code, heard = said(capsys, "activate")
    assert (code, heard["next"]) == (0, "it goes on")
    assert run(["list"]) == 0
    code, heard = said(capsys, "kill", "--wait", "5")
    assert (code, heard["held_by"], heard["done"]) == (0, None, 1)
    assert heard["next"].endswith(f"to let it: trident activate {shlex.quote(NAME)}")


def test_a_kill_whose_run_goes_on_is_not_done(running, capsys, monkeypatch):
    """A program that deploys must not take it for the end."""

    def not_ended(*given: Any, **named: Any) -> CommandRow:
        raise lifecycle.NotEndedError(kill(*given, **named), "a-host:17")

    kill = lifecycle.kill
    monkeypatch.setattr(lifecycle, "kill", not_ended)
    code, heard = said(capsys, "kill", "--wait", "5")
    assert (code, heard["verdict"], heard["command"]) == (7, "asked, not ended", "kill")


def test_the_way_on_that_a_killed_start_names_works(file, job, capsys):
    TopologyRun(job.plan(NAME), SqliteLedger(file), OPTIONS).run()
    assert run(["kill", NAME]) == 0
    job.topic.partitions[0].append(("b", 2))
    with pytest.raises(KilledError) as killed:
        TopologyRun(job.plan(NAME), SqliteLedger(file), OPTIONS).run()
    capsys.readouterr()
    assert run(["status", NAME]) == 0
    shown = capsys.readouterr().out
    assert f"it is killed, and plans nothing until a person says: trident activate {shlex.quote(NAME)}" in shown
    words = shlex.split(str(killed.value).partition("To let it be started again: trident ")[2])
    assert words == ["activate", NAME]
    assert run(words) == 0
    assert TopologyRun(job.plan(NAME), SqliteLedger(file), OPTIONS).run().batches == 1


def test_what_is_refused_ends_with_one(file, job, capsys):
    TopologyRun(job.plan(NAME), SqliteLedger(file), OPTIONS).run()
    code, heard = said(capsys, "rebalance", "--max-pending", "2")
    assert (code, heard["error"]) == (1, "FatalError")
    assert "nobody runs it" in heard["message"]
    assert said(capsys, "rebalance")[0] == 2
    assert run(["deactivate", "other"]) == 1


def test_status_shows_what_waits(file, job, capsys):
    TopologyRun(job.plan(NAME), SqliteLedger(file), OPTIONS).run()
    ledger = SqliteLedger(file)
    ledger.open()
    ledger.send(NAME, sent(Deactivate(), "a"))
    ledger.close()
    assert said(capsys, "status")[1]["commands"] == ["1 deactivate"]


def test_a_ledger_of_an_older_version_is_left_as_it_is(tmp_path, monkeypatch, capsys):
    restore_sqlite(5, tmp_path)
    monkeypatch.setenv("TRIDENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    for command in ("activate", "deactivate", "kill"):
        assert run([command, "payments"]) == 1
        assert "are of version 5, this library reads version 7. Nothing was changed" in capsys.readouterr().err
