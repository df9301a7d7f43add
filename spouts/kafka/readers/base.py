"""What a reader is: planned ranges in, a frame of decoded rows and one manifest per range out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from pyspark.sql import DataFrame, SparkSession

from trident.base.ranges import Edge
from trident.spouts.base import SmallBatch
from trident.spouts.decoders.base import TaskDecoder
from trident.spouts.kafka.options import KafkaOptions
from trident.spouts.kafka.readers.here import SmallReads


class RangeReader(Protocol):
    """Reads ranges of Kafka topics inside Spark tasks; an immutable description without connections.

    May be called from several threads; the frame is lazy and can be run again, each run reads anew.
    """

    def read(
        self,
        spark: SparkSession,
        options: KafkaOptions,
        decoder: TaskDecoder,
        edges: Sequence[Edge],
        tasks: int,
    ) -> DataFrame:
        """Return the decoder's fields and the control column, with the manifests of all ranges among the rows."""


@runtime_checkable
class ReadsHere(Protocol):
    """A reader that may read small batches in the coordinator's own process."""

    def read_here(
        self, options: KafkaOptions, decoder: TaskDecoder, edges: Sequence[Edge], reads: SmallReads
    ) -> SmallBatch | None:
        """Return what the frame of `RangeReader.read` would hold; None where tasks are to read it.

        Raises what a task would. `reads` is kept for one source, from batch to batch.
        """
