"""An attempt of which Spark has run a stage twice is known as one; fakes stand for Spark's tracker."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

import pytest
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from trident.base.errors import RetryableError
from trident.engine.reruns import require_one_run


@dataclass
class Option:
    value: object

    def isDefined(self) -> bool:
        return self.value is not None

    def get(self) -> object:
        return self.value


@dataclass
class Spark:
    """Jobs by their tags, the stages of each, and at which attempt each stage is; what the listeners have heard."""

    master: str = "spark://here:7077"
    jobs: dict[str, dict[int, list[int]]] = field(default_factory=dict)
    attempts: dict[int, int] = field(default_factory=dict)
    is_heard: bool = False
    is_gone: bool = False

    def as_session(self) -> SparkSession:
        bus = SimpleNamespace(waitUntilEmpty=self._wait)
        tracker = SimpleNamespace(
            getJobIdsForTag=lambda tag: list(self.jobs.get(tag, {})) if self.is_heard else [],
            getJobInfo=self._job,
            getStageInfo=lambda stage: Option(self._stage(stage)),
        )
        context = SimpleNamespace(listenerBus=lambda: bus, statusTracker=lambda: tracker)
        spark_context = SimpleNamespace(master=self.master, _jsc=SimpleNamespace(sc=lambda: context))
        return cast(SparkSession, SimpleNamespace(sparkContext=spark_context, _jsparkSession=None))

    def _wait(self, milliseconds: int) -> None:
        assert milliseconds > 0
        if self.is_gone:
            raise Py4JError("gone")
        self.is_heard = True

    def _job(self, job: int) -> Option:
        stages = next((stages[job] for stages in self.jobs.values() if job in stages), None)
        return Option(None if stages is None else SimpleNamespace(stageIds=lambda: stages))

    def _stage(self, stage: int) -> object:
        attempt = self.attempts.get(stage)
        return None if attempt is None else SimpleNamespace(currentAttemptId=lambda: attempt)


def test_a_stage_that_was_run_again_fails_the_attempt() -> None:
    spark = Spark(jobs={"mine": {1: [1, 2], 2: [2, 3]}}, attempts={1: 0, 2: 0, 3: 1})
    with pytest.raises(RetryableError, match=r"pay txid 3: .* has run tasks again .*Nothing of the batch was applied"):
        require_one_run(spark.as_session(), "mine", "pay txid 3")


def test_stages_that_were_run_once_skipped_or_are_anothers_fail_nothing() -> None:
    spark = Spark(jobs={"mine": {1: [1, 2]}, "another": {2: [3]}}, attempts={1: 0, 3: 1})
    require_one_run(spark.as_session(), "mine", "pay txid 3")
    require_one_run(spark.as_session(), "nobody's", "pay txid 3")


@pytest.mark.parametrize(("master", "has_executors"), [("local[*]", False), ("local-cluster[2,1,900]", True)])
def test_a_spark_in_one_process_is_not_asked(master: str, has_executors: bool) -> None:
    spark = Spark(master, is_gone=True)
    if not has_executors:
        require_one_run(spark.as_session(), "mine", "pay txid 3")
        return
    with pytest.raises(RetryableError):
        require_one_run(spark.as_session(), "mine", "pay txid 3")


def test_through_connect_nobody_can_tell() -> None:
    require_one_run(cast(SparkSession, SimpleNamespace()), "mine", "pay txid 3")
