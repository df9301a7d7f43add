"""An attempt of which Spark has run a stage twice is known as one; fakes stand for Spark's tracker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

import pytest
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from trident.base.errors import RetryableError
from trident.engine.audited import AuditError
from trident.engine.reruns import OneRun, require_kept


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
    tags: list[str] = field(default_factory=list)
    sentinel: str | None = None
    sentinels: list[str] = field(default_factory=list)
    lag: int = 3
    is_gone: bool = False
    options: dict[str, str] = field(default_factory=dict)

    def as_session(self) -> SparkSession:
        tracker = SimpleNamespace(
            getJobIdsForTag=self._jobs_of,
            getJobInfo=self._job,
            getStageInfo=lambda stage: Option(self._stage(stage)),
        )
        store = SimpleNamespace(executorList=lambda is_active: self._left())
        conf = SimpleNamespace(get=self.options.get)
        context = SimpleNamespace(statusTracker=lambda: tracker, statusStore=lambda: store, conf=lambda: conf)
        java = SimpleNamespace(sc=lambda: context, emptyRDD=lambda: SimpleNamespace(count=self._begin_job))
        spark_context = SimpleNamespace(
            master=self.master, _jsc=java, addJobTag=self.tags.append, removeJobTag=self.tags.remove
        )
        return cast(SparkSession, SimpleNamespace(sparkContext=spark_context, _jsparkSession=None))

    def _left(self) -> Seq:
        return Seq([SimpleNamespace(id=lambda name=name: name) for name in self.executors])

    def _begin_job(self) -> int:
        if self.is_gone:
            raise Py4JError("gone")
        (self.sentinel,) = self.tags
        self.sentinels.append(self.sentinel)
        return 0

    def _jobs_of(self, tag: str) -> list[int]:
        """Hear of everything at once, some questions behind the last job."""
        self.lag -= self.sentinel is not None
        if self.lag > 0 or self.sentinel is None:
            return []
        return [0] if tag == self.sentinel else list(self.jobs.get(tag, {}))

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


def test_a_batch_and_its_turn_each_wait_for_what_came_last() -> None:
    spark = Spark(jobs={"mine": {1: [1]}}, attempts={1: 0})
    watching = OneRun(spark.as_session(), runs_user_code=True, keeps_frames=False)
    for _ in range(2):
        watching.of("mine", "pay txid 3", lambda: "made")
    assert len(set(spark.sentinels)) == 2, "one that was heard of before says nothing of what came since"


def test_a_tracker_that_hears_nothing_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trident.engine.reruns._PATIENCE_S", 0.01)
    with pytest.raises(RetryableError, match="nobody knows whether tasks were run again"):
        run(Spark(lag=10**9))


def test_what_is_kept_no_more_when_all_have_used_it_was_made_again() -> None:
    def frame(is_kept: bool) -> DataFrame:
        return cast(DataFrame, SimpleNamespace(storageLevel=SimpleNamespace(useMemory=is_kept)))

    require_kept([], "pay txid 3")
    require_kept([frame(True), frame(True)], "pay txid 3")
    with pytest.raises(RetryableError, match=r"pay txid 3: what Spark kept .*clearCache.*Nothing of the batch"):
        require_kept([frame(True), frame(False)], "pay txid 3")


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


@pytest.mark.parametrize("options", [{}, {"spark.speculation": "true"}], ids=["off", "on"])
@pytest.mark.parametrize("master", ["local[2]", "spark://here:7077"])
@pytest.mark.parametrize("keeps", [False, True], ids=["keeps nothing", "keeps frames"])
def test_a_run_with_speculation_says_what_that_may_cost(
    caplog: pytest.LogCaptureFixture, options: dict[str, str], master: str, keeps: bool
) -> None:
    OneRun(Spark(master=master, options=options).as_session(), runs_user_code=True, keeps_frames=keeps)
    is_told = any("spark.speculation is on" in record.getMessage() for record in caplog.records)
    assert is_told == (bool(options) and master != "local[2]" and keeps)
