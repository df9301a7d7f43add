"""Errors reported to the ledger: what is said of them, how often it is written, and that nothing waits for it."""

from __future__ import annotations

import logging
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.coordinators.fakes import POISON, ListSource, Topic, make_job
from tests.coordinators.test_run import OPTIONS
from trident.base.clock import SystemClock
from trident.base.errors import FatalError, FencedError, RefusedError, RetryableError, about
from trident.base.identity import BatchId, Epoch, Owner
from trident.coordinators.batches.reporting import ErrorReporter, ErrorTally
from trident.coordinators.batches.stopped import StoppedError
from trident.coordinators.decided import Refusal, StopKind
from trident.coordinators.holding.run import TopologyRun
from trident.coordinators.ledger import MemoryLedger
from trident.coordinators.ledger.view import ErrorRow
from trident.coordinators.reported import LONGEST_TEXT, MOST_ERRORS, ErrorReport, report_of
from trident.state import MemoryState

BATCH = BatchId(Owner("t", "i"), Epoch(1, "a"), 7, 12)


def raised(error: BaseException) -> BaseException:
    """Return an error as it is once it was raised."""
    try:
        raise error
    except type(error) as caught:
        return caught


def test_equal_errors_differ_in_numbers_and_ids_only() -> None:
    def id_of(text: str, place: str = "") -> str:
        error = RetryableError(text)
        error.place = place
        return report_of(error).id

    assert id_of("t txid 5 attempt 9: it failed") == id_of("t txid 61 attempt 112: it failed")
    assert id_of("gone: 7f3a-99b0c1d2e4") == id_of("gone: 01ab-77aa9b8c7d")
    assert id_of("it failed") != id_of("it broke")
    assert id_of("it failed", "stream 'a'") != id_of("it failed", "stream 'b'")
    assert report_of(RetryableError("it failed")).id != report_of(FatalError("it failed")).id


def test_who_was_nearest_says_what_it_is_about() -> None:
    with pytest.raises(RetryableError) as caught, about("outer"), about(lambda: "state 'inner'", BATCH):
        raise RetryableError("it failed")
    found = report_of(caught.value)
    assert (found.place, found.kind, found.txid, found.attempt) == ("state 'inner'", "RetryableError", 7, 12)
    again = pickle.loads(pickle.dumps(caught.value))
    assert report_of(again) == found


def test_a_stop_says_what_has_caused_it() -> None:
    stopped = StoppedError("it stops", Refusal(7, 12, StopKind.REFUSED, "totals", "no"))
    stopped.__cause__ = RefusedError("no")
    found = report_of(stopped, BATCH)
    assert (found.place, found.kind, found.text) == ("state 'totals'", "RefusedError", "it stops")
    told = FatalError("stream 's': bounds() raised")
    told.raised = "ValueError"
    stopped.__cause__ = told
    assert report_of(stopped).kind == "ValueError"


def test_what_is_no_error_of_the_library_is_told_by_kind_and_place_alone() -> None:
    found = report_of(raised(KeyError("account 4711 of Ann")))
    assert found.kind == "KeyError"
    assert "Ann" not in found.text
    assert "test_reporting.py" in found.text
    assert found.place == "coordinator"
    assert report_of(KeyError("never raised")).text == "KeyError"


@pytest.mark.parametrize(
    "text",
    [
        "could not reach amqp://ann:hunter2@host/v",
        "could not reach amqp://ann:p/ss@hunter2@host/v",
        "ann:hunter2@host refused",
        "host=h password=hunter2 port=5",
        "host=h password='a hunter2' port=5",
        "token: hunter2, no",
        "{'password': 'hunter2', 'user': 'ann'}",
        '{"client_secret":"hunter2"}',
        "access_token=hunter2&x=1",
        "PGPASSWORD=hunter2 psql",
        "Authorization: Bearer hunter2",
        "db_password = hunter2",
        "fs.s3a.access_key=hunter2",
        "AccountKey=hunter2;EndpointSuffix=core",
        "sv=2022&sig=hunter2 failed",
        "pass=hunter2",
        "passphrase: hunter2",
        "private-key=hunter2",
        "password='it''s hunter2' port=5",
        r"password='it\'s hunter2' port=5",
        "password='of two lines\nhunter2'",
        # where a text is cut nothing is left that tells a login from other words
        f"postgresql://ann:hunter2{'x' * 5_000}@host/db",
        f"token={'x' * 3_900} cannot open postgresql://bob:hunter2{'x' * 200}@host",
        f"token={'x' * 3_900} ann:hunter2{'x' * 200}@host",
        f"password='a hunter2 {'x ' * 3_000}' port=5",
        f"password={'x' * 3_990} secret=hunter2{'x' * 200}",
    ],
)
def test_what_is_like_a_login_is_not_shown(text: str) -> None:
    found = report_of(RetryableError(text)).text
    assert "hunter2" not in found
    assert "…" in found


@pytest.mark.parametrize(
    "text",
    [
        "0123456789abcdef" * 60_000,
        "a:" * 500_000,
        "struct<password:int>" * 50_000,
        "password='" * 90_000,
        "password=\\'" * 90_000,
        "''" * 400_000,
        "pass" * 200_000,
        "access_key-" * 90_000,
    ],
)
def test_a_text_of_any_length_is_reported_at_once(text: str) -> None:
    """No thread runs while a pattern is looked for: of such a text that would be hours, and the lease lasts seconds."""
    assert len(report_of(RetryableError(text)).text) <= LONGEST_TEXT


def test_a_text_is_cut_and_can_be_stored() -> None:
    found = report_of(RetryableError("a\0b\ud800" + "x " * 5_000))
    assert len(found.text) == LONGEST_TEXT
    assert "\0" not in found.text
    found.text.encode()


def test_a_tally_counts_and_keeps_the_newest() -> None:
    tally = ErrorTally()
    for number in range(MOST_ERRORS + 5):
        tally.add(ErrorReport(f"state {chr(97 + number % 26)}{'x' * (number // 26)}", "K", "t", 1, number, number))
    tally.add(ErrorReport("state a", "K", "t"))
    taken = tally.take()
    assert len(taken) == MOST_ERRORS
    assert tally.take() == ()
    tally.add(ErrorReport("a", "K", "t 1", 2, 1, 1))
    tally.add(ErrorReport("a", "K", "t 2", 3, 2, 2))
    assert tally.take() == (ErrorReport("a", "K", "t 2", 5, 2, 2),)


class Written:
    """What a reporter writes, and what that raises."""

    def __init__(self, error: Exception | None = None) -> None:
        self.writes: list[tuple[ErrorReport, ...]] = []
        self.error = error
        self.came = threading.Event()

    def __call__(self, reports: tuple[ErrorReport, ...]) -> None:
        self.writes.append(reports)
        self.came.set()
        if self.error is not None:
            raise self.error


def test_the_first_is_written_at_once_and_a_flood_with_the_end() -> None:
    written = Written()
    reporter = ErrorReporter(written, SystemClock(), every_s=600)
    reporter.hear(RetryableError("it failed"))
    assert written.came.wait(10)
    for _ in range(500):
        reporter.hear(RetryableError("it failed"), BATCH)
    assert len(written.writes) == 1
    reporter.close()
    assert [[each.count for each in reports] for reports in written.writes] == [[1], [500]]
    reporter.hear(RetryableError("after the end"))
    assert len(written.writes) == 2


def test_the_time_between_two_writes_passes() -> None:
    written = Written()
    reporter = ErrorReporter(written, SystemClock(), every_s=0.3)
    began = time.monotonic()
    while len(written.writes) < 3:
        reporter.hear(RetryableError("it failed"))
        time.sleep(0.01)
    assert time.monotonic() - began >= 0.6
    reporter.close()


def test_a_run_without_errors_has_no_thread_for_them() -> None:
    before = threading.active_count()
    reporter = ErrorReporter(Written(), SystemClock())
    assert threading.active_count() == before
    reporter.close()


@pytest.mark.parametrize("error", [RetryableError("away"), FatalError("wrong"), ValueError("a mistake")])
def test_what_cannot_be_written_is_dropped_and_said(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    written = Written(error)
    reporter = ErrorReporter(written, SystemClock(), every_s=0)
    with caplog.at_level(logging.WARNING, "trident.coordinator"):
        for number in range(2):
            reporter.hear(RetryableError("it failed"))
            while len(written.writes) <= number:
                time.sleep(0.001)
        reporter.close()
    assert [len(reports) for reports in written.writes] == [1, 1]
    assert "could not be reported to the ledger" in caplog.text


def test_an_end_and_another_owner_are_no_errors(caplog: pytest.LogCaptureFixture) -> None:
    written = Written(FencedError("another one"))
    reporter = ErrorReporter(written, SystemClock())
    reporter.hear(KeyboardInterrupt())
    reporter.hear(FencedError("another one"))
    reporter.hear(RetryableError("it failed"))
    reporter.close()
    assert [[each.kind for each in reports] for reports in written.writes] == [["RetryableError"]]
    assert not caplog.records


Meddle = Callable[..., object]


def errors_after(job: object, ledger: MemoryLedger, **options: object) -> tuple[ErrorRow, ...]:
    """Run a job to its end, or its error, and return what the ledger says of errors."""
    run = TopologyRun(job.plan(), ledger, replace(OPTIONS, **options))  # type: ignore[attr-defined,arg-type]
    with suppress(FatalError):
        run.run()
    return ledger.view().errors("payments")


def test_an_attempt_that_fails_is_reported_with_its_batch() -> None:
    ledger, left = MemoryLedger(), [3]

    def meddle(request: object, result: object) -> object:
        if left[0]:
            left[0] -= 1
            error = RetryableError(f"the job of try {left[0]} failed")
            error.place, error.raised = "stream 's', job of 'balances'", "ValueError"
            raise error
        return result

    job = make_job(Topic([[("a", 1)] * 5]), MemoryState("balances"), meddle=meddle)  # type: ignore[arg-type]
    (row,) = errors_after(job, ledger, max_pending=1)
    assert (row.place, row.kind, row.count) == ("stream 's', job of 'balances'", "ValueError", 3)
    assert (row.txid, row.attempt, row.epoch) == (1, 3, 1)
    assert ledger.view().status("payments").done == 1


def test_a_record_that_ends_the_run_is_reported() -> None:
    ledger = MemoryLedger()
    (row,) = errors_after(make_job(Topic([[("a", 1), POISON]]), MemoryState("balances")), ledger)
    assert (row.place, row.kind, row.count, row.txid) == ("stream 's'", "StoppedError", 1, 1)
    assert "does not decode" in row.text


def test_a_source_that_is_away_is_reported_while_it_is_asked_again() -> None:
    ledger, topic = MemoryLedger(), Topic([[("a", 1)] * 5])

    class Away(ListSource):
        asked = 0

        def recognize(self, known: Sequence[object]) -> tuple[()]:
            Away.asked += 1
            if 1 < Away.asked < 4:
                raise RetryableError("the broker does not answer")
            return ()

    job = make_job(topic, MemoryState("balances"))
    plan = job.plan()

    class Spout(type(job.spout)):  # type: ignore[misc]
        def open(self, name: str) -> ListSource:
            return Away(self.topic, name)

    run = TopologyRun(replace(plan, spouts={"s": Spout(topic)}), ledger, OPTIONS)
    run.run()
    (row,) = ledger.view().errors("payments")
    assert (row.place, row.text, row.count) == ("stream 's'", "the broker does not answer", 2)
    assert row.txid is not None


def test_an_attempt_that_takes_too_long_is_reported() -> None:
    ledger, tries, again = MemoryLedger(), [0], threading.Event()

    def meddle(request: object, result: object) -> object:
        tries[0] += 1
        if tries[0] == 1:
            assert again.wait(30)
        again.set()
        return result

    job = make_job(Topic([[("a", 1)] * 5]), MemoryState("balances"), meddle=meddle)  # type: ignore[arg-type]
    (row,) = errors_after(job, ledger, max_pending=1, batch_timeout=timedelta(seconds=1))
    assert (row.place, row.kind, row.txid) == ("coordinator", "OverdueError", 1)
    assert "not processed within 1 s" in row.text


def test_a_ledger_that_takes_no_reports_fails_no_batch() -> None:
    class Deaf(MemoryLedger):
        def report(self, *given: object) -> None:
            raise RetryableError("the ledger's server is busy")

    ledger, left = Deaf(), [2]

    def meddle(request: object, result: object) -> object:
        left[0] -= 1
        if left[0] >= 0:
            raise RetryableError("the job failed")
        return result

    job = make_job(Topic([[("a", 1)] * 5]), MemoryState("balances"), meddle=meddle)  # type: ignore[arg-type]
    assert errors_after(job, ledger) == ()
    assert ledger.view().status("payments").done == 1
