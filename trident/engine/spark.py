"""The engine's own Spark session, and how jobs are tagged and cancelled on both kinds of Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from trident.base.closing import giving_back
from trident.base.errors import ConfigurationError
from trident.engine.errors import SPARK_FAILURES, classify

_ENGINE_OPTIONS: Mapping[str, str] = {
    # re-planning between stages costs more than the stages of a small batch
    "spark.sql.adaptive.enabled": "false",
    # one Arrow batch per task as a rule: the driver handles few large ones
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    # with a limit Spark sizes the batch anew for every row
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
    # an overflow is an error, never a wrapped sum or a silent null
    "spark.sql.ansi.enabled": "true",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
}


def active_session() -> SparkSession:
    """Return the session to build topologies with; without one, say what to do."""
    try:
        return SparkSession.active()
    except PySparkException:
        raise ConfigurationError(
            "there is no active Spark session: make one before the topology's first stream"
        ) from None


def is_classic(spark: SparkSession) -> bool:
    """Whether the driver's JVM is reached directly and not through Spark Connect."""
    return hasattr(spark, "_jsparkSession")


def engine_session(spark: SparkSession, shuffle_partitions: int) -> SparkSession:
    """Return a session with the user's functions, views and options, and the engine's own options on top.

    Through Spark Connect, which can't copy a session, it is the user's own session with nothing changed:
    set `recommended_options()` there.
    """
    if not is_classic(spark):
        return spark
    # newSession() would lose the user's options and functions
    copy = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    for name, value in _ENGINE_OPTIONS.items():
        copy.conf.set(name, value)
    copy.conf.set("spark.sql.shuffle.partitions", str(shuffle_partitions))
    return copy


def parallelism_of(spark: SparkSession) -> int:
    """Return how many tasks run at once, as far as Spark says."""
    if is_classic(spark):
        return max(1, spark.sparkContext.defaultParallelism)
    try:
        return max(1, int(spark.conf.get("spark.default.parallelism", "0") or "0") or os.cpu_count() or 1)
    except (PySparkException, ValueError):
        return os.cpu_count() or 1


@contextmanager
def tagged(spark: SparkSession, tag: str) -> Iterator[None]:
    """Tag the jobs that the calling thread starts inside the block; what ended the block is what is raised."""
    if is_classic(spark):
        # session tags are known to the thread that set them only: no other thread could interrupt by them
        add, remove = spark.sparkContext.addJobTag, spark.sparkContext.removeJobTag
    else:
        add, remove = spark.addTag, spark.removeTag
    add(tag)
    what = f"taking the tag {tag!r} off"

    def take_off() -> None:
        try:
            remove(tag)
        except SPARK_FAILURES as error:
            raise classify(error, what) from None

    with giving_back(what, take_off):
        yield


def cancel_tagged(spark: SparkSession, tag: str) -> None:
    """Ask Spark to end the jobs with that tag; may be called from any thread."""
    if is_classic(spark):
        spark.sparkContext.cancelJobsWithTag(tag)
    else:
        spark.interruptTag(tag)
