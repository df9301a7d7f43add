"""What an Arrow array of one type is as another: each value as it is, or refused."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trident.base.conversions import converted, widened
from trident.base.exact import InexactError
from trident.state.rows import python_values

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)
MOMENT = pa.timestamp("us", "UTC")
PRICE = pa.decimal128(10, 2)
NUMBER: pa.DataType = pa.int64()
TINY: pa.DataType = pa.decimal128(38, 38)

REQUIRED = pa.struct([pa.field("a", NUMBER, nullable=False)])
TWICE: list[tuple[pa.DataType, list[tuple[object, int]]]] = [
    (pa.string(), [("a", 1), ("b", 2), ("a", 3)]),
    (pa.float64(), [(0.0, 1), (-0.0, 2)]),
    (pa.float64(), [(math.nan, 1), (math.nan, 2)]),
    (pa.list_(NUMBER), [([1], 1), ([1], 2)]),
]

AS_IT_IS: dict[str, tuple[pa.Array[pa.Scalar[pa.DataType]], pa.DataType, list[object]]] = {
    "the same": (pa.array([1, None]), pa.int64(), [1, None]),
    "nothing": (pa.array([None, None]), PRICE, [None, None]),
    "no rows": (pa.array([], pa.float64()), PRICE, []),
    "a wider number": (pa.array([1, None], pa.int8()), pa.int64(), [1, None]),
    "whole floats": (pa.array([2.0, None]), pa.int64(), [2, None]),
    "a float that the decimal holds": (pa.array([1.25, None]), PRICE, [Decimal("1.25"), None]),
    "a rounded float": (pa.array([0.1]), pa.float32(), [pytest.approx(0.1)]),
    "floats beyond all": (pa.array([math.inf, -math.inf, None]), pa.float32(), [math.inf, -math.inf, None]),
    "a moment at midnight": (pa.array([MIDNIGHT, None], MOMENT), pa.date32(), [date(2026, 1, 1), None]),
    "a day": (pa.array([date(2026, 1, 1)]), MOMENT, [MIDNIGHT]),
    "texts": (pa.array(["a", None], pa.large_string()), pa.string(), ["a", None]),
    "words of a dictionary": (pa.array(["a", "b", "a"]).dictionary_encode(), pa.string(), ["a", "b", "a"]),
    "fields in another order": (
        pa.array([{"b": 1, "a": 2.0}, None]),
        pa.struct([("a", pa.int64()), ("b", pa.int64())]),
        [{"a": 2, "b": 1}, None],
    ),
    "nothing where fields of a structure are required": (
        pa.array([None, {"a": 1}], REQUIRED),
        pa.struct([("a", NUMBER)]),
        [None, {"a": 1}],
    ),
    "nothing for what requires its fields": (
        pa.array([None, {"a": 1}], pa.struct([("a", pa.int32())])),
        REQUIRED,
        [None, {"a": 1}],
    ),
    "the same that requires its fields": (pa.array([None, {"a": 1}], REQUIRED), REQUIRED, [None, {"a": 1}]),
    "what is required inside of others": (
        pa.array([[("k", [{"a": 1}, None]), ("l", None)], None, []], pa.map_(pa.string(), pa.list_(REQUIRED)))[1:],
        pa.map_(pa.string(), pa.list_(REQUIRED)),
        [None, []],
    ),
    "what is required inside of a slice": (
        pa.array([[{"a": 5}], None, [{"a": 1}, None], []], pa.list_(pa.struct([("a", pa.int8())]))).slice(1),
        pa.list_(REQUIRED),
        [None, [{"a": 1}, None], []],
    ),
    "what is required inside of a map": (
        pa.array([[("k", {"a": 1}), ("l", None)], None], pa.map_(pa.string(), pa.struct([("a", pa.int8())]))),
        pa.map_(pa.string(), REQUIRED),
        [[("k", {"a": 1}), ("l", None)], None],
    ),
    "maps that have a key each": (
        pa.array([[("a", 1)], None, [("a", 2), ("b", 3)], []], pa.map_(pa.string(), NUMBER)),
        pa.map_(pa.string(), NUMBER),
        [[("a", 1)], None, [("a", 2), ("b", 3)], []],
    ),
    "inside of lists": (pa.array([[1.0], None, []]), pa.list_(pa.int64()), [[1], None, []]),
    "inside of maps": (
        pa.array([[("a", 1.25)], None], pa.map_(pa.string(), pa.float64())),
        pa.map_(pa.string(), PRICE),
        [[("a", Decimal("1.25"))], None],
    ),
}
CHANGED: dict[str, tuple[pa.Array[pa.Scalar[pa.DataType]], pa.DataType]] = {
    "digits of a float": (pa.array([1.239]), PRICE),
    "a fraction": (pa.array([2.5]), pa.int64()),
    "the time of day": (pa.array([NOON], MOMENT), pa.date32()),
    "a float that becomes infinite": (pa.array([1e300]), pa.float32()),
    "an integer that no double is": (pa.array([2**53 + 1]), pa.float64()),
    "a number as a truth": (pa.array([2.5]), pa.bool_()),
    "one as a truth": (pa.array([1]), pa.bool_()),
    "a misspelt field": (pa.array([{"amuont": 5}]), pa.struct([("amount", pa.int64())])),
    "a field too many": (pa.array([{"a": 5, "b": 1}]), pa.struct([("a", pa.int64())])),
    "more digits than there are": (pa.array([1e15, 0.5]), pa.decimal128(10, 1)),
    "no number": (pa.array([math.nan]), PRICE),
    "no number inside of a list": (pa.array([[math.inf]]), pa.list_(PRICE)),
    "digits inside of a list": (pa.array([[1.239]]), pa.list_(PRICE)),
    "digits inside of a structure": (pa.array([{"a": 1.239}]), pa.struct([("a", PRICE)])),
    "digits inside of a map": (
        pa.array([[("a", 1.239)]], pa.map_(pa.string(), pa.float64())),
        pa.map_(pa.string(), PRICE),
    ),
    "digits inside of a dictionary in a list": (
        pa.ListArray.from_arrays([0, 1], pa.array([1.239]).dictionary_encode()),
        pa.list_(PRICE),
    ),
    "a map as a list": (
        pa.array([[("a", 1)]], pa.map_(pa.string(), NUMBER)),
        pa.list_(pa.struct([("key", pa.string()), ("value", NUMBER)])),
    ),
    "a view of lists": (pa.array([[1]], pa.list_view(NUMBER)), pa.list_(pa.int32())),
    "a number as a moment": (pa.array([1_700_000_000]), MOMENT),
    "a moment as a number": (pa.array([NOON], MOMENT), NUMBER),
    "a clock on some wall": (pa.array([NOON], MOMENT), pa.timestamp("us")),
    "a text beyond all floats": (pa.array(["1e400"]), pa.float64()),
    "a text that becomes zero": (pa.array(["1e-400"]), pa.float64()),
    "a float that becomes zero": (pa.array([1e-50]), pa.float32()),
    "nothing that is required": (pa.array([{"a": None}], pa.struct([("a", NUMBER)])), REQUIRED),
    "nothing that was required too": (pa.array([{"a": None}], REQUIRED), REQUIRED),
    "nothing that is required inside of a list": (
        pa.array([[1, None]], pa.list_(NUMBER)),
        pa.list_(pa.field("element", NUMBER, nullable=False)),
    ),
    "nothing that is required inside of a map": (
        pa.array([[("k", None)]], pa.map_(pa.string(), NUMBER)),
        pa.map_(pa.string(), pa.field("value", NUMBER, nullable=False)),  # type: ignore[call-overload]
    ),
    "bits as a number": (pa.array(["0xFFFFFFFFFFFFFFFF"]), NUMBER),
    "bits as a number, inside of a list": (pa.array([["1", "0X80"]]), pa.list_(pa.int8())),
    "a truth inside of a list": (pa.array([[1]]), pa.list_(pa.bool_())),
    "the time of day inside of a list": (pa.array([[NOON]], pa.list_(MOMENT)), pa.list_(pa.date32())),
}


@pytest.mark.parametrize("case", AS_IT_IS)
def test_values_that_are_held(case: str) -> None:
    array, type_, expected = AS_IT_IS[case]
    made = converted(array, type_)
    assert made.type == type_
    assert list(made.to_pylist()) == expected  # type: ignore[misc]  # the stubs know it for single types


@pytest.mark.parametrize("case", CHANGED)
def test_values_that_would_become_others(case: str) -> None:
    array, type_ = CHANGED[case]
    with pytest.raises((InexactError, pa.ArrowInvalid)):
        converted(array, type_)


@pytest.mark.parametrize("type_", [pa.float64(), pa.float32()])
@given(cents=st.lists(st.integers(-99_999, 99_999), min_size=1, max_size=50))
def test_what_a_decimal_says_is_held_though_no_float_is_it(type_: pa.DataType, cents: list[int]) -> None:
    """0.35 is no binary fraction, and what was meant all the same."""
    made = converted(pa.array([each / 100 for each in cents], type_), PRICE)
    assert python_values(pa.chunked_array([made])) == [Decimal(each).scaleb(-2) for each in cents]


@pytest.mark.parametrize("type_", [pa.float64(), pa.float32()])
@given(thousandths=st.lists(st.integers(-999_999, 999_999), min_size=1, max_size=50), scale=st.integers(3, 30))
def test_a_decimal_with_more_digits_has_no_others(type_: pa.DataType, thousandths: list[int], scale: int) -> None:
    """Ten times 0.1 are 1 there too."""
    numbers = [each / 1000 for each in thousandths]
    floats = pa.array(numbers, type_)
    said = [Decimal(each).scaleb(-3) for each in thousandths]
    decimals = pa.decimal128(38, scale)
    assert python_values(pa.chunked_array([converted(floats, decimals)])) == said
    inside = converted(pa.array([numbers], pa.list_(type_)), pa.list_(decimals))
    assert python_values(pa.chunked_array([inside.flatten()])) == said  # type: ignore[attr-defined]


def test_what_a_null_hides_is_no_value() -> None:
    values = pa.array([1.239, 1.25])
    hidden = pa.MapArray.from_arrays(  # type: ignore[call-overload]  # the stubs want offsets of 64 bits
        pa.array([0, 1, 2], pa.int32()), pa.array(["a", "b"]), values, mask=pa.array([True, False])
    )
    made = converted(hidden, pa.map_(pa.string(), PRICE))
    assert made.is_null().to_pylist() == [True, False]
    fields = pa.StructArray.from_arrays([values], ["a"], mask=pa.array([True, False]))
    assert converted(fields, pa.struct([("a", PRICE)])).is_null().to_pylist() == [True, False]


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=9, min_value=-(10**34), max_value=10**34),
    st.integers(0, 38),
    st.booleans(),
)
def test_no_decimal_goes_round(number: Decimal, scale: int, is_text: bool) -> None:
    """Arrow's own cast made 4705790657.9… of 753326997884, where 28 digits behind the point leave no room for that."""
    said = pa.array([f"{number:f}"]) if is_text else pa.array([number], pa.decimal256(50, 9))
    try:
        made = converted(said, pa.decimal128(38, scale))
    except (InexactError, pa.ArrowInvalid):
        return
    assert python_values(pa.chunked_array([made])) == [number]


@given(st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False, width=64), max_size=5))
def test_a_float_is_the_decimal_that_says_it_or_refused(numbers: list[float | None]) -> None:
    try:
        made = converted(pa.array(numbers, pa.float64()), PRICE)
    except (InexactError, pa.ArrowInvalid):
        return
    assert [None if each is None else float(str(each)) for each in python_values(pa.chunked_array([made]))] == numbers


@pytest.mark.parametrize("text", ["5e-2781", "5e-300000", "10689E-2147483647", "1." + "0" * 70 + "e-40"])
@pytest.mark.parametrize("scale", [0, 10, 38])
def test_no_power_of_ten_is_looked_for_where_arrow_has_none(text: str, scale: int) -> None:
    """It made 0 of the first two, and ended the process with the third."""
    type_ = pa.decimal128(38, scale)
    inside = pa.array([[{"a": text}]])
    for array, wanted in ((pa.array([text]), type_), (inside, pa.list_(pa.struct([("a", type_)])))):
        with pytest.raises(InexactError):
            converted(array, wanted)


@given(
    st.decimals(allow_nan=False, allow_infinity=False, min_value=Decimal("-0.99"), max_value=Decimal("0.99"), places=38)
)
def test_a_text_with_an_exponent_is_read(number: Decimal) -> None:
    made = converted(pa.array([f"{number:e}" if len(number.as_tuple().digits) <= 30 else f"{number:f}"]), TINY)
    assert python_values(pa.chunked_array([made])) == [number]


def test_what_a_slice_leaves_out_is_no_value() -> None:
    lists = pa.array([[1.25], [1.239]])
    made = converted(lists.slice(0, 1), pa.list_(PRICE))
    assert list(made.to_pylist()) == [[Decimal("1.25")]]  # type: ignore[misc]
    maps = pa.array([[("a", 1.239)], None, [("b", 1.25)]], pa.map_(pa.string(), pa.float64()))
    made = converted(maps.slice(1), pa.map_(pa.string(), PRICE))
    assert list(made.to_pylist()) == [None, [("b", Decimal("1.25"))]]  # type: ignore[misc]


def test_a_dictionary_without_words_inside_of_nothing() -> None:
    words = pa.dictionary(pa.int32(), pa.string())
    given_ = pa.array([None], pa.struct([("a", pa.struct([("b", words)]))]))
    assert converted(given_, pa.struct([("a", pa.struct([("b", pa.string())]))])).is_null().to_pylist() == [True]


@pytest.mark.parametrize("is_inside", [False, True])
@pytest.mark.parametrize("wanted", [NUMBER, pa.int32()])
@pytest.mark.parametrize(("key", "pairs"), TWICE, ids=str)
def test_a_map_that_has_a_key_twice_is_refused_whether_its_type_stays_or_not(
    key: pa.DataType, pairs: list[tuple[object, int]], wanted: pa.DataType, *, is_inside: bool
) -> None:
    """Only keys that became one by a conversion were looked at; Spark finds one of the two, and counts both."""
    given_: pa.DataType = pa.map_(key, NUMBER)
    type_: pa.DataType = pa.map_(key, wanted)
    values: list[object] = [[], None, pairs]
    if is_inside:
        given_, type_ = (pa.list_(pa.struct([("m", each)])) for each in (given_, type_))
        values = [[{"m": pairs}]]
    array = pa.array(values, given_)
    for convert in (converted, widened):
        with pytest.raises(InexactError):
            convert(array, type_)


WIDE = pa.decimal256(71, 49)


@pytest.mark.parametrize(
    ("array", "type_"),
    [
        (pa.array([Decimal("1.5")], WIDE), pa.float32()),
        (pa.array([Decimal("1.5")], WIDE), pa.float64()),
        (pa.array([Decimal("5e-39")], pa.decimal128(3, 39)), pa.int64()),
        (pa.array([Decimal(500)], pa.decimal128(5, -2)), pa.string()),
        (pa.array([43_200_000], pa.int64()).cast(pa.date64(), safe=False), pa.string()),
        (pa.array([2**62], pa.timestamp("us")), pa.string()),
        (pa.array([-500_000_000_000], pa.timestamp("s", "Europe/Berlin")), pa.string()),
        (pa.array([[("1", 1), ("01", 2)]], pa.map_(pa.string(), pa.int64())), pa.map_(pa.int64(), pa.int64())),
        (
            pa.FixedSizeListArray.from_arrays(pa.nulls(6), 2, mask=pa.array([False] * 3)),
            pa.list_(pa.int64()),
        ),
    ],
)
def test_what_arrow_makes_another_value_of_is_refused(array: Any, type_: pa.DataType) -> None:
    with pytest.raises((InexactError, pa.ArrowInvalid)):
        converted(array, type_)


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (datetime(2026, 1, 1, 12, 30, 5, 7), pa.timestamp("us")),  # noqa: DTZ001 - it has no zone
        (datetime(2026, 7, 1, 12, tzinfo=UTC), pa.timestamp("us", "Europe/Berlin")),
        (date(2026, 1, 1), pa.date32()),
    ],
)
def test_a_moment_that_is_said_as_a_text_is_the_same_one(value: object, type_: pa.DataType) -> None:
    array = pa.array([value, None], type_)
    assert converted(converted(array, pa.string()), type_).equals(array)
