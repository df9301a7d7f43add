"""`trident errors`, and what `status` says of errors and latencies."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.ledger.error_contract import SLOW, WRONG
from tests.ledger.making import Run, started
from trident.cli.app import run
from trident.coordinators.ledger import SqliteLedger


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a run of a topology over the ledger that the commands are led to."""
    file = tmp_path / "ledger.sqlite"
    monkeypatch.setenv("TRIDENT_LEDGER", str(file))
    ledger = SqliteLedger(file)
    ledger.open()
    return started(ledger)


def test_without_errors_nothing_is_said(made: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["errors", "payments"]) == 0
    assert capsys.readouterr().out == "errors of payments: none\n"
    assert run(["status", "payments"]) == 0
    assert "trident errors" not in capsys.readouterr().out


def test_errors_are_listed_the_last_seen_first(made: Run, capsys: pytest.CaptureFixture[str]) -> None:
    made.ledger.report(made.owner, made.epoch, [WRONG])
    made.ledger.report(made.owner, made.epoch, [replace(WRONG, place="state '[/b]'", kind="KeyError", count=41)])
    assert run(["errors", "payments", "--json"]) == 0
    last, first = map(json.loads, capsys.readouterr().out.splitlines())
    assert (last["place"], last["kind"], last["count"]) == ("state '[/b]'", "KeyError", 41)
    assert (first["place"], first["txid"], first["attempt"], first["epoch"]) == (WRONG.place, 4, 9, 1)
    assert first["first_at"] <= first["last_at"] <= last["last_at"]
    assert run(["errors", "payments", "--limit", "1"]) == 0
    said = capsys.readouterr().out
    assert "state '[/b]'" in said
    assert "ValueError at f.py:3 in parse" in said
    assert WRONG.place not in said


def test_status_says_how_many_and_names_the_last_one(made: Run, capsys: pytest.CaptureFixture[str]) -> None:
    made.ledger.report(made.owner, made.epoch, [replace(WRONG, count=3)])
    assert run(["status", "payments", "--json"]) == 0
    standing = json.loads(capsys.readouterr().out)
    assert standing["recent_errors"] == 1
    assert standing["last_error"] == f"ValueError, stream 'in' (3 times): {WRONG.text}"
    assert run(["status", "payments"]) == 0
    said = capsys.readouterr().out
    assert "1 kinds in the last hour" in said
    assert "trident errors payments" in said


def test_status_says_how_long_messages_take(made: Run, capsys: pytest.CaptureFixture[str]) -> None:
    made.ledger.renew("payments", made.epoch)  # the one that brings the tables up to date has done so
    made.ledger.renew("payments", made.epoch, [SLOW])
    assert run(["status", "payments", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["latencies"]
    assert (found["stream"], found["samples"], found["p99_ms"]) == ("queue", 12, 200.25)
    assert run(["status", "payments"]) == 0
    assert "queue: mean 80.5 ms, median 70, 99 % 200.25, most 201 (12 messages" in capsys.readouterr().out


def test_a_topology_that_is_not_there_is_an_error(made: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["errors", "others"]) == 1
    assert "'others' is not in this ledger" in capsys.readouterr().err
