"""What the log says of a cluster that does not answer."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest

from trident.base.kafka.silence import Silence


def wait_until_told(caplog: pytest.LogCaptureFixture) -> None:
    pause = threading.Event()
    for _ in range(500):
        if caplog.messages:
            break
        pause.wait(0.01)
    pause.wait(0.1)  # it would be told again by now


def test_a_silence_over_several_tries_is_told_once_and_so_is_its_end(caplog: pytest.LogCaptureFixture) -> None:
    silence = Silence("one:9092", after=0.02)
    asking = "list offsets for the stream 'payments'"
    for _ in range(2):
        with suppress(OSError), silence.told(asking, 10):
            wait_until_told(caplog)
            raise OSError("gone")
    with silence.told(asking, 10):
        wait_until_told(caplog)
    first, last = caplog.messages
    asked = f"asked to {asking}; this try ends after 10 s"
    assert first.startswith(f"Kafka at one:9092 has not answered for 0 s ({asked})")
    assert last.startswith("Kafka at one:9092 answers again, after 0 s")
    assert {each.levelname for each in caplog.records} == {"WARNING"}
    with silence.told("list offsets", 10):
        wait_until_told(caplog)
    assert len(caplog.messages) == 4, "another silence"


def test_an_answer_in_time_and_an_error_are_not_told(caplog: pytest.LogCaptureFixture) -> None:
    silence = Silence("one:9092")
    with silence.told("list offsets", 120):
        pass
    with pytest.raises(OSError, match="gone"), silence.told("list offsets", 120):
        raise OSError("gone")
    assert not caplog.records
