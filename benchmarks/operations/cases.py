"""What is compared: an operation of a stream, and what a user would write for it on a DataFrame without txids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from trident import Count, Max, Min, Stream, Sum
from trident.operations.arrow import AnyArray

SCHEMA: Final = "account string, amount bigint, note string"
_WORDS: Final = "word string"


COLUMNS: Final = 0.9
"""The share of the plain one's rate that is wanted of an operation that is columns of Spark."""
ARROW: Final = 0.9
"""The same of a Python function over Arrow batches, beside `mapInArrow`."""
GROUPS: Final = 0.8
"""The same of groupings and joins."""


@dataclass(frozen=True, slots=True)
class Case:
    """One operation, written twice; both must return the same rows, in any order."""

    name: str
    goal: float
    ours: Callable[[Stream], Stream]
    plain: Callable[[DataFrame], DataFrame]


def _positive(batch: pa.RecordBatch) -> pa.BooleanArray:
    return pc.greater(batch.column("amount"), pa.scalar(0))


def _doubled(batch: pa.RecordBatch) -> list[AnyArray]:
    return [pc.multiply(batch.column("amount"), pa.scalar(2))]


def _split(batch: pa.RecordBatch) -> pa.Table:
    words = pc.split_pattern(batch.column("note"), " ")
    return pa.table({"word": pc.list_flatten(words)})


def _kept(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.filter(_positive(batch))


def _added(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.append_column("twice", _doubled(batch)[0])


def _replaced(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.RecordBatch.from_arrays(_doubled(batch), ["twice"])


def _expanded(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield from _split(batch).to_batches()


CASES: Final = (
    Case("filter(column)", COLUMNS, lambda s: s.filter(F.col("amount") > 0), lambda f: f.filter("amount > 0")),
    Case(
        "each(column)",
        COLUMNS,
        lambda s: s.each(twice=F.col("amount") * 2),
        lambda f: f.withColumn("twice", F.col("amount") * 2),
    ),
    Case(
        "map(column)",
        COLUMNS,
        lambda s: s.map(twice=F.col("amount") * 2),
        lambda f: f.select((F.col("amount") * 2).alias("twice")),
    ),
    Case(
        "flat_map(column)",
        COLUMNS,
        lambda s: s.flat_map(word=F.split("note", " ")),
        lambda f: f.select(F.explode(F.split("note", " ")).alias("word")),
    ),
    Case("project", COLUMNS, lambda s: s.project("account"), lambda f: f.select("account")),
    Case("filter(function)", ARROW, lambda s: s.filter(_positive), lambda f: f.mapInArrow(_kept, f.schema)),
    Case(
        "each(function)",
        ARROW,
        lambda s: s.each(_doubled, "twice bigint"),
        lambda f: f.mapInArrow(_added, f"{SCHEMA}, twice bigint"),
    ),
    Case(
        "map(function)",
        ARROW,
        lambda s: s.map(_doubled, "twice bigint"),
        lambda f: f.mapInArrow(_replaced, "twice bigint"),
    ),
    Case(
        "flat_map(function)",
        ARROW,
        lambda s: s.flat_map(_split, _WORDS),
        lambda f: f.mapInArrow(_expanded, _WORDS),
    ),
    Case(
        "group_by.aggregate",
        GROUPS,
        lambda s: s.group_by("account").aggregate(n=Count(), total=Sum("amount")),
        lambda f: f.groupBy("account").agg(F.count(F.lit(1)).alias("n"), F.sum("amount").alias("total")),
    ),
    Case(
        "aggregate",
        GROUPS,
        lambda s: s.aggregate(n=Count(), least=Min("amount"), most=Max("amount")),
        lambda f: f.agg(F.count(F.lit(1)).alias("n"), F.min("amount").alias("least"), F.max("amount").alias("most")),
    ),
)
"""One per operation and way of giving it."""
