"""What runs inside Spark's Python tasks where a user's aggregators are given a group's records one by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from trident.base.arrays import AnyArray
from trident.base.errors import ConfigurationError
from trident.base.order import ORDER
from trident.base.python_rows import UnfitRowError, column_of
from trident.operations.aggregators.by_row import ByRow
from trident.operations.arrow import as_type
from trident.operations.given import in_order, values_of
from trident.operations.user_objects import ready

ROWS: Final = "__trident_rows"
"""The column that holds a group's records: their order, then the fields that somebody wants."""
_AT_ONCE: Final = 10_000
"""Rows of one result; a group whose product has more is still in one."""


@dataclass(frozen=True, slots=True)
class Maker:
    """A user's aggregator, the places of its fields among those that are collected, and the fields that it makes."""

    by_row: ByRow
    places: tuple[int, ...]
    made: tuple[str, ...]
    types: tuple[str, ...]
    """As they were declared."""


@dataclass(frozen=True, slots=True)
class GoThrough:
    """Gives each group's records to the makers: a row for each combination of what they make, beside what is there."""

    makers: tuple[Maker, ...]
    wanted: tuple[str, ...]
    schema: pa.Schema
    verb: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run over one task's groups."""
        with ExitStack() as opened:
            for maker in self.makers:
                opened.enter_context(ready(maker.by_row, self.verb))
            for batch in batches:
                yield from self._made(batch)

    def _made(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        groups: list[int] = []
        rows: list[tuple[object, ...]] = []
        is_shared = len(self.makers) > 1 and _has_nested(batch.column(ROWS))
        for place, records in enumerate(_groups(batch.column(ROWS), self.wanted)):
            made = self._products(records, is_shared=is_shared)
            rows += made
            groups += [place] * len(made)
            if len(rows) >= _AT_ONCE:
                yield self._batch(batch, groups, rows)
                groups, rows = [], []
        yield self._batch(batch, groups, rows)

    def _products(self, records: Sequence[Sequence[object]], *, is_shared: bool) -> list[tuple[object, ...]]:
        each = [
            # what one changes of a list or dict that it is given, no other sees
            maker.by_row.rows_made(self._given(maker, deepcopy(records) if is_shared else records), maker.made)
            for maker in self.makers
        ]
        return [tuple(itertools.chain.from_iterable(parts)) for parts in itertools.product(*each)]

    def _given(self, maker: Maker, records: Sequence[Sequence[object]]) -> Iterable[Sequence[object]]:
        if maker.places == tuple(range(len(self.wanted))):
            return records
        return ([record[place] for place in maker.places] for record in records)

    def _batch(self, batch: pa.RecordBatch, groups: list[int], rows: list[tuple[object, ...]]) -> pa.RecordBatch:
        values = list(zip(*rows, strict=True)) if rows else [()] * sum(len(maker.made) for maker in self.makers)
        made = dict(self._columns(values))
        kept = batch.drop_columns([ROWS]).take(pa.array(groups, pa.int32()))
        columns = [
            made[each.name] if each.name in made else as_type(kept.column(each.name), each.type) for each in self.schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _columns(self, values: Sequence[Sequence[object]]) -> Iterator[tuple[str, AnyArray]]:
        place = 0
        for maker in self.makers:
            for name, declared in zip(maker.made, maker.types, strict=True):
                try:
                    yield name, column_of(values[place], self.schema.field(name), declared)
                except UnfitRowError as error:
                    raise ConfigurationError(
                        f"{type(maker.by_row).__name__} made {error}; nothing of the batch was applied"
                    ) from None
                place += 1


def _has_nested(lists: AnyArray) -> bool:
    return any(pa.types.is_nested(each.type) for each in lists.type.value_type)  # type: ignore[attr-defined]


def _groups(lists: AnyArray, wanted: Sequence[str]) -> Iterator[Sequence[Sequence[object]]]:
    """Yield the records of each group, which has none where there is no list."""
    assert isinstance(lists, pa.ListArray)
    flat = lists.flatten()
    assert isinstance(flat, pa.StructArray)
    orders: list[bytes | None] = flat.field(ORDER).to_pylist()
    columns = [values_of(flat.field(place), name, "aggregator") for place, name in enumerate(wanted, 1)]
    records: list[Sequence[object]] = list(zip(*columns, strict=True)) if columns else [()] * len(orders)
    start = 0
    for length in lists.value_lengths().to_pylist():
        stop = start + (length or 0)
        yield in_order(orders[start:stop], records[start:stop])
        start = stop
