"""Merge: the records of several streams in one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StructType

from trident.base.audit import ID
from trident.base.control import CONTROL
from trident.base.errors import ConfigurationError
from trident.base.order import ORDER
from trident.operations.accounting import Account
from trident.operations.base import BatchContext, field, order
from trident.operations.roots import has_roots, roots_or_none
from trident.operations.several import behind_the_record, fields_without_order, named, order_or_none, same_type


@dataclass(frozen=True)
class MergeStreams:
    """All records of all inputs, a record of two inputs twice; fields go by their place."""

    names: tuple[str, ...] | None = None
    """The names of the merged stream's fields; without them all inputs have the same, which it keeps."""

    verb = "merge"
    wants_order = False
    account = Account.KEEPS
    runs_user_code = False

    def result(self, schemas: Sequence[StructType]) -> StructType:
        """Return the fields of the merged stream; refuses inputs whose fields differ in number, type or name.

        By place alone two fields of one type that stand the other way round would change places without a word.
        """
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
            if self.names is None and other.names != first.names:
                raise ConfigurationError(
                    f"merge: stream {number} has the fields {', '.join(other.names)}, the first one "
                    f"{', '.join(first.names)}; fields go by their place: project or rename them to the same names in "
                    "the same order, or say with fields=[…] what those of the merged stream are called"
                )
        return named(first, self.names or first.names, self.verb)

    def told(self) -> str:
        """Return what the fields are called, where that was said."""
        return f"as {', '.join(self.names)}" if self.names else ""

    def lower(self, frames: Sequence[DataFrame], batch: BatchContext) -> DataFrame:
        """See `RecordOperation.lower`."""
        is_ordered = any(ORDER in frame.columns for frame in frames)
        names = self.names or fields_without_order(frames[0])
        places = [_place(frame, number) for number, frame in enumerate(frames)] if is_ordered else []
        more = [places[number : number + 1] for number in range(len(frames))]
        if any(map(has_roots, frames)):
            more = [[*columns, roots_or_none(frame)] for columns, frame in zip(more, frames, strict=True)]
        alike = [_named(frame, names, columns) for frame, columns in zip(frames, more, strict=True)]
        return reduce(DataFrame.union, alike)


def _place(frame: DataFrame, number: int) -> Column:
    """Return the order of an input's rows with the input's number behind the record that they are of.

    Two rows of one place would be put in an order by whichever task came first.
    """
    if ORDER not in frame.columns:
        return order_or_none(frame).alias(ORDER)
    return behind_the_record(order(), number).alias(ORDER)


def _named(frame: DataFrame, names: Sequence[str], more: Sequence[Column]) -> DataFrame:
    columns = [field(old).alias(new) for old, new in zip(fields_without_order(frame), names, strict=True)]
    # records alone have no control column; those of an audit come with the words about them
    along = [field(name) for name in (ID, CONTROL) if name in frame.columns]
    return frame.select(*columns, *more, *along)
