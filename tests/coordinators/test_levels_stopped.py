"""What a stop says at a weaker level, and how it goes on: nobody decides, and only what was done is said to be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.coordinators.fakes import POISON, Topic, make_job
from tests.coordinators.test_run import OPTIONS, memory_place, payments, run, sqlite_place
from trident.base.errors import DecisionNeededError, FatalError, MismatchError, RefusedError, RetryableError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.levels import Level
from trident.cli.app import run as command
from trident.coordinators.batches.processor import ProcessRequest, ProcessResult
from trident.coordinators.batches.stopped import StoppedError, gave_up
from trident.coordinators.ledger import MemoryLedger
from trident.coordinators.levels.writing import as_written
from trident.coordinators.run_events import BatchFailed, RunListener

WEAKER = (Level.AT_LEAST_ONCE, Level.AT_MOST_ONCE)


def refuse_the_record_of(monkeypatch: pytest.MonkeyPatch, txid: int) -> None:
    commit = MemoryLedger.commit_together

    def refusing(self: MemoryLedger, *given: object) -> None:
        if getattr(given[2], "txid", None) == txid:
            raise RefusedError("an audit rule; nothing was written")
        commit(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(MemoryLedger, "commit_together", refusing)


@pytest.mark.parametrize("level", WEAKER)
def test_a_record_that_the_ledger_refuses_waits_for_no_decision(monkeypatch: pytest.MonkeyPatch, level: Level) -> None:
    place, topic = memory_place(), payments()
    job = make_job(topic, place.state("balances"), level=level)
    one_by_one = replace(OPTIONS, max_pending=1)  # else the end of the run may lose the one before, at most once
    with monkeypatch.context() as patching:
        refuse_the_record_of(patching, 3)
        for _ in range(2):
            with pytest.raises(FatalError, match="the ledger's database refused the record of") as stopped:
                run(job, place.ledger(), one_by_one)
            assert not isinstance(stopped.value, DecisionNeededError)
            left = "What the batch has written stays, and is written again"
            nothing = "Nothing of the batch was read or written"
            assert (left if level is Level.AT_LEAST_ONCE else nothing) in str(stopped.value)
    assert not place.ledger().view().status("payments").needs_decision
    run(job, place.ledger())
    found = place.rows("balances")
    if level is Level.AT_MOST_ONCE:
        assert found == topic.expected(), "a batch that was not recorded was not read, and is not lost"
    else:
        assert sum(n for n, _ in found.values()) == 75 + 2 * 10


def test_at_the_first_level_such_a_refusal_waits_for_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    place = memory_place()
    refuse_the_record_of(monkeypatch, 3)
    with pytest.raises(DecisionNeededError, match=r"(?s)Nothing of this txid was applied or pinned.*trident retry"):
        run(make_job(payments(), place.state("balances")), place.ledger())


@pytest.mark.parametrize("level", WEAKER)
def test_the_command_that_is_advised_is_not_refused_for_the_level(
    tmp_path: Path, level: Level, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = sqlite_place(tmp_path)
    run(make_job(payments(), place.state("balances"), level=level), place.ledger())
    monkeypatch.setenv("TRIDENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    assert command(["retry", "payments", "9", "--yes"]) == 1
    assert "runs at level" not in capsys.readouterr().err


def fail_always(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
    raise RetryableError("a function raised; nothing of the batch was applied")


def test_at_least_once_nobody_says_that_nothing_was_written() -> None:
    """Tasks may have written of an attempt that failed, whoever has made it fail."""
    place = memory_place()
    job = make_job(payments(), place.state("balances"), level=Level.AT_LEAST_ONCE, meddle=fail_always)
    with pytest.raises(StoppedError, match=r"What tasks have written of it stays") as stopped:
        run(job, place.ledger(), replace(OPTIONS, max_tries=2))
    refusal = place.ledger().view().status("payments").refusal
    assert refusal is not None
    for said in (str(stopped.value), refusal.reason):
        assert "othing of" not in said


class Heard(RunListener):
    """Keeps the text of each attempt that has failed."""

    def __init__(self) -> None:
        self.errors: list[str] = []

    def failed(self, event: BatchFailed) -> None:
        self.errors.append(event.error)


@pytest.mark.parametrize("said", ["nothing was applied", "nothing of the batch was applied"])
def test_at_least_once_nobody_says_so_of_an_attempt_that_is_tried_again(
    said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the log, nor a listener, nor what the ledger keeps of errors."""

    def fail_once(request: ProcessRequest, result: ProcessResult) -> ProcessResult:
        if request.tries == 1:
            raise RetryableError(f"a function raised; {said}")
        return result

    place, heard = memory_place(), Heard()
    job = make_job(payments(), place.state("balances"), level=Level.AT_LEAST_ONCE, meddle=fail_once)
    run(job, place.ledger(), replace(OPTIONS, listeners=[heard]))
    kept = [row.text for row in place.ledger().view().errors("payments")]
    for texts in (caplog.messages, heard.errors, kept):
        about = [text for text in texts if "a function raised" in text]
        assert about
        for text in about:
            assert "what tasks have written of it stays" in text
            assert "othing " not in text


def test_at_least_once_a_record_that_does_not_decode_says_so_too() -> None:
    place = memory_place()
    job = make_job(Topic([[POISON]]), place.state("balances"), level=Level.AT_LEAST_ONCE)
    with pytest.raises(StoppedError, match=r"does not decode .* What tasks have written of it stays"):
        run(job, place.ledger())


def test_what_is_said_anew_keeps_all_else() -> None:
    batch = BatchId(Owner("payments", "first"), Epoch(1, "token"), 3, 4)
    stopped = gave_up(batch, 2, "it was away. Nothing of the batch was applied.")
    told = as_written(stopped)
    assert (told.goes_on, told.left_out, told.is_pinned) == (stopped.goes_on, stopped.left_out, stopped.is_pinned)
    assert replace(told.refusal, reason="") == replace(stopped.refusal, reason="")
    assert "Mend the cause and run the topology again" in str(told)


def test_a_start_that_is_refused_is_not_said_to_have_written(tmp_path: Path) -> None:
    place = sqlite_place(tmp_path)
    job = make_job(payments(), place.state("balances"), level=Level.AT_LEAST_ONCE)
    run(job, place.ledger())
    with pytest.raises(MismatchError) as refused:
        run(make_job(payments(), place.state("balances")), place.ledger())
    assert not getattr(refused.value, "__notes__", ())
    other = make_job(payments(), place.state("others"), level=Level.AT_LEAST_ONCE)
    with pytest.raises(MismatchError) as refused:
        run(other, place.ledger())
    assert not getattr(refused.value, "__notes__", ())
