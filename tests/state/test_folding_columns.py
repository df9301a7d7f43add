"""Whole columns merged by Arrow, value for value beside the rules for single rows: every merge of every type."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trident.base.errors import RefusedError
from trident.state.folding import Row, keyed_rows, merged_with
from trident.state.layout import KeyColumn, Merge, StateLayout, ValueColumn
from trident.state.new_values import new_values, new_values_schema
from trident.state.rows import array_of, conform

MOMENT = pa.timestamp("us", "UTC")
NINES = "9" * 36 + ".99"
VALUES: dict[pa.DataType, Sequence[object]] = {
    pa.bool_(): [False, True],
    pa.int8(): [-128, -1, 0, 1, 127],
    pa.int16(): [-(2**15), -1, 0, 1, 2**15 - 1],
    pa.int32(): [-(2**31), -1, 0, 1, 2**31 - 1],
    pa.int64(): [-(2**63), -1, 0, 2**53, 2**53 + 1, 2**63 - 1],
    pa.float32(): [-math.inf, -1.5, -0.0, 0.0, 2.0**-149, 1.5, math.inf, math.nan],
    pa.float64(): [-math.inf, -5e-324, -0.0, 0.0, 0.1, 1e308, math.inf, math.nan],
    pa.decimal128(4, 2): [Decimal(each) for each in ("-99.99", "-0.01", "0.00", "0.01", "99.99")],
    pa.decimal128(38, 2): [Decimal(each) for each in (f"-{NINES}", "-0.01", "0.00", "0.01", NINES)],
    pa.decimal128(38, 38): [Decimal(f"-0.{'9' * 38}"), Decimal("1E-38"), Decimal(f"0.{'9' * 38}")],
    pa.string(): ["", "A", "a", "a ", "cafe\u0301", "caf\u00e9", "\uffff", "\U0001f600"],
    pa.large_string(): ["", "a", "\uffff", "\U0001f600"],
    pa.binary(): [b"", b"\x00", b"\x7f", b"\x80", b"\xff\x00"],
    pa.large_binary(): [b"", b"\x7f", b"\x80"],
    pa.date32(): [date.min, date(1969, 12, 31), date(2000, 2, 29), date.max],
    MOMENT: [datetime(1, 1, 1, tzinfo=UTC), datetime(2026, 10, 25, 0, 30, tzinfo=UTC)],
    pa.timestamp("s"): [datetime(1, 1, 1), datetime(2026, 10, 25, 2, 30)],  # noqa: DTZ001 - so it is
    pa.list_(pa.int32()): [[], [1], [1, None]],
}
"""Values of each type that a store may be given, with those where orders and sums are most easily mistaken."""
ORDERED = [type_ for type_ in VALUES if not pa.types.is_nested(type_)]
ADDED = [type_ for type_ in VALUES if pa.types.is_integer(type_) or pa.types.is_decimal(type_)]
BY = pa.float64()


def _joined(stored: object, staged: object) -> object:
    return staged if repr(stored) < repr(staged) else stored


def layout_of(key: pa.DataType, type_: pa.DataType) -> StateLayout:
    values = [ValueColumn("combined", type_, Merge.COMBINE, _joined), ValueColumn("now", type_, Merge.REPLACE)]
    if type_ in ADDED:
        values.append(ValueColumn("sum", type_, Merge.ADD))
    if type_ in ORDERED:
        values += [ValueColumn("low", type_, Merge.LEAST), ValueColumn("high", type_, Merge.GREATEST)]
        values += [ValueColumn("low_by", BY, Merge.LEAST), ValueColumn("high_by", BY, Merge.GREATEST)]
        values += [ValueColumn("first", type_, Merge.LEAST_BY, by="low_by")]
        values += [ValueColumn("last", type_, Merge.GREATEST_BY, by="high_by")]
        values += [ValueColumn("by_itself", pa.string(), Merge.GREATEST_BY, by="high")]
    return StateLayout((KeyColumn("key", key), KeyColumn("other", pa.int32())), tuple(values))


def rows_of(layout: StateLayout, draw: random.Random) -> list[Row]:
    """Return rows with different keys, each value one of its type's or null."""
    rows = [tuple(_drawn(draw, field.type) for field in layout.schema()) for _ in range(draw.choice((0, 1, 40)))]
    keys = len(layout.keys)
    return list({repr([_one(value) for value in row[:keys]]): row for row in rows}.values())


def _drawn(draw: random.Random, type_: pa.DataType) -> object:
    return draw.choice((None, *VALUES[type_]))


def _one(value: object) -> object:
    return value + 0.0 if isinstance(value, float) else value


def table_of(layout: StateLayout, rows: Sequence[Row]) -> pa.Table:
    columns = [pa.array([row[place] for row in rows], each.type) for place, each in enumerate(layout.schema())]
    return pa.table(columns, schema=layout.schema())


def by_rows(layout: StateLayout, stored: pa.Table, staged: pa.Table) -> list[Row]:
    """Return what the rules for single rows make of each staged key, with what was there before."""
    before, changes = (keyed_rows(layout, conform(rows, layout.schema())) for rows in (stored, staged))
    nothing: Row = (None,) * len(layout.values)
    made = [
        (*key, *merged_with(layout, row)(before.get(key)), *before.get(key, nothing)) for key, row in changes.items()
    ]
    fields = new_values_schema(layout)
    columns = [array_of([row[place] for row in made], each.name, each.type) for place, each in enumerate(fields)]
    return shown(pa.table(columns, schema=fields))


def shown(rows: pa.Table) -> list[Row]:
    return [tuple(map(repr, row.values())) for row in rows.to_pylist()]


def result(make: object, *arguments: object) -> object:
    """Return what is made, or the words of the refusal."""
    try:
        return make(*arguments)  # type: ignore[operator]
    except RefusedError as error:
        return str(error)


@pytest.mark.parametrize("type_", VALUES, ids=str)
@settings(max_examples=25, deadline=None)  # Arrow loads its engine when it is first used
@given(st.integers(0, 2**64))
def test_columns_are_merged_as_rows_are(type_: pa.DataType, seed: int) -> None:
    draw = random.Random(seed)
    layout = layout_of(draw.choice(ORDERED), type_)
    stored, staged = (table_of(layout, rows_of(layout, draw)) for _ in range(2))
    expected = result(by_rows, layout, stored, staged)
    found = result(lambda *given: shown(new_values(*given)), layout, stored, staged)
    assert found == expected


def last_of(type_: pa.DataType) -> tuple[object, object, object]:
    """Return the greatest value of a type, the one before it, and the step between the two."""
    if isinstance(type_, pa.Decimal128Type):
        most, under = ((9,) * type_.precision, (*(9,) * (type_.precision - 1), 8))
        return tuple(Decimal((0, digits, -type_.scale)) for digits in (most, under, (1,)))  # type: ignore[return-value]
    greatest = 2 ** (type_.bit_width - 1) - 1
    return greatest, greatest - 1, 1


@pytest.mark.parametrize("type_", ADDED, ids=str)
def test_a_sum_that_leaves_its_column_is_refused_and_one_at_its_end_is_not(type_: pa.DataType) -> None:
    layout = StateLayout((KeyColumn("k", pa.int32()),), (ValueColumn("n", type_, Merge.ADD),))
    most, under, step = last_of(type_)
    full, fitting, staged = (table_of(layout, [(1, None), (2, value)]) for value in (most, under, step))
    assert new_values(layout, fitting, staged).column("n").to_pylist() == [None, most]
    with pytest.raises(RefusedError, match=r"'n'.*does not fit"):
        new_values(layout, full, staged)


def test_a_state_without_keys_has_one_row() -> None:
    layout = StateLayout((), (ValueColumn("n", pa.int64(), Merge.ADD),))
    one, none = table_of(layout, [(1,)]), layout.schema().empty_table()
    assert new_values(layout, none, one).to_pylist() == [{"n": 1, "previous_n": None}]
    assert new_values(layout, one, one).to_pylist() == [{"n": 2, "previous_n": 1}]
    assert new_values(layout, one, none).num_rows == 0
