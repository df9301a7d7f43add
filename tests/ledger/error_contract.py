"""What every ledger keeps of errors, and of how long messages take; part of `LedgerContract`."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from tests.ledger.making import started, successor
from trident.base.errors import FencedError, MismatchError
from trident.base.identity import Owner
from trident.base.latency import CompleteLatency
from trident.coordinators.decided import ResetDecision
from trident.coordinators.ledger import MemoryLedger, PostgresLedger, SqliteLedger
from trident.coordinators.ledger.memory.reporting import KeptError
from trident.coordinators.ledger.sql.ledger import SqlLedger
from trident.coordinators.ledger.sql.tables import ERROR
from trident.coordinators.registered import Keep
from trident.coordinators.reported import MOST_ERRORS, ErrorReport

AnyLedger = MemoryLedger | SqliteLedger | PostgresLedger
WRONG = ErrorReport("stream 'in'", "ValueError", "Python code raised ValueError at f.py:3 in parse", 1, 4, 9)
SLOW = CompleteLatency("queue", 12, 80.5, 70.0, 200.25, 201.0)


def age(ledger: AnyLedger, by: timedelta) -> None:
    """Let what is kept of errors have been seen so long ago."""
    if isinstance(ledger, SqlLedger):
        with ledger.database.transaction() as transaction:
            transaction.connection.execute(update(ERROR).values(last_at=datetime.now(UTC) - by))
        return
    with ledger.database.transaction() as transaction:
        table = transaction.table("trident_error")
        for key, kept in list(table.items()):
            assert isinstance(kept, KeptError)
            table[key] = replace(kept, last_at=kept.last_at - by.total_seconds())


class ErrorContract:
    """Rows for people: no batch waits for them, and nobody decides by them."""

    def test_equal_errors_are_one_row_with_a_count(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        assert ledger.view().errors("payments") == ()
        ledger.report(run.owner, run.epoch, [WRONG, replace(WRONG, place="state 'balances'")])
        later = replace(WRONG, text=WRONG.text.replace("3", "17"), count=5, txid=6, attempt=12)
        ledger.report(run.owner, run.epoch, [later])
        rows = ledger.view().errors("payments")
        assert {(row.place, row.count) for row in rows} == {("stream 'in'", 6), ("state 'balances'", 1)}
        (row,) = (row for row in rows if row.count == 6)
        assert (row.kind, row.text, row.txid, row.attempt) == (later.kind, later.text, 6, 12)
        assert (row.incarnation, row.epoch, row.topology) == (run.owner.incarnation, 1, "payments")
        if row.first_at is not None:
            assert row.last_at is not None
            assert row.first_at <= row.last_at

    def test_an_error_may_be_about_no_txid(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        ledger.report(run.owner, run.epoch, [replace(WRONG, txid=None, attempt=None)])
        (row,) = ledger.view().errors("payments")
        assert (row.txid, row.attempt) == (None, None)

    def test_an_owner_that_was_replaced_reports_nothing(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        successor(run)
        with pytest.raises(FencedError):
            ledger.report(run.owner, run.epoch, [WRONG])
        assert ledger.view().errors("payments") == ()

    def test_another_incarnations_owner_reports_nothing(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        with pytest.raises(MismatchError):
            ledger.report(Owner("payments", "another"), run.epoch, [WRONG])
        assert ledger.view().errors("payments") == ()

    def test_what_was_reported_outlives_a_reset_with_its_incarnation(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        ledger.report(run.owner, run.epoch, [WRONG])
        decision = ResetDecision("fresh", 0, "clear", None)
        ledger.decide_reset(run.epoch, "payments", decision)
        ledger.finish_reset(run.epoch, "payments", decision)
        ledger.report(Owner("payments", "fresh"), run.epoch, [replace(WRONG, count=2)])
        counts = {row.incarnation: row.count for row in ledger.view().errors("payments")}
        assert counts == {run.owner.incarnation: 1, "fresh": 2}

    def test_a_bounded_number_of_rows_stays_the_newest(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        ledger.report(run.owner, run.epoch, [WRONG])
        age(ledger, timedelta(minutes=1))
        many = [replace(WRONG, place=f"state {name!r}") for name in map(str, range(MOST_ERRORS))]
        ledger.report(run.owner, run.epoch, many)
        places = [row.place for row in ledger.view().errors("payments")]
        assert len(places) == MOST_ERRORS
        assert WRONG.place not in places

    def test_old_ones_go_with_the_clean_up_and_those_of_the_last_hour_stay(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        ledger.report(run.owner, run.epoch, [WRONG])
        nothing = Keep(0, timedelta(0))
        age(ledger, timedelta(minutes=59))
        assert ledger.clean_up(run.owner, run.epoch, nothing) == 0
        assert len(ledger.view().errors("payments")) == 1
        age(ledger, timedelta(minutes=61))
        assert ledger.clean_up(run.owner, run.epoch, Keep(0, timedelta(days=1))) == 0
        assert ledger.clean_up(run.owner, run.epoch, nothing) == 1
        assert ledger.view().errors("payments") == ()

    def test_status_speaks_of_the_last_hour(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        standing = ledger.view().status("payments")
        assert (standing.recent_errors, standing.last_error) == (0, None)
        ledger.report(run.owner, run.epoch, [WRONG])
        age(ledger, timedelta(minutes=5))
        ledger.report(run.owner, run.epoch, [replace(WRONG, kind="KeyError", count=1_200)])
        standing = ledger.view().status("payments")
        assert standing.recent_errors == 2
        assert standing.last_error == f"KeyError, stream 'in' (1,200 times): {WRONG.text}"
        age(ledger, timedelta(minutes=61))
        standing = ledger.view().status("payments")
        assert (standing.recent_errors, standing.last_error) == (0, None)

    def test_a_beat_brings_how_long_messages_take(self, ledger: AnyLedger) -> None:
        run = started(ledger)
        assert ledger.view().status("payments").latencies == ()
        ledger.renew("payments", run.epoch, [SLOW])
        assert ledger.view().status("payments").latencies == (SLOW,)
        ledger.renew("payments", run.epoch)
        assert ledger.view().status("payments").latencies == ()
        ledger.renew("payments", run.epoch, [SLOW])
        ledger.release("payments", run.epoch)
        assert ledger.view().status("payments").latencies == (), "nobody runs it"
