"""Merge: the records of several streams in one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from trident.base.errors import ConfigurationError
from trident.base.order import ORDER
from trident.operations.base import BatchContext, field
from trident.operations.several import fields_without_order, named, order_or_none, same_type


@dataclass(frozen=True)
class Merge:
    """All records of all inputs, a record of two inputs twice; fields go by their place and have the given names."""

    names: tuple[str, ...]

    verb = "merge"
    wants_order = False
    runs_user_code = False

    def result(self, schemas: Sequence[StructType]) -> StructType:
        """Return the fields of the merged stream; refuses streams whose fields differ in number or type."""
        first, *others = schemas
        for number, other in enumerate(others, 2):
            if len(other) != len(first):
                raise ConfigurationError(
                    f"merge: stream {number} has {len(other)} fields ({', '.join(other.names)}), the first one has "
                    f"{len(first)} ({', '.join(first.names)}); project or map them to the same"
                )
            for mine, theirs in zip(first.fields, other.fields, strict=True):
                if not same_type(mine.dataType, theirs.dataType):
                    raise ConfigurationError(
                        f"merge: the field {theirs.name!r} of stream {number} is {theirs.dataType.simpleString()}, the "
                        f"field {mine.name!r} of the first one {mine.dataType.simpleString()}; map one of them"
                    )
        return named(first, self.names, self.verb)

    def lower(self, frames: Sequence[DataFrame], batch: BatchContext) -> DataFrame:
        """See `RecordOperation.lower`."""
        is_ordered = any(ORDER in frame.columns for frame in frames)
        return reduce(DataFrame.union, [self._alike(frame, is_ordered=is_ordered) for frame in frames])

    def _alike(self, frame: DataFrame, *, is_ordered: bool) -> DataFrame:
        kept = zip(fields_without_order(frame), self.names, strict=True)
        columns = [field(old).alias(new) for old, new in kept]
        return frame.select(*columns, *([order_or_none(frame).alias(ORDER)] if is_ordered else []))
