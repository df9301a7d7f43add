"""What targets give to tasks beside their staging: one Spark task per piece of work."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession

from trident.base.control import CONTROL
from trident.base.errors import RetryableError
from trident.base.secrets import Secret
from trident.engine.errors import SPARK_FAILURES, classify, session_stopped
from trident.engine.quiet import quiet_spark_errors
from trident.engine.spark import cancel_tagged, is_stopped, tagged, watched
from trident.engine.staging import WORDS_ONLY
from trident.spouts.handing_out import hand_out, learn
from trident.state.tasks import Work

_AFTER_STOP = (AttributeError, ValueError)
"""What PySpark raises, besides, once its session was stopped."""


class SparkTasks:
    """See `Tasks`; may be called from any thread."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def run(self, works: Sequence[Work], secrets: Sequence[Secret], what: str) -> None:
        """Run one job with a task for each; ends what is left of it when that fails."""
        tag = f"trident-{uuid.uuid4().hex}"
        try:
            with watched(self._spark), tagged(self._spark, tag), quiet_spark_errors():
                hand_out(self._spark, secrets)
                numbers = self._spark.range(0, len(works), 1, len(works))
                done = numbers.mapInArrow(_DoWork(tuple(works), tuple(secrets)), WORDS_ONLY).toArrow()
        except _AFTER_STOP:
            if not is_stopped(self._spark):
                raise
            raise session_stopped(what) from None
        except SPARK_FAILURES as error:
            if is_stopped(self._spark):
                raise session_stopped(what) from None
            with suppress(*SPARK_FAILURES):
                cancel_tagged(self._spark, tag)
            raise classify(error, what) from None
        if done.num_rows != len(works):
            raise RetryableError(f"{what}: {done.num_rows} of {len(works)} tasks have said that they are done")


@dataclass(frozen=True, slots=True)
class _DoWork:
    """Runs in a Python task: does the pieces whose numbers it gets, and says so."""

    works: tuple[Work, ...]
    secrets: tuple[Secret, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's numbers."""
        learn(self.secrets)
        for batch in batches:
            for number in map(int, batch.column(0).to_numpy()):
                self.works[number]()
                yield pa.RecordBatch.from_arrays([pa.array([str(number)], pa.string())], names=[CONTROL])
