"""What is said of a call that was repeated and did not succeed."""

from __future__ import annotations

import logging
import re
import threading
from datetime import timedelta

import pytest

from trident.base.errors import FatalError, RetryableError
from trident.base.identity import BatchId, Epoch, Owner
from trident.base.signals import StopSignal
from trident.coordinators.batches.stopped import gave_up
from trident.coordinators.retrying import Repeater


class _Impatient(StopSignal):
    def wait(self, seconds: float) -> bool:
        return False


def fail() -> None:
    raise RetryableError("the server is away")


def test_who_gives_up_says_for_how_long_it_has_tried() -> None:
    with pytest.raises(FatalError, match=r"gave up: reading failed for 0 s; the last error was: the server is away"):
        Repeater(timedelta(0), StopSignal()).call("reading", fail)


def test_who_is_told_to_stop_says_that_and_not_that_it_gave_up() -> None:
    stopping = StopSignal()
    stopping.set()
    with pytest.raises(FatalError, match=r"stopped, as it was told to: reading had not succeeded") as stopped:
        Repeater(timedelta(hours=1), stopping).call("reading", fail)
    assert "gave up" not in str(stopped.value)


def test_an_outage_is_said_once_with_how_long_it_is_waited_for_and_its_end(caplog: pytest.LogCaptureFixture) -> None:
    answers = iter([RetryableError("the server is away")] * 3)

    def ask() -> int:
        for error in answers:
            raise error
        return 7

    with caplog.at_level(logging.INFO):
        assert Repeater(timedelta(seconds=50), _Impatient()).call("reading", ask) == 7
    warned = [each.message for each in caplog.records if each.levelno == logging.WARNING]
    assert warned == [
        "reading failed: the server is away. It is tried again for up to 50 s; what is done stays",
        "reading has succeeded at try 4",
    ]
    assert "reading failed (try 3): the server is away" in caplog.messages


def test_what_succeeds_at_once_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        assert Repeater(timedelta(seconds=50), StopSignal()).call("reading", lambda: 7) == 7
    assert not caplog.records


def test_a_call_that_does_not_return_is_named_with_what_is_at_work_and_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    repeater, ends = Repeater(timedelta(0), StopSignal(), timedelta(milliseconds=50)), threading.Event()

    def commit() -> int:
        for _ in range(500):
            if len(caplog.messages) >= 2:
                break
            ends.wait(0.02)
        return 7

    assert repeater.call("committing payments txid 3", commit, lambda: "state 'balances'") == 7
    line = r"committing payments txid 3 has not returned for 0 s \(at work: state 'balances'\)\. It is waited for"
    assert all(re.match(line, each) for each in caplog.messages[:2])
    assert len(caplog.messages) >= 2


@pytest.mark.parametrize(
    "reason",
    [
        "job: Python code raised ValueError at job.py:3 in f. Nothing of the batch was applied.",
        "job: Python code raised ValueError at job.py:3 in f; nothing of the batch was applied",
        "job: Python code raised ValueError at job.py:3 in f",
    ],
)
def test_what_became_of_a_txid_that_failed_too_often_is_said_once(reason: str) -> None:
    error = gave_up(BatchId(Owner("t", "i"), Epoch(1, "x"), 7, 9), 3, reason)
    assert "at job.py:3 in f. Nothing of this txid was applied" in str(error)
    assert str(error).lower().count("was applied") == 1
