"""The column of roots: of which messages each row is, while somebody looks after acks; see `base.trees`."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trident.base.trees import POSITION_BITS, ROOTS
from trident.operations.base import field, guarded, order

_POSITION_BYTES: Final = 8


def has_roots(frame: DataFrame) -> bool:
    """Whether the frame's rows say of which messages they are."""
    return ROOTS in frame.columns


def with_roots(frame: DataFrame, stream: int) -> DataFrame:
    """Return a frame as it was read in order, each record with its own root."""
    end = F.hex(F.substring(order(), -_POSITION_BYTES, _POSITION_BYTES))
    root = F.conv(end, 16, 10).cast("bigint").bitwiseOR(F.lit(stream << POSITION_BITS).cast("bigint"))
    return frame.withColumn(ROOTS, guarded(F.array(root)))


def roots_of_all(frame: DataFrame) -> list[Column]:
    """Return what a grouping gathers: the roots of all of its records; nothing where they have none."""
    # rows of streams that want no acks have none
    return [F.array_distinct(F.flatten(F.collect_list(field(ROOTS)))).alias(ROOTS)] if has_roots(frame) else []


def roots_of(frame: DataFrame) -> list[Column]:
    """Return the column of roots, where there is one."""
    return [field(ROOTS)] if has_roots(frame) else []


def roots_or_none(frame: DataFrame) -> Column:
    """Return the column of roots, empty where rows have none."""
    return field(ROOTS) if has_roots(frame) else F.lit(None).cast("array<bigint>").alias(ROOTS)
