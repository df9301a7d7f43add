"""An order of rows by their values alone, in which two rows are only equal that nobody can tell apart.

Spark's own order is none of maps, and has ties that can be seen: zeros of both signs, and texts that a collation takes
for equal. Which of two such rows came first would be up to the layout of tasks.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, MapType, StructField, StructType

from trident.operations.base import field

_BY_TEXT = ("variant", "interval")
"""The types that Spark does not compare; intervals of days or of months have other names, and an order."""


def compared_by(fields: Sequence[StructField]) -> list[Column]:
    """Return what to sort rows by, which has a value for each of these fields."""
    return [_form(field(each.name), each.dataType) for each in fields]


def is_plain(given: StructField) -> bool:
    """Tell whether Spark's own order of a field is one by its values."""
    return _is_plain(given.dataType)


def _is_plain(type_: DataType) -> bool:
    match type_:
        case ArrayType():
            return _is_plain(type_.elementType)
        case StructType():
            return all(_is_plain(each.dataType) for each in type_.fields)
        case FloatType() | DoubleType() | MapType():
            return False
        case _:
            said = type_.simpleString().lower()
            return " collate " not in said and said not in _BY_TEXT


def _form(value: Column, type_: DataType) -> Column:
    """Return a value in a form that Spark orders without visible ties; nulls come first, as they do in its own."""
    if _is_plain(type_):
        return value
    match type_:
        case ArrayType():
            return F.transform(value, lambda each: _form(each, type_.elementType))
        case StructType():
            named = value.cast(
                _numbered(type_)
            )  # names may differ in their case alone, and Spark looks them up without
            parts = [_form(named.getField(str(place)), each.dataType) for place, each in enumerate(type_.fields)]
            return F.when(value.isNotNull(), F.struct(*parts))
        case MapType():
            # a map is the same whatever the order in which its entries are held
            entries = F.transform(F.map_entries(value), lambda entry: _entry(entry, type_))
            return F.array_sort(entries)
        case FloatType() | DoubleType():
            return F.struct(value.alias("value"), value.cast("string").alias("text"))  # whose sign zeros have
        case _:
            return value.cast("string").cast("binary")


def _numbered(type_: StructType) -> StructType:
    """Return the type with its fields' places as their names."""
    return StructType([StructField(str(place), each.dataType) for place, each in enumerate(type_.fields)])


def _entry(entry: Column, type_: MapType) -> Column:
    key, value = entry.getField("key"), entry.getField("value")
    return F.struct(_form(key, type_.keyType).alias("key"), _form(value, type_.valueType).alias("value"))
