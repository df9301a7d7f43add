"""Steps that rename fields, look at records, or make rows beside a record's own fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from trident.base.errors import ConfigurationError
from trident.operations.arrow_lists import ListsFunction, Look, Repeat
from trident.operations.base import (
    HIDDEN,
    BatchContext,
    Fields,
    check_new_names,
    field,
    hidden,
    nullable,
)
from trident.spouts.arrow_types import arrow_schema


@dataclass(frozen=True)
class Rename:
    """Gives fields other names and leaves them where they are; names may change places."""

    names: Mapping[str, str]

    verb = "rename"
    makes_groups = False
    runs_user_code = False

    def check(self, fields: Fields) -> None:
        """The old names must be there, and the new ones differ from all that stay."""
        if not self.names:
            raise ConfigurationError("rename needs at least one field, as in rename(old='new')")
        for name in self.names:
            fields.require(name, self.verb)
        check_new_names([self.names.get(name, name) for name in fields.names], self.verb)

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        kept = [field(name).alias(self.names.get(name, name)) for name in frame.columns if name not in HIDDEN]
        return frame.select(*kept, *hidden(frame))


class Peek:
    """Gives the records to a function and passes them on as they were."""

    verb = "peek"
    makes_groups = False
    runs_user_code = True

    def __init__(self, function: Callable[[pa.RecordBatch], object]) -> None:
        self._function = function

    def check(self, fields: Fields) -> None:
        """Any fields will do."""

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        schema = nullable(frame.schema.fields)
        return frame.mapInArrow(Look(self._function, arrow_schema(schema)), schema)


class FlatMapLists:
    """Makes rows of each record by lists that a function returns; `keeps` its fields, or replaces them."""

    makes_groups = False
    runs_user_code = True

    def __init__(self, function: ListsFunction, declared: StructType, verb: str, *, keeps: bool) -> None:
        self._function = function
        self._declared = declared
        self._keeps = keeps
        self.verb = verb

    def check(self, fields: Fields) -> None:
        """Names beside fields that stay must be new."""
        if self._keeps:
            fields.refuse(self._declared.names, self.verb)

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        fields = frame.schema.fields
        before = [each for each in fields if self._keeps or each.name.startswith("__trident")]
        schema = nullable([*self._declared.fields, *before])
        declared = _elements(self._declared)
        return frame.mapInArrow(
            Repeat(self._function, declared, arrow_schema(schema), self.verb, self._keeps), schema
        ).select(*(field(name) for name in self._names(frame)), *hidden(frame))

    def _names(self, frame: DataFrame) -> list[str]:
        own = [name for name in frame.columns if not name.startswith("__trident")] if self._keeps else []
        return [*own, *self._declared.names]


def _elements(declared: StructType) -> pa.Schema:
    return arrow_schema(nullable(declared.fields))
