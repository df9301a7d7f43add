"""An attempt of which Spark has run a stage twice is known as one; fakes stand for Spark's tracker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

import pytest
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from trident.base.errors import RetryableError
from trident.engine.audited import AuditError
from trident.engine.reruns import OneRun


@dataclass
class Option:
    value: object

    def isDefined(self) -> bool:
        return self.value is not None

    def get(self) -> object:
        return self.value


@dataclass
class Seq:
    items: Sequence[object]

    def size(self) -> int:
        return len(self.items)

    def apply(self, index: int) -> object:
        return self.items[index]


@dataclass
class Spark:
    """Jobs by their tags, the stages of each, and at which attempt each stage is; what the listeners have heard."""

    master: str = "spark://here:7077"
    jobs: dict[str, dict[int, list[int]]] = field(default_factory=dict)
    attempts: dict[int, int] = field(default_factory=dict)
    executors: list[str] = field(default_factory=list)
    is_heard: bool = False
    is_gone: bool = False

    def as_session(self) -> SparkSession:
        bus = SimpleNamespace(waitUntilEmpty=self._wait)
        tracker = SimpleNamespace(
            getJobIdsForTag=lambda tag: list(self.jobs.get(tag, {})) if self.is_heard else [],
            getJobInfo=self._job,
            getStageInfo=lambda stage: Option(self._stage(stage)),
        )
        store = SimpleNamespace(executorList=lambda is_active: self._left())
        context = SimpleNamespace(listenerBus=lambda: bus, statusTracker=lambda: tracker, statusStore=lambda: store)
        spark_context = SimpleNamespace(master=self.master, _jsc=SimpleNamespace(sc=lambda: context))
        return cast(SparkSession, SimpleNamespace(sparkContext=spark_context, _jsparkSession=None))

    def _left(self) -> Seq:
        return Seq([SimpleNamespace(id=lambda name=name: name) for name in self.executors])

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


def run(spark: Spark, action: Callable[[], str] = lambda: "made", *, keeps_frames: bool = False) -> str:
    watching = OneRun(spark.as_session(), runs_user_code=True, keeps_frames=keeps_frames)
    return watching.of("mine", "pay txid 3", action)


def test_a_stage_that_was_run_again_fails_the_attempt() -> None:
    spark = Spark(jobs={"mine": {1: [1, 2], 2: [2, 3]}}, attempts={1: 0, 2: 0, 3: 1})
    with pytest.raises(RetryableError, match=r"pay txid 3: .* has run tasks again .*Nothing of the batch was applied"):
        run(spark)


def test_stages_that_were_run_once_skipped_or_are_anothers_fail_nothing() -> None:
    assert run(Spark(jobs={"mine": {1: [1, 2]}, "another": {2: [3]}}, attempts={1: 0, 3: 1})) == "made"
    assert run(Spark(jobs={"another": {2: [3]}}, attempts={3: 1})) == "made"


@pytest.mark.parametrize(("keeps_frames", "left", "fails"), [(True, "2", True), (True, "", False), (False, "2", False)])
def test_an_executor_that_left_takes_its_part_of_what_is_kept_along(keeps_frames: bool, left: str, fails: bool) -> None:
    """Others that came meanwhile have kept nothing of it."""
    spark = Spark(executors=["driver", "1", "2"])

    def action() -> str:
        spark.executors = [each for each in ("driver", "1", "2", "3") if each != left]
        return "made"

    if not fails:
        assert run(spark, action, keeps_frames=keeps_frames) == "made"
        return
    with pytest.raises(RetryableError, match="has lost an executor"):
        run(spark, action, keeps_frames=keeps_frames)


@pytest.mark.parametrize(("attempt", "told"), [(1, "has run tasks again"), (0, "doubled")])
def test_an_audit_that_has_counted_two_runs_is_told_as_that(attempt: int, told: str) -> None:
    def action() -> str:
        raise AuditError("doubled")

    with pytest.raises(RetryableError, match=told):
        run(Spark(jobs={"mine": {1: [1]}}, attempts={1: attempt}), action)


@pytest.mark.parametrize(("master", "has_executors"), [("local[*]", False), ("local-cluster[2,1,900]", True)])
def test_a_spark_in_one_process_is_not_asked(master: str, has_executors: bool) -> None:
    spark = Spark(master, is_gone=True)
    if not has_executors:
        assert run(spark) == "made"
        return
    with pytest.raises(RetryableError):
        run(spark)


def test_through_connect_and_without_code_of_a_users_nobody_is_asked() -> None:
    connect = OneRun(cast(SparkSession, SimpleNamespace()), runs_user_code=True, keeps_frames=True)
    assert connect.of("mine", "pay txid 3", lambda: "made") == "made"
    plain = OneRun(Spark(is_gone=True).as_session(), runs_user_code=False, keeps_frames=True)
    assert plain.of("mine", "pay txid 3", lambda: "made") == "made"
