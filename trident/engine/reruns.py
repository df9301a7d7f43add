"""Whether Spark has run tasks of an attempt again after other tasks had used what they made.

When an executor is lost, or what it keeps, Spark makes its part of a shuffle anew, and only for those tasks behind it
that are not done. Rows of two runs are one result then. Spark takes each run to make the same; a user's function need
not: the service that it asks is away, its rows come in another order, time has passed. So such an attempt is processed
again as a whole, as by a failure.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import SparkSession

from trident.base.errors import RetryableError
from trident.engine.errors import NOTHING_APPLIED, SPARK_FAILURES, classify
from trident.engine.spark import is_classic

_WAIT_MS: Final = 30_000


def require_one_run(spark: SparkSession, tag: str, what: str) -> None:
    """Raise RetryableError if a stage of the jobs with that tag, which have ended, was run more than once.

    In one process, as with `local[*]`, nothing is lost that goes on without it. Through Spark Connect nobody can tell.
    """
    if not (is_classic(spark) and _has_executors(spark)):
        return
    try:
        again = _was_run_again(spark, tag)
    except SPARK_FAILURES as error:
        raise classify(error, what) from None
    if again:
        raise RetryableError(
            f"{what}: Spark has lost an executor, or what it kept, and has run tasks again after others had used their "
            f"rows; a user's function may have said something else then. {NOTHING_APPLIED}; it is processed again."
        )


def _has_executors(spark: SparkSession) -> bool:
    master = str(spark.sparkContext.master)
    return not master.startswith("local") or master.startswith("local-cluster")


def _was_run_again(spark: SparkSession, tag: str) -> bool:
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty(_WAIT_MS)  # what the tracker knows comes by it, behind the jobs
    tracker = context.statusTracker()
    jobs = (tracker.getJobInfo(job) for job in tracker.getJobIdsForTag(tag))
    stages = {stage for job in jobs if job.isDefined() for stage in job.get().stageIds()}
    found = (tracker.getStageInfo(stage) for stage in sorted(stages))
    return any(each.isDefined() and each.get().currentAttemptId() > 0 for each in found)
