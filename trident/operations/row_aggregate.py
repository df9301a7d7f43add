"""Aggregation that is more than columns of Spark: rows that a user's objects make, groups that are there when empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from trident.base.control import CONTROL
from trident.base.order import ORDER
from trident.operations.aggregate import Aggregate, check_keys
from trident.operations.aggregators.base import Aggregation, StoredColumn
from trident.operations.aggregators.by_row import ByRow
from trident.operations.aggregators.counting import Count
from trident.operations.base import BUILD_CONTEXT, BatchContext, Fields, check_new_names, field, nullable, with_one_zero
from trident.operations.going_through import ROWS, GoThrough, Maker
from trident.operations.of_nothing import OfNothing
from trident.operations.partitioning import source_partition
from trident.operations.roots import roots_of, roots_of_all
from trident.operations.several import order_or_none
from trident.operations.tasks import in_python
from trident.spouts.arrow_types import arrow_schema

_OF = "__trident_of"


@dataclass(frozen=True, slots=True)
class _Given:
    by_row: ByRow
    made: StructType
    said: str
    """How errors call it."""
    name: str = ""
    """Of its one result, if it was given by name."""

    def told(self) -> str:
        """Return it as a user writes it."""
        named = f"{self.name} = " if self.name else ""
        return f"{named}{type(self.by_row).__name__}({', '.join(self.by_row.fields)})"


class RowAggregate(OfNothing):
    """See `RecordOperation`: the keys of a group, then what each aggregator makes of its records.

    With keys there are the groups that have records. Without keys there is one for each logical partition, also for one
    that has no records: there a count is 0, a user's aggregator says itself what it makes of nothing, all else is null.
    Where aggregators make several rows, or none, a group has a row for each combination of theirs.
    """

    wants_order = True

    def __init__(
        self,
        verb: str,
        keys: tuple[str, ...],
        makers: Sequence[ByRow],
        aggregators: Mapping[str, Aggregation | ByRow],
        partitions: int = 1,
    ) -> None:
        self.verb = verb
        self._keys = keys
        self._partitions = partitions
        plain = {name: each for name, each in aggregators.items() if not isinstance(each, ByRow)}
        self.plain = Aggregate(keys, plain) if plain or not (makers or aggregators) else None
        """What of it is columns of Spark."""
        by_place = [_Given(each, each.made_fields(""), type(each).__name__) for each in makers]
        by_name = [
            _Given(each, each.made_fields(name), f"{type(each).__name__} for {name!r}", name)
            for name, each in aggregators.items()
            if isinstance(each, ByRow)
        ]
        self._makers = (*by_place, *by_name)
        for given in self._makers:
            given.by_row.check_made(given.said)
        self._made = [made for each in self._makers for made in each.made.fields]
        self._results = [*(name for each in by_place for name in each.made.names), *aggregators]
        check_new_names((*keys, *self._kept, *(each.name for each in self._made)), verb)
        self._wanted = tuple(dict.fromkeys(name for each in self._makers for name in each.by_row.fields))
        self.runs_user_code = bool(self._makers) or (self.plain is not None and self.plain.runs_user_code)

    def told(self) -> str:
        """Return the keys, and the aggregators with what they are given."""
        made = [each.told() for each in self._makers]
        plain = [] if self.plain is None else [self.plain.told_results()]
        by = f"by {', '.join(self._keys)}: " if self._keys else ""
        return by + ", ".join([*made, *plain])

    @property
    def makes_of_nothing(self) -> bool:
        """Without keys each partition has its rows in every batch."""
        return not self._keys

    @property
    def _kept(self) -> Mapping[str, StoredColumn]:
        return {} if self.plain is None else self.plain.kept

    def result(self, schemas: Sequence[StructType]) -> StructType:
        """Return the keys, and the fields of the aggregators in the order in which they were given."""
        (schema,) = schemas
        check_keys(self._keys, Fields(schema))
        for each in self._makers:
            each.by_row.check(each.said, Fields(schema))
        if self.plain is not None:
            self.plain.check(Fields(schema))
        return self.lower([SparkSession.active().createDataFrame([], schema)], BUILD_CONTEXT).schema

    def lower(self, frames: Sequence[DataFrame], batch: BatchContext) -> DataFrame:
        """See `RecordOperation.lower`."""
        (frame,) = frames
        groups = self._grouped(frame).withColumn(CONTROL, F.lit(None).cast("string"))
        folded = (groups if self.plain is None else self.plain.folded(groups, batch)).drop(CONTROL)
        made = self._gone_through(folded, batch)
        return made.select(*(field(key) for key in self._keys), *map(self._shown, self._results), *roots_of(made))

    def _grouped(self, frame: DataFrame) -> DataFrame:
        """Return a row for each group: its keys, what is kept of it, and its records if somebody wants them."""
        made = {name: column.expression for name, column in self._kept.items()}
        if self._makers:
            record = F.struct(order_or_none(frame).alias(ORDER), *map(field, self._wanted))
            made[ROWS] = F.collect_list(record)
        columns = [*(column.alias(name) for name, column in made.items()), *roots_of_all(frame)]
        # a combiner's own column asks whether a row is a record
        of_records = with_one_zero(frame).withColumn(CONTROL, F.lit(None).cast("string"))
        if self._keys:
            return of_records.groupBy(*map(field, self._keys)).agg(*columns)
        if self._partitions == 1:
            # Spark makes its one row of nothing too, but with empty lists and zeros in the place of nulls
            has_records = F.count(F.lit(1)) > 0
            given = (F.when(has_records, column).alias(name) for name, column in made.items())
            return of_records.agg(*given, *roots_of_all(frame))
        every = frame.sparkSession.range(self._partitions).select(F.col("id").cast("int").alias("every"))
        grouped = of_records.groupBy(source_partition(frame, self._partitions).alias(_OF)).agg(*columns)
        return every.join(grouped, field("every") == field(_OF), "left").drop("every", _OF)

    def _gone_through(self, groups: DataFrame, batch: BatchContext) -> DataFrame:
        """Return the groups' rows as the users' objects make them."""
        if not self._makers:
            return groups
        kept = [each for each in groups.schema.fields if each.name != ROWS]
        schema = nullable([*kept, *self._made])
        makers = tuple(map(self._maker, self._makers))
        work = GoThrough(makers, self._wanted, arrow_schema(schema), self.verb)
        return in_python(groups, work, schema, batch, by_group=True)

    def _maker(self, given: _Given) -> Maker:
        places = tuple(self._wanted.index(name) for name in given.by_row.fields)
        types = tuple(each.dataType.simpleString() for each in given.made.fields)
        return Maker(given.by_row, places, tuple(given.made.names), types)

    def _shown(self, name: str) -> Column:
        if self.plain is None or name not in self.plain.results:
            return field(name)
        stored, aggregator = self.plain.results[name]
        shown = aggregator.shown(*map(field, stored))
        return (F.coalesce(shown, F.lit(0)) if isinstance(aggregator, Count) else shown).alias(name)
