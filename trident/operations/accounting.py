"""How operations account for their records while a topology is audited: what each is done with, and what it makes.

A frame that is audited has the column `ID`. A step that has no such frame does what it always does, so that a
topology without an audit pays nothing.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trident.base.arrays import AnyArray
from trident.base.audit import DONE, ID, TURN, Ids
from trident.base.control import CONTROL
from trident.operations.base import HIDDEN, control, field, guarded

SUMS: Final = tuple(f"__trident_{part}" for part in ("count", "low", "high", "xor"))
"""The columns in which a group says which records it is made of, as a `Digest` does."""
_UNHASHED: Final = ("map<", "variant")
"""What types are called that Spark hashes nothing of."""
_LOW: Final = 0xFFFFFFFF
_HALF: Final = 32
_BITS: Final = 64


class Account(StrEnum):
    """What must come to the same on both sides of a step."""

    KEEPS = "keeps"
    """It passed on each record that it was given."""
    SELECTS = "selects"
    """It passed on each record that it was given, or says that it is done with it."""
    MAKES = "makes"
    """It is done with each record that it was given, and passed on as many rows as it says that it made of each."""
    GATHERS = "gathers"
    """Its groups have each record that it was given once."""


@runtime_checkable
class Accounted(Protocol):
    """An operation that an audit can hold to account; of one that says nothing its rows are counted as new ones."""

    @property
    def account(self) -> Account | None:
        """Which rule it keeps; None for one that says nothing, as it was made."""


def is_audited(frame: DataFrame) -> bool:
    """Whether the frame's records have ids."""
    return ID in frame.columns


def done_instead(frame: DataFrame, kept: Column) -> DataFrame:
    """Return the frame with a mark on each row that is not kept, in the place of a filter."""
    is_kept = F.coalesce(kept, F.lit(False))
    mark = F.when(is_kept, control()).otherwise(F.lit(f"{DONE}0"))
    return frame.withColumn(CONTROL, mark)


def made_id(position: Column) -> Column:
    """Return the id of the row with this number, from 1, of those that are made of a record; see `made_ids`."""
    parent = field(ID)
    turned = F.shiftleft(parent, TURN).bitwiseOR(F.shiftrightunsigned(parent, _BITS - TURN))
    return turned.bitwiseXOR(position.cast("bigint"))


def summed(frame: DataFrame) -> list[Column]:
    """Return what a grouping adds up of its records' ids; nothing where they have none."""
    if not is_audited(frame):
        return []
    low = F.sum(field(ID).bitwiseAND(F.lit(_LOW)))
    high = F.sum(F.shiftrightunsigned(field(ID), _HALF))
    found = (F.count(field(ID)), low, high, F.bit_xor(field(ID)))
    return [column.alias(name) for name, column in zip(SUMS, found, strict=True)]


def sums_of(frame: DataFrame) -> list[Column]:
    """Return the columns of what a grouping has added up, where it has."""
    return [field(name) for name in SUMS if name in frame.columns]


def with_new_ids(frame: DataFrame) -> DataFrame:
    """Return rows of no record that was read with ids of their own, made of what can be hashed of their fields.

    Rows that are alike have the same one: how often it is there counts too.
    """
    names = [
        each.name
        for each in frame.schema.fields
        if each.name not in (*HIDDEN, *SUMS) and not any(kind in each.dataType.simpleString() for kind in _UNHASHED)
    ]
    # a hash of nothing is none
    made = F.xxhash64(F.lit(0), *map(field, names))
    return frame.withColumn(ID, guarded(made) if CONTROL in frame.columns else made)


def marks(ids: Ids, counts: npt.NDArray[np.int64], schema: pa.Schema) -> pa.RecordBatch:
    """Return the rows by which a task says that it is done with records, and how many rows it made of each."""
    texts = [f"{DONE}{count}" for count in counts.tolist()]
    given: dict[str, AnyArray] = {CONTROL: pa.array(texts, pa.string()), ID: id_column(ids)}
    columns = [given[each.name] if each.name in given else pa.nulls(len(ids), each.type) for each in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def id_column(ids: Ids) -> AnyArray:
    """Return ids as the column holds them."""
    return pa.array(ids.view(np.int64), pa.int64())


def as_ids(column: AnyArray) -> Ids:
    """Return an ID column's values, none of which is null."""
    return column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False).view(np.uint64)
