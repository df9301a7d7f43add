"""Ticks as a log: pure arithmetic of moments and positions, and the rows of a range.

The tick at position n is due n times `every` after 1970 began in UTC, whoever asks, and whenever. So a range of ticks
is the same in every re-run without anybody having kept it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

import numpy as np
import pyarrow as pa

from trident.base.arrays import AnyArray
from trident.base.order import ORDER, order_of
from trident.base.ranges import Edge, OffsetRange
from trident.spouts.rows import control_batch, groups_of
from trident.spouts.tally import RangeTally

SCHEMA: Final = "tick bigint, due timestamp, missed bigint"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class MissedTicks(StrEnum):
    """What becomes of ticks of which several are due at once: the topology was down, inactive or slow."""

    ONE = "one"
    """One row for all of them: the last one, with how many it stands for besides."""
    ALL = "all"
    """A row each."""


@dataclass(frozen=True, slots=True)
class Ticking:
    """When ticks are due, and which of them are rows."""

    every: timedelta
    missed: MissedTicks

    def stop_at(self, moment: datetime) -> int:
        """Return the position behind the last tick that is due at a moment; 0 of all moments before 1970."""
        return max(0, (moment - _EPOCH) // self.every + 1)

    def first_from(self, moment: datetime) -> int:
        """Return the position of the first tick at or after a moment."""
        return max(0, -((_EPOCH - moment) // self.every))

    def due(self, position: int) -> datetime:
        """Return when a tick is due."""
        return _EPOCH + position * self.every

    def positions(self, range_: OffsetRange) -> range:
        """Return which ticks of a range are rows; the others are positions without a record."""
        is_one = self.missed is MissedTicks.ONE and range_.width
        return range(range_.stop - 1 if is_one else range_.start, range_.stop)

    def rows(self, schema: pa.Schema, edge: Edge) -> Iterator[pa.RecordBatch]:
        """Yield the ticks of a range in the columns that a read has, and the word on all of it."""
        range_, positions = edge.range, self.positions(edge.range)
        ticks = np.arange(positions.start, positions.stop, dtype=np.int64)
        tally = RangeTally(edge)
        tally.add(ticks, np.full(len(ticks), -1, dtype=np.int64), ())
        columns: dict[str, AnyArray] = {
            "tick": pa.array(ticks),
            "due": pa.array(ticks * (self.every // _MICROSECOND), pa.timestamp("us", "UTC")),
            "missed": pa.array(np.full(len(ticks), positions.start - range_.start, dtype=np.int64)),
            ORDER: order_of(range_.id.topic, range_.id.partition, ticks),
        }
        made = [columns.get(field.name, pa.nulls(len(ticks), field.type)) for field in schema]
        yield pa.RecordBatch.from_arrays(made, schema=schema)
        yield control_batch(schema, [tally.manifest(range_.stop)])


@dataclass(frozen=True, slots=True)
class ReadTicks:
    """Makes the ticks of its ranges in a task."""

    ticking: Ticking
    groups: tuple[tuple[Edge, ...], ...]
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's ranges."""
        for group in groups_of(batches):
            for edge in self.groups[group]:
                yield from self.ticking.rows(self.schema, edge)
