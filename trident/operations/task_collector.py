"""What runs inside Spark's Python tasks where a user's function looks after acks itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from trident.base.control import CONTROL, encode
from trident.base.errors import ConfigurationError
from trident.base.order import ORDER, level_of
from trident.base.partitions import PARTITION
from trident.base.trees import ROOTS, TreeWord, edges_of
from trident.operations.arrow import AnyArray, Records, assemble, bare, records_in, split
from trident.operations.collector import Collector, InputRecord
from trident.operations.given import rows_of
from trident.operations.row_functions import as_row, columns_of
from trident.operations.user_objects import ready, told_of
from trident.state.rows import python_values

Collects = Callable[[InputRecord, Collector], object]
NO_EFFECT: Final = "it changes nothing"
_LONGEST: Final = 200
"""Characters of a reason that are kept."""


@dataclass(slots=True)
class _Trace:
    owner: TaskCollector
    number: int
    roots: tuple[int, ...]
    order: bytes | None
    partition: int | None
    made: int = 0
    """How many rows have it as their first anchor."""
    end: str = ""


@dataclass(slots=True)
class _Emitted:
    values: list[Sequence[object]] = field(default_factory=list)
    orders: list[bytes | None] = field(default_factory=list)
    partitions: list[int | None] = field(default_factory=list)
    roots: list[list[int]] = field(default_factory=list)

    def add(self, row: Sequence[object], roots: list[int], place: _Trace | None) -> None:
        """Take a row that stands where a record did; one that stands nowhere has no order."""
        self.values.append(row)
        self.roots.append(roots)
        self.partitions.append(None if place is None else place.partition)
        if place is None or place.order is None:
            self.orders.append(None)
        else:
            self.orders.append(place.order + level_of(place.made))
            place.made += 1


class TaskCollector(Collector):
    """A task's own; see `Collector`."""

    def __init__(self, declared: pa.Schema, verb: str, *, is_tracked: bool) -> None:
        self._declared = declared
        self._verb = verb
        self._is_tracked = is_tracked
        self._given = 0
        self._open: dict[int, _Trace] = {}
        self._failed: dict[int, str] = {}
        self._misused: Counter[str] = Counter()
        self._emitted = _Emitted()
        self._current: _Trace | None = None

    def give(
        self, row: dict[str, object], roots: Sequence[int], order: bytes | None, partition: int | None
    ) -> InputRecord:
        """Return a row as the record that the function is to be given."""
        record = InputRecord(row)
        trace = _Trace(self, self._given, tuple(roots), order, partition)
        record.trace = self._current = trace
        self._given += 1
        if trace.roots:
            self._open[trace.number] = trace
        return record

    def emit(self, values: object, *, anchors: Iterable[InputRecord] = ()) -> None:
        """See `Collector.emit`."""
        traces = [self._trace(anchor, "an anchor") for anchor in anchors]
        row = as_row(values, self._declared, self._verb, "emit was given what it can't pass on: the function")
        if any(trace.end for trace in traces):
            self._misused[f"anchored a row to a record that had been acked or failed: {NO_EFFECT}"] += 1
        place = traces[0] if traces else self._current
        self._emitted.add(row, sorted({root for trace in traces for root in trace.roots}), place)

    def ack(self, record: InputRecord) -> None:
        """See `Collector.ack`."""
        trace = self._trace(record, "what is acked")
        if trace.end:
            self._misused[f"acked a record that had been {trace.end}: {NO_EFFECT}"] += 1
            return
        trace.end = "acked"
        self._open.pop(trace.number, None)

    def fail(self, record: InputRecord, reason: str = "") -> None:
        """See `Collector.fail`."""
        trace = self._trace(record, "what is failed")
        if not self._is_tracked:
            return
        if not trace.roots:
            raise ConfigurationError(
                f"the function given to {self._verb} has failed a record that is of no message: only a stream of an "
                "AckingSpout can be given one back. Nothing of the batch was applied; leave the record out, or raise "
                "an error of its own, which fails the batch"
            )
        if trace.end:
            counts = "it counts as failed" if trace.end == "acked" else NO_EFFECT
            self._misused[f"failed a record that had been {trace.end}: {counts}"] += 1
        trace.end = "failed"
        self._open.pop(trace.number, None)
        for root in trace.roots:
            self._failed.setdefault(root, str(reason)[:_LONGEST])

    def taken(self) -> _Emitted:
        """Return what was emitted since the last call."""
        emitted, self._emitted = self._emitted, _Emitted()
        return emitted

    def word(self, place: str, task: int) -> TreeWord | None:
        """Return what is left to be said when the function is done; None where there is nothing."""
        numbers = np.fromiter(self._open, dtype=np.int64, count=len(self._open))
        values: dict[int, int] = {}
        for trace, edge in zip(self._open.values(), edges_of(place, task, numbers).tolist(), strict=True):
            for root in trace.roots:
                values[root] = values.get(root, 0) ^ edge
        if not (values or self._failed or self._misused):
            return None
        # in an order of its own, whatever that of the records was
        open_, failed = tuple(sorted(values.items())), tuple(sorted(self._failed.items()))
        return TreeWord(place, task, open_, failed, tuple(sorted(self._misused.items())))

    def _trace(self, record: object, what: str) -> _Trace:
        trace = getattr(record, "trace", None) if isinstance(record, InputRecord) else None
        if not isinstance(trace, _Trace) or trace.owner is not self:  # what another task has kept is of an older batch
            raise ConfigurationError(
                f"the function given to {self._verb}: {what} must be a record that it was given in this task, and no "
                f"copy of one, not {type(record).__name__}; nothing of the batch was applied"
            )
        return trace


@dataclass(frozen=True, slots=True)
class CollectRows:
    """Gives each record with a collector to the function, and passes on what that was told to emit."""

    function: Collects
    declared: pa.Schema
    schema: pa.Schema
    verb: str
    place: str
    """See `TreeWord.place`; empty where nobody asks what becomes of messages."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's batches; what it is told of messages comes behind its rows."""
        collector = TaskCollector(self.declared, self.verb, is_tracked=bool(self.place))
        with ready(self.function, self.verb):
            for batch in batches:
                records, words = split(batch)
                if records.num_rows:
                    with told_of(self.function):
                        self._give(records_in(records), collector)
                    yield self._rows(collector.taken())
                if words is not None:
                    yield bare(words, self.schema)
            finish = getattr(self.function, "finish", None)
            if finish is not None:
                with told_of(self.function):
                    self._require_none(finish(collector))
                yield self._rows(collector.taken())
        word = collector.word(self.place, _task()) if self.place else None
        if word is not None:
            yield bare(pa.record_batch({CONTROL: pa.array([encode(word)], pa.string())}), self.schema)

    def _give(self, records: Records, collector: TaskCollector) -> None:
        count = records.fields.num_rows
        roots = cast("list[Sequence[int] | None]", _values(records.roots, count))
        orders = cast("list[bytes | None]", _values(records.order, count))
        partitions = cast("list[int | None]", _values(records.partition, count))
        rows = rows_of(records.fields, "function over rows")
        for row, its_roots, order, partition in zip(rows, roots, orders, partitions, strict=True):
            record = collector.give(row, its_roots or (), order, partition)
            self._require_none(self.function(record, collector))

    def _require_none(self, made: object) -> None:
        if made is not None:
            raise ConfigurationError(
                f"the function given to {self.verb} returned {type(made).__name__}, which nobody takes: its rows are "
                "what it gives to collector.emit(). Nothing of the batch was applied; return None"
            )

    def _rows(self, emitted: _Emitted) -> pa.RecordBatch:
        given = f"the function given to {self.verb} emitted what it can't: it"
        arrays = columns_of(emitted.values, self.declared, self.verb, given)
        orders = pa.array(emitted.orders, pa.binary())
        partitions = pa.array(emitted.partitions, pa.int32())
        roots = pa.array(emitted.roots, pa.list_(pa.int64()))
        names = [*self.declared.names, ORDER, PARTITION, ROOTS]  # of which only those are taken that somebody asks for
        return assemble([*arrays, orders, partitions, roots], names, self.schema)


def _values(column: AnyArray | None, count: int) -> list[object]:
    return [None] * count if column is None else python_values(pa.chunked_array([column]))


def _task() -> int:
    task = TaskContext.get()
    return task.partitionId() if task else 0
