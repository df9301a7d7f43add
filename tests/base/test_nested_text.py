"""Arrays, structures and maps as texts: each comes back as it was, equal ones have one text, others are refused."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trident.base.exact import InexactError
from trident.base.nested_text import UnreadableTextError, is_told, text_of, value_of

_SINGLE: dict[pa.DataType, st.SearchStrategy[object]] = {
    pa.bool_(): st.booleans(),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.int8(): st.integers(-128, 127),
    pa.float64(): st.floats(),
    pa.string(): st.text(st.characters(exclude_categories=["Cs"])),
    pa.binary(): st.binary(),
    pa.date32(): st.dates(),
    pa.timestamp("us", "UTC"): st.datetimes(timezones=st.just(UTC)),
    pa.timestamp("us"): st.datetimes(),
    pa.decimal128(38, 10): st.decimals(-(10**27), 10**27, places=10),
}


@st.composite
def _typed(draw: st.DrawFn, depth: int = 2) -> tuple[pa.DataType, st.SearchStrategy[object]]:
    kind = draw(st.sampled_from(["single", "list", "struct", "map"] if depth else ["single"]))
    if kind == "single":
        type_ = draw(st.sampled_from(list(_SINGLE)))
        return type_, st.none() | _SINGLE[type_]
    inner, values = draw(_typed(depth - 1))
    if kind == "list":
        return pa.list_(inner), st.none() | st.lists(values, max_size=3)
    if kind == "struct":
        other, others = draw(_typed(depth - 1))
        fields = pa.struct([("b", inner), ('a "', other)])
        return fields, st.none() | st.fixed_dictionaries({"b": values, 'a "': others})
    key = draw(st.sampled_from([each for each in _SINGLE if not pa.types.is_floating(each)]))
    return pa.map_(key, inner), st.none() | st.dictionaries(_SINGLE[key], values, max_size=3)


@st.composite
def _cases(draw: st.DrawFn) -> tuple[pa.DataType, object]:
    type_, values = draw(_typed())
    return type_, draw(values)


def _same(left: object, right: object) -> bool:
    """Compare without any code of the product; what Python holds equal but is of another type is not the same."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return len(left) == len(right) and all(key in right and _same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, float) and isinstance(right, float):
        return (math.isnan(left) and math.isnan(right)) or left == right
    return type(left) is type(right) and left == right


@settings(deadline=None)
@given(_cases())
def test_a_value_comes_back_as_it_was(case: tuple[pa.DataType, object]) -> None:
    type_, value = case
    text = text_of(value, type_)
    assert _same(value_of(text, type_), value)
    if text is not None:
        json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


@settings(deadline=None)
@given(_cases())
def test_equal_values_have_one_text(case: tuple[pa.DataType, object]) -> None:
    type_, value = case
    assert text_of(_turned(value), type_) == text_of(value, type_)


def _turned(value: object) -> object:
    """Return the same value, each mapping filled the other way round."""
    if isinstance(value, Mapping):
        return {key: _turned(item) for key, item in reversed(list(value.items()))}
    return [_turned(each) for each in value] if isinstance(value, list) else value


def test_the_texts_are_those_of_the_table() -> None:
    held = pa.struct(
        [("at", pa.timestamp("us", "UTC")), ("day", pa.date32()), ("raw", pa.binary()), ("x", pa.float64())]
    )
    at = datetime(2024, 3, 1, 12, 30, tzinfo=timezone(timedelta(hours=2)))
    value = {"at": at, "day": date(2024, 3, 1), "raw": b"\0\xff", "x": -math.inf}
    expected = '{"at":"2024-03-01T10:30:00+00:00","day":"2024-03-01","raw":"AP8=","x":"-Infinity"}'
    assert text_of(value, held) == expected
    assert text_of([Decimal("12.3"), None], pa.list_(pa.decimal128(10, 2))) == '["12.30",null]'
    assert text_of({"é": 1, "a": 2}, pa.map_(pa.string(), pa.int64())) == '{"a":2,"é":1}'
    assert text_of({10: [1], 9: None}, pa.map_(pa.int64(), pa.list_(pa.int8()))) == "[[10,[1]],[9,null]]"
    assert text_of([-0.0], pa.list_(pa.float64())) == text_of([0.0], pa.list_(pa.float64()))
    assert text_of({"b": 1}, pa.struct([("a", pa.int64()), ("b", pa.int64())])) == '{"a":null,"b":1}'
    assert text_of(None, held) is None


@pytest.mark.parametrize(
    ("type_", "has_text"),
    [
        (pa.list_(pa.struct([("m", pa.map_(pa.date32(), pa.list_(pa.float64())))])), True),
        (pa.map_(pa.float64(), pa.int64()), False),
        (pa.map_(pa.list_(pa.string()), pa.int64()), False),
        (pa.list_(pa.map_(pa.string(), pa.map_(pa.struct([("a", pa.int8())]), pa.int8()))), False),
        (pa.list_(pa.duration("us")), False),
        (pa.struct([("a", pa.null())]), False),
    ],
    ids=str,
)
def test_types_whose_values_could_not_be_read_again_have_no_texts(type_: pa.DataType, has_text: bool) -> None:
    assert is_told(type_) is has_text


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        ([2.5], pa.list_(pa.int64())),
        ([Decimal("0.001")], pa.list_(pa.decimal128(10, 2))),
        ({"c": 1}, pa.struct([("a", pa.int64())])),
        ([("a", 1), ("a", 2)], pa.map_(pa.string(), pa.int64())),
        (["\ud800"], pa.list_(pa.string())),
        ("a", pa.list_(pa.string())),
    ],
)
def test_what_the_type_does_not_hold_as_it_is_has_no_text(value: object, type_: pa.DataType) -> None:
    with pytest.raises(InexactError):
        text_of(value, type_)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("", pa.list_(pa.int64())),
        ("[1", pa.list_(pa.int64())),
        ("{}", pa.list_(pa.int64())),
        ("[true]", pa.list_(pa.int64())),
        ("[1.0]", pa.list_(pa.int64())),
        ("[300]", pa.list_(pa.int8())),
        ("[1]", pa.list_(pa.float64())),
        ('["1"]', pa.list_(pa.int64())),
        ("[1]", pa.list_(pa.string())),
        ('["1.234"]', pa.list_(pa.decimal128(10, 2))),
        ('["NaN"]', pa.list_(pa.decimal128(10, 2))),
        ('["2024-03-01T00:00:00"]', pa.list_(pa.timestamp("us", "UTC"))),
        ('["2024-03-01T00:00:00+00:00"]', pa.list_(pa.timestamp("us"))),
        ('["not base64!"]', pa.list_(pa.binary())),
        ('{"a":1}', pa.struct([("a", pa.int64()), ("b", pa.int64())])),
        ('{"b":1,"a":1}', pa.struct([("a", pa.int64()), ("b", pa.int64())])),
        ('{"a":1,"a":2}', pa.map_(pa.string(), pa.int64())),
        ("[[1,2],[1,3]]", pa.map_(pa.int64(), pa.int64())),
        ("[[1]]", pa.map_(pa.int64(), pa.int64())),
        ("[" * 100_000, pa.list_(pa.int64())),
    ],
)
def test_a_text_of_something_else_is_refused_and_not_shown(text: str, type_: pa.DataType) -> None:
    with pytest.raises(UnreadableTextError) as refused:
        value_of(text, type_)
    assert len(text) < 2 or text[:50] not in str(refused.value)
