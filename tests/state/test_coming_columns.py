"""Which values may come to a state that holds others already."""

from __future__ import annotations

import pyarrow as pa
import pytest

from trident.base.errors import ConfigurationError
from trident.state.evolving import HeldColumns, coming_columns
from trident.state.layout import KeyColumn, Merge, StateLayout, ValueColumn


def _part(name: str, result: str) -> ValueColumn:
    return ValueColumn(name, pa.int64(), Merge.ADD, part_of=result)


DEVIATION = StateLayout(
    (KeyColumn("account", pa.string()),),
    (_part("n", ""), *(_part(f"amount_{part}", "amount") for part in ("sum", "squares", "count"))),
)
"""What `n=Count(), amount=StdDev("amount")` keeps."""


def test_a_result_is_not_made_of_columns_that_hold_different_records() -> None:
    """As where a mean of the name was there: it has the same sum and count, of all records, and no squares."""
    held = HeldColumns(("account",), ("n", "amount_sum", "amount_count"), ("amount_squares",), is_other=True)
    with pytest.raises(ConfigurationError, match="'amount_squares' is new, and 'amount' is made of it and of 'amount_"):
        coming_columns(DEVIATION, held)


@pytest.mark.parametrize("empty", [frozenset[str](), frozenset({"amount_sum", "amount_count"})], ids=["none", "empty"])
def test_a_result_whose_columns_hold_the_same_may_come(empty: frozenset[str]) -> None:
    there = ("n", *sorted(empty))
    coming = tuple(column.name for column in DEVIATION.values if column.name not in there)
    held = HeldColumns(("account",), there, coming, empty, is_other=True)
    assert {column.name for column in coming_columns(DEVIATION, held)} == set(coming)
