"""A small batch, read in the coordinator's own process: starting a task of Python's costs more than its records."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
from confluent_kafka import KafkaException
from pyspark.sql import DataFrame, SparkSession

from trident.base.errors import RetryableError
from trident.base.ranges import Edge
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.decoders.base import RunsHere, TaskDecoder
from trident.spouts.kafka.readers.arrow_task import ReadRanges

MOST_BYTES: Final = 4 << 20
"""More than that, as Arrow, goes from tasks to Spark, and not through the driver."""
_LARGE_BATCHES: Final = 50
"""After a batch of few records that were large so many are left to tasks at once."""


@dataclass(slots=True)
class SmallReads:
    """Reads the small batches of one source here; called from several threads at once.

    What is read is a frame as tasks would return it, words and all: whoever acknowledges it finds no difference, and
    a frame that runs again finds the same records.
    """

    most_bytes: int = MOST_BYTES
    _left_to_tasks: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def frame(
        self, spark: SparkSession, task: ReadRanges, edges: Sequence[Edge], most_records: int
    ) -> DataFrame | None:
        """Return the frame of the ranges, read; None where tasks are to read them."""
        width = sum(edge.range.width for edge in edges)
        if not 0 < width <= most_records or not runs_here(task.decoder) or not self._wanted():
            return None
        table = read_here(task, edges, self.most_bytes)
        if table is None:
            with self._lock:
                self._left_to_tasks = _LARGE_BATCHES
            return None
        return task.decoder.finish(spark.createDataFrame(table, task.decoder.task_schema))

    def _wanted(self) -> bool:
        with self._lock:
            left, self._left_to_tasks = self._left_to_tasks, max(0, self._left_to_tasks - 1)
        return not left


def runs_here(decoder: TaskDecoder) -> bool:
    """Whether a decoder says that it may run in the coordinator's process."""
    return isinstance(decoder, RunsHere) and decoder.runs_here


def read_here(task: ReadRanges, edges: Sequence[Edge], most_bytes: int) -> pa.Table | None:
    """Return all rows and words of the ranges as one chunk; None, with nothing kept, where they are larger."""
    batches: list[pa.RecordBatch] = []
    size = 0
    try:
        for batch in task.read(edges):
            batches.append(batch)
            size += batch.nbytes
            if size > most_bytes:
                return None
    except KafkaException as error:
        raise RetryableError(
            f"the Kafka client failed ({error.args[0].name()}); nothing of the batch was applied"
        ) from None
    return pa.Table.from_batches(batches, arrow_schema(task.decoder.task_schema)).combine_chunks()
