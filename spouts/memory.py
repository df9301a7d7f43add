"""Spouts over rows in memory, for tests and examples: logs with positions, gone with their process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import ClassVar, Final

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from trident.base.checks import check_count, check_duration, check_flag, check_limit, check_text, refused
from trident.base.errors import ConfigurationError, FatalError
from trident.base.logs import LogCut
from trident.base.policies import policy_of
from trident.base.python_rows import UnfitRowError, columns_of
from trident.base.ranges import Edge, OffsetRange, PartitionBounds, PartitionId
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.base import BadRecord, Limits, LostOffsets, SpoutKind, Start, StartAt
from trident.spouts.offsets import StartOffsets, no_offsets
from trident.spouts.row_logs import Row, RowLogs
from trident.spouts.slices import frame_of_rows, read_schema

TOPIC_ID: Final = "memory"
_PATIENCE: Final = timedelta(minutes=2)
_LONGEST_PATIENCE: Final = timedelta(days=365)
_ROWS: Final = "a list of rows"
_ROW: Final = "a mapping by field name, or a sequence in the schema's order"


class FixedBatchSpout:
    """A fixed list of rows, handed out in batches of `max_records_per_batch` rows (all at once by default).

    Rows are mappings or tuples for the fields of `schema` (Spark DDL), dealt in turn over so many partitions. These are
    the same in every process that builds them from the same rows, so a restarted topology goes on where it stood; with
    another number of partitions it is refused.
    """

    has_moments: ClassVar[bool] = False

    def __init__(
        self,
        schema: str,
        rows: Sequence[Row],
        *,
        max_records_per_batch: int | None = None,
        kind: SpoutKind | str = SpoutKind.TRANSACTIONAL,
        partitions: int = 1,
    ) -> None:
        check_limit("max_records_per_batch", max_records_per_batch)
        self._schema = check_text("schema", schema, allowed="fields as in 'name type, …'")
        self._logs = RowLogs(_checked(rows), check_count("partitions", partitions))
        self._limits = Limits(max_records=max_records_per_batch)
        self._kind = policy_of(SpoutKind, kind, "kind")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._schema!r}, {len(self._logs)} rows, kind={self._kind.value})"

    @property
    def kind(self) -> SpoutKind:
        """Say what a new attempt at a txid may read."""
        return self._kind

    @property
    def limits(self) -> Limits:
        """Say how much one batch may take."""
        return self._limits

    @property
    def on_lost_offsets(self) -> LostOffsets:
        """Stop: memory loses nothing while its process lives."""
        return LostOffsets.STOP

    @property
    def on_bad_record(self) -> BadRecord:
        """Fail: rows that do not fit the schema are a mistake of the caller."""
        return BadRecord.FAIL

    def description(self) -> dict[str, str]:
        """Return what the ledger holds a restart to."""
        several = {"partitions": str(self._logs.count)} if self._logs.count > 1 else {}
        return {"spout": "memory", "kind": self._kind.value, **several}

    def open(self, name: str) -> MemorySource:
        """Return the source over the rows."""
        return MemorySource(name, self._schema, self._logs)


class FeederBatchSpout(FixedBatchSpout):
    """Rows that a test or an example feeds while the topology runs; batches take what is there.

    The log dies with its process: a restarted topology that stood behind it stops.
    """

    def __init__(
        self,
        schema: str,
        *,
        max_records_per_batch: int | None = None,
        kind: SpoutKind | str = SpoutKind.TRANSACTIONAL,
        partitions: int = 1,
    ) -> None:
        super().__init__(schema, (), max_records_per_batch=max_records_per_batch, kind=kind, partitions=partitions)

    def feed(self, rows: Sequence[Row], *, wait: bool = False, patience: timedelta = _PATIENCE) -> int:
        """Append rows and return how many there are now; may be called from any thread.

        With `wait` it returns once the batches that have them are done, in a topology that another thread runs; raises
        TimeoutError after `patience`. The rows stay, and are counted when it runs.
        """
        check_flag("wait", wait)
        check_duration("patience", patience, longest=_LONGEST_PATIENCE)
        ends = self._logs.append(_checked(rows))
        if wait and not self._logs.wait_until_done(ends, patience):
            raise TimeoutError(
                f"the rows that were fed are not done after {patience.total_seconds():g} s. They stay, and are counted "
                "once a topology with this spout runs (in another thread, or another call)"
            )
        return sum(ends)


def _checked(rows: Sequence[Row]) -> Sequence[Row]:
    """Refuse what would be taken for rows and is none, such as a text or a single row."""
    if not isinstance(rows, Sequence) or isinstance(rows, str | bytes):
        raise refused("rows", _ROWS, rows, secret=True)
    for row in rows:
        # not shown: a row is a record
        if isinstance(row, str | bytes) or not isinstance(row, Mapping | Sequence):
            raise refused("each of the rows", _ROW, row, secret=True)
    return rows


class MemorySource:
    """See `Source`; every method may be called from several threads."""

    def __init__(self, name: str, schema: str, logs: RowLogs) -> None:
        self._name = name
        self._ddl = schema
        self._logs = logs
        self._schema: StructType | None = None

    def schema(self, spark: SparkSession) -> StructType:
        """Parse the schema with the session's own parser; raises `ConfigurationError` when it is not valid."""
        if self._schema is None:
            try:
                self._schema = spark.createDataFrame([], self._ddl).schema
            except PySparkException as error:
                raise ConfigurationError(f"the schema {self._ddl!r} is not valid: {error.getMessage()}") from error
        return self._schema

    def bounds(self) -> tuple[PartitionBounds, ...]:
        """Return each log from 0 to its last row."""
        ends = enumerate(self._logs.ends())
        return tuple(PartitionBounds(PartitionId(self._name, log), TOPIC_ID, 0, end) for log, end in ends)

    def ends(self, ids: Sequence[PartitionId]) -> dict[PartitionId, int]:
        """Return the last rows: nothing is ever open."""
        ends = self._logs.ends()
        return {id_: ends[id_.partition] for id_ in ids}

    def starts(self, policy: Start | None = None) -> tuple[PartitionBounds, ...]:
        """Start at 0, or at the end for StartAt.LATEST; rows have no time to start at."""
        if isinstance(policy, StartOffsets):
            raise no_offsets(self._name)
        if isinstance(policy, datetime):
            raise ConfigurationError(f"stream {self._name!r} has no timestamps to start at; nothing was changed")
        bounds = self.bounds()
        if policy is not StartAt.LATEST:
            return bounds
        return tuple(replace(bound, earliest=bound.stop) for bound in bounds)

    def read(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        """Return the lazy frame of the ranges; the rows travel inside the job."""
        return self._read(spark, edges, tasks, in_order=False)

    def read_in_order(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        """Return the same with the rows' places in the log."""
        return self._read(spark, edges, tasks, in_order=True)

    def _read(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, *, in_order: bool) -> DataFrame:
        schema = read_schema(self.schema(spark), in_order=in_order)
        return frame_of_rows(spark, schema, edges, tasks, partial(self._rows_of, spark))

    def verify(self, ranges: Sequence[OffsetRange]) -> None:
        """Check that the log still reaches as far as was read."""
        ends = self._logs.ends()
        for item in ranges:
            if item.stop > (end := ends[item.id.partition]):
                raise FatalError(f"stream {self._name!r} had {item.stop} rows and now has {end}")

    def recognize(self, known: Sequence[OffsetRange]) -> tuple[LogCut, ...]:
        """Return nothing: rows are only appended, and there are no epochs."""
        return ()

    def committed(self, txid: int, ranges: Sequence[OffsetRange]) -> None:
        """Let go of whoever waits for them."""
        for item in ranges:
            self._logs.done(item.id.partition, item.stop)

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def _rows_of(self, spark: SparkSession, range_: OffsetRange) -> pa.Table:
        fields = self.schema(spark).fields
        types = [each.dataType.simpleString() for each in fields]
        schema = arrow_schema(self.schema(spark))
        try:
            columns = columns_of(self._logs.slice(range_.id.partition, range_.start, range_.stop), list(schema), types)
        except UnfitRowError as error:
            raise ConfigurationError(
                f"stream {self._name!r}: a row does not fit the schema {self._ddl!r}: {error}; nothing was applied"
            ) from error
        return pa.Table.from_arrays(columns, schema=schema)
