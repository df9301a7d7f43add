"""A join with a table that does not change: read once, the same for every batch of a run."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from trident.base.errors import ConfigurationError
from trident.operations.base import BatchContext, Fields, check_comparable, control, field, hidden
from trident.operations.several import aliased, same_type

_MATCHED = "__trident_matched"


class StaticJoin:
    """Adds the fields of a table's rows to the records with equal keys: in each combination, as joins do.

    `keeps` says that a record without a row stays, its new fields null. Keys are equal as in `group_by`.
    """

    verb = "join_static"
    makes_groups = False
    runs_user_code = False

    def __init__(self, table: DataFrame, on: tuple[str, ...], *, keeps: bool) -> None:
        self._on = on
        self._keeps = keeps
        self._fields = Fields(table.schema)
        self._added = [name for name in table.columns if name not in on]
        marked = aliased(table, "static.").withColumn(_MATCHED, F.lit(True))
        self._table = F.broadcast(marked)

    def check(self, fields: Fields) -> None:
        """The keys must be on both sides, of one type; what is added must be new."""
        for name in self._on:
            fields.require(name, self.verb)
            self._fields.require(name, f"{self.verb}, of the table,")
            check_comparable(fields.schema[name], self.verb)
            mine, theirs = fields.schema[name].dataType, self._fields.schema[name].dataType
            if not same_type(mine, theirs):
                raise ConfigurationError(
                    f"{self.verb}: the field {name!r} is {mine.simpleString()} in the stream and "
                    f"{theirs.simpleString()} in the table; cast one of them, so that equal keys are equal"
                )
        fields.refuse(self._added, self.verb)

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        # a control row has no partner, so it comes out of a left join once, as it went in
        equal = [control().isNull(), *(field(name).eqNullSafe(field(f"static.{name}")) for name in self._on)]
        joined = frame.join(self._table, reduce(Column.__and__, equal), "left")
        if not self._keeps:
            joined = joined.filter(control().isNotNull() | field(_MATCHED))
        own = [name for name in frame.columns if not name.startswith("__trident")]
        added = [field(f"static.{name}").alias(name) for name in self._added]
        return joined.select(*(field(name) for name in own), *added, *hidden(frame))
