"""Spouts over rows in memory, for tests and examples: one log with positions, gone with its process."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import ClassVar, Final

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from trident.base.checks import check_limit, check_text, refused
from trident.base.errors import ConfigurationError, FatalError
from trident.base.logs import LogCut
from trident.base.policies import policy_of
from trident.base.python_rows import UnfitRowError, columns_of
from trident.base.ranges import Edge, OffsetRange, PartitionBounds, PartitionId
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.base import BadRecord, Limits, LostOffsets, SpoutKind, Start, StartAt
from trident.spouts.offsets import StartOffsets, no_offsets
from trident.spouts.slices import frame_of_rows, read_schema

Row = Mapping[str, object] | Sequence[object]
"""A record: a mapping by the names of all fields, or a tuple or list in the schema's order; a null is None."""

TOPIC_ID: Final = "memory"
_ROWS: Final = "a list of rows"
_ROW: Final = "a mapping by field name, or a sequence in the schema's order"


class _Log:
    """Rows with positions; may be fed and read from several threads."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = list(rows)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        with self._lock:
            return len(self._rows)

    def append(self, rows: Sequence[Row]) -> int:
        with self._lock:
            self._rows.extend(rows)
            return len(self._rows)

    def slice(self, start: int, stop: int) -> list[Row]:
        with self._lock:
            return self._rows[start:stop]


class FixedBatchSpout:
    """A fixed list of rows, handed out in batches of `max_records_per_batch` rows (all at once by default).

    Rows are mappings or tuples for the fields of `schema` (Spark DDL). The log is the same in every
    process that builds it from the same rows, so a restarted topology goes on where it stood.
    """

    has_moments: ClassVar[bool] = False

    def __init__(
        self,
        schema: str,
        rows: Sequence[Row],
        *,
        max_records_per_batch: int | None = None,
        kind: SpoutKind | str = SpoutKind.TRANSACTIONAL,
    ) -> None:
        check_limit("max_records_per_batch", max_records_per_batch)
        self._schema = check_text("schema", schema, allowed="fields as in 'name type, …'")
        self._log = _Log(_checked(rows))
        self._limits = Limits(max_records=max_records_per_batch)
        self._kind = policy_of(SpoutKind, kind, "kind")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._schema!r}, {len(self._log)} rows, kind={self._kind.value})"

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
        return {"spout": "memory", "kind": self._kind.value}

    def open(self, name: str) -> MemorySource:
        """Return the source over the rows."""
        return MemorySource(PartitionId(name, 0), self._schema, self._log)


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
    ) -> None:
        super().__init__(schema, (), max_records_per_batch=max_records_per_batch, kind=kind)

    def feed(self, rows: Sequence[Row]) -> int:
        """Append rows and return the position after them; may be called from any thread."""
        return self._log.append(_checked(rows))


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

    def __init__(self, id_: PartitionId, schema: str, log: _Log) -> None:
        self._id = id_
        self._ddl = schema
        self._log = log
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
        """Return the one log from 0 to its last row."""
        return (PartitionBounds(self._id, TOPIC_ID, 0, len(self._log)),)

    def ends(self, ids: Sequence[PartitionId]) -> dict[PartitionId, int]:
        """Return the last row: nothing is ever open."""
        return dict.fromkeys(ids, len(self._log))

    def starts(self, policy: Start | None = None) -> tuple[PartitionBounds, ...]:
        """Start at 0, or at the end for StartAt.LATEST; rows have no time to start at."""
        if isinstance(policy, StartOffsets):
            raise no_offsets(self._id.topic)
        if isinstance(policy, datetime):
            raise ConfigurationError(f"stream {self._id.topic!r} has no timestamps to start at; nothing was changed")
        end = len(self._log)
        return (PartitionBounds(self._id, TOPIC_ID, end if policy is StartAt.LATEST else 0, end),)

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
        for item in ranges:
            if item.stop > len(self._log):
                raise FatalError(f"stream {self._id.topic!r} had {item.stop} rows and now has {len(self._log)}")

    def recognize(self, known: Sequence[OffsetRange]) -> tuple[LogCut, ...]:
        """Return nothing: rows are only appended, and there are no epochs."""
        return ()

    def committed(self, txid: int, ranges: Sequence[OffsetRange]) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def _rows_of(self, spark: SparkSession, range_: OffsetRange) -> pa.Table:
        fields = self.schema(spark).fields
        types = [each.dataType.simpleString() for each in fields]
        schema = arrow_schema(self.schema(spark))
        try:
            columns = columns_of(self._log.slice(range_.start, range_.stop), list(schema), types)
        except UnfitRowError as error:
            raise ConfigurationError(
                f"stream {self._id.topic!r}: a row does not fit the schema {self._ddl!r}: {error}; nothing was applied"
            ) from error
        return pa.Table.from_arrays(columns, schema=schema)
