"""`trident run`: what it passes on, what a person sees, how it ends."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from trident import RunOptions, RunSummary
from trident.base.errors import LeaseHeldError
from trident.cli import running
from trident.cli.app import run
from trident.cli.live import LiveLine
from trident.coordinators.ledger import Ledger
from trident.coordinators.options import Audit, OnRunning, Until
from trident.coordinators.run_events import (
    BatchCommitted,
    BatchFailed,
    BatchPlanned,
    PartitionLag,
    RunListener,
    RunStarted,
    RunStopped,
    TookOver,
)


class Hands:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.at = 100.0

    def monotonic(self) -> float:
        return self.at

    def now(self) -> None:
        raise NotImplementedError


def took_over(done: int = 4) -> TookOver:
    return TookOver(topology="t", epoch=3, incarnation="i", done=done, pinned=None)


def done(txid: int, records: int, lag: int) -> BatchCommitted:
    lags = (PartitionLag(stream="s", topic="t", partition=0, lag=lag),)
    none = dict.fromkeys(("keys", "dead_letters", "plan_ms", "process_ms", "turn_ms", "commit_ms"), 0)
    return BatchCommitted(topology="t", epoch=3, txid=txid, attempt=txid, tries=1, records=records, lags=lags, **none)


def planned(txid: int) -> BatchPlanned:
    return BatchPlanned(topology="t", epoch=3, txid=txid, attempt=txid, tries=1, offsets=10)


def test_the_line_says_txid_rate_lag_and_phase():
    shown: list[str] = []
    clock = Hands()
    line = LiveLine(shown.append, clock=clock)  # type: ignore[arg-type]
    line.took_over(took_over())
    line.started(RunStarted(topology="t", epoch=3))
    line.planned(planned(5))
    clock.at += 2
    line.committed(done(5, 4_000, 30))
    clock.at += 18
    line.committed(done(6, 10_000, 0))
    line.stopped(RunStopped(topology="t", error=None))
    assert shown == [
        "txid 4 done, 0 records/s, lag ?: took over with epoch 3",
        "txid 4 done, 0 records/s, lag ?: started",
        "txid 4 done, 0 records/s, lag ?: processing txid 5",
        "txid 5 done, 2,000 records/s, lag 30: done with txid 5",
        "txid 6 done, 1,000 records/s, lag 0: waiting for records",
        "txid 6 done, 1,000 records/s, lag 0: ended",
    ]


def test_plain_lines_come_every_few_seconds_and_what_matters_at_once():
    shown: list[str] = []
    clock = Hands()
    line = LiveLine(shown.append, 5, clock)  # type: ignore[arg-type]
    line.took_over(took_over())
    for txid in range(5, 15):
        clock.at += 1
        line.committed(done(txid, 10, 1))
    line.failed(BatchFailed(topology="t", epoch=3, txid=15, attempt=15, kind="RetryableError", error="no"))
    phases = [each.split(": ")[1] for each in shown]
    assert phases == [
        "took over with epoch 3",
        "done with txid 9",
        "done with txid 14",
        "attempt 15 at txid 15 failed (RetryableError)",
    ]


OWN = RunOptions(until=Until.CAUGHT_UP, audit=Audit.ON, ackers=3, max_tries=7, listeners=[RunListener()])


class Asked:
    """Stands for a topology, and keeps how it was run."""

    name = "payments"

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.options: RunOptions | None = None

    def run(self, spark: object, *, ledger: Ledger, options: RunOptions) -> RunSummary:
        self.options = options
        if self.error is not None:
            raise self.error
        for listener in options.listeners:
            listener.took_over(took_over(4))
        return RunSummary(4, 7)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    found = Asked()
    monkeypatch.setattr(running, "load_run", lambda _, options: (found, OWN if options else RunOptions()))
    monkeypatch.setattr(running, "_session", lambda: None)
    monkeypatch.setenv("PYTHONPATH", "before")
    return found


def test_it_runs_the_topology_over_a_ledger_that_may_be_new(asked, tmp_path, capsys):
    file = tmp_path / "new.sqlite"
    code = run(["run", "jobs/payments.py:topology", "--ledger", str(file), "--until", "caught_up", "--json"])
    assert (code, asked.options.until, asked.options.on_running) == (0, Until.CAUGHT_UP, OnRunning.WAIT)
    assert json.loads(capsys.readouterr().out) == {
        "topology": "payments", "batches": 3, "first_done": 4, "last_done": 7, "lost": 0, "given_again": 0,
    }  # fmt: skip
    folder = str(Path("jobs").resolve())
    assert os.environ["PYTHONPATH"] == f"{folder}{os.pathsep}before", "where the tasks find the module"


def test_without_json_it_says_how_it_goes_in_plain_lines(asked, tmp_path, capsys):
    assert run(["run", "jobs.payments:topology", "--ledger", str(tmp_path / "new.sqlite")]) == 0
    assert asked.options.until is Until.STOPPED
    assert "txid 4 done, 0 records/s, lag ?: took over with epoch 3\n" in capsys.readouterr().out


def test_a_module_may_have_options_and_what_the_command_says_comes_first(asked, tmp_path):
    words = ["run", "jobs.payments:topology", "--ledger", str(tmp_path / "new.sqlite"), "--options", "options"]
    assert run([*words, "--json"]) == 0
    assert asked.options == OWN
    assert run([*words, "--until", "stopped", "--on-running", "refuse"]) == 0
    assert (asked.options.until, asked.options.on_running) == (Until.STOPPED, OnRunning.REFUSE)
    assert (asked.options.audit, asked.options.ackers, asked.options.max_tries) == (Audit.ON, 3, 7)
    assert asked.options.listeners[0] is OWN.listeners[0], "beside the command's own"


def test_its_exit_codes_are_those_of_the_others(asked, tmp_path, capsys):
    assert run(["run", "jobs.payments:topology"]) == 2
    assert "name the ledger with --ledger" in capsys.readouterr().err
    assert run(["run", "jobs.payments:topology", "--ledger", "x", "--until", "tomorrow"]) == 2
    asked.error = LeaseHeldError("somebody runs it")
    words = ["run", "jobs.payments:topology", "--ledger", str(tmp_path / "new.sqlite"), "--on-running", "refuse"]
    assert run(words) == 3
    assert asked.options.on_running is OnRunning.REFUSE


def test_the_version_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("trident-pyspark 0.")
