"""What JSON, or a text, says of a value, as the type that was declared for it: exactly, or not at all. Pure."""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Final

from trident.spouts.queue.bodies.ddl import DeclaredField, FieldType
from trident.spouts.queue.received import UnreadableError

_BITS: Final = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_LEFT_OUT: Final = re.compile(r"[.,][0-9]{6}0*[1-9]|[+-][0-9:]+[.,]")
"""What Python leaves out of a moment without a word: digits behind the microseconds, and fractions in its zone."""
_TRUTHS: Final = {"true": True, "false": False, "1": True, "0": False}


def fields_of(found: Mapping[str, object], fields: tuple[DeclaredField, ...]) -> dict[str, object]:
    """Return a JSON object's values by field: one that is missing is null, one that is not declared is left out.

    Numbers with a fraction are `Decimal`s in what is given. Raises `UnreadableError`, which names the field.
    """
    return {field.name: _required(field, found.get(field.name), fitted) for field in fields}


def texts_of(found: Mapping[str, bytes | None], fields: tuple[DeclaredField, ...]) -> dict[str, object]:
    """Return values by field that were given as UTF-8 text each, or as bytes where the field is binary.

    As above of missing fields and of errors.
    """
    return {field.name: _required(field, found.get(field.name), _from_text) for field in fields}


def fitted(value: object, type_: FieldType) -> object:
    """Return a value of parsed JSON as the type has it; raises `UnreadableError` where it is none of its values."""
    if value is None or type_.kind == "other":
        return value
    if type_.kind in _BITS:
        return _whole(value, type_.kind)
    made = _MAKERS[type_.kind](value, type_)
    if made is None:
        raise UnreadableError(f"a JSON value of the kind {_kind(value)} is none of the type {type_.kind}")
    return made


def _required(field: DeclaredField, given: object, make: Callable[[object, FieldType], object]) -> object:
    if given is None and field.is_required:
        raise UnreadableError(f"it has no value for the field {field.name!r}, which is declared NOT NULL")
    try:
        return make(given, field.type)
    except UnreadableError as error:
        raise UnreadableError(f"field {field.name!r}: {error}") from None


def _from_text(given: object, type_: FieldType) -> object:
    if given is None or type_.kind == "binary":
        return given
    assert isinstance(given, bytes)
    try:
        text = given.decode()
    except UnicodeDecodeError:
        raise UnreadableError("it is not UTF-8") from None
    if type_.kind == "boolean":
        return fitted(_TRUTHS.get(text.lower(), text), type_)
    if type_.kind in (*_BITS, "float", "double", "decimal"):
        return fitted(_number(text, type_.kind), type_)
    return fitted(text, type_)


def _number(text: str, kind: str) -> object:
    if "_" in text:  # which Python alone takes for nothing
        raise UnreadableError(f"its text is no number of the type {kind}")
    try:
        return int(text) if kind in _BITS else Decimal(text.strip())
    except (ValueError, InvalidOperation):
        raise UnreadableError(f"its text is no number of the type {kind}") from None


def _whole(value: object, kind: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise UnreadableError(f"a JSON value of the kind {_kind(value)} is none of the type {kind}")
    if not -(1 << (_BITS[kind] - 1)) <= value < 1 << (_BITS[kind] - 1):
        raise UnreadableError(f"a number is out of the range of {kind}")
    return value


def _float(value: object, type_: FieldType) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or _is_nan(value):
        return None
    try:
        number = float(value)
        held = number if type_.kind == "double" else struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        held = math.inf
    if not math.isfinite(held) or (held == 0 and value != 0):
        raise UnreadableError(f"a number is out of the range of {type_.kind}")
    return number


def _is_nan(value: int | Decimal) -> bool:
    return isinstance(value, Decimal) and value.is_nan()


def _decimal(value: object, type_: FieldType) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    number = Decimal(value)
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        return None
    # without arithmetic, which has a context that rounds: 1.50 is 15 tenths
    needed = "".join(map(str, digits)).rstrip("0")
    places = max(0, -(exponent + len(digits) - len(needed))) if needed else 0
    if places > type_.scale or (needed and len(digits) + exponent > type_.precision - type_.scale):
        raise UnreadableError(f"a number has more digits than decimal({type_.precision},{type_.scale})")
    return number if needed else Decimal(0)


def _text(value: object, _: FieldType) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UnreadableError("a text has half of a character (a lone surrogate)") from None
    return value


def _boolean(value: object, _: FieldType) -> bool | None:
    return value if isinstance(value, bool) else None


def _binary(value: object, _: FieldType) -> bytes | None:
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else None
    except (binascii.Error, ValueError):
        raise UnreadableError("a text for binary is not base64") from None


def _date(value: object, _: FieldType) -> date | None:
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        raise UnreadableError("a text is no date as in 2026-01-31") from None


def _moment(value: object, type_: FieldType) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        made = datetime.fromisoformat(value)
    except ValueError:
        raise UnreadableError("a text is no moment as in 2026-01-31T12:00:00Z") from None
    if _LEFT_OUT.search(value):
        raise UnreadableError(f"a moment has more digits than {type_.kind} holds, which has microseconds")
    if (made.utcoffset() is None) == (type_.kind == "timestamp"):
        needs = "needs a time zone, as in 2026-01-31T12:00:00Z" if type_.kind == "timestamp" else "has no time zone"
        raise UnreadableError(f"a moment of the type {type_.kind} {needs}")
    try:
        return made if made.tzinfo is None else made.astimezone(UTC)
    except OverflowError:
        raise UnreadableError("a moment is outside of the years 1 to 9999 of UTC") from None


def _array(value: object, type_: FieldType) -> list[object] | None:
    return [fitted(each, type_.inside[0].type) for each in value] if isinstance(value, list) else None


def _map(value: object, type_: FieldType) -> dict[object, object] | None:
    if not isinstance(value, dict):
        return None
    key, item = (each.type for each in type_.inside)
    if key.kind != "string":
        raise UnreadableError("the keys of a JSON object are texts, and the map's are declared otherwise")
    return {_text(name, key): fitted(each, item) for name, each in value.items()}


def _struct(value: object, type_: FieldType) -> dict[str, object] | None:
    return fields_of(value, type_.inside) if isinstance(value, dict) else None


def _kind(value: object) -> str:
    names = {str: "text", bool: "true or false", int: "whole number", Decimal: "number with a fraction", list: "array"}
    return names.get(type(value), "object")


_MAKERS: Final[Mapping[str, Callable[[object, FieldType], object | None]]] = {
    "float": _float,
    "double": _float,
    "decimal": _decimal,
    "string": _text,
    "boolean": _boolean,
    "binary": _binary,
    "date": _date,
    "timestamp": _moment,
    "timestamp_ntz": _moment,
    "array": _array,
    "map": _map,
    "struct": _struct,
}
