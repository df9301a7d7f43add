"""The warm-up beside a run: its jobs are cancelled until it has ended, and nothing of it is raised."""

from __future__ import annotations

import logging
import threading
from types import SimpleNamespace
from typing import cast

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from trident.base.control import CONTROL
from trident.base.errors import RetryableError
from trident.engine import warming as module
from trident.engine.compiled import CompiledTopology
from trident.engine.warm_tasks import YieldWord
from trident.engine.warming import WarmUp
from trident.operations.arrow import split

EMPTY = CompiledTopology("t", {}, ())


class Session(SimpleNamespace):
    """A classic session, as far as the warm-up looks at it before it runs."""

    def __init__(self, application: str) -> None:
        super().__init__(_jsparkSession=None, sparkContext=SimpleNamespace(applicationId=application))


def session(application: str) -> SparkSession:
    return cast(SparkSession, Session(application))


class Blocked(WarmUp):
    """One whose job ends when it is cancelled only."""

    def __init__(self, cancels: int = 1, error: Exception | None = None) -> None:
        super().__init__(EMPTY, session("any"))
        self.running, self._left, self.gone, self._error = threading.Event(), cancels, threading.Event(), error

    def run(self) -> None:
        self.running.set()
        self.gone.wait()
        if self._error is not None:
            raise self._error

    def cancel(self, _spark: SparkSession, _tag: str) -> None:
        self._left -= 1
        if self._left <= 0:
            self.gone.set()


def has_ended() -> bool:
    for _ in range(200):
        if not [each for each in threading.enumerate() if each.name.startswith("trident-warm-up")]:
            return True
        threading.Event().wait(0.02)
    return False


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PATIENCE_S", 0)


def test_it_has_ended_when_the_run_has_and_a_job_that_began_after_the_first_cancel_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    warm_up = Blocked(cancels=3)
    monkeypatch.setattr(module, "cancel_tagged", warm_up.cancel)
    with warm_up:
        assert warm_up.running.wait(10)
    assert has_ended()


def test_one_that_does_not_end_holds_the_run_up_for_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    warm_up = Blocked(cancels=100)
    monkeypatch.setattr(module, "cancel_tagged", warm_up.cancel)
    monkeypatch.setattr(module, "_LONGEST_END_S", 0.1)
    with warm_up:
        assert warm_up.running.wait(10)
    assert not warm_up.gone.is_set()
    warm_up.gone.set()


@pytest.mark.parametrize("error", [RetryableError("the job was cancelled"), ZeroDivisionError("of a user's")])
def test_what_goes_wrong_is_told_to_those_who_debug_and_never_raised(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    warm_up = Blocked(error=error)
    monkeypatch.setattr(module, "cancel_tagged", warm_up.cancel)
    caplog.set_level(logging.DEBUG, logger="trident.engine")
    with warm_up:
        assert warm_up.running.wait(10)
    assert [(record.levelno, "warming up" in record.getMessage()) for record in caplog.records] == [
        (logging.DEBUG, True)
    ]
    assert "of a user's" not in caplog.text  # what it says may be of a record


def test_what_ends_the_run_is_raised_and_the_warm_up_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    warm_up = Blocked()
    monkeypatch.setattr(module, "cancel_tagged", warm_up.cancel)
    with pytest.raises(KeyError), warm_up:
        raise KeyError
    assert has_ended()


def test_a_run_goes_on_without_a_thread_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoThreads:
        def __init__(self, _name: str) -> None: ...

        def submit(self, _call: object) -> None:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(module, "SideBySide", NoThreads)
    with WarmUp(EMPTY, session("any")):
        pass


class Counted(WarmUp):
    """One that only notes that it ran."""

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(EMPTY, spark)
        self.has_run = threading.Event()

    def run(self) -> None:
        self.has_run.set()


def test_a_run_that_waits_is_warmed_up() -> None:
    warm_up = Counted(session("any"))
    with warm_up:
        assert warm_up.has_run.wait(10)


def test_a_run_that_takes_over_at_once_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first batch would share the cores with it."""
    monkeypatch.setattr(module, "_PATIENCE_S", 60)
    warm_up = Counted(session("any"))
    with warm_up:
        warm_up.enough()
    assert has_ended()
    assert not warm_up.has_run.is_set()


def test_a_session_of_connect_is_left_alone() -> None:
    warm_up = Counted(cast(SparkSession, SimpleNamespace()))
    with warm_up:
        assert not warm_up.has_run.wait(0.1)


def test_what_it_runs_on_is_no_record() -> None:
    """Operations hand records to users' functions, and pass control rows on."""
    types: dict[str, pa.DataType] = {"key": pa.string(), "amount": pa.int64(), CONTROL: pa.string()}
    schema = pa.schema(types)
    (batch,) = YieldWord(schema)([pa.record_batch({"id": [1]})])
    records, words = split(batch)
    assert records.num_rows == 0
    assert words is not None
    assert words.num_rows == 1
    assert batch.schema == schema
