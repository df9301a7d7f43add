"""The ledger in a SQLite file keeps the contract, over restarts and between processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.ledger.contract import LedgerContract
from tests.ledger.late_beats import (
    check_that_a_beat_at_the_last_moment_keeps_it,
    check_that_who_beats_keeps_a_lease_that_has_run_out,
)
from tests.ledger.making import LONG, SPEC, commit_of, pin_of, started, taken_over
from trident.base.errors import ConfigurationError, FatalError, FencedError, LeaseHeldError, MismatchError
from trident.base.timeouts import Timeouts
from trident.coordinators.decided import ResetDecision
from trident.coordinators.holding.keeping import HearsOfLease, Heartbeat
from trident.coordinators.ledger import Ledger, SqliteLedger
from trident.coordinators.ledger.sql.asserted import set_progress
from trident.coordinators.ledger.versions.migrations import LEDGER_TABLES
from trident.coordinators.registered import Birth, Lease
from trident.state.databases.base import SqlTransaction
from trident.state.sqlite.schema import SQLITE_TERMS

_TAKE_AND_DIE = """
import os, sys
from datetime import timedelta
from trident.coordinators.ledger import SqliteLedger
from trident.coordinators.decided import ResetDecision
from trident.coordinators.registered import Lease
from trident.state.databases.base import SqlTransaction
ledger = SqliteLedger(sys.argv[1])
ledger.open()
ledger.acquire("payments", Lease("the other process", timedelta(seconds=60)))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqliteLedger]:
    opened = SqliteLedger(tmp_path / "ledger.db")
    opened.open()
    yield opened
    opened.close()


class TestSqliteLedger(LedgerContract):
    @pytest.fixture
    def ledger(self, ledger: SqliteLedger) -> SqliteLedger:
        return ledger


def test_it_is_a_ledger(tmp_path: Path) -> None:
    ledger: Ledger = SqliteLedger(tmp_path / "ledger.db")
    assert not (tmp_path / "ledger.db").exists()
    assert repr(ledger) == f"SqliteLedger({str(tmp_path / 'ledger.db')!r})"


def test_all_of_it_is_there_after_a_restart(ledger: SqliteLedger, tmp_path: Path) -> None:
    run = started(ledger)
    run.finish(2)
    pinned, live = run.plan(), run.plan()
    run.pin(pinned)
    before = run.snapshot()
    ledger.release("payments", run.epoch)
    ledger.close()
    again = SqliteLedger(tmp_path / "ledger.db")
    again.open()
    found = taken_over(again, "two").snapshot()
    assert found == before
    assert (found.pin, found.live) == (pin_of(pinned), (pinned, live))
    again.close()


def test_a_holder_that_died_is_noticed_at_once(ledger: SqliteLedger, tmp_path: Path) -> None:
    pytest.importorskip("psutil")
    command = [sys.executable, "-c", _TAKE_AND_DIE, str(tmp_path / "ledger.db")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(LeaseHeldError, match="the other process"):
            ledger.acquire("payments", Lease("one", LONG))
        process.kill()
        process.wait()
    taken = ledger.acquire("payments", Lease("one", LONG))
    assert (taken.epoch.number, taken.previous_holder) == (2, "the other process")


def test_a_holder_that_died_and_waits_to_be_reaped_is_noticed(ledger: SqliteLedger, tmp_path: Path) -> None:
    psutil = pytest.importorskip("psutil")
    command = [sys.executable, "-c", _TAKE_AND_DIE, str(tmp_path / "ledger.db")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        process.kill()
        while psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE:
            pass
        assert ledger.acquire("payments", Lease("one", LONG)).previous_holder == "the other process"


def test_a_living_holder_keeps_its_lease_when_the_databases_clock_is_set(ledger: SqliteLedger, tmp_path: Path) -> None:
    other = SqliteLedger(tmp_path / "ledger.db")
    other.open()
    check_that_who_beats_keeps_a_lease_that_has_run_out(ledger, other)
    other.close()


def test_a_holder_that_beats_while_another_one_is_about_to_replace_it_is_kept(
    ledger: SqliteLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = SqliteLedger(tmp_path / "ledger.db")
    other.open()
    check_that_a_beat_at_the_last_moment_keeps_it(ledger, other, monkeypatch)
    other.close()


@pytest.mark.parametrize("step", [-5.0, 5.0])
def test_a_living_holder_keeps_its_lease_when_the_clock_is_set(
    ledger: SqliteLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: float
) -> None:
    psutil = pytest.importorskip("psutil")
    epoch = ledger.acquire("payments", Lease("one", LONG)).epoch
    real = psutil.Process.create_time
    monkeypatch.setattr(psutil.Process, "create_time", lambda process: real(process) + step)
    other = SqliteLedger(tmp_path / "ledger.db")
    other.open()
    fenced: list[FencedError] = []
    with (
        Heartbeat(ledger, "payments", epoch, LONG, HearsOfLease(fenced.append)),
        pytest.raises(LeaseHeldError, match="held by one"),
    ):
        other.acquire("payments", Lease("two", LONG))
    assert not fenced
    other.close()


def test_a_holder_that_nobody_may_ask_about_is_there(ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    psutil = pytest.importorskip("psutil")
    ledger.acquire("payments", Lease("one", LONG))

    def denied(process: object) -> str:
        raise psutil.AccessDenied

    monkeypatch.setattr(psutil.Process, "status", denied)
    with pytest.raises(LeaseHeldError, match="held by one"):
        ledger.acquire("payments", Lease("two", LONG))


def test_another_object_of_a_living_process_holds(ledger: SqliteLedger, tmp_path: Path) -> None:
    ledger.acquire("payments", Lease("one", LONG))
    other = SqliteLedger(tmp_path / "ledger.db")
    other.open()
    with pytest.raises(LeaseHeldError):
        other.acquire("payments", Lease("two", LONG))
    other.close()


def test_a_write_that_fails_half_way_leaves_nothing(ledger: SqliteLedger) -> None:
    run = started(ledger)
    plan = run.plan()
    with ledger.database.transaction() as transaction:
        transaction.connection.execute(text("DROP TABLE trident_commit"))
    with pytest.raises(FatalError):
        run.together(plan)
    with ledger.database.transaction() as transaction:
        count = transaction.connection.execute(text("SELECT count(*) FROM trident_pin")).scalar_one()
    assert count == 0


def test_a_lost_last_plan_is_never_read_as_a_birth(ledger: SqliteLedger) -> None:
    run = started(ledger)
    run.finish(1)
    with ledger.database.transaction() as transaction:
        transaction.connection.execute(text("DELETE FROM trident_plan"))
    with pytest.raises(FatalError, match="the ledger is damaged"):
        run.snapshot()
    with pytest.raises(FatalError, match="the ledger is damaged"):
        run.plan()


def test_a_write_on_a_locked_row_that_is_gone_takes_the_transaction_back(ledger: SqliteLedger) -> None:
    started(ledger)

    def write() -> None:
        with ledger.database.transaction() as transaction:
            transaction.connection.execute(text("DELETE FROM trident_topology"))
            set_progress(transaction.connection, "nobody", {"done": 5})

    with pytest.raises(FatalError, match="a write to trident_progress touched 0 rows instead of one"):
        write()
    assert ledger.view().topologies() == ("payments",)


def test_states_whose_births_nobody_recorded_are_known_in_every_reading(ledger: SqliteLedger) -> None:
    """As an older version left it, before anybody registers there."""
    run = started(ledger)
    with ledger.database.transaction() as transaction:
        transaction.connection.execute(text("UPDATE trident_incarnation SET births = NULL"))
    known = tuple(Birth(state, None) for state in sorted(SPEC.states))
    assert ledger.snapshot(run.epoch, "payments").births == known
    assert ledger.look(run.epoch, SPEC).births == known


def test_a_write_that_finds_no_row_takes_all_of_its_call_back(ledger: SqliteLedger) -> None:
    run = started(ledger)
    decision = ResetDecision("new", 0, "adopt", None)
    ledger.decide_reset(run.epoch, "payments", decision)
    with ledger.database.transaction() as transaction:
        transaction.connection.execute(text("DELETE FROM trident_topology"))
    with pytest.raises(FatalError, match="the row of topology 'payments' is not there"):
        ledger.finish_reset(run.epoch, "payments", decision)
    with ledger.database.transaction() as transaction:
        found = transaction.connection.execute(text("SELECT incarnation, reset_to FROM trident_progress")).one()
    assert found == (run.owner.incarnation, "new")


def test_a_damaged_record_is_named(ledger: SqliteLedger) -> None:
    run = started(ledger)
    run.plan()
    with ledger.database.transaction() as transaction:
        transaction.connection.execute(text("UPDATE trident_plan SET ranges = '[{]'"))
    with pytest.raises(FatalError, match="the ledger is damaged: the ranges of a plan"):
        run.snapshot()


def test_what_the_applies_wrote_ends_with_the_pin_or_not_at_all(ledger: SqliteLedger) -> None:
    run = started(ledger)
    first, second = run.plan(), run.plan()
    with ledger.database.transaction() as transaction:
        transaction.connection.execute(text("CREATE TABLE applied (txid BIGINT)"))

    def apply(transaction: object) -> None:
        assert isinstance(transaction, SqlTransaction)
        transaction.connection.execute(text("INSERT INTO applied VALUES (1)"))

    with pytest.raises(MismatchError):
        ledger.commit_together(run.owner, run.epoch, pin_of(second), commit_of(second), (), [apply])
    ledger.commit_together(run.owner, run.epoch, pin_of(first), commit_of(first), (), [apply])
    with ledger.database.transaction() as transaction:
        count = transaction.connection.execute(text("SELECT count(*) FROM applied")).scalar_one()
    assert (count, run.snapshot().done) == (1, 1)


def test_a_newer_schema_is_refused(ledger: SqliteLedger, tmp_path: Path) -> None:
    known = len(LEDGER_TABLES.steps)
    newer = known + 1
    with ledger.database.transaction() as transaction:
        transaction.connection.execute(
            text("INSERT INTO trident_schema VALUES (:version, '2024-01-01T00:00:00+00:00')"), {"version": newer}
        )
    with pytest.raises(MismatchError, match=f"version {newer}, this library knows versions up to {known}"):
        SqliteLedger(tmp_path / "ledger.db").open()


def test_missing_steps_are_applied_in_order_and_once(ledger: SqliteLedger) -> None:
    applied: list[int] = []

    def step(number: int) -> None:
        applied.append(number)

    more = (*LEDGER_TABLES.steps, lambda *_: step(2), lambda *_: step(3))
    for expected in (2, 0):
        with ledger.database.transaction() as transaction:
            assert replace(LEDGER_TABLES, steps=more).migrate(transaction.connection, SQLITE_TERMS) == expected
    assert applied == [2, 3]


def test_a_step_that_fails_leaves_the_version(ledger: SqliteLedger) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError), ledger.database.transaction() as transaction:
        replace(LEDGER_TABLES, steps=(*LEDGER_TABLES.steps, fail)).migrate(transaction.connection, SQLITE_TERMS)
    ledger.open()


def test_opening_gives_up_with_a_word(tmp_path: Path) -> None:
    ledger = SqliteLedger(tmp_path / "missing" / "ledger.db")
    with pytest.raises(FatalError, match="can't be opened"):
        ledger.open(Timeouts(give_up_after=timedelta(seconds=0.1)))


def test_how_long_to_wait_is_no_ledgers_own_choice(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"RunOptions\(give_up_after=timedelta\(...\)\) decides it"):
        SqliteLedger(tmp_path / "ledger.db", give_up_after=0.1)  # type: ignore[arg-type]


def test_a_busy_file_is_asked_again_until_given_up(
    ledger: SqliteLedger, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    waiting = SqliteLedger(tmp_path / "ledger.db", busy_seconds=0.01)
    with (
        ledger.database.transaction(),
        pytest.raises(FatalError, match=r"file '.*ledger.db' did not answer for 0 s: SQLite"),
    ):
        waiting.open(Timeouts(give_up_after=timedelta(seconds=0.3)))
    assert "does not answer yet" in caplog.text
    waiting.close()


def test_a_spec_is_stored_as_json(ledger: SqliteLedger) -> None:
    epoch = ledger.acquire("payments", Lease("one", timedelta(seconds=1))).epoch
    ledger.register(epoch, SPEC)
    with ledger.database.transaction() as transaction:
        topic = transaction.connection.execute(
            text("SELECT json_extract(spec, '$.spouts.in.topic') FROM trident_topology")
        ).scalar_one()
    assert topic == "t"


def test_looking_for_a_ledger_makes_none(tmp_path: Path) -> None:
    with pytest.raises(MismatchError, match="there is no ledger at file"):
        SqliteLedger(tmp_path / "misspelled.sqlite").view()
    assert list(tmp_path.iterdir()) == []
