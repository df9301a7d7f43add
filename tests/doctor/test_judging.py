"""What single facts mean: topics and their rights, markers, staged rows, history, versions, who holds what."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from kafka import TopicPartition

from trident.base.identity import BatchId, Epoch, Owner
from trident.base.timeouts import Timeouts
from trident.coordinators.ledger import MemoryLedger
from trident.doctor import folders, markers, sessions, staging, transactions, versions
from trident.doctor.clients import ClusterAt
from trident.doctor.clusters import TopicUse, judged
from trident.doctor.findings import Level, ok, problem
from trident.doctor.markers import Expected
from trident.doctor.staging import Orphans, Staged, orphans_of
from trident.doctor.standing import history_of
from trident.doctor.subject import KafkaOutput, Subject
from trident.state import KafkaSink
from trident.state.kafka.bulk.folder import StagingFolder
from trident.state.positions import Position

READ = TopicUse("t", "stream 'payments'", ("DESCRIBE", "READ"))
MARKERS = TopicUse("m", "sink 'alerts'", ("DESCRIBE", "READ", "WRITE"), is_marker=True)
THERE = {"error_code": 0, "partitions": [1, 2], "authorized_operations": ["DESCRIBE", "READ"]}


@pytest.mark.parametrize(
    ("use", "told", "may_create", "level", "said"),
    [
        (READ, THERE, False, Level.OK, "2 partitions"),
        (MARKERS, THERE, False, Level.PROBLEM, "WRITE is not allowed"),
        (READ, {"error_code": 29}, True, Level.PROBLEM, "DESCRIBE is not allowed"),
        (READ, {"error_code": 3}, True, Level.PROBLEM, "it is not there"),
        (MARKERS, {"error_code": 3}, True, Level.OK, "the first start makes it"),
        (MARKERS, {"error_code": 3}, False, Level.WARNING, "CREATE on the cluster is not allowed"),
        (READ, {"error_code": 5}, True, Level.PROBLEM, "LeaderNotAvailableError"),
        (READ, {**THERE, "authorized_operations": None}, True, Level.WARNING, "do not tell rights"),
    ],
)
def test_a_topic(use, told, may_create, level, said):
    found = judged(use, told, may_create=may_create)
    assert (found.level, said in found.found) == (level, True)


def at(txid: int, incarnation: str = "one") -> Position:
    return Position(Owner("payments", incarnation), txid, 1, 0)


@pytest.mark.parametrize(
    ("found", "expected", "level"),
    [
        (at(5), Expected("the ledger", "one", 5, 5), Level.OK),
        (at(6), Expected("the ledger", "one", 5, 6), Level.OK),
        (at(4), Expected("the ledger", "one", 5, 6), Level.PROBLEM),
        (at(7), Expected("the ledger", "one", 5, 6), Level.PROBLEM),
        (at(5, "two"), Expected("the ledger", "one", 5, 5), Level.PROBLEM),
        (None, Expected("the ledger", "one", 5, 5), Level.PROBLEM),
        (None, Expected("the ledger", None), Level.OK),
        (at(5), Expected("the ledger", None), Level.PROBLEM),
        (None, Expected("the ledger", "one", 5, 5, born=5), Level.OK),
        (at(5), Expected("the ledger", "one", 5, 6, born=5), Level.OK),
        (at(6), Expected("the ledger", "one", 5, 5, born=5), Level.PROBLEM),
        (at(5, "two"), Expected("the ledger", "one", 5, 5, born=5), Level.PROBLEM),
        (at(5, "two"), Expected("the ledger", "one", 5, 5, resets=True), Level.WARNING),
        (None, Expected("the ledger", "one", 5, 5, resets=True), Level.WARNING),
        (at(4), Expected("the ledger", "one", 5, 5, resets=True), Level.PROBLEM),
        (at(5), Expected("the ledger", "one", 5, 5, resets=True), Level.OK),
    ],
)
def test_a_marker(found, expected, level):
    assert markers.judged("marker", found, expected).level is level


@pytest.mark.parametrize(
    ("found", "expected", "level"),
    [
        (at(1), Expected("the ledger", "one", 5, 6), Level.OK),
        (at(6), Expected("the ledger", "one", 5, 6), Level.OK),
        (at(7), Expected("the ledger", "one", 5, 6), Level.PROBLEM),
        (at(5, "two"), Expected("the ledger", "one", 5, 5), Level.PROBLEM),
        (None, Expected("the ledger", "one", 5, 5), Level.PROBLEM),
        (at(5), Expected("the ledger", None), Level.OK),
        (None, Expected("the ledger", "one", 5, 5, born=5), Level.OK),
        (at(6), Expected("the ledger", "one", 5, 5, born=5), Level.PROBLEM),
        (at(5, "two"), Expected("the ledger", "one", 5, 5, resets=True), Level.WARNING),
    ],
)
def test_the_marker_of_one_of_several_producers(found, expected, level):
    """One without rows of a txid stays where it is: it may stand anywhere before the sink's own."""
    assert markers.judged_share("marker", found, expected).level is level


def test_a_staging_folder(tmp_path, monkeypatch):
    sink = KafkaSink("alerts", bootstrap_servers="127.0.0.1:1", staging_folder=tmp_path / "staged")
    subject = Subject("payments", MemoryLedger(), Timeouts(), timedelta(minutes=1))
    output = KafkaOutput(sink, "out", ClusterAt("127.0.0.1:1", {}, 1.0))
    (found,) = folders.look_at_folder(subject, output)
    assert (found.level, "the first start makes it" in found.found) == (Level.OK, True)
    monkeypatch.setattr(folders, "standing_of", lambda _: object())
    (found,) = folders.look_at_folder(subject, output)
    assert (found.level, "is not there" in found.found) == (Level.PROBLEM, True)
    batch = BatchId(Owner("payments", "one"), Epoch(1, "a.b"), 7, 8)
    with StagingFolder((tmp_path / "staged").as_uri(), "alerts").writing(batch, "f") as file:
        file.write(b"abc")
    (found,) = folders.look_at_folder(subject, output)
    assert (found.level, "with 1 files of it (3 bytes)" in found.found) == (Level.OK, True)
    assert not list(folders.look_at_folder(subject, replace(output, sink=replace(sink, staging_folder=None))))


def test_a_marker_that_a_coordinator_has_just_moved_is_read_again(monkeypatch):
    monkeypatch.setattr(markers, "_PAUSE_SECONDS", 0)
    read = iter([at(4), at(5)])
    assert markers.compared("m", lambda: next(read), lambda: Expected("it", "one", 5, 5)).level is Level.OK
    behind = [at(4)] * 3
    assert markers.compared("m", behind.pop, lambda: Expected("it", "one", 5, 5)).level is Level.PROBLEM
    assert behind == []


def test_staged_rows_are_told_apart():
    rows = [Staged(1, 1, 10), Staged(5, 7, 3), Staged(6, 8, 2), Staged(6, 9, 4)]
    found = orphans_of(rows, 5, frozenset({8}))
    assert found == Orphans(done=13, dropped=2, oldest=Staged(1, 1, 10), behind=4)
    assert orphans_of([Staged(6, 9, 4)], 5, frozenset()).oldest is None
    late = staging.said_of("s", Orphans(1, 0, Staged(1, 1, 1), 101), None, is_held=False)
    assert (late.level, late.next) == (Level.WARNING, "start the topology")
    assert staging.said_of("s", Orphans(1, 0, Staged(1, 1, 1), 100), None, is_held=True).level is Level.OK
    old = staging.said_of("s", Orphans(1, 0, Staged(1, 1, 1), 5), 7_300, is_held=True)
    assert "2 h old" in old.found


NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("done", "commit", "pin", "age", "level"),
    [
        (0, None, None, timedelta(0), Level.OK),
        (90, 1, 1, timedelta(days=1), Level.OK),
        (90_000, 1, 89_000, timedelta(days=7), Level.OK),
        (90_000, 1, 89_000, timedelta(days=9), Level.WARNING),
        (14_000, 1, 13_000, timedelta(days=90), Level.OK),
        (14_000, 1, 2, timedelta(days=1), Level.WARNING),
    ],
)
def test_history(done, commit, pin, age, level):
    assert history_of(done, commit, pin, NOW - age, NOW).level is level


def test_versions_are_held_against_what_is_asked_for():
    required = ("pyspark<4.4,>=4.0", "kafka-python>=3.0", 'mypy>=1.14; extra == "dev"', "psycopg[binary]>=3.2")
    assert versions.bounds_of("pyspark", required) == "<4.4,>=4.0"
    assert versions.bounds_of("psycopg", required) == ">=3.2"
    assert versions.bounds_of("mypy", required) == versions.bounds_of("kafka", required) == ""
    assert all(versions.fits(there, "<4.4,>=4.0") for there in ("4.0", "4.0.0", "4.3.9", "4.1.0.dev2"))
    assert not any(versions.fits(there, "<4.4,>=4.0") for there in ("3.5.9", "4.4", "4.4.0", "5"))
    assert versions.fits("whatever", "")


def test_a_package_that_is_missing_is_a_problem(monkeypatch):
    monkeypatch.setattr(versions, "_version_of", lambda name: None if name == "psycopg" else "40")
    found = list(versions.look_at_versions())
    wrong = [each.found.split(",")[0] for each in found if each.is_problem]
    assert wrong == ["pyspark 40", "psycopg is not installed"]


def test_who_holds_tables_is_in_the_way_or_only_reads():
    def held(mode: str) -> sessions.Holder:
        return sessions.Holder("backend 7", 90, ("a", "b", "c", "d"), frozenset({mode}), "END 7")

    reads, writes = (sessions.said_of("s", held(mode)) for mode in ("AccessShareLock", "RowShareLock"))
    assert (reads.level, writes.level) == (Level.WARNING, Level.PROBLEM)
    assert "backend 7 has held a, b, c … in a transaction for 90 s" in writes.found
    assert writes.next.endswith("END 7")


@pytest.mark.parametrize(("state", "will"), [("PrepareCommit", "all of its records can"), ("PrepareAbort", "none of")])
def test_an_end_that_is_decided_can_not_be_aborted(state, will):
    found = transactions.said_of_own("o", transactions.OpenTransaction("t.s", "5 epoch 0", state, 90, 60, ("out[0]",)))
    assert will in found.means
    assert "--abort" not in found.next
    ongoing = transactions.OpenTransaction("t.s", "5 epoch 0", "Ongoing", 90, 60, ("out[0]",))
    assert "--abort t.s" in transactions.said_of_own("o", ongoing).next


def test_a_transaction_of_nobody_is_ended_by_kafkas_own_tool():
    held = transactions.HeldBack(TopicPartition("t", 3), 17, 40, 5, 0, 120, None)
    found = transactions.said_of_held("o", held, "host:9092", transactions.OF_READ)
    assert "t[3] can be read up to 17 of 40: producer 5 epoch 0 has had" in found.found
    assert "--topic t --partition 3 --start-offset 17" in found.next
    known = transactions.HeldBack(TopicPartition("t", 3), 17, 40, 5, 0, 120, "theirs")
    said = transactions.said_of_held("o", known, "host:9092", transactions.OF_MARKERS)
    assert "'theirs'" in said.next
    assert "nothing more is sent, and nothing is lost" in said.means
    assert problem("a", "b", "c", "d").is_problem
    assert not ok("a", "b").is_problem
