"""What a batch makes of a state, against the folding that stores do, and against a store itself."""

from __future__ import annotations

import math
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trident.base.errors import MismatchError, RefusedError
from trident.state.folding import merged_with
from trident.state.layout import KeyColumn, Merge, StateLayout, ValueColumn
from trident.state.new_values import new_values, new_values_schema

LAYOUT = StateLayout(
    (KeyColumn("k", pa.string()), KeyColumn("f", pa.float64())),
    (
        ValueColumn("n", pa.int64(), Merge.ADD),
        ValueColumn("d", pa.decimal128(12, 2), Merge.ADD),
        ValueColumn("low", pa.float64(), Merge.LEAST),
        ValueColumn("high", pa.string(), Merge.GREATEST),
        ValueColumn("first", pa.string(), Merge.LEAST_BY, by="low"),
        ValueColumn("now", pa.string(), Merge.REPLACE),
        ValueColumn("all", pa.string(), Merge.COMBINE, lambda left, right: "".join(sorted(f"{left}{right}"))),
    ),
)
NUMBERS = st.none() | st.integers(-1000, 1000)
DECIMALS = st.none() | st.decimals(-1000, 1000, places=2, allow_nan=False)
FLOATS = st.sampled_from([None, 0.0, -0.0, 1.5, -1.5, math.inf, math.nan])
TEXTS = st.sampled_from([None, "", "a", "b", "ab"])
KEYS = st.tuples(TEXTS, FLOATS)
VALUES = st.tuples(NUMBERS, DECIMALS, FLOATS, TEXTS, TEXTS, TEXTS, TEXTS)


def canonical(key: tuple[object, ...]) -> tuple[str, str]:
    text, number = key
    return repr(text), "0.0" if number == 0 else repr(number)


ROWS = st.lists(st.tuples(KEYS, VALUES), max_size=8, unique_by=lambda row: canonical(row[0]))


def table(rows: list[tuple[tuple[object, ...], tuple[object, ...]]]) -> pa.Table:
    flat = [(*key, *values) for key, values in rows]
    columns = list(zip(*flat, strict=True)) or [()] * len(LAYOUT.schema())
    return pa.table(
        [pa.array(c, f.type) for c, f in zip(columns, LAYOUT.schema(), strict=True)], schema=LAYOUT.schema()
    )


@settings(deadline=None)  # Arrow loads its engine when it is first used
@given(ROWS, ROWS)
def test_they_are_what_the_stores_merge_makes_of_each_key(
    stored: list[tuple[tuple[object, ...], tuple[object, ...]]],
    staged: list[tuple[tuple[object, ...], tuple[object, ...]]],
) -> None:
    found = new_values(LAYOUT, table(stored), table(staged)).to_pylist()
    before = {canonical(key): values for key, values in stored}
    assert len(found) == len(staged)
    for row, (key, values) in zip(found, staged, strict=True):
        had = before.get(canonical(key))
        expected = merged_with(LAYOUT, values)(had)
        assert canonical((row["k"], row["f"])) == canonical(key)
        assert [repr(row[c.name]) for c in LAYOUT.values] == [_shown(value) for value in expected]
        kept = had or (None,) * len(LAYOUT.values)
        assert [repr(row[f"previous_{c.name}"]) for c in LAYOUT.values] == [_shown(value) for value in kept]


def _shown(value: object) -> str:
    return repr(value + 0.0) if isinstance(value, float) else repr(value)


def test_nothing_is_made_of_nothing() -> None:
    assert new_values(LAYOUT, table([]), table([])).schema == new_values_schema(LAYOUT)


def test_what_the_state_would_refuse_is_refused() -> None:
    layout = StateLayout((), (ValueColumn("n", pa.int64(), Merge.ADD),))
    one = pa.table({"n": pa.array([2**63 - 1], pa.int64())})
    with pytest.raises(RefusedError, match="'n'"):
        new_values(layout, one, pa.table({"n": pa.array([1], pa.int64())}))


def test_a_key_that_was_staged_twice_is_noticed() -> None:
    row: tuple[tuple[object, ...], tuple[object, ...]] = (("a", 0.0), (1, Decimal(1), 1.0, "a", "a", "a", "a"))
    with pytest.raises(MismatchError, match="staged twice"):
        new_values(LAYOUT, table([]), table([row, row]))
