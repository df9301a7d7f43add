"""What a stream does with its logical partitions: Storm's groupings, and aggregation by partition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa

from trident.base.errors import ConfigurationError
from trident.language.aggregating import aggregation_by_partition
from trident.language.row_verbs import checked
from trident.operations.aggregate import Aggregate
from trident.operations.aggregators.base import Aggregation
from trident.operations.aggregators.by_row import ByRow
from trident.operations.arrow import AnyArray
from trident.operations.base import Operation, RecordOperation, check_field
from trident.operations.partitioning import (
    Broadcast,
    PartitionFunction,
    Shuffle,
    as_they_come,
    by_batch,
    by_fields,
    lowest,
)
from trident.operations.row_aggregate import RowAggregate

if TYPE_CHECKING:
    from trident.language.stream import Stream


class PartitionVerbs(ABC):
    """Base of `Stream`.

    A partition is a number from 0 that is computed for each record: no data is moved, and every re-run of a batch gives
    each record the same one. There are as many as the topology says (`Topology(name, partitions=…)`). A stream begins
    in those of its source (of Kafka: its partition's number, modulo the number of ours); filters and functions leave
    records where they are, and what makes groups, merges or joins puts them into those of their source again.
    """

    @abstractmethod
    def _then(self, operation: Operation, *, keeps: bool = False) -> Stream: ...

    @abstractmethod
    def _aggregated(self, operation: Aggregate | RowAggregate) -> Stream: ...

    @abstractmethod
    def _onto(self, operation: RecordOperation, *, keeps: bool = False) -> Stream: ...

    @property
    @abstractmethod
    def _partitions(self) -> int: ...

    def shuffle(self) -> Stream:
        """Deal the records over the partitions, in the order of topic, partition and offset: sizes differ by 1."""
        return self._onto(Shuffle(self._partitions), keeps=True)

    def partition_by(self, *fields: str) -> Stream:
        """Put records with equal fields into one partition: equal as keys are, null with null, NaN with NaN."""
        if not fields:
            raise ConfigurationError("partition_by needs at least one field: fields that say which records go together")
        names = tuple(check_field("partition_by", name) for name in fields)
        return self._then(by_fields(names, self._partitions), keeps=True)

    def global_(self) -> Stream:
        """Put all records of all batches into the lowest partition."""
        return self._then(lowest(), keeps=True)

    def batch_global(self) -> Stream:
        """Put all records of a batch into one partition, which its txid decides: batches are spread over them."""
        return self._then(by_batch(self._partitions), keeps=True)

    def broadcast(self) -> Stream:
        """Put each record into every partition: it is there as often as there are partitions."""
        return self._then(Broadcast(self._partitions), keeps=True)

    def local_or_shuffle(self) -> Stream:
        """Leave records where they are: in a partition of the topology every record is at home."""
        return self._then(as_they_come("local_or_shuffle", self._partitions), keeps=True)

    def identity_partition(self) -> Stream:
        """Leave records in the partition that they come in."""
        return self._then(as_they_come("identity_partition", self._partitions), keeps=True)

    def partition(self, function: Callable[[pa.RecordBatch], AnyArray], /) -> Stream:
        """Put each record where a function over Arrow batches says: it returns an array of partition numbers.

        A number that is no partition fails the batch, with nothing applied.
        """
        return self._then(PartitionFunction(checked(function, "partition"), self._partitions), keeps=True)

    def partition_aggregate(self, *makers: ByRow, **aggregators: Aggregation | ByRow) -> Stream:
        """Return a row for each partition and batch; one without records counts 0 and has null else.

        A `Reducer` or `Aggregator` of yours is asked for each partition too, and a `Combiner` with a `zero` gives that.
        """
        return self._aggregated(aggregation_by_partition(makers, aggregators, self._partitions))
