"""Repartitionings: which logical partition each record of a batch is in; Storm's groupings, by their names.

They move no data. A partition is a number that is computed from the record, so every re-run gives the same ones; what
counts by partition (`partition_aggregate`) groups by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, IntegralType, StructField, StructType

from trident.base.audit import DONE, ID
from trident.base.control import CONTROL
from trident.base.errors import ConfigurationError
from trident.base.order import ORDER
from trident.base.partitions import PARTITION
from trident.base.trees import ROOTS
from trident.operations.accounting import Account, is_audited, made_id
from trident.operations.arrow import AnyArray, Records, assemble, check_rows, fit, over_records
from trident.operations.base import (
    UNCOMPUTABLE,
    BatchContext,
    Fields,
    check_comparable,
    control,
    field,
    guarded,
    nullable,
    order,
)
from trident.operations.tasks import in_python
from trident.operations.user_objects import place_of
from trident.spouts.arrow_types import arrow_schema

_MIXER = 0x9E3779B97F4A7C15
"""An odd number whose multiples are spread evenly over 64 bits (Knuth, The Art of Computer Programming 3, 6.4)."""


def source_partition(frame: DataFrame, partitions: int) -> Column:
    """Return the partition that a record comes in: the number of its source's partition, modulo the number of ours."""
    if PARTITION in frame.columns:
        return F.pmod(field(PARTITION), F.lit(partitions)).cast("int")
    if ORDER not in frame.columns:
        return F.lit(0)
    place = F.hex(F.substring(order(), F.instr(F.decode(order(), "ISO-8859-1"), "\0") + 1, 4))
    number = F.pmod(F.conv(place, 16, 10).cast("bigint"), F.lit(partitions)).cast("int")
    return F.coalesce(number, F.lit(0))  # of a merge, rows of an aggregation stand beside records and have no place


class SetPartition:
    """Puts each record into the partition that an expression says."""

    makes_groups = False
    account = Account.KEEPS
    runs_user_code = False

    def __init__(
        self,
        verb: str,
        expression: Callable[[DataFrame, BatchContext], Column],
        check: Callable[[Fields], None] = lambda fields: None,
        told: str = "",
    ) -> None:
        self.verb = verb
        self._told = told
        self._expression = expression
        self._check = check

    def check(self, fields: Fields) -> None:
        """As whoever made it says."""
        self._check(fields)

    def told(self) -> str:
        """As whoever made it says."""
        return self._told

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        return frame.withColumn(PARTITION, guarded(self._expression(frame, batch).cast("int")))


def by_fields(names: Sequence[str], partitions: int) -> SetPartition:
    """Return what puts records with equal fields together, by the one equality of keys."""

    def expression(frame: DataFrame, batch: BatchContext) -> Column:
        columns = [field(name) for name in names]  # Spark hashes -0.0 as 0.0, and every NaN alike
        return F.pmod(F.xxhash64(*columns), F.lit(partitions))

    def check(fields: Fields) -> None:
        for name in names:
            fields.require(name, "partition_by")
            check_comparable(fields.schema[name], "partition_by")

    return SetPartition("partition_by", expression, check, ", ".join(names))


def lowest() -> SetPartition:
    """Return what puts all records into the lowest partition."""
    return SetPartition("global_", lambda frame, batch: F.lit(0))


def by_batch(partitions: int) -> SetPartition:
    """Return what puts all records of a batch into one partition, another one for the next batch."""
    return SetPartition("batch_global", lambda frame, batch: F.lit(batch.number() * _MIXER % 2**64 * partitions >> 64))


def as_they_come(verb: str, partitions: int) -> SetPartition:
    """Return what leaves records in the partition that they come in."""
    return SetPartition(verb, lambda frame, batch: source_partition(frame, partitions))


def direct(name: str, partitions: int) -> SetPartition:
    """Return what puts each record where a field of it says."""

    def expression(frame: DataFrame, batch: BatchContext) -> Column:
        said = field(name)
        is_one = said.between(0, partitions - 1)
        there = f", and there are {partitions}, from 0 to {partitions - 1}"
        begin = f"{UNCOMPUTABLE}direct: the field {name!r} of a record"
        wrong = F.raise_error(F.concat(F.lit(f"{begin} names the partition "), said.cast("string"), F.lit(there)))
        missing = F.raise_error(F.lit(f"{begin} is null, so it names no partition{there}"))
        return F.when(is_one, said.cast("int")).when(said.isNull(), missing.cast("int")).otherwise(wrong.cast("int"))

    def check(fields: Fields) -> None:
        fields.require(name, "declare_direct")
        if not isinstance(fields.schema[name].dataType, IntegralType):
            raise ConfigurationError(
                f"declare_direct: the field {name!r} must be an integer, the number of a partition"
            )

    return SetPartition("direct", expression, check, name)


class Broadcast:
    """Puts each record into every partition."""

    verb = "broadcast"
    makes_groups = False
    runs_user_code = False
    account = Account.MAKES

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions

    def check(self, fields: Fields) -> None:
        """Any fields will do."""

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        first = -1 if is_audited(frame) else 0
        everywhere = F.array(*(F.lit(number) for number in range(first, self._partitions)))
        own = F.when(control().isNull(), everywhere).otherwise(F.array(F.lit(None).cast("int")))
        rows = frame.drop(PARTITION).withColumn(PARTITION, F.explode(own))
        if ORDER in frame.columns:
            level = F.unhex(F.lpad(F.hex(field(PARTITION)), 8, "0"))
            rows = rows.withColumn(ORDER, guarded(F.concat(order(), level)))
        return self._accounted(rows) if is_audited(frame) else rows

    def _accounted(self, rows: DataFrame) -> DataFrame:
        """Return the rows with ids, and the one before the first partition's as a mark of the record."""
        at = field(PARTITION)
        ids = F.when(at >= 0, made_id(at + 1)).otherwise(field(ID))
        mark = F.when(at < 0, F.lit(f"{DONE}{self._partitions}"))
        return rows.withColumns({ID: ids, CONTROL: F.coalesce(control(), mark)})


@dataclass(frozen=True)
class Shuffle:
    """Deals the records in their order: the partitions of a batch differ by one record at most."""

    partitions: int

    verb = "shuffle"
    wants_order = True
    account = Account.KEEPS
    runs_user_code = False

    def result(self, schemas: Sequence[StructType]) -> StructType:
        """Return the fields as they are, and the partition."""
        (schema,) = schemas
        return StructType([*schema.fields, StructField(PARTITION, IntegerType())])

    def lower(self, frames: Sequence[DataFrame], batch: BatchContext) -> DataFrame:
        """See `RecordOperation.lower`."""
        (frame,) = frames
        names = [name for name in frame.columns if name not in (ORDER, PARTITION)]
        fields = [each for each in frame.schema.fields if each.name not in (ID, ROOTS)]
        orderable = [field(each.name) for each in fields if "map<" not in each.dataType.simpleString()]
        # rows of an aggregation have no order: theirs is that of their values
        place = F.row_number().over(Window.orderBy(*([order()] if ORDER in frame.columns else []), *orderable))
        dealt = F.pmod(place - 1, F.lit(self.partitions)).cast("int").alias(PARTITION)
        kept = [field(name) for name in names]
        return frame.select(*kept, dealt, *([order()] if ORDER in frame.columns else []))


class PartitionFunction:
    """Puts each record into the partition that a user's function over Arrow batches says."""

    verb = "partition"
    makes_groups = False
    account = Account.KEEPS
    runs_user_code = True

    def __init__(self, function: Callable[[pa.RecordBatch], AnyArray], partitions: int) -> None:
        self._function = function
        self._partitions = partitions

    def check(self, fields: Fields) -> None:
        """Any fields will do."""

    def told(self) -> str:
        """Return the function, and where it is."""
        return place_of(self._function)

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        before = frame.drop(PARTITION)
        schema = nullable([*before.schema.fields, StructField(PARTITION, IntegerType())])
        return in_python(before, Place(self._function, arrow_schema(schema), self._partitions), schema, batch)


@dataclass(frozen=True, slots=True)
class Place:
    """Runs in a Python task: asks the function where each record goes."""

    function: Callable[[pa.RecordBatch], AnyArray]
    schema: pa.Schema
    partitions: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's batches."""
        return over_records(batches, self.schema, self._work, self.function, "partition")

    def _work(self, records: Records) -> Iterator[pa.RecordBatch]:
        (said,) = fit(self.function(records.fields), pa.schema([pa.field("partition", pa.int32())]), "partition")
        check_rows([said], records.fields.num_rows, "partition")
        numbers = said.to_numpy(zero_copy_only=False)
        if said.null_count or ((numbers < 0) | (numbers >= self.partitions)).any():
            raise ConfigurationError(
                f"the function given to partition returned what is no partition for a record: they are 0 to "
                f"{self.partitions - 1}; nothing of the batch was applied"
            )
        hidden = {name: column for name, column in records.hidden.items() if name != PARTITION}
        names = [*records.fields.schema.names, *hidden, PARTITION]
        yield assemble([*records.fields.columns, *hidden.values(), said], names, self.schema)
