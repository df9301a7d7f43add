"""What an action on Spark raises when its session is stopped under it."""

from __future__ import annotations

import time
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from trident.base.errors import FatalError
from trident.engine import acting as module
from trident.engine.acting import acting


class ClosingSession(SimpleNamespace):
    """A session of Connect whose channel is closed, and which says so a moment later, as PySpark's own does."""

    @property
    def is_stopped(self) -> bool:
        return time.monotonic() > float(self.says_so_at)


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("watched", "quiet_spark_errors"):
        monkeypatch.setattr(module, name, lambda *_: nullcontext())
    monkeypatch.setattr(module, "tagged", lambda *_: nullcontext())


def test_a_session_that_is_being_stopped_is_told_as_stopped() -> None:
    spark = ClosingSession(says_so_at=time.monotonic() + 0.2)
    with pytest.raises(FatalError, match="the Spark session was stopped"), acting(spark, "tag", "a job"):  # type: ignore[arg-type]
        raise ValueError("Cannot invoke RPC: Channel closed!")


def test_another_error_is_not_taken_for_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_POLLS", 2)
    spark = ClosingSession(says_so_at=time.monotonic() + 60)
    with pytest.raises(ValueError, match="something else"), acting(spark, "tag", "a job"):  # type: ignore[arg-type]
        raise ValueError("something else")
