"""The examination itself: it goes on, it ends, and it says what the rest of the program says."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli.making import write_module
from tests.coordinators.fakes import LAYOUT, ListJob, make_job
from tests.coordinators.test_decisions import APART, SHORTCUT, Scene, dying_at
from tests.coordinators.test_renaming import made as made_to_rename
from tests.coordinators.test_run import OPTIONS, Place, payments, sqlite_place
from trident.base.crash_points import CrashPoint
from trident.base.errors import FatalError, LeaseHeldError, MismatchError, RetryableError
from trident.base.levels import Level as Promised
from trident.base.timeouts import Timeouts
from trident.cli.app import run
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import MemoryLedger, SqliteLedger
from trident.coordinators.registered import Birth, Lease, TopologySpec
from trident.doctor import examining
from trident.doctor.aborting import abortable
from trident.doctor.bounded import bounded
from trident.doctor.clusters import uses_of
from trident.doctor.examining import examine
from trident.doctor.findings import Check, Finding, Level, ok, problem, span
from trident.doctor.standing import look_at_ledger
from trident.doctor.subject import KafkaOutput, Subject, opened_subject
from trident.graph.nodes import SinkNode
from trident.state import KafkaSink, SqliteState

SHORT = Timeouts(lease=timedelta(seconds=0.1))
LONG = Timeouts(lease=timedelta(seconds=5))


class NothingOpen:
    """A cluster in which no transaction is open."""

    def ask(self, what: str, call: object) -> dict[int, list[object]]:
        return {}


OUTPUT = KafkaOutput(KafkaSink("alerts", bootstrap_servers="host:9092"), None, NothingOpen())  # type: ignore[arg-type]


def subject() -> Subject:
    return Subject("payments", MemoryLedger(), SHORT, timedelta(seconds=30))


def test_what_fails_or_hangs_is_a_finding_and_the_next_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> Iterator[Finding]:
        raise FatalError("no such user; nothing was changed")

    def away() -> Iterator[Finding]:
        time.sleep(1)
        yield ok("never", "")

    def answers() -> Iterator[Finding]:
        yield ok("last", "is asked")

    made = (
        Check("first", refused, "place", opens=True),
        Check("left out", answers, "place"),
        Check("second", away, "other"),
        Check("last", answers, "other"),
    )
    monkeypatch.setattr(examining, "checks_of", lambda _: made)
    found = list(examine(subject()))
    assert [(each.about, each.level) for each in found] == [
        ("first", Level.PROBLEM),
        ("second", Level.PROBLEM),
        ("last", Level.OK),
    ]
    assert "no such user" in found[0].found
    assert "nothing else was asked there" in found[0].means
    assert "no answer within" in found[1].found


def test_what_is_no_error_of_the_librarys_is_not_hidden() -> None:
    def wrong() -> None:
        raise KeyError("a mistake")

    with pytest.raises(KeyError):
        bounded(wrong, 5, "wrong")


def test_a_ledger_in_memory_is_told_so() -> None:
    compiled = SimpleNamespace(spouts={}, targets={}, ends=(), level=Promised.EXACTLY_ONCE, spec=lambda: None)
    topology = SimpleNamespace(name="payments", compile=lambda: compiled)
    with opened_subject(topology, MemoryLedger(), SHORT, timedelta(seconds=30)) as opened:  # type: ignore[arg-type]
        found = list(examine(opened))
    assert [each.found for each in found if each.about == "ledger"] == [
        "it is in memory, and known to its own process only"
    ]


def test_only_ids_of_the_topology_are_aborted() -> None:
    for id_ in ("payments2.alerts", "payments", "another.payments.alerts", "payments.enrichment-service-1"):
        with pytest.raises(MismatchError, match=r"which has payments\.alerts; nothing was aborted"):
            abortable(replace(subject(), outputs=(OUTPUT,)), id_)
    with pytest.raises(MismatchError, match=r"this ledger knows no topology 'payments'.*; nothing was aborted"):
        abortable(replace(subject(), outputs=(OUTPUT,)), "payments.alerts")
    with pytest.raises(MismatchError, match="has no sink in Kafka; nothing was aborted"):
        abortable(subject(), "payments.alerts")


def test_nothing_is_aborted_while_a_coordinator_holds_the_topology(tmp_path: Path) -> None:
    ledger = Scene(tmp_path, SHORTCUT).ledger()
    ledger.open()
    epoch = ledger.acquire("payments", Lease("somebody", timedelta(seconds=60))).epoch
    held = replace(subject(), ledger=ledger, outputs=(OUTPUT,))
    with pytest.raises(LeaseHeldError, match="held by somebody; nothing was aborted"):
        abortable(held, "payments.alerts")
    ledger.release("payments", epoch)
    with pytest.raises(MismatchError, match=r"no transaction of 'payments\.alerts' is open"):
        abortable(held, "payments.alerts")


@pytest.mark.parametrize("places", [SHORTCUT, APART], ids=["beside", "apart"])
def test_the_command_over_files(tmp_path: Path, places: frozenset[str], capsys: pytest.CaptureFixture[str]) -> None:
    scene, file = Scene(tmp_path, places), str(tmp_path / "ledger.sqlite")
    named = write_module(scene)
    assert run(["doctor", named, "--ledger", file]) == 0
    said = capsys.readouterr().out
    assert "ok       the ledger's database: " in said
    assert "problem" not in said
    scene.be_refused()
    assert run(["doctor", named, "--ledger", file, "--json"]) == 6
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (ill,) = [each for each in found if each["level"] == "problem"]
    assert "was refused for good by state 'totals'" in ill["found"]
    assert ill["next"] == "trident status payments names the commands that go on"
    if places:
        (tmp_path / "totals.sqlite").unlink()
        assert run(["doctor", named, "--ledger", file]) == 6
        assert "there is no file" in capsys.readouterr().out
        assert not (tmp_path / "totals.sqlite").exists(), "it makes nothing"


def test_what_the_next_start_adds_is_said(tmp_path: Path) -> None:
    ledger, kept = SqliteLedger(tmp_path / "ledger.db"), {"kind": "opaque", "keys": "k string", "values": "n int64 add"}
    ledger.open(LONG)
    try:
        stored = TopologySpec("payments", {"s": {"kind": "opaque"}}, {"sums": kept})
        epoch = ledger.acquire("payments", Lease("a coordinator", LONG.lease)).epoch
        owner = ledger.register(epoch, stored).owner
        ledger.set_births(owner, epoch, [Birth("sums", 0)])
        given = replace(stored, states={"sums": {**kept, "values": "most int64 greatest, n int64 add"}})
        found = list(look_at_ledger(Subject("payments", ledger, LONG, timedelta(seconds=30), spec=given)))
    finally:
        ledger.close()
    assert [each.found for each in found if "the next start adds 'most' to state 'sums'" in each.found]


def test_a_topic_that_the_next_start_reads_is_said_and_no_problem(tmp_path: Path) -> None:
    ledger, stream = SqliteLedger(tmp_path / "ledger.db"), {"spout": "kafka", "kind": "opaque", "topics": "a"}
    ledger.open(LONG)
    try:
        stored = TopologySpec("payments", {"s": stream}, {})
        ledger.register(ledger.acquire("payments", Lease("a coordinator", LONG.lease)).epoch, stored)
        given = replace(stored, spouts={"s": {**stream, "topics": "b,a"}})
        found = list(look_at_ledger(Subject("payments", ledger, LONG, timedelta(seconds=30), spec=given)))
    finally:
        ledger.close()
    assert {each.level for each in found} == {Level.OK}
    assert [each.found for each in found if "the next start reads topic 'b' with stream 's'" in each.found]


@pytest.mark.parametrize("places", [SHORTCUT, APART], ids=["beside", "apart"])
def test_a_state_that_has_not_followed_its_rename_is_said(places: frozenset[str], tmp_path: Path) -> None:
    scene = made_to_rename(tmp_path, places)

    def found() -> list[Finding]:
        plan, ledger = scene.version().plan(), scene.ledger()
        ledger.open(LONG)
        targets = {name: opens(ledger.database, LONG) for name, opens in plan.targets.items()}
        subject = Subject("payments", ledger, LONG, timedelta(seconds=30), targets, spec=plan.spec)
        return [each for each in examine(subject) if each.about == "state 'sums'"]

    with dying_at(CrashPoint.AFTER_RENAMING):
        scene.rename()
    (said,) = found()
    assert said.level is Level.WARNING
    assert said.found.startswith("it was renamed after txid 2")
    assert "under its former name 'totals'" in said.found
    assert "trident evolve MODULE:TOPOLOGY --rename-state totals=sums" in said.next
    assert scene.positions() == {"balances", "totals"}, "it changes nothing"
    scene.let_go()
    scene.go_on_as("sums")
    assert not found()


def test_another_version_than_the_one_in_the_ledger_is_a_problem_and_a_queue_is_not_looked_at(tmp_path: Path) -> None:
    place, job = run_weaker(tmp_path, Promised.EXACTLY_ONCE)
    spec, ledger = job.plan().spec, place.ledger()
    ledger.open(SHORT)
    changed = replace(spec, spouts={name: {"spout": "another"} for name in spec.spouts})
    for given, levels in ((spec, [Level.OK]), (changed, [Level.OK, Level.PROBLEM])):
        made = Subject("payments", ledger, LONG, timedelta(seconds=30), spec=given, queues=("orders",))
        found = list(examine(made))
        assert [each.level for each in found if each.about == "ledger"] == levels
        (queue,) = [each for each in found if each.about == "stream 'orders'"]
        assert (queue.level, queue.found) == (Level.WARNING, "a queue is not looked at")
    ledger.close()
    (ill,) = [each for each in found if each.level is Level.PROBLEM]
    assert "is stored as" in ill.found
    assert ill.next.startswith("Put the old names and kinds back")


def test_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene, file = Scene(tmp_path, SHORTCUT), str(tmp_path / "ledger.sqlite")
    named = write_module(scene)
    assert run(["doctor", "nowhere:topology", "--ledger", file]) == 2
    assert run(["doctor", named, "--ledger", str(tmp_path / "none.sqlite")]) == 2
    assert run(["doctor", named, "--ledger", file, "--open-longer-than", "-1"]) == 2
    assert run(["doctor", named, "--ledger", file, "--abort", "payments.totals", "--yes"]) == 1
    assert "has no sink in Kafka" in capsys.readouterr().err


def test_a_line_has_all_that_there_is_to_say() -> None:
    found = problem("the place", "it is away.", "nothing is lost", "wait")
    assert str(found) == "problem  the place: it is away. nothing is lost. wait"
    assert str(ok("the place", "answers")) == "ok       the place: answers"
    assert [span(each) for each in (0.4, 59, 3_600, 7_200, 200_000)] == ["0 s", "59 s", "60 min", "2 h", "2 days"]


def weaker(name: str, *ends: object, targets: dict[str, object]) -> SimpleNamespace:
    compiled = SimpleNamespace(spouts={}, targets=targets, ends=ends, level=Promised.AT_LEAST_ONCE, spec=lambda: None)
    return SimpleNamespace(name=name, compile=lambda: compiled)


def test_tables_of_a_weaker_level_are_looked_at(tmp_path: Path) -> None:
    ledger, file = SqliteLedger(tmp_path / "ledger.sqlite"), tmp_path / "sums.sqlite"
    ledger.open()
    state = SqliteState("sums", path=file)
    topology = weaker("views", targets={"sums": lambda *_: state.open_plain(LAYOUT, ledger.database)})

    def found() -> list[tuple[str, Level]]:
        with opened_subject(topology, ledger, SHORT, timedelta(seconds=30)) as opened:  # type: ignore[arg-type]
            opened = replace(opened, timeouts=Timeouts(lease=timedelta(seconds=5)))
            return [(each.about, each.level) for each in examine(opened) if "sums" in each.about]

    assert found() == [("the database of 'sums'", Level.PROBLEM)]
    assert not file.exists()
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE sums (account integer)")
    assert found() == [("the database of 'sums'", Level.OK), ("the table of 'sums'", Level.PROBLEM)]
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE sums")
    assert found() == [("the database of 'sums'", Level.OK), ("the table of 'sums'", Level.OK)]
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [], "it makes nothing"
    ledger.close()


def run_weaker(folder: Path, promised: Promised) -> tuple[Place, ListJob]:
    place = sqlite_place(folder, apart=True)
    job = make_job(payments(1, 30), place.state("balances"), level=promised)
    TopologyRun(job.plan(), place.ledger(), OPTIONS).run()
    return place, job


def execute(file: Path, statement: str) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute(statement)


@pytest.mark.parametrize("promised", [Promised.AT_LEAST_ONCE, Promised.AT_MOST_ONCE])
@pytest.mark.parametrize("what", ["nothing", "dropped", "emptied", "ledger lost", "ledger put back"])
def test_what_a_start_would_refuse_of_a_plain_table_is_a_problem(tmp_path: Path, promised: Promised, what: str) -> None:
    place, job = run_weaker(tmp_path, promised)
    backup = shutil.copy(tmp_path / "ledger.sqlite", tmp_path / "backup")
    job.topic.partitions[0] += [("late", 1)] * 30
    TopologyRun(job.plan(), place.ledger(), OPTIONS).run()
    if what in ("dropped", "emptied"):
        execute(tmp_path / "balances.sqlite", f"{'DROP TABLE' if what == 'dropped' else 'DELETE FROM'} balances")
    elif what != "nothing":
        for file in tmp_path.glob("ledger.sqlite*"):
            file.unlink()
        if what == "ledger put back":
            shutil.copy(backup, tmp_path / "ledger.sqlite")
    ledger, plan = place.ledger(), job.plan()
    ledger.open(SHORT)
    topology = weaker("payments", targets=dict(plan.targets))
    with opened_subject(topology, ledger, SHORT, timedelta(seconds=30)) as opened:  # type: ignore[arg-type]
        opened = replace(opened, timeouts=Timeouts(lease=timedelta(seconds=5)))
        (found,) = [each for each in examine(opened) if each.about == "the table of 'balances'"]
    ledger.close()
    if what == "nothing":
        assert str(found) == "ok       the table of 'balances': it is there and fits"
        return
    assert found.level is Level.PROBLEM
    with pytest.raises(MismatchError) as refused:
        TopologyRun(plan, place.ledger(), OPTIONS).run()
    assert what == "ledger lost" or found.found in str(refused.value), "the words of the start"
    assert found.next.split(";")[-1].rstrip(".") in str(refused.value), "and its ways on"


@pytest.mark.parametrize("promised", list(Promised))
def test_of_a_txid_that_is_not_done_it_says_what_the_level_does(tmp_path: Path, promised: Promised) -> None:
    def fail(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if request.batch.txid == 2:
            raise RetryableError("an executor went away")
        return result

    place = sqlite_place(tmp_path)
    job = make_job(payments(1, 30), place.state("balances"), level=promised, meddle=fail)
    if promised is Promised.AT_MOST_ONCE:
        TopologyRun(job.plan(), place.ledger(), OPTIONS).run()  # where it is lost and done
    else:
        with pytest.raises(FatalError):
            TopologyRun(job.plan(), place.ledger(), OPTIONS).run()
    said = [each.means for each in look_at_ledger(replace(subject(), ledger=place.ledger())) if each.means]
    means = {
        Promised.EXACTLY_ONCE: ["nothing of that txid is in any result"],
        Promised.AT_LEAST_ONCE: ["what is written of that txid by now stays in the results, and is written again"],
        Promised.AT_MOST_ONCE: [],
    }
    assert said == means[promised]


def test_clusters_of_sinks_of_a_weaker_level_are_looked_at() -> None:
    end = SinkNode.__new__(SinkNode)
    object.__setattr__(end, "sink", KafkaSink("out", bootstrap_servers="127.0.0.1:9"))
    object.__setattr__(end, "description", {"topic": "paid"})
    topology = weaker("views", end, targets={})
    with opened_subject(topology, MemoryLedger(), SHORT, timedelta(seconds=30)) as opened:  # type: ignore[arg-type]
        assert [each.servers for each in opened.clusters] == ["127.0.0.1:9"]
        assert opened.outputs == ()
        assert [(use.topic, use.is_marker) for use in uses_of(opened, opened.clusters[0])] == [("paid", False)]
