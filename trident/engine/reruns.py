"""What an attempt comes to is of one run of its tasks: Spark runs some again after others have used what they made.

When an executor is lost, or what it keeps, Spark makes its part of a shuffle anew, and only for those tasks behind it
that are not done; so it does with its part of what is kept for several ends. Rows of two runs are one result then.
Spark takes each run to make the same; a user's function need not: the service that it asks is away, its rows come in
another order, time has passed. So such an attempt is processed again as a whole, as by a failure.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession

from trident.base.errors import RetryableError
from trident.engine.audited import AuditError
from trident.engine.errors import NOTHING_APPLIED, SPARK_FAILURES, classify
from trident.engine.spark import is_classic, items_of, tagged

T = TypeVar("T")
_log = logging.getLogger("trident.engine")
_SPECULATES: Final = (
    "spark.speculation is on, and several results are made of what a function of yours says: where two copies of a "
    "task end at once each may be kept, and where the function says something else each time (it asks a service, draws "
    "lots) a record may be in two results that exclude each other, or in none. Nobody sees that: turn it off for such "
    "functions"
)
_PATIENCE_S: Final = 30.0
_POLL_S: Final = 0.002


class OneRun:
    """Watches the attempts of one topology; called from several threads at once, keeps nothing of them.

    In one process, as with `local[*]`, nothing is lost that goes on without it. Through Spark Connect nobody can tell.
    """

    def __init__(self, spark: SparkSession, *, runs_user_code: bool, keeps_frames: bool) -> None:
        """`keeps_frames`: several actions of an attempt stand on what one of them has made."""
        self._spark = spark
        self._is_asked = runs_user_code and is_classic(spark) and _has_executors(spark)
        self._keeps_frames = keeps_frames
        if self._is_asked and keeps_frames and str(self._context().conf().get("spark.speculation", "false")) == "true":
            _log.warning(_SPECULATES)

    def of(self, tag: str, what: str, action: Callable[[], T]) -> T:
        """Return what an action comes to, whose jobs all have that tag; RetryableError where it is of two runs."""
        if not self._is_asked:
            return action()
        before = self._ask(what, self._executors) if self._keeps_frames else frozenset()
        try:
            made = action()
        except AuditError:  # it has counted both runs, and would name a step for it
            self._require(tag, what, before)
            raise
        self._require(tag, what, before)
        return made

    def _require(self, tag: str, what: str, before: frozenset[str]) -> None:
        if self._ask(what, lambda: self._was_run_again(tag) or bool(before - self._executors())):
            raise RetryableError(
                f"{what}: Spark has lost an executor, or what it kept, and has run tasks again after others had used "
                f"their rows; a user's function may have said something else then. {NOTHING_APPLIED}; it is processed "
                "again."
            )

    def _ask(self, what: str, question: Callable[[], T]) -> T:
        try:
            return question()
        except SPARK_FAILURES as error:
            raise classify(error, what) from None

    def _was_run_again(self, tag: str) -> bool:
        tracker = self._context().statusTracker()
        self._be_heard(tracker, f"{tag}-heard-{secrets.token_hex(4)}")  # a batch and its turn have one tag
        jobs = (tracker.getJobInfo(job) for job in tracker.getJobIdsForTag(tag))
        stages = {stage for job in jobs if job.isDefined() for stage in job.get().stageIds()}
        found = (tracker.getStageInfo(stage) for stage in sorted(stages))
        return any(each.isDefined() and each.get().currentAttemptId() > 0 for each in found)

    def _be_heard(self, tracker: JavaObject, tag: str) -> None:
        """Wait until the tracker knows of all that was before this: it hears of jobs later, in their order."""
        with tagged(self._spark, tag):
            self._spark.sparkContext._jsc.emptyRDD().count()  # a job without tasks, which nobody runs
        latest = time.monotonic() + _PATIENCE_S
        while not len(tracker.getJobIdsForTag(tag)):
            if time.monotonic() > latest:
                raise RetryableError(
                    f"Spark's tracker has not heard of a job within {_PATIENCE_S:.0f} s, so nobody knows whether tasks "
                    f"were run again. {NOTHING_APPLIED}; it is processed again"
                )
            time.sleep(_POLL_S)

    def _executors(self) -> frozenset[str]:
        return frozenset(str(each.id()) for each in items_of(self._context().statusStore().executorList(True)))

    def _context(self) -> JavaObject:
        return self._spark.sparkContext._jsc.sc()


def require_kept(frames: Iterable[DataFrame], what: str) -> None:
    """Raise RetryableError where Spark keeps a frame no more on which several actions of an attempt were to stand.

    A session's frames are kept by all sessions together, so `spark.catalog.clearCache()` of a program's takes these.
    """
    try:
        is_gone = not all(frame.storageLevel.useMemory for frame in frames)
    except SPARK_FAILURES as error:
        raise classify(error, what) from None
    if is_gone:
        raise RetryableError(
            f"{what}: what Spark kept of the batch was let go of before all had used it (clearCache(), for one), and "
            f"was made again; a user's function may have said something else then. {NOTHING_APPLIED}; it is processed "
            "again."
        )


def _has_executors(spark: SparkSession) -> bool:
    master = str(spark.sparkContext.master)
    return not master.startswith("local") or master.startswith("local-cluster")
