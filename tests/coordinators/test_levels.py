"""The three levels over the real coordinator and memory: each record once, at least once, at most once."""

from __future__ import annotations

import itertools
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from tests.coordinators.fakes import POISON, ListJob, Topic, make_job
from tests.coordinators.test_run import OPTIONS, Place, memory_place, payments, run, sqlite_place
from trident.base.crash_points import armed
from trident.base.errors import (
    ConfigurationError,
    FatalError,
    MismatchError,
    OutcomeUnknownError,
    RefusedError,
    RetryableError,
)
from trident.base.identity import BatchId
from trident.base.levels import Level
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.decisions.beginning import Prospect
from trident.coordinators.decisions.commands import drop_from_topology, reset_topology
from trident.coordinators.decisions.plainly import require_decidable
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import MemoryLedger
from trident.spouts.base import BadRecord, Limits
from trident.state import MemoryState
from trident.state.memory.plain import PlainMemory
from trident.state.plainly import Holds
from trident.testing.coordinators import PlayedClock
from trident.testing.lives import CoordinatorDiedError, Death, Life, MortalDatabase, MortalLedger

_LIVES = itertools.count()
"""Each life begins when the lease of the one before is over."""
WEAKER = (Level.AT_LEAST_ONCE, Level.AT_MOST_ONCE)
Rows = Mapping[str, tuple[int, int]]


@pytest.fixture(params=["memory", "sqlite", "sqlite apart"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return memory_place() if request.param == "memory" else sqlite_place(tmp_path, apart=request.param != "sqlite")


@pytest.mark.parametrize("level", Level)
def test_without_a_fault_every_record_counts_once_at_every_level(place, level):
    job = make_job(payments(), place.state("balances"), place.state("totals"), level=level)
    summary = run(job, place.ledger())
    assert place.rows("balances") == place.rows("totals") == job.topic.expected()
    assert (summary.batches, summary.lost) == (8, 0)
    assert job.topic.told == list(range(1, 9))
    job.topic.partitions[0] += [("late", 5)] * 4
    run(job, place.ledger())
    assert place.rows("balances") == job.topic.expected()


@pytest.mark.parametrize("level", WEAKER)
def test_nothing_is_stored_beside_values(tmp_path, level):
    place = sqlite_place(tmp_path)
    run(make_job(payments(), place.state("balances"), level=level), place.ledger())
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(balances)")]
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert columns == ["account", "n", "total"]
    assert not {name for name in tables if name.startswith(("trident_applied", "trident_staging"))}


def borders(level: Level) -> list[Death]:
    """Return every border that two batches of a run without faults come to."""
    life, job = Life(), make_job(payments(2, 8), MemoryState("balances"), level=level)
    lives(job, MemoryLedger(), life)
    return list(life.passed)


def lives(job: ListJob, kept: MemoryLedger, life: Life) -> bool:
    """Let one coordinator live to its end, or its death; returns whether it has died."""
    clock = PlayedClock()
    clock.outlive(timedelta(seconds=10) * next(_LIVES))
    ledger = MortalLedger(clock, database=MortalDatabase(kept.database, life))
    with armed(life.reach):
        try:
            TopologyRun(job.plan(), ledger, replace(OPTIONS, max_pending=1, max_tries=3), clock).run()
        except CoordinatorDiedError:
            return True
    return False


@pytest.mark.parametrize("level", WEAKER)
def test_wherever_a_coordinator_dies_no_level_breaks_its_word(level):
    found = borders(level)
    assert len(found) > 10
    doubled = lost = 0
    for death in found:
        topic, kept = payments(2, 8), MemoryLedger()
        job = make_job(topic, MemoryState("balances"), level=level)
        assert lives(job, kept, Life(death)), death
        assert not lives(job, kept, Life()), death
        rows = {row["account"]: row["n"] for row in MemoryState("balances").rows(kept.database)}
        for account, (n, _) in topic.expected().items():
            there = rows.get(account, 0)
            assert isinstance(there, int)
            if level is Level.AT_LEAST_ONCE:
                assert there >= n, (death, account)
            else:
                assert there <= n, (death, account)
            doubled += max(0, there - n)
            lost += max(0, n - there)
    assert bool(doubled) is (level is Level.AT_LEAST_ONCE), "one that dies between writing and its record writes again"
    assert bool(lost) is (level is Level.AT_MOST_ONCE), "one that dies between the record and writing loses it"


def failing(txids: set[int], times: int = 1_000) -> Callable[[ProcessRequest, ProcessResult], ProcessResult]:
    """Return what makes the first attempts at these txids fail once they are processed."""
    left = dict.fromkeys(txids, times)

    def meddle(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if left.get(request.batch.txid, 0) > 0:
            left[request.batch.txid] -= 1
            raise RetryableError("an executor went away")
        return result

    return meddle


def counted(rows: Rows) -> int:
    return sum(n for n, _ in rows.values())


def test_at_least_once_a_failed_attempt_is_tried_again_and_loses_nothing():
    place = memory_place()
    job = make_job(payments(), place.state("balances"), level=Level.AT_LEAST_ONCE, meddle=failing({2, 5}, 2))
    run(job, place.ledger())
    assert place.rows("balances") == job.topic.expected(), "nothing was written before its turn"


def test_at_least_once_an_attempt_that_has_written_to_one_of_two_writes_there_again(monkeypatch):
    place, wrong = memory_place(), [RetryableError("away")] * 3
    write = PlainMemory.write

    def broken(self: PlainMemory, batch: BatchId, rows: pa.Table, *holds: Holds) -> None:
        if self.name == "totals" and batch.txid == 3 and wrong:
            raise wrong.pop()
        write(self, batch, rows, *holds)

    monkeypatch.setattr(PlainMemory, "write", broken)
    job = make_job(payments(), place.state("balances"), place.state("totals"), level=Level.AT_LEAST_ONCE)
    run(job, place.ledger())
    assert place.rows("totals") == place.rows("balances") == job.topic.expected(), "what was rolled back is repeated"


def test_at_least_once_a_write_that_nobody_knows_of_is_repeated(monkeypatch):
    place, job = memory_place(), make_job(payments(), MemoryState("balances"), level=Level.AT_LEAST_ONCE)
    unheard_at(monkeypatch, 4)
    run(job, place.ledger())
    assert counted(place.rows("balances")) == 75 + 10


def test_at_most_once_a_write_that_nobody_knows_of_is_not_repeated(monkeypatch, caplog):
    place, job = memory_place(), make_job(payments(), MemoryState("balances"), level=Level.AT_MOST_ONCE)
    unheard_at(monkeypatch, 4)
    summary = run(job, place.ledger())
    assert counted(place.rows("balances")) == 75
    assert summary.lost == 1, "nobody knows, so it counts as lost"
    assert "txid=4 lost" in caplog.text


def unheard_at(monkeypatch: pytest.MonkeyPatch, txid: int) -> None:
    """Lose the answer to the first write of a txid."""
    write, lost = PlainMemory.write, [txid]

    def unheard(self: PlainMemory, batch: BatchId, rows: pa.Table, *holds: Holds) -> None:
        write(self, batch, rows, *holds)
        if batch.txid in lost:
            lost.remove(batch.txid)
            raise OutcomeUnknownError("the answer was lost")

    monkeypatch.setattr(PlainMemory, "write", unheard)


def test_at_most_once_what_fails_is_lost_told_and_counted_and_the_next_goes_on(caplog):
    place = memory_place()
    job = make_job(payments(), place.state("balances"), level=Level.AT_MOST_ONCE, meddle=failing({2, 5}))
    summary = run(job, place.ledger())
    assert (summary.batches, summary.lost) == (8, 2)
    assert counted(place.rows("balances")) == 75 - 20
    assert [request.batch.txid for request in job.processor.attempts].count(2) == 1
    assert "txid=2 lost: it is recorded as done" in caplog.text
    assert "an executor went away" in caplog.text


def test_at_most_once_a_write_that_was_rolled_back_is_tried_again(monkeypatch):
    place, wrong, write = memory_place(), [RetryableError("away")] * 3, PlainMemory.write

    def away(self: PlainMemory, batch: BatchId, rows: pa.Table, *holds: Holds) -> None:
        if wrong:
            raise wrong.pop()
        write(self, batch, rows, *holds)

    monkeypatch.setattr(PlainMemory, "write", away)
    job = make_job(payments(), place.state("balances"), level=Level.AT_MOST_ONCE)
    assert run(job, place.ledger()).lost == 0
    assert place.rows("balances") == job.topic.expected()


def test_at_most_once_another_target_gets_what_one_refuses(monkeypatch):
    place, write = memory_place(), PlainMemory.write

    def refusing(self: PlainMemory, batch: BatchId, rows: pa.Table, *holds: Holds) -> None:
        if self.name == "balances" and batch.txid == 3:
            raise RefusedError("a constraint")
        write(self, batch, rows, *holds)

    monkeypatch.setattr(PlainMemory, "write", refusing)
    job = make_job(payments(), place.state("balances"), place.state("totals"), level=Level.AT_MOST_ONCE)
    assert run(job, place.ledger()).lost == 1
    assert place.rows("totals") == job.topic.expected()
    assert counted(place.rows("balances")) == 65


def test_at_most_once_a_topology_that_loses_every_batch_is_stopped_before_its_source_is_empty():
    place = memory_place()
    job = make_job(
        payments(1, 400), place.state("balances"), level=Level.AT_MOST_ONCE, meddle=failing(set(range(1, 41)))
    )
    with pytest.raises(FatalError, match=r"the last \d batches were lost, one after the other"):
        run(job, place.ledger(), replace(OPTIONS, max_tries=4, max_pending=2))
    assert len(job.processor.attempts) <= 4 + 2
    done = place.ledger().view().status("payments").done
    job.processor.meddle = lambda _, result: result
    run(job, place.ledger())
    assert counted(place.rows("balances")) == 400 - 10 * done, "the next start goes on behind what is recorded"


def test_at_most_once_no_more_than_max_pending_are_recorded_and_not_processed():
    place, seen, ready = memory_place(), list[int](), threading.Event()

    def slow(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        ready.wait(0.2)
        seen.append(place.ledger().view().status("payments").done - len(seen))
        return result

    job = make_job(payments(1, 120), place.state("balances"), level=Level.AT_MOST_ONCE, meddle=slow)
    run(job, place.ledger(), replace(OPTIONS, max_pending=2))
    assert max(seen) <= 3, "two are processed, and one may be recorded while a word of theirs is on its way"
    assert job.processor.most_running == 2
    assert place.rows("balances") == job.topic.expected()


def test_at_most_once_a_stop_waits_for_what_is_recorded():
    place, begun, stopped = memory_place(), threading.Event(), threading.Event()

    def slow(_: ProcessRequest, result: ProcessResult) -> ProcessResult:
        begun.set()
        stopped.wait(5)
        time.sleep(0.1)
        return result

    job = make_job(payments(1, 200), place.state("balances"), level=Level.AT_MOST_ONCE, meddle=slow)
    going = TopologyRun(job.plan(), place.ledger(), OPTIONS)

    def stop() -> None:
        begun.wait(5)
        going.stop()
        stopped.set()

    ending = threading.Thread(target=stop)
    ending.start()
    summary = going.run()
    ending.join()
    assert summary.lost == 0
    assert counted(place.rows("balances")) == 10 * summary.batches > 0


def test_at_most_once_one_that_hangs_is_given_up_and_never_writes(caplog):
    place, ended = memory_place(), threading.Event()

    def hanging(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if request.batch.txid == 2:
            ended.wait(5)
        return result

    job = make_job(payments(), place.state("balances"), level=Level.AT_MOST_ONCE, meddle=hanging)
    options = replace(OPTIONS, batch_timeout=timedelta(seconds=0.3), max_pending=1)
    summary = run(job, place.ledger(), options)
    ended.set()
    time.sleep(0.1)
    assert (summary.batches, summary.lost) == (8, 1)
    assert counted(place.rows("balances")) == 65
    assert "not processed within 0.3 s" in caplog.text
    assert job.processor.cancelled == [2]


@pytest.mark.parametrize(("policy", "kept"), [(BadRecord.FAIL, 20), (BadRecord.DEAD_LETTER, 29)])
def test_at_most_once_a_record_that_does_not_decode_is_lost_alone_or_with_its_batch(policy, kept, caplog):
    topic = Topic([[("ann", 1)] * 15 + [POISON] + [("ann", 1)] * 14])
    place = memory_place()
    job = make_job(topic, place.state("balances"), level=Level.AT_MOST_ONCE, on_bad_record=policy)
    run(job, place.ledger())
    assert counted(place.rows("balances")) == kept
    assert "lost" in caplog.text


def test_at_least_once_refused_rows_end_the_run_and_wait_for_no_decision(monkeypatch):
    place, write, refuses = memory_place(), PlainMemory.write, [True]

    def refusing(self: PlainMemory, batch: BatchId, rows: pa.Table, *holds: Holds) -> None:
        if self.name == "totals" and batch.txid == 3 and refuses:
            raise RefusedError("a constraint")
        write(self, batch, rows, *holds)

    monkeypatch.setattr(PlainMemory, "write", refusing)
    job = make_job(payments(), place.state("balances"), place.state("totals"), level=Level.AT_LEAST_ONCE)
    with pytest.raises(StoppedError, match=r"'totals' refused rows of .* for good") as refused:
        run(job, place.ledger())
    assert any("written again when they are tried again" in note for note in refused.value.__notes__)
    assert not place.ledger().view().status("payments").needs_decision
    refuses.clear()
    run(job, place.ledger())
    assert place.rows("totals") == job.topic.expected()
    assert counted(place.rows("balances")) >= 85


@pytest.mark.parametrize("before", Level)
@pytest.mark.parametrize("then", Level)
def test_a_topology_that_has_run_stays_at_its_level(place, before, then):
    topic = payments()
    run(make_job(topic, place.state("balances"), level=before), place.ledger())
    again = make_job(topic, place.state("balances"), level=then)
    if before is then:
        run(again, place.ledger())
        assert place.rows("balances") == topic.expected()
        return
    with pytest.raises(MismatchError, match=f"runs at level {before}, and this version says {then}"):
        run(again, place.ledger())
    assert place.rows("balances") == topic.expected(), "nothing was changed"
    assert place.ledger().view().status("payments").level is before


def test_a_table_that_stands_at_a_txid_is_no_plain_one(tmp_path):
    place = sqlite_place(tmp_path)
    run(make_job(payments(), place.state("balances")), place.ledger())
    other = make_job(payments(), place.state("balances"), level=Level.AT_LEAST_ONCE)
    with pytest.raises(MismatchError, match="'balances' of topology 'payments', which knows up to which txid"):
        TopologyRun(other.plan("others"), place.ledger(), OPTIONS).run()


@pytest.mark.parametrize("level", WEAKER)
def test_the_log_says_the_level_at_the_start(level, caplog):
    caplog.set_level("INFO", "trident.coordinator")
    place = memory_place()
    run(make_job(payments(), place.state("balances"), level=level), place.ledger())
    assert f"level={level}, not exactly_once: {level.not_promised}" in caplog.text


@pytest.mark.parametrize("level", WEAKER)
@pytest.mark.parametrize(("keeps", "times"), [(True, 2), (False, 1)])
def test_a_reset_empties_states_or_keeps_their_rows(place, level, keeps, times):
    topic = payments()
    run(make_job(topic, place.state("balances"), level=level), place.ledger())
    job = make_job(topic, place.state("balances"), level=level)
    told: list[Prospect] = []
    made = job.plan()
    reset_topology(
        made.spec, made.targets, place.ledger(), keep_rows=keeps, start="earliest", options=OPTIONS, agree=told.append
    )
    assert len(told) == 1
    run(job, place.ledger())
    assert place.rows("balances") == {
        account: (n * times, total * times) for account, (n, total) in topic.expected().items()
    }


@pytest.mark.parametrize("level", WEAKER)
def test_a_state_is_taken_out_and_keeps_what_it_holds(place, level):
    topic = payments()
    both = make_job(topic, place.state("balances"), place.state("totals"), level=level)
    run(both, place.ledger())
    made = both.plan()
    drop_from_topology(made.spec, made.targets, place.ledger(), "totals", OPTIONS)
    topic.partitions[0] += [("late", 1)] * 3
    run(make_job(topic, place.state("balances"), level=level), place.ledger())
    assert place.rows("balances") == topic.expected()
    assert "late" not in place.rows("totals")


@pytest.mark.parametrize("level", WEAKER)
def test_no_txid_waits_for_a_person(level):
    with pytest.raises(ConfigurationError, match=f"runs at level {level}: nothing is staged or pinned"):
        require_decidable("payments", level)
    require_decidable("payments", Level.EXACTLY_ONCE)


@pytest.mark.parametrize("level", WEAKER)
def test_a_byte_limit_holds_at_every_level(level):
    """A record of the fake has 10 bytes, and nobody knows that before one was read."""
    place = memory_place()
    job = make_job(payments(1, 60), place.state("balances"), level=level, limits=Limits(max_bytes=100))
    run(job, place.ledger(), replace(OPTIONS, max_pending=1))
    widths = [sum(edge.range.width for edge in request.edges["s"]) for request in job.processor.attempts]
    assert max(widths) <= 10
    assert place.rows("balances") == job.topic.expected()
