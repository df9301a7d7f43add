"""What a person has to know is said without being asked for: what is lost, which state is new, where it all stands."""

from __future__ import annotations

import json
import logging
import re
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli.making import SceneTopology
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_run import OPTIONS
from trident.base.levels import Level
from trident.cli import deciding
from trident.cli.app import run as command
from trident.coordinators.decisions.commands import reset_topology
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import Ledger, MemoryLedger, SqliteLedger
from trident.spouts.base import LostOffsets
from trident.state import MemoryState, SqliteState


@pytest.fixture
def topic() -> Topic:
    return Topic([[(f"a{n % 5}", n + 1) for n in range(20)], [("b", 1)] * 5])


def run(ledger: Ledger, topic: Topic, *states: SqliteState | MemoryState) -> None:
    TopologyRun(make_job(topic, *states, on_lost_offsets=LostOffsets.RESUME_AT_EARLIEST).plan(), ledger, OPTIONS).run()


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert command([words[0], "payments", *words[1:]]) == 0
    return capsys.readouterr().out


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIDENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    return tmp_path / "ledger.sqlite"


def lose_seven(topic: Topic, ledger: Ledger) -> None:
    state = MemoryState("sums") if isinstance(ledger, MemoryLedger) else SqliteState("sums")
    run(ledger, topic, state)
    topic.partitions[0] += [("a9", 1)] * 10
    topic.earliest[0] = 27
    run(ledger, topic, state)


def test_what_is_lost_is_a_warning_and_counted(
    file: Path, topic: Topic, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    lose_seven(topic, SqliteLedger(file))
    (warned,) = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert "stream 's' the offsets from 20 to before 27 (7) of t/0 are gone" in warned.getMessage()
    standing = json.loads(said(capsys, "status", "--json"))
    assert (standing["losses"], standing["lost_offsets"]) == (1, 7)
    lost = [json.loads(line)["lost_offsets"] for line in said(capsys, "batches", "--json").splitlines()]
    assert sorted(lost)[-2:] == [0, 7]


def test_a_ledger_in_memory_counts_the_same(topic: Topic) -> None:
    ledger = MemoryLedger()
    lose_seven(topic, ledger)
    standing = ledger.view().status("payments")
    assert (standing.losses, standing.lost_offsets, standing.birth_txid) == (1, 7, 0)


def test_status_says_where_each_partition_stands(file: Path, topic: Topic, capsys: pytest.CaptureFixture[str]) -> None:
    run(SqliteLedger(file), topic, SqliteState("sums"))
    progress = json.loads(said(capsys, "status", "--json"))["progress"]
    assert [(each["partition"], each["done"]) for each in progress] == [(0, 20), (1, 5)]
    assert "positions (the offset that comes next)" in said(capsys, "status")


def test_of_many_partitions_a_person_is_shown_some(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(SqliteLedger(file), Topic([[("a", 1)]] * 23), SqliteState("sums"))
    assert "and 3 more partitions: --json shows all" in said(capsys, "status")
    assert len(json.loads(said(capsys, "status", "--json"))["progress"]) == 23


def test_a_new_state_is_said_and_how_to_fill_it(
    file: Path, topic: Topic, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    run(SqliteLedger(file), topic, SqliteState("sums"))
    assert "is new" not in said(capsys, "status") + caplog.text
    done = json.loads(said(capsys, "status", "--json"))["done"]
    run(SqliteLedger(file), topic, SqliteState("sums"), SqliteState("fresh"))
    assert f"topology=payments state=fresh is new and holds what comes after txid {done}, nothing of" in caplog.text
    shown = said(capsys, "status")
    assert f"state 'fresh' is new since txid {done}" in shown
    assert "--states clear" in shown
    assert f"fresh {done}, sums 0" in shown
    plan = make_job(topic, SqliteState("sums"), SqliteState("fresh")).plan()
    reset_topology(plan.spec, plan.targets, SqliteLedger(file), keep_rows=False, start=None, options=OPTIONS)
    run(SqliteLedger(file), topic, SqliteState("sums"), SqliteState("fresh"))
    assert "is new" not in said(capsys, "status")
    with sqlite3.connect(file) as connection:
        for state in ("sums", "fresh"):
            rows = connection.execute(f"SELECT account, n, total FROM {state}").fetchall()
            assert {row[0]: row[1:] for row in rows} == topic.expected()


def test_a_state_of_a_ledger_that_recorded_no_births_is_not_called_new(
    file: Path, topic: Topic, capsys: pytest.CaptureFixture[str]
) -> None:
    run(SqliteLedger(file), topic, SqliteState("sums"))
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE trident_incarnation SET births = NULL")
    assert "is new" not in said(capsys, "status")


def test_a_terminal_that_is_too_narrow_shows_one_below_the_other(
    file: Path, topic: Topic, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(SqliteLedger(file), topic, SqliteState("sums"))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    narrow = said(capsys, "batches", "--limit", "2")
    assert "batches of payments (2 of 2)" in narrow
    assert any("process_ms" in line for line in narrow.splitlines())
    monkeypatch.setenv("COLUMNS", "250")
    assert "1 of 2" not in said(capsys, "batches", "--limit", "2")


def test_what_is_piped_is_not_folded(
    file: Path, topic: Topic, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe has no width: 80 columns made a table of single letters of it."""
    run(SqliteLedger(file), topic, SqliteState("sums"))
    monkeypatch.setenv("COLUMNS", "80")
    (batch,) = (json.loads(line) for line in said(capsys, "batches", "--limit", "1", "--json").splitlines())
    lines = said(capsys, "batches", "--limit", "1").splitlines()
    assert all(any(name in line for line in lines) for name in ("dead_letters", "process_ms", "lost_offsets"))
    assert any(str(batch["done_at"]) in line for line in lines)
    assert max(map(len, lines)) < 300
    assert command(["show", "payments", str(batch["txid"]), "--ledger", str(file)]) == 0
    assert f'"stop": {len(topic.partitions[0])}' in capsys.readouterr().out


def test_a_txid_that_never_was_is_said(file: Path, topic: Topic, capsys: pytest.CaptureFixture[str]) -> None:
    run(SqliteLedger(file), topic, SqliteState("sums"))
    last = json.loads(said(capsys, "status", "--json"))["last_txid"]
    for more in ([], ["--json"]):
        assert command(["show", "payments", str(last + 9), "--ledger", str(file), *more]) == 1
        heard = capsys.readouterr()
        assert f"nothing of txid {last + 9} of topology 'payments': the last one is {last}." in heard.err
        assert not heard.out


@pytest.mark.parametrize("level", [Level.AT_LEAST_ONCE, Level.AT_MOST_ONCE])
def test_a_weaker_level_is_said_with_what_it_does_not_promise(
    file: Path, topic: Topic, capsys: pytest.CaptureFixture[str], level: Level
) -> None:
    ledger = SqliteLedger(file)
    TopologyRun(make_job(topic, SqliteState("sums"), level=level).plan(), ledger, OPTIONS).run()
    assert f"it runs at level {level}, not exactly_once: {level.not_promised}" in said(capsys, "status")
    assert json.loads(said(capsys, "status", "--json"))["level"] == level


@pytest.mark.parametrize("level", list(Level))
@pytest.mark.parametrize("is_gone", [False, True])
def test_of_what_is_taken_out_at_a_weaker_level_nobody_says_what_it_has(
    file: Path,
    topic: Topic,
    capsys: pytest.CaptureFixture[str],
    level: Level,
    is_gone: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = make_job(topic, SqliteState("sums"), SqliteState("totals"), level=level)
    TopologyRun(job.plan(), SqliteLedger(file), OPTIONS).run()
    if is_gone and level.is_plain:
        with sqlite3.connect(file) as connection:
            connection.execute("DROP TABLE totals")
    topology = SceneTopology(SimpleNamespace(job=lambda: job))  # type: ignore[arg-type]
    monkeypatch.setattr(deciding, "load_topology", lambda name: topology)
    assert command(["drop", "m:t", "totals", "--yes", "--ledger", str(file)]) == 0
    heard = capsys.readouterr().out
    assert ("totals has every txid up to" in heard) is not level.is_plain
    assert ("what it has of those before it was not looked at" in heard) is level.is_plain


def test_the_first_level_is_named_and_promises_all(
    file: Path, topic: Topic, capsys: pytest.CaptureFixture[str]
) -> None:
    run(SqliteLedger(file), topic, SqliteState("sums"))
    heard = said(capsys, "status")
    assert re.search(r"level\W+exactly_once", heard)
    assert "it runs at level" not in heard
