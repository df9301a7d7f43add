"""Arrow arrays of one type as another, each value as it is or not at all.

Arrow's own safe cast lets some go: the digits of a double that a decimal has no room for, the time of day of a moment,
a number that is made a truth, a field of a structure that has another name.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from trident.base.arrays import AnyArray
from trident.base.exact import InexactError


def converted(array: AnyArray, type_: pa.DataType) -> AnyArray:
    """Return the values as an array of the type; raises `InexactError` where one would be another, and Arrow's errors.

    A float may be rounded to the precision of a float column, as arithmetic does, and a text is read as what it says.
    """
    if array.type == type_:
        return array
    if isinstance(array, pa.DictionaryArray):
        return converted(array.dictionary_decode(), type_)
    _require_alike(array.type, type_)
    made: AnyArray = array.cast(type_)
    _require_held(array, made)
    return made


def _require_alike(given: pa.DataType, wanted: pa.DataType) -> None:
    """Raise where no value of one type is a value of the other, whatever Arrow makes of it."""
    if pa.types.is_null(given):
        return
    if pa.types.is_boolean(wanted) and not (pa.types.is_boolean(given) or _is_text(given)):
        raise InexactError
    if isinstance(wanted, pa.StructType) and isinstance(given, pa.StructType):
        types = {field.name: field.type for field in given.fields}
        if len(types) != given.num_fields or sorted(types) != sorted(field.name for field in wanted.fields):
            raise InexactError
        for field in wanted.fields:
            _require_alike(types[field.name], field.type)
    elif isinstance(wanted, pa.MapType) and isinstance(given, pa.MapType):
        _require_alike(given.key_type, wanted.key_type)
        _require_alike(given.item_type, wanted.item_type)
    elif _is_list(wanted) and _is_list(given):
        _require_alike(given.value_type, wanted.value_type)  # type: ignore[attr-defined]


def _require_held(given: AnyArray, made: AnyArray) -> None:
    """Raise where a value has become another one."""
    if isinstance(made, pa.StructArray) and isinstance(given, pa.StructArray):
        before = dict(zip(given.type.names, given.flatten(), strict=True))
        for name, after in zip(made.type.names, made.flatten(), strict=True):
            _require_held(before[name], after)
    elif isinstance(made, pa.MapArray) and isinstance(given, pa.MapArray):
        for own, after in zip(_inside(given), _inside(made), strict=True):
            _require_held(own, after)
    elif _is_list(made.type) and _is_list(given.type):
        _require_held(given.flatten(), made.flatten())  # type: ignore[attr-defined]
    elif pa.types.is_floating(made.type):
        _require_finite(given, made)
    elif _loses(given.type, made.type) and pc.all(pc.equal(made.cast(given.type), given)).as_py() is False:
        raise InexactError


def _inside(maps: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return the keys and the values of all maps of a column."""
    assert isinstance(maps, pa.MapArray)
    first, stop = maps.offsets[0].as_py(), maps.offsets[-1].as_py()
    return maps.keys.slice(first, stop - first), maps.items.slice(first, stop - first)


def _loses(given: pa.DataType, made: pa.DataType) -> bool:
    """Tell whether Arrow's cast between the two leaves out what does not fit, without a word."""
    if pa.types.is_decimal(made):
        return pa.types.is_floating(given)
    return (pa.types.is_date(made) or pa.types.is_time(made)) and (
        pa.types.is_timestamp(given) or pa.types.is_time(given) or pa.types.is_date(given)
    )


def _require_finite(given: AnyArray, made: AnyArray) -> None:
    """Raise where a number is too large for the float that it has become."""
    if pc.is_inf(made).true_count != pc.is_inf(given.cast(pa.float64(), safe=False)).true_count:
        raise InexactError


def _is_text(type_: pa.DataType) -> bool:
    return pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_)


def _is_list(type_: pa.DataType) -> bool:
    return pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_)
