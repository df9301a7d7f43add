"""A spout of ticks: a record whenever so much time has passed, by the time of the batch that reads it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import ClassVar, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from trident.base.checks import check_count, check_duration, refused
from trident.base.clock import Clock, SystemClock
from trident.base.logs import LogCut
from trident.base.policies import policy_of
from trident.base.ranges import Edge, OffsetRange, PartitionBounds, PartitionId
from trident.spouts.arrow_types import arrow_schema
from trident.spouts.base import BadRecord, Limits, LostOffsets, SmallBatch, SpoutKind, Start
from trident.spouts.offsets import StartOffsets, no_offsets
from trident.spouts.slices import read_schema
from trident.spouts.spread import spread
from trident.spouts.ticking import SCHEMA, MissedTicks, ReadTicks, Ticking

TOPIC_ID: Final = "ticks"
_log = logging.getLogger("trident.coordinator")
_AHEAD: Final = timedelta(minutes=1)
"""Clocks of machines that take over from each other differ by less."""
_SHORTEST: Final = timedelta(seconds=1)
_LONGEST: Final = timedelta(days=3_650)


class TickSpout:
    """A record `every` so often: its number, when it was due, and how many ticks before it have no record.

    Fields: `tick bigint, due timestamp, missed bigint`. Ticks are due at whole multiples of `every` since 1970 in UTC,
    so one of a day is due at midnight. What counts is the time of the batch, which never goes back: a batch has all
    ticks that are due by then and that no batch before it had, and is planned for them although nothing else has come.
    A batch that is tried again has the same ones. A topology begins with the first tick after its first start.
    """

    has_moments: ClassVar[bool] = True

    def __init__(
        self, every: timedelta, *, missed: MissedTicks | str = MissedTicks.ONE, max_records_per_batch: int = 10_000
    ) -> None:
        check_duration("every", every, longest=_LONGEST)
        if every < _SHORTEST:
            raise refused("every", f"at least {_SHORTEST.total_seconds():g} s", every)
        self._ticking = Ticking(every, policy_of(MissedTicks, missed, "missed"))
        self._most = check_count("max_records_per_batch", max_records_per_batch)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._ticking.every}, missed={self._ticking.missed.value})"

    @property
    def kind(self) -> SpoutKind:
        """Transactional: a range of ticks is the same for ever."""
        return SpoutKind.TRANSACTIONAL

    @property
    def limits(self) -> Limits:
        """Say how much one batch may take: of ticks that become one record there are never too many."""
        return Limits(max_records=self._most if self._ticking.missed is MissedTicks.ALL else None)

    @property
    def on_lost_offsets(self) -> LostOffsets:
        """Stop: no tick is ever lost."""
        return LostOffsets.STOP

    @property
    def on_bad_record(self) -> BadRecord:
        """Fail: no tick is ever bad."""
        return BadRecord.FAIL

    def description(self) -> dict[str, str]:
        """Return what the ledger holds a restart to: with another `every` each position would be another moment."""
        return {"spout": "ticks", "every": f"{self._ticking.every.total_seconds():.6f} s", "kind": self.kind.value}

    def open(self, name: str) -> TickSource:
        """Return the source."""
        return TickSource(name, self._ticking)


class TickSource:
    """See `Source`, `FollowsPositions`, `FollowsBatchTime`, `KnowsOrder`, `ReadsSmallBatches`."""

    def __init__(self, name: str, ticking: Ticking, clock: Clock | None = None) -> None:
        self._id = PartitionId(name, 0)
        self._ticking = ticking
        self._clock = clock or SystemClock()
        self._position = 0
        self._stop = 0
        self._is_told = False

    def schema(self, spark: SparkSession) -> StructType:
        """Return the fields of a tick."""
        return spark.createDataFrame([], SCHEMA).schema

    def come_to(self, batch_time: datetime) -> None:
        """Hear the time of the batch that is planned."""
        self._stop = self._ticking.stop_at(batch_time)

    def follow(self, positions: Mapping[PartitionId, OffsetRange]) -> None:
        """Hear where the batch before ends: by a clock that is behind nothing is due, and nothing is taken back."""
        known = positions.get(self._id)
        self._position = known.stop if known is not None else 0
        self._tell_of_a_clock_ahead()

    def _tell_of_a_clock_ahead(self) -> None:
        if self._is_told or not self._position:
            return
        newest = self._ticking.due(self._position - 1)
        if newest - self._clock.now() < _AHEAD:
            return
        self._is_told = True
        _log.warning(
            "stream %r: a batch was planned by a clock that was ahead of this machine's: its newest tick is due %s. "
            "Nothing is lost, other streams go on, and the next tick comes behind that moment. Correct the clock that "
            "is wrong",
            self._id.topic,
            newest.isoformat(timespec="seconds"),
        )

    def bounds(self) -> tuple[PartitionBounds, ...]:
        """Return all ticks that are due at the batch's time."""
        return (PartitionBounds(self._id, TOPIC_ID, 0, max(self._stop, self._position)),)

    def ends(self, ids: Sequence[PartitionId]) -> dict[PartitionId, int]:
        """Return where the ticks end: nothing is ever open."""
        return {bound.id: bound.stop for bound in self.bounds() if bound.id in ids}

    def starts(self, policy: Start | None = None) -> tuple[PartitionBounds, ...]:
        """Start at the first tick at or after a moment; else, whatever the policy, at the first one that is to come."""
        if isinstance(policy, StartOffsets):
            raise no_offsets(self._id.topic)
        if isinstance(policy, datetime):
            first = self._ticking.first_from(policy)
        else:
            first = self._ticking.stop_at(self._clock.now())
        return (PartitionBounds(self._id, TOPIC_ID, first, first),)

    def read(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        """Return the frame of the ranges; tasks reckon their rows."""
        return self._read(spark, edges, tasks, in_order=False)

    def read_in_order(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, quick: bool = False) -> DataFrame:
        """Return the same with the rows' places."""
        return self._read(spark, edges, tasks, in_order=True)

    def _read(self, spark: SparkSession, edges: Sequence[Edge], tasks: int, *, in_order: bool) -> DataFrame:
        schema = read_schema(self.schema(spark), in_order=in_order)
        groups = spread(edges, tasks)
        reading = ReadTicks(self._ticking, groups, arrow_schema(schema))
        return spark.range(0, len(groups), 1, len(groups)).mapInArrow(reading, schema)

    def read_small(self, spark: SparkSession, edges: Sequence[Edge], *, in_order: bool) -> SmallBatch:
        """Return the rows of the ranges and their words, reckoned here."""
        schema = read_schema(self.schema(spark), in_order=in_order)
        wanted = arrow_schema(schema)
        parts = [part for edge in edges for part in self._ticking.rows(wanted, edge)]
        columns = [column.combine_chunks() for column in pa.Table.from_batches(parts, schema=wanted).columns]
        return SmallBatch(pa.RecordBatch.from_arrays(columns, schema=wanted), schema)

    def verify(self, ranges: Sequence[OffsetRange]) -> None:
        """Do nothing: what was reckoned once can't be gone."""

    def recognize(self, known: Sequence[OffsetRange]) -> tuple[LogCut, ...]:
        """Return nothing: there are no epochs."""
        return ()

    def committed(self, txid: int, ranges: Sequence[OffsetRange]) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing: there is no connection."""
