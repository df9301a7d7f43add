"""Operations on several streams of one batch: what all of them need."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructField, StructType

from trident.base.errors import ConfigurationError
from trident.base.order import ORDER, PLACE_BYTES, level_of
from trident.operations.base import HIDDEN, check_comparable, check_new_names, field, order


def fields_without_order(frame: DataFrame) -> list[str]:
    """Return the names of a frame's fields."""
    return [name for name in frame.columns if name not in HIDDEN]


def order_or_none(frame: DataFrame) -> Column:
    """Return the order column, null where rows have none."""
    return order() if ORDER in frame.columns else F.lit(None).cast("binary")


def behind_the_record(orders: Column, number: int) -> Column:
    """Return orders with a level right behind the record that a row is of, before those of what was made of it.

    So rows that come by several inputs are in the order of these, whatever was made of the record on the way.
    """
    record = F.instr(F.decode(orders, "ISO-8859-1"), "\0") + PLACE_BYTES
    made_of_it = F.substring(orders, record + 1, F.octet_length(orders))
    return F.concat(F.substring(orders, F.lit(1), record), F.lit(level_of(number)), made_of_it)


def named(schema: StructType, names: Sequence[str], verb: str) -> StructType:
    """Return the fields under other names, in their order; refuses another number of names, and names that can't be."""
    if len(names) != len(schema):
        raise ConfigurationError(
            f"{verb}: {len(names)} names for {len(schema)} fields ({', '.join(schema.names)}); give one for each"
        )
    check_new_names(names, verb)
    return StructType([StructField(name, old.dataType) for name, old in zip(names, schema.fields, strict=True)])


def same_type(left: DataType, right: DataType) -> bool:
    """Tell whether two fields hold the same kind of values, whatever may be null."""
    return left.simpleString() == right.simpleString()


def check_same_key(asked_by: str, mine: StructField, whose: str, first: StructField, whose_first: str) -> None:
    """Refuse two fields whose values are compared as keys and could not be: of other types, or maps.

    `whose` and `whose_first` say behind a field's name where it is.
    """
    of, of_first = (f" {each}" if each else "" for each in (whose, whose_first))
    for given in (first, mine):
        check_comparable(given, asked_by)
        if "map<" in given.dataType.simpleString():
            raise ConfigurationError(f"{asked_by}: the field {given.name!r} holds maps, which no store tells apart")
    if not same_type(mine.dataType, first.dataType):
        raise ConfigurationError(
            f"{asked_by}: the field {mine.name!r}{of} is {mine.dataType.simpleString()}, the field {first.name!r}"
            f"{of_first} {first.dataType.simpleString()}; cast one of them, so that equal values are equal"
        )


def aliased(frame: DataFrame, prefix: str) -> DataFrame:
    """Return the frame with a prefix before each name, so that no two frames share one."""
    return frame.select(*(field(name).alias(prefix + name) for name in frame.columns))
