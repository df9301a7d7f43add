"""A join with a table that does not change: read once, the same for every batch of a run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from trident.base.errors import ConfigurationError
from trident.base.order import ORDER, level_of
from trident.operations.accounting import Account, done_instead, is_audited
from trident.operations.base import HIDDEN, BatchContext, Fields, control, field, guarded, hidden, order
from trident.operations.by_values import compared_by
from trident.operations.several import aliased, check_same_key

_MATCHED = "__trident_matched"
_COUNT = "__trident_rows"
_LEVEL = "__trident_level"


class StaticJoin:
    """Adds the fields of a table's rows to the records with equal keys: in each combination, as joins do.

    `keeps` says that a record without a row stays, its new fields null; `is_unique` that no key has several rows, else
    the table comes `with_levels`, in whose order a record's rows are. Keys are equal as in `group_by`.
    """

    verb = "join_static"
    makes_groups = False
    runs_user_code = False

    def __init__(self, table: DataFrame, on: tuple[str, ...], *, keeps: bool, is_unique: bool) -> None:
        self._on = on
        self._keeps = keeps
        kept = Account.KEEPS if keeps else Account.SELECTS
        self.account = kept if is_unique else None
        self._is_unique = is_unique
        fields = table.drop(_LEVEL)
        self._fields = Fields(fields.schema)
        self._added = [name for name in fields.columns if name not in on]
        marked = aliased(table, "static.").withColumn(_MATCHED, F.lit(True))
        self._table = F.broadcast(marked)

    def check(self, fields: Fields) -> None:
        """The keys must be on both sides, of one type; what is added must be new."""
        for name in self._on:
            fields.require(name, self.verb)
            self._fields.require(name, f"{self.verb}, of the table,")
            check_same_key(self.verb, fields.schema[name], "in the stream", self._fields.schema[name], "in the table")
        fields.refuse(self._added, self.verb)

    def told(self) -> str:
        """Return the keys, and whether records without one stay."""
        return f"with a table on {', '.join(self._on)}, {'left' if self._keeps else 'inner'}"

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        # a control row has no partner, so it comes out of a left join once, as it went in
        equal = [control().isNull(), *(field(name).eqNullSafe(field(f"static.{name}")) for name in self._on)]
        joined = frame.join(self._table, reduce(Column.__and__, equal), "left")
        if ORDER in frame.columns and not self._is_unique:
            # a record without a row of the table is one row
            level = F.coalesce(field(f"static.{_LEVEL}"), F.lit(level_of(0)))
            joined = joined.withColumn(ORDER, guarded(F.concat(order(), level)))
        if not self._keeps:
            has_row = control().isNotNull() | field(_MATCHED)
            joined = done_instead(joined, has_row) if is_audited(frame) else joined.filter(has_row)
        own = [name for name in frame.columns if name not in HIDDEN]
        added = [field(f"static.{name}").alias(name) for name in self._added]
        return joined.select(*(field(name) for name in own), *added, *hidden(frame))


def with_levels(table: DataFrame, on: Sequence[str]) -> DataFrame:
    """Return the table with what the order of a record's rows has of it: the number of a row among those of its key.

    They are numbered in the order of their values, which every process gives them, however Spark has read the table.
    Rows that are alike in all of these are alike in what they add to a record, too.
    """
    by = compared_by([each for each in table.schema.fields if each.name not in on])
    rows = Window.partitionBy(*(field(name) for name in on)).orderBy(*by, F.lit(0))
    number = F.row_number().over(rows) - 1
    return table.withColumn(_LEVEL, F.unhex(F.lpad(F.hex(number), 8, "0")))


def check_unique(table: DataFrame, on: Sequence[str]) -> None:
    """Refuse a table of which several rows have one key, by the equality of keys; it is read once for that."""
    counted = table.groupBy(*(field(name) for name in on)).agg(F.count(F.lit(1)).alias(_COUNT))
    repeated = counted.filter(field(_COUNT) > 1).count()
    if repeated:
        raise ConfigurationError(
            f"join_static: {repeated:,} keys ({', '.join(on)}) have several rows in the table, so a record would come "
            "out once for each of them, and be counted as often; make the keys unique (dropDuplicates, or group_by), "
            "or say unique=False where every combination is meant. Nothing was started or changed"
        )
