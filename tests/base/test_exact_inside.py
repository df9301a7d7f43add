"""What is inside of lists, structures and maps is held exactly or refused, as a value by itself is."""

from __future__ import annotations

import datetime as d
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from trident.base.exact import InexactError, exact_array

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
        ({"a": None, "b": 1}, pa.struct([pa.field("a", pa.int64(), nullable=False), ("b", pa.int64())])),
        ([[2.5]], pa.list_(LISTS)),
    ],
    ids=str,
)
def test_what_is_refused(value: object, type_: pa.DataType) -> None:
    with pytest.raises(InexactError):
        exact_array([value], type_)


MICROS = pa.timestamp("us", "UTC")


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (pd.Timestamp(1, unit="ns", tz="UTC"), MICROS),
        (pd.NaT, MICROS),
        (pd.NaT, pa.date32()),
        (pd.NaT, pa.duration("us")),
        (pd.Timedelta(1, "ns"), pa.duration("us")),
        (5, pa.duration("us")),
        (True, pa.float64()),
        (np.bool_(True), pa.float64()),
        (True, pa.decimal128(5, 2)),
        ([("a", 1), ("a", 2)], pa.map_(pa.string(), pa.int64())),
        ({float("nan"): 1, np.float64("nan"): 2}, pa.map_(pa.float64(), pa.int64())),
        ([([1], 1), ([1], 2)], pa.map_(LISTS, pa.int64())),
        ({0.1: 1, 0.1000000001: 2}, pa.map_(pa.float32(), pa.int64())),
        ({"a": 1, b"a": 2}, pa.map_(pa.string(), pa.int64())),
        ({float("nan"): 1, Decimal(1): 2, np.float32("nan"): 3}, pa.map_(pa.float64(), pa.int64())),
        ({pd.NA: 1}, pa.map_(pa.string(), pa.int64())),
        ([(Decimal("sNaN"), 1), (Decimal(1), 2)], MAPS),
        (np.longdouble("1e400"), pa.float64()),
        (np.longdouble("1e39"), pa.float32()),
        (np.longdouble("9007199254740993.5"), pa.int64()),
        (d.time(1, tzinfo=d.UTC), pa.time64("us")),
        (5, pa.time64("us")),
    ],
    ids=repr,
)
def test_what_arrow_would_cut_or_take_for_something_else_is_refused(value: object, type_: pa.DataType) -> None:
    with pytest.raises(InexactError):
        exact_array([value], type_)


@pytest.mark.parametrize(
    ("value", "type_", "held"),
    [
        (pd.Timestamp("2026-01-01T00:00:00.000001Z"), MICROS, d.datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=d.UTC)),
        (pd.Timedelta(3, "us"), pa.duration("us"), d.timedelta(microseconds=3)),
        (np.longdouble("9007199254740993"), pa.int64(), 2**53 + 1),
        (np.longdouble("inf"), pa.float64(), float("inf")),
        (np.longdouble("1.5"), pa.float64(), 1.5),
        (d.time(1, 2, 3, 4), pa.time64("us"), d.time(1, 2, 3, 4)),
        ({0.25: 1, 0.5: 2}, pa.map_(pa.float32(), pa.int64()), [(0.25, 1), (0.5, 2)]),
        (5, pa.float64(), 5.0),
        (5, pa.decimal128(5, 2), Decimal("5.00")),
    ],
    ids=repr,
)
def test_what_pandas_and_arrow_mean_alike_is_held(value: object, type_: pa.DataType, held: object) -> None:
    assert exact_array([value], type_).to_pylist() == [held]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (1e-50, pa.float32()),
        (d.datetime(2026, 1, 1, tzinfo=d.timezone(d.timedelta(microseconds=1))), pa.timestamp("us", "UTC")),
    ],
)
def test_a_value_that_arrow_makes_another(value: object, type_: pa.DataType) -> None:
    with pytest.raises(InexactError):
        exact_array([value], type_)
    with pytest.raises(InexactError):
        exact_array([[value]], pa.list_(type_))


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        ([1, None], pa.list_(pa.field("element", pa.int64(), nullable=False))),
        ([[None]], pa.list_(pa.list_(pa.field("element", pa.int64(), nullable=False)))),
        ({"k": None}, pa.map_(pa.string(), pa.field("value", pa.int64(), nullable=False))),  # type: ignore[call-overload]
    ],
)
def test_nothing_is_missing_inside_where_that_may_not_be(value: object, type_: pa.DataType) -> None:
    """It would be read as 0, or as what was there before."""
    with pytest.raises(InexactError):
        exact_array([value], type_)
