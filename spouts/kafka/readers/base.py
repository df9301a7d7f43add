"""What a reader is: planned ranges in, a frame of decoded rows and one manifest per range out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from trident.base.ranges import Edge
from trident.spouts.decoders.base import TaskDecoder
from trident.spouts.kafka.options import KafkaOptions


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
