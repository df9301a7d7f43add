"""The command line over a real ledger: what it says, what it decides, how it ends."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.cli.making import write_module
from tests.coordinators.fakes import Topic, make_job
from tests.coordinators.test_decisions import APART, SHORTCUT, Scene, dying_at, without_txid
from tests.coordinators.test_run import OPTIONS
from tests.ledger.dumping import restore_sqlite
from tests.ledger.making import started
from trident.base import advice
from trident.base.crash_points import CrashPoint
from trident.base.errors import MismatchError
from trident.cli.app import app, run
from trident.cli.forgetting import outcome
from trident.coordinators.decided import DecisionKind, ForgottenTables, LeftBehind
from trident.coordinators.decisions.forgetting import ForgetProspect
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import SqliteLedger
from trident.coordinators.registered import Lease
from trident.state import SqliteState


@pytest.fixture(params=[SHORTCUT, APART], ids=["shortcut", "apart"])
def scene(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    scene = Scene(tmp_path, request.param)
    monkeypatch.setenv("TRIDENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    return scene


def ended(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[dict[str, Any]]]:
    code = run([*words, "--json"])
    return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_status_and_list_say_what_waits_for_a_person(scene, capsys):
    assert ended(capsys, "status", "payments")[0] == 0
    scene.be_refused()
    code, (standing,) = ended(capsys, "status", "payments")
    assert (code, standing["done"], standing["pinned"]) == (5, 2, 3 if scene.apart else None)
    assert (standing["refusal"]["state"], standing["refusal"]["txid"], standing["is_held"]) == ("totals", 3, False)
    code, (short,) = ended(capsys, "list")
    assert (code, short["name"], short["done"], short["needs_decision"]) == (0, "payments", 2, True)
    assert run(["status", "payments"]) == 5
    said = capsys.readouterr().out
    assert "trident retry payments 3" in said
    assert ("trident undo MODULE:TOPOLOGY 3" in said) is bool(scene.apart)


def test_names_are_shown_as_they_are(tmp_path, capsys):
    """One with `[/b]` was taken for the end of a style: no command could show it."""
    name, file = "pay[/b] [red]eu", str(tmp_path / "names.sqlite")
    job = make_job(Topic([[("a", 1), ("b", 2)]]), SqliteState("totals"))
    TopologyRun(job.plan(name), SqliteLedger(file), OPTIONS).run()
    for words in (["status", name], ["list"], ["batches", name], ["show", name, "1"]):
        assert run([*words, "--ledger", file]) == 0
        assert name in capsys.readouterr().out or words[0] == "show"


def test_batches_and_show_tell_a_txids_story(scene, capsys):
    scene.be_refused()
    code, rows = ended(capsys, "batches", "payments", "--limit", "1")
    assert (code, [row["txid"] for row in rows]) == (0, [2])
    code, (story,) = ended(capsys, "show", "payments", "3")
    assert [row["status"] for row in story["attempts"]] == ["live"]
    assert story["attempts"][0]["ranges"][0]["range"]["start"] == 12
    assert [row["kind"] for row in story["refusals"]] == ["refused"]
    assert len(story["pin"]) == (1 if scene.apart else 0)
    for words in (["batches", "payments"], ["show", "payments", "2"], ["list"]):
        assert run(words) == 0
    assert "commit" in capsys.readouterr().out


def test_retry_goes_on(scene, capsys):
    scene.be_refused()
    code, (said,) = ended(capsys, "retry", "payments", "3", "--yes")
    assert (code, said["decided"], said["txid"]) == (0, "retry", 3)
    scene.mend()
    scene.go_on()
    assert scene.rows("totals") == scene.topic.expected()
    assert ended(capsys, "retry", "payments", "3", "--yes")[0] == 1


def test_diverted_rows_are_where_the_texts_say(scene, capsys):
    scene.be_refused()
    assert run(["divert", write_module(scene), "3", "--state", "totals", "--yes"]) == 0
    assert ("trident show payments 3" in capsys.readouterr().out) == bool(scene.apart)  # else the next attempt does it
    scene.go_on()
    code, (story,) = ended(capsys, "show", "payments", "3")
    assert (code, {row["state"] for row in story["diverted"]}, story["dead_letters"]) == (0, {"totals"}, [])
    assert ended(capsys, "status", "payments")[1][0]["diverted_rows"] == 1


def test_divert_goes_on(scene, capsys):
    scene.be_refused()
    named = write_module(scene)
    code, (said,) = ended(capsys, "divert", named, "3", "--state", "totals", "--yes")
    assert (code, said["decided"], said["state"]) == (0, "divert refused", "totals")
    assert ("1 of its rows is kept" if scene.apart else "leaves the rows that it refuses out") in said["next"]
    scene.go_on()
    assert scene.rows("balances") == scene.topic.expected()
    assert scene.rows("totals") == {key: sums for key, sums in scene.topic.expected().items() if key != "big"}
    _, (story,) = ended(capsys, "show", "payments", "3")
    assert {row["staged_row"]["account"] for row in story["diverted"]} == {"big"}
    assert [row["kind"] for row in story["decisions"]] == ["divert refused"]


def test_reapply_asks_puts_the_rows_back_and_says_so_once(scene, capsys):
    scene.be_refused()
    named = write_module(scene)
    ended(capsys, "divert", named, "3", "--state", "totals", "--yes")
    scene.go_on()
    words = ["reapply", named, "3", "--state", "totals"]
    asked = CliRunner().invoke(app, words, input="n\n")
    assert asked.exit_code == 4
    assert "1 row of state totals was taken out of txid 3 of payments" in asked.output
    assert run([*words, "--yes"]) == 1
    said = capsys.readouterr().err
    assert "refuses the rows of txid 3 still" in said
    assert "Mend the cause, then give the same command again" in said
    scene.mend()
    code, (done,) = ended(capsys, *words, "--yes")
    assert (code, done["decided"], done["txid"], done["put_back_of"], done["rows"]) == (0, "reapply", 4, 3, 1)
    assert scene.rows("totals") == scene.topic.expected()
    assert run([*words, "--yes"]) == 1
    assert "txid 4 has put these rows back, and nothing is left to do" in capsys.readouterr().err
    _, (story,) = ended(capsys, "show", "payments", "4")
    assert [row["kind"] for row in story["decisions"]] == ["reapply"]


def test_divert_takes_all_rows_where_that_is_said(scene, capsys):
    scene.be_refused()
    named = write_module(scene)
    for words, rows in ((["--all-rows"], "all rows of state totals"), ([], "the rows that state totals refuses, or")):
        asked = CliRunner().invoke(app, ["divert", named, "3", "--state", "totals", *words], input="n\n")
        assert f"Take {rows}" in asked.output
    code, (said,) = ended(capsys, "divert", named, "3", "--state", "totals", "--all-rows", "--yes")
    assert (code, said["decided"]) == (0, "divert")
    assert ("3 of its rows are kept" if scene.apart else "leaves its rows out") in said["next"]
    scene.go_on()
    assert scene.rows("totals") == without_txid(scene.topic, 12)
    _, (story,) = ended(capsys, "show", "payments", "3")
    assert {row["staged_row"]["account"] for row in story["diverted"]} == {"a1", "big", "new"}


def test_status_says_how_many_keys_are_refused_of_which_records(scene, capsys):
    scene.be_refused()
    _, (found,) = ended(capsys, "status", "payments")
    assert "1 of its 3 keys is refused, the others fit" in found["refusal"]["reason"]
    assert "12 to 14 of partition 0 of 't'" in found["refusal"]["reason"]
    _, (story,) = ended(capsys, "show", "payments", "3")
    assert story["refusals"][0]["reason"] == found["refusal"]["reason"]


def test_undo_goes_back_where_there_is_something_to_undo(scene, capsys):
    scene.be_refused()
    before = scene.rows("balances")
    code, said = ended(capsys, "undo", write_module(scene), "3", "--yes")
    if not scene.apart:
        assert (code, said, scene.rows("balances")) == (1, [], before)
        return
    assert (code, said[0]["decided"]) == (0, "undo")
    assert scene.rows("balances") == scene.rows("totals") != before
    scene.mend()
    scene.go_on()
    assert scene.rows("balances") == scene.rows("totals") == scene.topic.expected()


def test_undo_of_the_last_done_txid_says_what_is_read_again_and_asks(scene, capsys):
    scene.mend()
    named, before = write_module(scene, with_streams=True), scene.rows("balances")
    answer = CliRunner().invoke(app, ["undo", named, "2"], input="n\n")
    assert answer.exit_code == 4
    assert (
        "Txid 2 of payments is done. Back to txid 1 go 2 keys of balances, 2 keys of totals. Read again: t:0 from 10 "
        "to 12 (2 records). Who has read these results since has seen them; what was changed in them by hand goes with "
        "them. Bring every state back to txid 1?"
    ) in answer.output
    assert scene.rows("balances") == before
    code, (said,) = ended(capsys, "undo", named, "2", "--yes")
    assert (code, said["decided"], said["txid"], said["attempt"]) == (0, "undo", 2, 2)
    assert said["read_again"] == [{"stream": "s", "topic": "t", "partition": 0, "start": 10, "stop": 12, "records": 2}]
    assert said["keys"] == {"balances": 2, "totals": 2}
    assert scene.rows("balances") == scene.rows("totals") == without_txid(scene.topic, 10)
    assert run(["status", "payments"]) == 0
    scene.go_on()
    assert scene.rows("balances") == scene.rows("totals") == scene.topic.expected()


def test_undo_of_a_done_txid_that_can_not_be_says_why_and_asks_nothing(scene, capsys):
    assert run(["undo", write_module(scene), "2"]) == 1
    heard = capsys.readouterr()
    assert "no undo of txid 2: it is done, and what stream 's' has read can't be read again" in heard.err
    assert "[y/N]" not in heard.out
    assert scene.sql("SELECT * FROM trident_decision") == []


def test_reset_begins_anew(scene, capsys):
    scene.be_refused()
    code, (said,) = ended(capsys, "reset", write_module(scene), "--states", "clear", "--yes")
    assert (code, said["decided"], said["birth_txid"]) == (0, "reset", 3)
    scene.mend()
    scene.go_on()
    assert scene.rows("totals") == scene.topic.expected()


@pytest.mark.parametrize(
    ("given", "recorded"), [("latest", "latest"), ("2026-01-31T01:00:00+01:00", "2026-01-31T00:00:00+00:00")]
)
def test_a_reset_may_start_elsewhere(scene, capsys, given, recorded):
    scene.be_refused()
    code, (said,) = ended(capsys, "reset", write_module(scene), "--states", "clear", "--start", given, "--yes")
    assert (code, said["start"]) == (0, recorded)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("yesterday", "not 'yesterday'"),
        ("2026-01-31T01:00:00", "needs a time zone"),
        ("2026-01-01", "write 2026-01-01T00:00:00+00:00"),
    ],
)
def test_a_reset_to_no_moment_changes_nothing(scene, capsys, given, text):
    scene.be_refused()
    assert run(["reset", write_module(scene), "--states", "clear", "--start", given, "--yes"]) == 2
    assert text in capsys.readouterr().err
    assert run(["status", "payments"]) == 5


KEPT, EMPTIED = "The states keep their rows", "The states are emptied"
SKIPPED = "All records before that are skipped: they are in no result any more"
TWICE = "counted twice if they begin before it, and skipped if they begin behind it"
RESUMED = "go on where the last txid that is done has stopped"


def test_a_reset_says_what_it_will_really_do(tmp_path, monkeypatch):
    """The start that is asked for may be another one than that which is carried out."""
    monkeypatch.setenv("TRIDENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    scene = Scene(tmp_path, SHORTCUT)
    scene.mend()
    scene.go_on()
    named = write_module(scene)

    def asked(*words: str) -> str:
        before = scene.ledger().view().status("payments").incarnation
        answer = CliRunner().invoke(app, ["reset", named, *words], input="n\n")
        assert answer.exit_code == 4
        assert scene.ledger().view().status("payments").incarnation == before
        return " ".join(answer.stdout.split())

    def done(*words: str) -> str:
        answer = CliRunner().invoke(app, ["reset", named, *words, "--yes", "--json"])
        assert answer.exit_code == 0
        return str(json.loads(answer.stdout)["start"])

    for start in ("latest", "2026-01-31T00:00:00+00:00", "resume"):
        where = RESUMED if start == "resume" else f"begin at {start}"
        assert f"{EMPTIED}, and the streams {where}. {SKIPPED}" in asked("--states", "clear", "--start", start)
    for words in ((), ("--start", "earliest")):
        said = asked("--states", "clear", *words)
        assert f"{EMPTIED}, and the streams begin " in said
        assert "What the sources do not hold from there on is in no result any more" in said
    assert f"{KEPT}, and the streams {RESUMED}. Begin" in asked("--states", "adopt")
    assert TWICE in asked("--states", "adopt", "--start", "earliest")

    assert done("--states", "adopt", "--start", "earliest") == "earliest"
    said = asked("--states", "adopt")
    assert "begin at earliest, which a reset before said and nothing has begun since" in said
    assert TWICE in said
    assert f"{KEPT}, and the streams {RESUMED}. Begin" in asked("--states", "adopt", "--start", "resume")
    assert done("--states", "adopt") == "earliest"
    assert done("--states", "adopt", "--start", "resume") == "resume"
    scene.go_on()
    assert scene.rows("totals") == scene.topic.expected()

    assert done("--states", "clear", "--start", "earliest") == "earliest"
    said = asked("--states", "adopt", "--start", "resume")
    assert "No rows are in 'balances', 'totals': what came before that is skipped there" in said
    with dying_at(CrashPoint.AFTER_DECIDING_RESET):
        CliRunner().invoke(app, ["reset", named, "--states", "clear", "--start", "latest", "--yes"])
    said = asked("--states", "adopt", "--start", "resume")
    assert "a reset that was cut off is finished, and no new one made" in said
    assert f"{EMPTIED}, and the streams begin at latest. {SKIPPED}" in said


def test_a_moment_without_a_zone_is_refused_before_anybody_is_asked(capsys):
    assert run(["reset", "no_such_module:x", "--states", "clear", "--start", "2026-01-01"]) == 2
    heard = capsys.readouterr()
    assert "write 2026-01-01T00:00:00+00:00" in heard.err
    assert "[y/N]" not in heard.out


def test_nothing_is_decided_without_a_yes(scene, capsys):
    scene.be_refused()
    answer = CliRunner().invoke(app, ["retry", "payments", "3"], input="n\n")
    assert answer.exit_code == 4
    assert run(["retry", "payments", "3", "--json"]) == 2
    assert "--yes" in capsys.readouterr().err
    assert run(["status", "payments"]) == 5
    assert CliRunner().invoke(app, ["retry", "payments", "3"], input="y\n").exit_code == 0
    assert run(["status", "payments"]) == 0


@pytest.mark.parametrize("command", ["retry", "divert", "undo", "reset", "drop", "forget"])
def test_where_nobody_can_answer_nothing_is_decided_and_yes_is_named(scene, command):
    scene.be_refused()
    pinned = bool(scene.apart)
    words = {
        "retry": ["payments", "3"],
        "divert": [write_module(scene), "3", "--state", "totals"],
        "undo": [write_module(scene), "3"],
        "reset": [write_module(scene), "--states", "clear"],
        "drop": [write_module(scene), "totals"],
        "forget": [write_module(scene)],
    }[command]
    answer = CliRunner().invoke(app, [command, *words], input="")
    if command == "forget" or (command == "undo" and not pinned):
        assert isinstance(answer.exception, MismatchError)
        return
    assert answer.exit_code == 4
    assert "Aborted" not in answer.output
    assert "Not confirmed; nothing was changed. Where nobody can answer, say --yes." in answer.output
    assert run(["status", "payments"]) == 5


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (["retry", "payments", "9"], "no retry of txid 9: nothing of it was refused"),
        (["retry", "payments", "2"], "no retry of txid 2: txid 2 is done"),
        (["retry", "nobody", "3"], "is not in this ledger; there are: 'payments'"),
        (["undo", "MODULE", "9"], "no undo of txid 9: nothing of it is pinned"),
        (["divert", "MODULE", "9", "--state", "totals"], "no divert of txid 9 of state 'totals': nothing of it was"),
        (["divert", "MODULE", "3", "--state", "balances"], "it was state 'totals' that refused it"),
        (["divert", "MODULE", "3", "--state", "x"], "there is no such state, there are: 'balances', 'totals'. Nothing"),
    ],
)
@pytest.mark.drawn(one_in=2)
def test_what_can_not_be_decided_is_refused_before_anybody_is_asked(scene, capsys, command, text):
    scene.be_refused()
    words = [write_module(scene) if word == "MODULE" else word for word in command]
    assert run(words) == 1
    heard = capsys.readouterr()
    assert text in heard.err
    assert "[y/N]" not in heard.out
    assert scene.sql("SELECT * FROM trident_decision") == []


def test_drop_takes_a_state_out(scene, capsys):
    scene.mend()
    named = write_module(scene)
    answer = CliRunner().invoke(app, ["drop", named, "totals"], input="n\n")
    assert answer.exit_code == 4
    assert "It gets what is pinned and nothing after that (txid 2 is done now)" in answer.output
    code, (said,) = ended(capsys, "drop", named, "totals", "--yes")
    assert (code, said["decided"], said["state"], said["txid"]) == (0, "drop", "totals", 2)
    assert "start the version without it" in said["next"]
    assert list(json.loads(scene.sql("SELECT spec FROM trident_topology")[0][0])["states"]) == ["balances"]
    _, (told,) = ended(capsys, "status", "payments")
    assert (told["dropped"], told["sinks"]) == (["totals after txid 2"], [])
    assert run(["drop", named, "totals", "--yes"]) == 1
    assert run(["drop", named, "nothing", "--yes"]) == 1
    heard = capsys.readouterr().err
    assert "it was taken out before, or has never run" in heard
    assert "there are: 'balances', 'totals'" in heard


@pytest.mark.parametrize("tables", ["keep", "drop"])
def test_forget_says_what_it_lets_go_of_and_does_it_once(scene, capsys, tables):
    scene.mend()
    named = write_module(scene)
    words = ["forget", named, "--tables", tables]
    answer = CliRunner().invoke(app, words, input="n\n")
    assert answer.exit_code == 4
    stays = "its rows stay, and are nobody's" if tables == "keep" else "its table is dropped with all rows"
    assert "Topology payments (txid 2 is done) is let go of" in answer.output
    for state in ("balances", "totals"):
        assert re.search(rf"state {state} \([^)]*table {state}\): {stays}", answer.output)
    assert "Nothing of this can be taken back. Forget payments?" in answer.output
    at = "t:0=12,t:1=0"
    assert f"has been read up to {at}." in answer.output
    assert f"--start {at}" in answer.output
    assert run([*words, "--json"]) == 2
    capsys.readouterr()
    code, (said,) = ended(capsys, *words, "--yes")
    assert (code, said["decided"], said["tables"], said["done"]) == (0, "forget", tables, 2)
    assert (said["let_go"], said["dead_letters"], said["diverted"]) == (["balances", "totals"], 0, 0)
    assert "begins anew" in said["next"]
    assert list(said["read"].values()) == [at]
    assert at in said["next"]
    assert run(["status", "payments"]) == 1
    assert run([*words, "--yes"]) == 1
    heard = capsys.readouterr().err
    assert "is not in this ledger" in heard
    assert "it was forgotten before, or has never run" in heard


def test_a_forget_names_no_start_where_two_streams_read_one_topic() -> None:
    read = (("one", "t:0=12"), ("two", "t:0=7"))
    nothing = LeftBehind(0, 0)
    prospect = ForgetProspect("p", ForgottenTables.KEEP, 2, (), nothing, ("one", "two", "q"), read, ("q",), (), ())
    said = outcome(prospect)
    assert "Stream one has been read up to t:0=12. Stream two has been read up to t:0=7." in said
    assert "--start" not in said
    assert "What of q is done and was not acked yet its source gives again, and nobody knows it then" in said
    assert "--start t:0=12,u:0=7" in outcome(replace(prospect, read=(("one", "t:0=12"), ("two", "u:0=7"))))


def test_what_only_the_ledger_has_is_said_before_it_is_let_go_of(scene):
    scene.be_refused()
    scene.decide(DecisionKind.DIVERT, 3, "totals")
    scene.go_on()
    answer = CliRunner().invoke(app, ["forget", write_module(scene)], input="n\n")
    assert "Only the ledger has 3 diverted rows, and they go with it: read them first (trident show)" in answer.output


def test_a_running_topology_is_read_but_not_decided_about(scene, capsys):
    scene.be_refused()
    ledger = scene.ledger()
    ledger.acquire("payments", Lease("another host", OPTIONS.lease * 30))
    code, (standing,) = ended(capsys, "status", "payments")
    assert (code, standing["is_held"], standing["holder"]) == (5, True, "another host")
    assert run(["retry", "payments", "3", "--yes", "--json"]) == 3
    assert json.loads(capsys.readouterr().err)["error"] == "LeaseHeldError"
    ledger.close()


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["status", "payments", "--ledger", "/nowhere/x.sqlite"], 2, "there is no file"),
        (["status", "unknown"], 1, "is not in this ledger; there are: 'payments'"),
        (["undo", "nothing", "3", "--yes"], 2, "names no topology"),
        (["undo", "no_such_module:x", "3", "--yes"], 2, "can't import"),
        (["undo", "/nowhere/x.py:y", "3", "--yes"], 2, "there is no file"),
        (["undo", "json:nothing", "3", "--yes"], 2, "has no 'nothing'"),
        (["undo", "sys:path", "3", "--yes"], 2, "is a list, not a Topology"),
        (["undo"], 2, "Missing argument"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, capsys, monkeypatch, words, code, text):
    monkeypatch.setenv("TRIDENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setenv("COLUMNS", "200")
    ledger = SqliteLedger(tmp_path / "ledger.sqlite")
    ledger.open()
    started(ledger)
    ledger.close()
    assert run(words) == code
    assert text in capsys.readouterr().err


def test_a_ledger_must_be_named(capsys, monkeypatch):
    monkeypatch.delenv("TRIDENT_LEDGER", raising=False)
    assert run(["list"]) == 2
    assert "--ledger or TRIDENT_LEDGER" in capsys.readouterr().err


def test_a_secret_address_is_never_shown(capsys):
    address = "postgresql://user:s3cret@127.0.0.1:1/db"
    for words in (["list", "--ledger", address], ["retry", "payments", "3", "--yes", "--json", "--ledger", address]):
        assert run(words) == 1
        heard = capsys.readouterr()
        assert "s3cret" not in heard.out + heard.err


@pytest.mark.parametrize(
    "address",
    [
        "postgresql+psycopg2://user:s3cret@h/db",
        "postgres//user:s3cret@h/db",
        "Postgresql://user:s3cret@h/db",
        "mysql://user:s3cret@h/db",
        "jdbc:postgresql://h/db?user=user&password=s3cret",
        " postgresql://user:s3cret@127.0.0.1:1/db",
        "'postgresql://user:s3cret@127.0.0.1:1/db'",
    ],
)
def test_an_address_that_is_none_is_not_shown_either(address, capsys):
    for words in (["status", "p", "--ledger", address], ["status", "p", "--json", "--ledger", address]):
        assert run(words) == 2
        heard = "".join(capsys.readouterr())
        assert "s3cret" not in heard
        assert "begins with postgresql:// or postgres://" in heard


def test_reading_refuses_tables_of_another_version_and_changes_nothing(tmp_path, capsys):
    restore_sqlite(1, tmp_path)
    assert run(["status", "payments", "--ledger", str(tmp_path / "ledger.sqlite")]) == 1
    assert "are of version 1, this library reads version 7" in capsys.readouterr().err
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        assert connection.execute("SELECT max(version) FROM trident_schema").fetchone() == (1,)
    with sqlite3.connect(tmp_path / "empty.sqlite") as connection:
        connection.execute("CREATE TABLE other (x)")
    assert run(["list", "--ledger", str(tmp_path / "empty.sqlite")]) == 1
    assert "there is no ledger at" in capsys.readouterr().err


def test_it_is_a_program():
    answer = subprocess.run([sys.executable, "-m", "trident", "--help"], capture_output=True, text=True, check=True)
    commands = ["list", "status", "batches", "show", "reset", "undo", "retry", "divert", "drop", "forget", "evolve"]
    for command in [*commands, "reapply", "activate", "deactivate", "rebalance", "kill"]:
        assert command in answer.stdout


def test_the_commands_that_error_texts_name_exist():
    named = [text for name, text in vars(advice).items() if name.isupper()]
    found = {command for text in named for command in re.findall(r"trident (\w+) ?", text)}
    assert found == {"reset", "undo", "retry", "divert", "reapply", "drop", "forget", "evolve", "activate"}
    for command in found:
        answer = CliRunner().invoke(app, [command, "--help"])
        assert answer.exit_code == 0
        options = [word for text in named if f"trident {command}" in text for word in re.findall(r"--\w+", text)]
        assert all(option in answer.stdout for option in options)
