"""What the log hears of attempts that fail: messages that a queue gives again at once fill no log."""

from __future__ import annotations

import pytest

from trident.base.identity import BatchId, Epoch, Owner
from trident.coordinators.batches.saying import EVERY_S, FailuresSaid
from trident.coordinators.protocol.messages import Happened
from trident.coordinators.protocol.transitions import Word


def failed(attempt: int, reason: str, *, counts: bool = False) -> Happened:
    return Happened(BatchId(Owner("t", "i"), Epoch(1, "e"), 1, attempt), Word.FAILED, reason=reason, counts=counts)


def test_messages_that_go_round_are_said_first_and_then_once_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    said = FailuresSaid()
    for attempt in range(100):
        said = said.heard(
            failed(attempt, f"of {attempt + 5:,} messages there are 5 ('negative'); the first is 'id-{'x' * attempt}'"),
            float(attempt),
        )
    first, second = caplog.messages
    assert "of 5 messages" in first
    assert "failed and is tried again: of" in first
    assert f"(as {EVERY_S - 1:.0f} other attempts since that was said last): of 65 messages" in second


def test_another_reason_or_another_stream_is_said_at_once(caplog: pytest.LogCaptureFixture) -> None:
    said = FailuresSaid()
    for reason in ("stream 'a': 'x'", "stream 'a': 'y'", "stream 'b': 'x'", "stream 'a': 'x'"):
        said = said.heard(failed(1, reason), 0.0)
    assert len(caplog.messages) == 3


def test_reasons_that_never_repeat_fill_no_log(caplog: pytest.LogCaptureFixture) -> None:
    said = FailuresSaid()
    for number in range(1000):
        said = said.heard(failed(number, "x" * (number + 1)), 0.0)
    assert len(caplog.messages) == 21


def test_a_failure_of_another_kind_is_said_each_time(caplog: pytest.LogCaptureFixture) -> None:
    said = FailuresSaid()
    for attempt in range(3):
        said = said.heard(failed(attempt, "an executor was lost", counts=True), 0.0)
    assert len(caplog.messages) == 3
