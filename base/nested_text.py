"""Arrays, structures and maps as JSON texts and back, exactly: the form in which any store keeps them.

| value | text |
|---|---|
| array | array |
| structure | object, its fields in their order, nulls said |
| map | object, its keys sorted; keys that are no texts: array of pairs, sorted by the keys' own texts |
| decimal, NaN, infinity | text: `"12.30"`, `"NaN"`, `"-Infinity"` |
| bytes | text in base64 |
| day, moment | text in ISO 8601, a moment with a zone in UTC |

Equal values have equal texts, whatever the order in which a map was filled.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Final, TypeVar

import pyarrow as pa

from trident.base.arrays import is_text
from trident.base.exact import InexactError, exact_array

_TOLD: Final = (
    pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_date,
    pa.types.is_timestamp, is_text, pa.types.is_binary, pa.types.is_large_binary,
)  # fmt: skip
K = TypeVar("K")
T = TypeVar("T")


class UnreadableTextError(ValueError):
    """A text is not one of a value of the type; the error shows nothing of it."""


def is_told(type_: pa.DataType) -> bool:
    """Tell whether all values of a type have a text: keys of maps must be single values that are equal in one way."""
    if isinstance(type_, pa.MapType):
        key = type_.key_type
        return not (pa.types.is_nested(key) or pa.types.is_floating(key)) and is_told(key) and is_told(type_.item_type)
    if pa.types.is_nested(type_):
        return all(is_told(type_.field(number).type) for number in range(type_.num_fields))
    return any(is_kind(type_) for is_kind in _TOLD)


def text_of(value: object, type_: pa.DataType) -> str | None:
    """Return a value as text, None for null; raises `InexactError` for one that the type does not hold as it is."""
    held = exact_array([value], type_)
    (settled,) = held.to_pylist()  # type: ignore[misc]  # the stubs know it for single types only
    return None if settled is None else _dumped(_plain(settled, type_))


def value_of(text: str | None, type_: pa.DataType) -> object:
    """Return the value that `text_of` was given, maps as dicts; raises `UnreadableTextError`."""
    if text is None:
        return None
    try:
        value = _value(json.loads(text, object_pairs_hook=_unique), type_)
        exact_array([value], type_)
    except (ValueError, TypeError, InvalidOperation, binascii.Error, RecursionError):
        raise UnreadableTextError(f"not the text of a value of {type_}") from None
    return value


def _dumped(plain: object) -> str:
    return json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _plain(value: object, type_: pa.DataType) -> object:
    if value is None:
        return None
    if isinstance(type_, pa.MapType):
        assert isinstance(value, list)
        return _plain_map(value, type_)
    if isinstance(type_, pa.StructType):
        assert isinstance(value, Mapping)
        return {field.name: _plain(value[field.name], field.type) for field in type_.fields}
    if isinstance(value, list):
        return [_plain(each, type_.value_type) for each in value]  # type: ignore[attr-defined]
    return _plain_single(value)


def _plain_map(pairs: Sequence[tuple[object, object]], type_: pa.MapType[pa.DataType, pa.DataType]) -> object:
    plain = [(_plain(key, type_.key_type), _plain(item, type_.item_type)) for key, item in pairs]
    by_text = {_dumped(key): (key, item) for key, item in plain}
    if len(by_text) != len(pairs):
        raise InexactError  # one key twice: which of the two is meant?
    ordered = [by_text[text] for text in sorted(by_text)]
    return dict(ordered) if is_text(type_.key_type) else ordered


def _plain_single(value: object) -> object:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case Decimal():
            return f"{value:f}"
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).isoformat()
        case date():
            return value.isoformat()
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case float():
            return value + 0.0  # one zero
        case _:
            return value


def _value(plain: object, type_: pa.DataType) -> object:
    if plain is None:
        return None
    if isinstance(type_, pa.MapType):
        pairs = _expected(plain, dict).items() if is_text(type_.key_type) else _expected(plain, list)
        return _unique([(_value(key, type_.key_type), _value(item, type_.item_type)) for key, item in pairs])
    if isinstance(type_, pa.StructType):
        found = _expected(plain, dict)
        if list(found) != [field.name for field in type_.fields]:
            raise ValueError
        return {field.name: _value(found[field.name], field.type) for field in type_.fields}
    if pa.types.is_nested(type_):
        return [_value(each, type_.value_type) for each in _expected(plain, list)]  # type: ignore[union-attr]
    return _single(plain, type_)


def _single(plain: object, type_: pa.DataType) -> object:
    if pa.types.is_boolean(type_):
        return _expected(plain, bool)
    if pa.types.is_integer(type_):
        return _expected(plain, int)
    if pa.types.is_floating(type_):
        return plain if type(plain) is float else float(_expected(plain, str))
    text = _expected(plain, str)
    if pa.types.is_decimal(type_):
        return Decimal(text)
    if pa.types.is_timestamp(type_):
        return datetime.fromisoformat(text)
    if pa.types.is_date(type_):
        return date.fromisoformat(text)
    if is_text(type_):
        return text
    return base64.b64decode(text, validate=True)


def _unique(pairs: list[tuple[K, T]]) -> dict[K, T]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError
    return made


def _expected(plain: object, kind: type[T]) -> T:
    if type(plain) is not kind:
        raise TypeError
    return plain
