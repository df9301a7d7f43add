"""The default reader: Python tasks that fetch with librdkafka and hand Arrow batches to Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from trident.base.checks import check_count, check_seconds
from trident.base.errors import ConfigurationError
from trident.base.ranges import Edge
from trident.spouts.base import SmallBatch
from trident.spouts.decoders.base import TaskDecoder
from trident.spouts.handing_out import hand_out
from trident.spouts.kafka.hiding import ConsumerOptions
from trident.spouts.kafka.options import KafkaOptions
from trident.spouts.kafka.readers.arrow_task import ReadRanges
from trident.spouts.kafka.readers.here import MOST_RECORDS, SmallReads
from trident.spouts.spread import spread

_LARGEST_CHUNK: Final = 1_000_000
"""The most that the client hands out at once."""


@dataclass(frozen=True, slots=True)
class ArrowReader:
    """Read with confluent-kafka inside `mapInArrow`, decode in the same task, yield Arrow batches.

    A range is complete when its task saw a record, or the end of the partition, at or behind its
    stop; `stall_seconds` in which nothing was fetched, not even records of aborted transactions that nobody is
    given, fail the task with `RetryableError`. `chunk_records` is
    how many records are fetched and decoded at a time, a million at most. A worker process keeps its consumer for the
    next task with the same options.

    A batch of up to `here_records` is read and decoded by the coordinator's own process instead, which costs less than
    a task does, where the decoder is one of the library's and records are small, and where tasks that shared the work
    would not be quicker. 0 leaves all to tasks, 50,000 is the most.
    """

    chunk_records: int = 10_000
    stall_seconds: float = 30.0
    here_records: int = MOST_RECORDS

    def __post_init__(self) -> None:
        check_count("chunk_records", self.chunk_records, most=_LARGEST_CHUNK)
        check_seconds("stall_seconds", self.stall_seconds)
        check_count("here_records", self.here_records, least=0, most=MOST_RECORDS)

    def check(self, options: KafkaOptions) -> None:
        """Raise ConfigurationError for client options under which a read would be taken for stalled."""
        given = options.client_options.get("fetch.wait.max.ms", "")
        if given.isdecimal() and int(given) >= self.stall_seconds * 1000:
            raise ConfigurationError(
                f"client option 'fetch.wait.max.ms' must be below stall_seconds of ArrowReader ({self.stall_seconds:g} "
                "s): a broker may wait so long before it answers, and the read would be given up first; nothing was "
                "started"
            )

    def read(
        self,
        spark: SparkSession,
        options: KafkaOptions,
        decoder: TaskDecoder,
        edges: Sequence[Edge],
        tasks: int,
    ) -> DataFrame:
        """See `RangeReader`; several ranges share a task where there are fewer tasks than ranges."""
        groups = spread(edges, tasks)
        task = self._task(options.for_librdkafka(), decoder, groups)
        hand_out(spark, task.options.secrets)
        frame = spark.range(0, len(groups), 1, len(groups)).mapInArrow(task, decoder.task_schema)
        return decoder.finish(frame)

    def read_here(
        self, options: KafkaOptions, decoder: TaskDecoder, edges: Sequence[Edge], reads: SmallReads
    ) -> SmallBatch | None:
        """See `ReadsHere`."""
        task = self._task(options.for_librdkafka(small=True), decoder, (tuple(edges),))
        return reads.read(task, edges, self.here_records)

    def _task(self, options: ConsumerOptions, decoder: TaskDecoder, groups: tuple[tuple[Edge, ...], ...]) -> ReadRanges:
        return ReadRanges(options, groups, decoder, self.chunk_records, self.stall_seconds)
