"""The first records of a batch or of each of its groups, as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from trident.base.order import ORDER
from trident.operations.aggregate import check_keys
from trident.operations.aggregators.base import require_ordered
from trident.operations.base import HIDDEN, BatchContext, Fields, field, order

_PLACE = "__trident_place"


@dataclass(frozen=True)
class FirstRecords:
    """See `RecordOperation`: the first `n` records of each group, or of all, by a field or as they come.

    Records are in the order of topic, partition and offset, and so are those that are equal by the field; rows of no
    record in that of their values. Those in which the field is null don't count. A record stays in its partition.
    """

    n: int
    by: str | None
    reverse: bool
    keys: tuple[str, ...] = ()

    verb = "FirstN"
    wants_order = True
    runs_user_code = False

    def told(self) -> str:
        """Return how many, of what groups, and by what."""
        by = "" if self.by is None else f" by {self.by}{', the greatest first' if self.reverse else ''}"
        return f"of {self.n}{by}{f' for each {chr(44).join(self.keys)}' if self.keys else ''}"

    def result(self, schemas: Sequence[StructType]) -> StructType:
        """Return the fields as they are."""
        (schema,) = schemas
        check_keys(self.keys, Fields(schema))
        if self.by is not None:
            require_ordered(self.verb, self.by, "by", Fields(schema))
        return schema

    def lower(self, frames: Sequence[DataFrame], batch: BatchContext) -> DataFrame:
        """See `RecordOperation.lower`."""
        (frame,) = frames
        if self.by is not None:
            frame = frame.filter(field(self.by).isNotNull())
        ranking = self._ranking(frame)
        if not self.keys:
            return frame.orderBy(*ranking).limit(self.n)
        place = F.row_number().over(Window.partitionBy(*map(field, self.keys)).orderBy(*ranking))
        return frame.withColumn(_PLACE, place).filter(field(_PLACE) <= self.n).drop(_PLACE)

    def _ranking(self, frame: DataFrame) -> list[Column]:
        by = [] if self.by is None else [field(self.by).desc() if self.reverse else field(self.by).asc()]
        orders = [order()] if ORDER in frame.columns else []
        fields = [each for each in frame.schema.fields if each.name not in HIDDEN]
        return [*by, *orders, *(field(each.name) for each in fields if "map<" not in each.dataType.simpleString())]
