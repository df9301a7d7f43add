"""What is compared: an operation of a stream, and what a user would write for it on a DataFrame without txids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from trident import Aggregator, Count, FirstN, Max, Min, Reducer, StdDev, Stream, Sum
from trident.operations.arrow import AnyArray

SCHEMA: Final = "account string, amount bigint, note string"
_WORDS: Final = "word string"
_TOTALS: Final = "account string, total bigint"
_EXTREMES: Final = "account string, least bigint, most bigint"


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


class Total(Reducer[int]):
    """The sum, record by record."""

    result_type = "bigint"

    def init(self) -> int:
        return 0

    def reduce(self, reduced: int, *values: object) -> int:
        (amount,) = values
        assert isinstance(amount, int)
        return reduced + amount


class Extremes(Aggregator[list[int]]):
    """The least and the greatest amount, as one row."""

    schema = "least bigint, most bigint"

    def init(self) -> list[int]:
        return []

    def aggregate(self, kept: list[int], *values: object) -> None:
        kept += values  # type: ignore[arg-type]  # amounts

    def complete(self, kept: list[int]) -> object:
        return min(kept), max(kept)


def _amounts(batch: pa.RecordBatch) -> list[list[int]]:
    return batch.column("all").to_pylist()  # type: ignore[return-value]  # a list for each group


def _totals(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        totals = []
        for amounts in _amounts(batch):
            total = 0
            for amount in amounts:
                total += amount
            totals.append(total)
        yield pa.RecordBatch.from_arrays([batch.column("account"), pa.array(totals, pa.int64())], ["account", "total"])


def _extremes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        pairs = [(min(amounts), max(amounts)) for amounts in _amounts(batch)]
        bounds = [pa.array([pair[place] for pair in pairs], pa.int64()) for place in (0, 1)]
        yield pa.RecordBatch.from_arrays([batch.column("account"), *bounds], ["account", "least", "most"])


def _as_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What `map_row` is beside: the same Python per row, by hand."""
    for batch in batches:
        made = [_one_row(row)[0] for row in batch.to_pylist()]
        yield pa.RecordBatch.from_arrays([pa.array(made, pa.int64())], ["twice"])


def _one_row(row: Mapping[str, object]) -> tuple[int]:
    amount = row["amount"]
    assert isinstance(amount, int)
    return (amount * 2,)


def _names(frame: DataFrame) -> DataFrame:
    """A row for each of some accounts."""
    return frame.sparkSession.range(100).select(
        F.concat(F.lit("account-"), F.col("id").cast("string")).alias("account"), F.col("id").alias("number")
    )


def _with_counts(stream: Stream) -> Stream:
    return stream.project("account", "amount").join(stream.group_by("account").aggregate(n=Count()), on="account")


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
    Case(
        "aggregate(StdDev)",
        GROUPS,
        lambda s: (
            s.group_by("account").aggregate(spread=StdDev("amount")).each(near=F.round("spread", 3)).project("near")
        ),
        lambda f: (
            f.groupBy("account").agg(F.stddev("amount").alias("spread")).select(F.round("spread", 3).alias("near"))
        ),
    ),
    Case(
        "aggregate(Reducer)",
        GROUPS,
        lambda s: s.group_by("account").aggregate(total=Total("amount")),
        lambda f: f.groupBy("account").agg(F.collect_list("amount").alias("all")).mapInArrow(_totals, _TOTALS),
    ),
    Case(
        "aggregate(Aggregator)",
        GROUPS,
        lambda s: s.group_by("account").aggregate(Extremes("amount")),
        lambda f: f.groupBy("account").agg(F.collect_list("amount").alias("all")).mapInArrow(_extremes, _EXTREMES),
    ),
    Case(
        "FirstN",
        GROUPS,
        lambda s: s.project("amount").apply_assembly(FirstN(100, by="amount")),
        lambda f: f.select("amount").orderBy("amount").limit(100),
    ),
    Case(
        "rename",
        COLUMNS,
        lambda s: s.rename(account="payer"),
        lambda f: f.withColumnRenamed("account", "payer"),
    ),
    Case(
        "map_row(function)",
        ARROW,
        lambda s: s.map_row(_one_row, "twice bigint"),
        lambda f: f.mapInArrow(_as_rows, "twice bigint"),
    ),
    Case(
        "merge",
        COLUMNS,
        lambda s: s.merge(s.filter(F.col("amount") > 0)),
        lambda f: f.union(f.filter("amount > 0")),
    ),
    Case(
        "join",
        GROUPS,
        _with_counts,
        lambda f: f.select("account", "amount").join(f.groupBy("account").agg(F.count(F.lit(1)).alias("n")), "account"),
    ),
    Case(
        "join_static",
        GROUPS,
        lambda s: s.join_static(_names(s._sample), on="account"),
        lambda f: f.join(F.broadcast(_names(f)), "account").select(*f.columns, "number"),
    ),
    Case(
        "parallelism",
        COLUMNS,
        lambda s: s.parallelism(3).each(twice=F.col("amount") * 2),
        lambda f: f.repartition(3).withColumn("twice", F.col("amount") * 2),
    ),
)
"""One per operation and way of giving it."""
