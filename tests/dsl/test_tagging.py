"""Tags of jobs: taking one off never hides what the jobs ended with."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from pyspark.sql import SparkSession

from trident.engine.spark import tagged


class _JvmGoneError(Exception):
    """What py4j raises once the driver's JVM has died."""


class _Context:
    """The tags of a context; one that is broken can't take them off."""

    def __init__(self, *, broken: bool, gone: Exception | None = None) -> None:
        self.tags: set[str] = set()
        self._broken = broken
        self._gone = gone or _JvmGoneError("the gateway does not answer")

    def addJobTag(self, tag: str) -> None:
        self.tags.add(tag)

    def removeJobTag(self, tag: str) -> None:
        if self._broken:
            raise self._gone
        self.tags.remove(tag)


def _session(context: _Context) -> SparkSession:
    return cast("SparkSession", SimpleNamespace(_jsparkSession=None, sparkContext=context))


def test_a_tag_is_there_inside_the_block_only() -> None:
    context = _Context(broken=False)
    with tagged(_session(context), "txid 3"):
        assert context.tags == {"txid 3"}
    assert not context.tags


def test_what_ended_the_jobs_is_raised_although_the_tag_stays() -> None:
    with pytest.raises(ZeroDivisionError), tagged(_session(_Context(broken=True)), "txid 3"):
        raise ZeroDivisionError


def test_a_tag_that_a_dead_jvm_keeps_costs_one_line(caplog: pytest.LogCaptureFixture) -> None:
    context = _Context(broken=True, gone=ConnectionRefusedError(111, "Connection refused"))
    with pytest.raises(ZeroDivisionError), tagged(_session(context), "txid 3"):
        raise ZeroDivisionError
    (line,) = caplog.records
    assert "Spark's JVM has ended" in line.getMessage()
    assert line.exc_info is None


def test_a_tag_that_stays_after_jobs_that_ended_well_is_an_error() -> None:
    with pytest.raises(_JvmGoneError), tagged(_session(_Context(broken=True)), "txid 3"):
        pass
