"""Arrow makes Python objects while no other thread of the process runs: some at a time, so that a lease is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import cast

import pyarrow as pa
import pytest

from trident.base.arrays import AnyChunks
from trident.base.errors import RefusedError
from trident.state.rows import conform, json_rows, python_values

NOON = datetime(2026, 3, 29, 12, tzinfo=UTC)


@dataclass
class Watched:
    """A column that notes how many values were made at once."""

    column: AnyChunks
    made: list[int] = field(default_factory=list)

    @property
    def type(self) -> pa.DataType:
        found: pa.DataType = self.column.type
        return found

    def __len__(self) -> int:
        return len(self.column)

    def slice(self, offset: int, length: int) -> Watched:
        return Watched(self.column.slice(offset, length), self.made)

    def to_pylist(self) -> list[object]:
        self.made.append(len(self.column))
        values: Sequence[object] = self.column.to_pylist()  # type: ignore[misc]  # known for single types only
        return list(values)


def test_no_more_than_some_thousands_at_once() -> None:
    column = Watched(pa.chunked_array([range(30_000), range(30_000)]))
    assert python_values(cast(AnyChunks, column)) == [*range(30_000)] * 2
    assert max(column.made) <= 5000


@pytest.mark.parametrize("count", [0, 1, 4095, 4096, 4097, 9000])
def test_none_is_left_out_or_made_twice(count: int) -> None:
    moments = [NOON + timedelta(seconds=number) if number % 7 else None for number in range(count)]
    amounts = [Decimal(number) / 100 for number in range(count)]
    rows = pa.table(
        {
            "at": pa.array(moments, pa.timestamp("us", "Europe/Berlin")),
            "amount": pa.array(amounts, pa.decimal128(38, 2)),
            "share": pa.array([number / 2 if number % 3 else float("nan") for number in range(count)]),
        }
    )
    assert python_values(rows.column("at")) == moments
    assert python_values(rows.column("amount")) == amounts
    assert [str(value) for value in python_values(rows.column("share"))] == [
        str(number / 2 if number % 3 else float("nan")) for number in range(count)
    ]
    assert len(json_rows(rows)) == count


@pytest.mark.parametrize(
    ("staged", "type_"),
    [
        (pa.array([Decimal(753_326_997_884)], pa.decimal128(17, 0)), pa.decimal128(38, 28)),
        (pa.array([1.239]), pa.decimal128(10, 2)),
        (pa.array([NOON], pa.timestamp("us", "UTC")), pa.date32()),
        (pa.array([1e300]), pa.float32()),
        (pa.array([[1]]), pa.int64()),
    ],
)
def test_a_staged_value_of_another_type_is_held_or_refused(
    staged: pa.Array[pa.Scalar[pa.DataType]], type_: pa.DataType
) -> None:
    with pytest.raises(RefusedError, match="does not fit"):
        conform(pa.table({"a": staged}), pa.schema([("a", type_)]))
