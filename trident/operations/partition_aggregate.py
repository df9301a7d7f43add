"""Aggregation by logical partition: a row for each, also for one that has no records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from trident.base.control import CONTROL
from trident.base.errors import ConfigurationError
from trident.base.order import ORDER
from trident.base.partitions import PARTITION
from trident.operations.aggregate import Aggregate
from trident.operations.aggregators.base import Aggregation
from trident.operations.aggregators.counting import Count
from trident.operations.base import BUILD_CONTEXT, BatchContext, Fields, field
from trident.operations.partitioning import source_partition

_OF = "__trident_of"


class PartitionAggregate:
    """See `RecordOperation`: of no records a count is 0, everything else null."""

    verb = "partition_aggregate"
    wants_order = True

    def __init__(self, aggregators: Mapping[str, Aggregation], partitions: int) -> None:
        self._aggregate = Aggregate((), aggregators)
        self._aggregators = dict(aggregators)
        self._partitions = partitions
        self.runs_user_code = self._aggregate.runs_user_code
        if self.runs_user_code:
            raise ConfigurationError(
                "partition_aggregate takes aggregators that Spark computes; for Python of your own use "
                "multi_reduce, or group_by a field"
            )

    def result(self, schemas: Sequence[StructType]) -> StructType:
        """Return a field for each aggregator."""
        (schema,) = schemas
        self._aggregate.check(Fields(schema))
        return self.lower([SparkSession.active().createDataFrame([], schema)], BUILD_CONTEXT).schema

    def lower(self, frames: Sequence[DataFrame], batch: BatchContext) -> DataFrame:
        """See `RecordOperation.lower`."""
        (frame,) = frames
        of = source_partition(frame, self._partitions)
        placed = frame.withColumn(_OF, of).drop(PARTITION, ORDER).withColumn(CONTROL, F.lit(None).cast("string"))
        kept = self._aggregate.kept
        grouped = placed.groupBy(field(_OF)).agg(*(column.expression.alias(name) for name, column in kept.items()))
        shown = [
            aggregator.shown(*(field(name + column.suffix) for column in aggregator.columns())).alias(name)
            for name, aggregator in self._aggregators.items()
        ]
        results = grouped.select(field(_OF), *shown)
        every = frame.sparkSession.range(self._partitions).select(F.col("id").cast("int").alias("every"))
        joined = every.join(results, field("every") == field(_OF), "left")
        return joined.select(*(self._filled(name) for name in self._aggregators))

    def _filled(self, name: str) -> Column:
        column = field(name)
        return (F.coalesce(column, F.lit(0)) if isinstance(self._aggregators[name], Count) else column).alias(name)
