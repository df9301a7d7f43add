"""Arrow arrays of one type as another, each value as it is or not at all.

Arrow's own safe cast lets some go: the digits of a double that a decimal has no room for, the time of day of a moment,
a number that is made a truth or a moment, a field of a structure that has another name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from trident.base.arrays import AnyArray
from trident.base.exact import InexactError
from trident.base.inside import entries, is_list, lengths, offsets, require_keys_once, requires, with_required

_IS = Callable[[pa.DataType], bool]
_GREATEST_SCALED: Final = 1.3e38
"""A little more than the greatest number of 38 digits."""
_MOST_DIGITS: Final = 76
"""Of a decimal of 256 bits."""
_MOST_SCALE: Final = 38
_TOO_LONG: Final = rf"(?s)^.{{{_MOST_DIGITS + 1}}}"
_TOO_SMALL: Final = r"(?s)[eE]-0*(4[2-9]|[5-9][0-9]|[1-9][0-9]{2})|^.{37}.*[eE]-"
"""Where Arrow looks for a power of ten behind its last one, 76: it makes 0 of that, any number, or kills the process.

What is left has at most 35 digits behind the point, and 41 by the exponent. Nothing that is written in the usual way,
as 1.5E-20, and that a decimal of 38 digits holds is refused.
"""
_HEXADECIMAL: Final = r"^\s*[+-]?0[xX]"
"""What Arrow reads as the bits of an integer: -1 of 0xFF in eight of them. As a decimal, or in CSV, it is none."""
_UNREADABLE: Final[tuple[tuple[_IS, str], ...]] = (
    (pa.types.is_decimal, _TOO_SMALL),
    (pa.types.is_integer, _HEXADECIMAL),
)
_NOT_ZERO: Final = r"^\s*[+-]?[0.]*[1-9]"


def converted(array: AnyArray, type_: pa.DataType) -> AnyArray:
    """Return the values as an array of the type; raises `InexactError` where one would be another, and Arrow's errors.

    A float may be rounded to the precision of a float column, as arithmetic does; a text is read as what it says, and a
    moment without a zone is one of UTC.
    """
    if array.type == type_:
        require_keys_once(array)
        return with_required(array, type_)
    given = _laid_bare(array)
    _require_alike(given.type, type_)
    said: AnyArray = given.cast(_said(given.type, type_))
    _require_parsable(said, type_)
    optional = _optional(type_)
    made: AnyArray = said.cast(_wide(optional)).cast(optional)
    made.validate()  # Arrow loses some of a list of nothing but nulls
    _require_held(given, made)
    require_keys_once(made)
    return with_required(made, type_)


def decimals_of(texts: pa.StringArray, type_: pa.DataType) -> AnyArray:
    """Return texts as the decimals that they say; raises `InexactError` where one is none of the type, and Arrow's."""
    _require_parsable(texts, type_)
    made: AnyArray = texts.cast(_wide(type_)).cast(type_)
    _require_within(texts, made)
    return made


def widened(array: AnyArray, type_: pa.DataType) -> AnyArray:
    """Return decimals, also inside of others, as Arrow's safe cast makes them, but for those that it lets go round.

    Raises `InexactError` for a map that has a key twice and for a field without a value that must have one.
    """
    if array.type == type_:
        require_keys_once(array)
        return with_required(array, type_)
    optional = _optional(type_)
    made: AnyArray = _laid_bare(array).cast(_wide(optional)).cast(optional)
    require_keys_once(made)
    return with_required(made, type_)


def _laid_bare(array: AnyArray) -> AnyArray:
    """Return the values alone, as `_bare` has them: without what nulls and slices hide, which need not be held.

    No field is required any more: what a null hides is null itself then.
    """
    if isinstance(array, pa.DictionaryArray):
        return _laid_bare(array.dictionary.take(array.indices))
    if isinstance(array, pa.ExtensionArray):
        return _laid_bare(array.storage)
    mask = array.is_null() if array.null_count else None
    if isinstance(array, pa.StructArray) and array.type.num_fields:
        parts = [_laid_bare(part) for part in array.flatten()]
        names = [field.name for field in array.type.fields]
        fields = [pa.field(name, part.type) for name, part in zip(names, parts, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)
    if isinstance(array, pa.MapArray):
        keys, items = map(_laid_bare, entries(array))
        return pa.MapArray.from_arrays(offsets(lengths(array)), keys, items, mask=mask)  # type: ignore[call-overload, no-any-return]
    if is_list(array.type):
        inside = _laid_bare(array.flatten())  # type: ignore[attr-defined]
        return pa.ListArray.from_arrays(offsets(lengths(array)), inside, mask=mask)  # type: ignore[call-overload, no-any-return]
    bare: AnyArray = array.cast(_bare(array.type))
    return bare


def _said(given: pa.DataType, wanted: pa.DataType) -> pa.DataType:
    """Return the type by which floats become decimals: the shortest text that says each.

    Arrow's own way makes 0.100000000000000006 of 0.1 where a decimal has 18 digits behind the point.
    """
    return _mapped(given, wanted, lambda own, other: pa.string() if _is_said_by_text(own, other) else own)


def _is_said_by_text(given: pa.DataType, wanted: pa.DataType) -> bool:
    return pa.types.is_floating(given) and pa.types.is_decimal(wanted)


def _wide(type_: pa.DataType) -> pa.DataType:
    """Return a type with decimals of 256 bits: of 128 bits Arrow makes any number where a scaled one does not fit."""

    def wide(own: pa.DataType, _: pa.DataType) -> pa.DataType:
        return pa.decimal256(_MOST_DIGITS, own.scale) if isinstance(own, pa.Decimal128Type) else own

    return _mapped(type_, type_, wide)


def _optional(type_: pa.DataType) -> pa.DataType:
    """Return a type that requires nothing inside: Arrow casts no null structure to one whose fields are required."""
    if not requires(type_):
        return type_
    if isinstance(type_, pa.StructType):
        return pa.struct([pa.field(field.name, _optional(field.type)) for field in type_.fields])
    if isinstance(type_, pa.MapType):
        return pa.map_(_optional(type_.key_type), _optional(type_.item_type))
    return pa.list_(_optional(type_.value_type))  # type: ignore[attr-defined]


def _mapped(
    given: pa.DataType, wanted: pa.DataType, leaf: Callable[[pa.DataType, pa.DataType], pa.DataType]
) -> pa.DataType:
    """Return a type with other leaves, each by what it is and what is wanted there."""
    if isinstance(wanted, pa.StructType) and isinstance(given, pa.StructType):
        types = {field.name: field.type for field in wanted.fields}
        return pa.struct([field.with_type(_mapped(field.type, types[field.name], leaf)) for field in given.fields])
    if isinstance(wanted, pa.MapType) and isinstance(given, pa.MapType):
        key = _mapped(given.key_type, wanted.key_type, leaf)
        return pa.map_(key, _mapped(given.item_type, wanted.item_type, leaf))
    if is_list(wanted) and is_list(given):
        return pa.list_(_mapped(given.value_type, wanted.value_type, leaf))  # type: ignore[attr-defined]
    return leaf(given, wanted)


def _bare(type_: pa.DataType) -> pa.DataType:
    """Return the type of the values alone: without dictionaries, extensions, and forms of texts."""
    if isinstance(type_, pa.DictionaryType):
        return _bare(type_.value_type)
    if isinstance(type_, pa.BaseExtensionType):
        return _bare(type_.storage_type)
    if isinstance(type_, pa.StructType):
        return pa.struct([pa.field(each.name, _bare(each.type)) for each in type_.fields])
    if isinstance(type_, pa.MapType):
        return pa.map_(_bare(type_.key_type), _bare(type_.item_type))
    if is_list(type_):
        return pa.list_(_bare(type_.value_type))  # type: ignore[attr-defined]
    if pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return pa.string()
    return type_


def _require_alike(given: pa.DataType, wanted: pa.DataType) -> None:
    """Raise where values of one type are no values of the other, whatever Arrow makes of them."""
    if isinstance(wanted, pa.StructType) and isinstance(given, pa.StructType):
        types = {field.name: field.type for field in given.fields}
        if len(types) != given.num_fields or sorted(types) != sorted(field.name for field in wanted.fields):
            raise InexactError
        for field in wanted.fields:
            _require_alike(types[field.name], field.type)
    elif isinstance(wanted, pa.MapType) and isinstance(given, pa.MapType):
        _require_alike(given.key_type, wanted.key_type)
        _require_alike(given.item_type, wanted.item_type)
    elif is_list(wanted) and is_list(given):
        _require_alike(given.value_type, wanted.value_type)  # type: ignore[attr-defined]
    elif not (given == wanted or pa.types.is_null(given) or any(a(given) and b(wanted) for a, b in _ALIKE)):
        raise InexactError
    elif pa.types.is_decimal(given) and not 0 <= given.scale <= min(given.precision, _MOST_SCALE):
        raise InexactError  # Arrow has no power of ten for it in each type, and makes nothing, 0 or any number of it
    elif isinstance(given, pa.TimestampType) and isinstance(wanted, pa.TimestampType) and given.tz and not wanted.tz:
        raise InexactError  # whose clock is meant?


def _require_parsable(said: AnyArray, type_: pa.DataType) -> None:
    """Raise for a text that Arrow must not be asked to read as a number."""
    if isinstance(type_, pa.StructType) and isinstance(said, pa.StructArray):
        for name, own in zip(said.type.names, said.flatten(), strict=True):
            _require_parsable(own, type_.field(name).type)
    elif isinstance(type_, pa.MapType) and isinstance(said, pa.MapArray):
        for own, wanted in zip(entries(said), (type_.key_type, type_.item_type), strict=True):
            _require_parsable(own, wanted)
    elif is_list(type_) and is_list(said.type):
        _require_parsable(said.flatten(), type_.value_type)  # type: ignore[attr-defined]
    elif _is_text(said.type) and any(is_kind(type_) and _matches(said, pattern) for is_kind, pattern in _UNREADABLE):
        raise InexactError


def _matches(texts: AnyArray, pattern: str) -> bool:
    return pc.any(pc.match_substring_regex(texts.cast(pa.string()), pattern)).as_py() is True


def _require_held(given: AnyArray, made: AnyArray) -> None:
    """Raise where a value has become another one."""
    if isinstance(made, pa.StructArray) and isinstance(given, pa.StructArray):
        before = dict(zip(given.type.names, given.flatten(), strict=True))
        for name, after in zip(made.type.names, made.flatten(), strict=True):
            _require_held(before[name], after)
    elif isinstance(made, pa.MapArray) and isinstance(given, pa.MapArray):
        for own, after in zip(entries(given), entries(made), strict=True):
            _require_held(own, after)
    elif is_list(made.type) and is_list(given.type):
        _require_held(given.flatten(), made.flatten())  # type: ignore[attr-defined]
    elif pa.types.is_floating(made.type):
        _require_near(given, made)
    elif pa.types.is_decimal(made.type):
        _require_within(given, made)  # a float came as a text, of which Arrow drops no digit
    elif pa.types.is_temporal(given.type) and (pa.types.is_date(made.type) or _is_text(made.type)):
        _require_equal(given, made.cast(given.type))


def _require_within(given: AnyArray, made: AnyArray) -> None:
    """Raise for a number, or a text that says one, which is too long or too great for Arrow to hold it to the type.

    One of more digits than 256 bits have goes round there and comes out as any number. What is greater than all
    decimals of 38 digits is so by enough for a float to tell.
    """
    type_ = made.type
    assert isinstance(type_, pa.Decimal128Type)
    if not (_is_text(given.type) or pa.types.is_decimal256(given.type)):
        return
    if _is_text(given.type):
        texts = given.cast(pa.string())
        if pc.any(pc.match_substring_regex(texts, _TOO_LONG)).as_py():
            raise InexactError
        given = pc.replace_substring_regex(texts, r"^\+", "")  # no sign of floats
    numbers = given.cast(pa.float64(), safe=False)
    if pc.any(pc.greater(pc.abs(numbers), pa.scalar(_GREATEST_SCALED * 10.0**-type_.scale))).as_py():
        raise InexactError


def _require_equal(given: AnyArray, back: AnyArray) -> None:
    if pc.all(pc.equal(back, given)).as_py() is False:
        raise InexactError


def _require_near(given: AnyArray, made: AnyArray) -> None:
    """Raise where a number became infinite, or 0 without being it; a float rounds any other."""
    if pa.types.is_null(given.type):
        return
    if pa.types.is_string(given.type):
        texts = given.cast(pa.string())
        is_infinite = pc.match_substring(texts, "inf", ignore_case=True)
        is_zero = pc.invert(pc.match_substring_regex(texts, _NOT_ZERO))
    else:
        numbers = given.cast(pa.float64(), safe=False)
        is_infinite, is_zero = pc.is_inf(numbers), pc.equal(numbers, pa.scalar(0.0))
    overflown = pc.and_(pc.is_inf(made), pc.invert(is_infinite))
    vanished = pc.and_(pc.equal(made, pa.scalar(0.0, made.type)), pc.invert(is_zero))
    if pc.any(pc.or_(overflown, vanished), min_count=0).as_py():
        raise InexactError


def _is_number(type_: pa.DataType) -> bool:
    return pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_)


def _is_said(type_: pa.DataType) -> bool:
    """Tell whether a text can say a value of the type."""
    return _is_number(type_) or pa.types.is_boolean(type_) or pa.types.is_date(type_) or pa.types.is_timestamp(type_)


def _is_text(type_: pa.DataType) -> bool:
    return pa.types.is_string(type_) or pa.types.is_large_string(type_)


def _is_bytes(type_: pa.DataType) -> bool:
    return pa.types.is_binary(type_) or pa.types.is_large_binary(type_) or pa.types.is_fixed_size_binary(type_)


def _is_day_or_moment(type_: pa.DataType) -> bool:
    return pa.types.is_date(type_) or pa.types.is_timestamp(type_)


_ALIKE: Final[tuple[tuple[_IS, _IS], ...]] = (
    (_is_number, _is_number),
    (pa.types.is_boolean, pa.types.is_integer),
    (_is_text, _is_text),
    (_is_text, _is_said),
    (_is_said, _is_text),
    (_is_bytes, _is_bytes),
    (_is_text, _is_bytes),
    (_is_bytes, _is_text),
    (_is_day_or_moment, _is_day_or_moment),
    (pa.types.is_duration, pa.types.is_duration),
    (pa.types.is_time, pa.types.is_time),
)
"""Of which types values may be given, and for which."""
