"""What a stream does with its logical partitions: Storm's groupings, and aggregation by partition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa

from trident.base.checks import check_count
from trident.base.errors import ConfigurationError
from trident.language.row_verbs import checked
from trident.operations.aggregators.base import Aggregation
from trident.operations.arrow import AnyArray
from trident.operations.base import Operation, RecordOperation, check_field
from trident.operations.partition_aggregate import PartitionAggregate
from trident.operations.partitioning import (
    Broadcast,
    PartitionFunction,
    Shuffle,
    as_they_come,
    by_batch,
    by_fields,
    direct,
    lowest,
)

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
    def _then(self, operation: Operation) -> Stream: ...

    @abstractmethod
    def _onto(self, operation: RecordOperation) -> Stream: ...

    @property
    @abstractmethod
    def _partitions(self) -> int: ...

    def shuffle(self) -> Stream:
        """Deal the records over the partitions, in the order of topic, partition and offset: sizes differ by 1."""
        return self._onto(Shuffle(self._partitions))

    def partition_by(self, *fields: str) -> Stream:
        """Put records with equal fields into one partition: equal as keys are, null with null, NaN with NaN."""
        if not fields:
            raise ConfigurationError("partition_by needs at least one field: fields that say which records go together")
        return self._then(by_fields(tuple(check_field("partition_by", name) for name in fields), self._partitions))

    def global_(self) -> Stream:
        """Put all records of all batches into the lowest partition."""
        return self._then(lowest())

    def batch_global(self) -> Stream:
        """Put all records of a batch into one partition, which its txid decides: batches are spread over them."""
        return self._then(by_batch(self._partitions))

    def broadcast(self) -> Stream:
        """Put each record into every partition: it is there as often as there are partitions."""
        return self._then(Broadcast(self._partitions))

    def local_or_shuffle(self) -> Stream:
        """Leave records where they are: in a partition of the topology every record is at home."""
        return self._then(as_they_come("local_or_shuffle", self._partitions))

    def identity_partition(self) -> Stream:
        """Leave records in the partition that they come in."""
        return self._then(as_they_come("identity_partition", self._partitions))

    def declare_direct(self, field: str, /) -> Stream:
        """Say that an integer field names the partition that each record is meant for; `direct` puts it there."""
        made = self._then(direct(check_field("declare_direct", field), self._partitions))
        return self._declared(made, field)

    @abstractmethod
    def _declared(self, checked_by: Stream, field: str) -> Stream: ...

    def partition(self, function: Callable[[pa.RecordBatch], AnyArray], /) -> Stream:
        """Put each record where a function over Arrow batches says: it returns an array of partition numbers.

        A number that is no partition fails the batch, with nothing applied.
        """
        return self._then(PartitionFunction(checked(function, "partition"), self._partitions))

    def partition_aggregate(self, **aggregators: Aggregation) -> Stream:
        """Return a row for each partition and batch; one without records counts 0 and has null else."""
        return self._onto(PartitionAggregate(aggregators, self._partitions))


def partitions_of(given: int) -> int:
    """Return how many partitions a topology has."""
    return check_count("partitions", given)
