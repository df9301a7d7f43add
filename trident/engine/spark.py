"""The engine's own Spark session, and how jobs are tagged and cancelled on both kinds of Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from py4j.java_gateway import JavaObject
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from trident.base.closing import giving_back
from trident.base.errors import ConfigurationError
from trident.engine.errors import SPARK_FAILURES, classify
from trident.engine.session import astray, pin, require_pinned, warn_of_pinned

_ENGINE_OPTIONS: Mapping[str, str] = {
    # re-planning between stages costs more than the stages of a small batch
    "spark.sql.adaptive.enabled": "false",
    # one Arrow batch per task as a rule: the driver handles few large ones
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    # with a limit Spark sizes the batch anew for every row
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    # a small batch is an RDD, whose partition can be exchanged, and never a part of a plan
    "spark.sql.execution.arrow.localRelationThreshold": "0",
    # a batch that several ends share is kept for a second: to compress it costs more than it saves
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
}


class NoSessionError(ConfigurationError):
    """There is no active Spark session to build a topology with."""


def active_session() -> SparkSession:
    """Return the session to build topologies with; without one, say what to do.

    It gives expressions the types that they have when the topology runs: where the user's session would not, it is a
    copy of it.
    """
    try:
        spark = SparkSession.active()
    except PySparkException:
        raise NoSessionError(
            "there is no active Spark session: make one before the topology's first stream, say "
            "trident.local_session('name')"
        ) from None
    if not is_classic(spark):
        require_pinned(spark, "the topology can't be built")
        return spark
    if not astray(spark):
        return spark
    copy = _copy(spark)
    pin(copy)
    return copy


def is_classic(spark: SparkSession) -> bool:
    """Whether the driver's JVM is reached directly and not through Spark Connect."""
    return hasattr(spark, "_jsparkSession")


def items_of(sequence: JavaObject) -> Iterator[JavaObject]:
    """Yield the items of a sequence of Scala's."""
    for index in range(sequence.size()):
        yield sequence.apply(index)


def is_stopped(spark: SparkSession) -> bool:
    """Whether somebody has ended the session with `spark.stop()`, or its context; false where the JVM is gone."""
    if not is_classic(spark):
        return bool(getattr(spark, "is_stopped", False))  # only sessions of Connect have it
    context = spark.sparkContext._jsc
    if context is None:
        return True
    try:
        return bool(context.sc().isStopped())
    except SPARK_FAILURES:
        return False


def engine_session(spark: SparkSession, shuffle_partitions: int, *, warns: bool = True) -> SparkSession:
    """Return a session with the user's functions, views and options, and the engine's own options on top.

    It says which of the user's options do not count there, where that is not said elsewhere (`warns`).

    Through Spark Connect, which can't copy a session, it is the user's own session with nothing changed: it is refused
    where it would not give exact results (`watched` looks again at each job); set `recommended_options()` there.
    """
    if not is_classic(spark):
        require_pinned(spark, "the topology can't run")
        return spark
    if warns:
        warn_of_pinned(spark)
    copy = _copy(spark)
    pin(copy)
    for name, value in _ENGINE_OPTIONS.items():
        copy.conf.set(name, value)
    copy.conf.set("spark.sql.shuffle.partitions", str(shuffle_partitions))
    return copy


@contextmanager
def watched(spark: SparkSession) -> Iterator[None]:
    """Refuse what came of a block while a session that is the user's own would not give exact results."""
    if is_classic(spark):
        yield  # a copy, that nobody else has
        return
    require_pinned(spark, "the batch can't be processed")
    yield
    require_pinned(spark, "the options of the session were changed while the batch was processed")


def _copy(spark: SparkSession) -> SparkSession:
    # newSession() would lose the user's options and functions
    return SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())


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
