"""What is inside of lists, structures and maps is held exactly or refused, as a value by itself is."""

from __future__ import annotations

import datetime as d
from decimal import Decimal

import pyarrow as pa
import pytest

from trident.state.exact import InexactError, exact_array

LISTS = pa.list_(pa.int64())
STRUCTS = pa.struct([("a", pa.int64()), ("days", pa.list_(pa.date32()))])
MAPS = pa.map_(pa.string(), pa.decimal128(5, 2))
DAY = d.date(2026, 1, 1)


@pytest.mark.parametrize(
    ("value", "type_", "held"),
    [
        ([1, None, 2], LISTS, [1, None, 2]),
        ([2.0], LISTS, [2]),
        ((), LISTS, []),
        (None, LISTS, None),
        ({"a": 1, "days": [DAY]}, STRUCTS, {"a": 1, "days": [DAY]}),
        ({"a": 1}, STRUCTS, {"a": 1, "days": None}),
        ({"k": Decimal("1.5")}, MAPS, [("k", Decimal("1.50"))]),
        ([("k", None)], MAPS, [("k", None)]),
    ],
    ids=str,
)
def test_what_is_held(value: object, type_: pa.DataType, held: object) -> None:
    assert exact_array([value, None], type_).to_pylist() == [held, None]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        ([2.5], LISTS),
        ([2**63], LISTS),
        (["1"], LISTS),
        ("12", LISTS),
        ({"a": 2.5}, STRUCTS),
        ({"a": 1, "days": [d.datetime(2026, 1, 1, 12, tzinfo=d.UTC)]}, STRUCTS),
        ({"a": 1, "b": 2}, STRUCTS),
        ((1, [DAY]), STRUCTS),
        ({"k": Decimal("1.005")}, MAPS),
        ({"k": Decimal(1000)}, MAPS),
        ({5: Decimal(1)}, MAPS),
        ([("k",)], MAPS),
        ([[2.5]], pa.list_(LISTS)),
    ],
    ids=str,
)
def test_what_is_refused(value: object, type_: pa.DataType) -> None:
    with pytest.raises(InexactError):
        exact_array([value], type_)
