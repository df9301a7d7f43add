"""The step whose function looks after acks itself, as a bolt of Storm does with its collector."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from trident.operations.base import HIDDEN, BatchContext, Fields, nullable
from trident.operations.task_collector import CollectRows, Collects
from trident.operations.tasks import in_python
from trident.operations.user_objects import place_of
from trident.spouts.arrow_types import arrow_schema


class ProcessFunction:
    """Gives each record and a collector to a function; its rows are what the collector was told to emit."""

    verb = "process"
    makes_groups = False
    runs_user_code = True

    def __init__(self, function: Collects, declared: StructType) -> None:
        self._function = function
        self._declared = declared

    def check(self, fields: Fields) -> None:
        """Any fields will do."""

    def told(self) -> str:
        """Return the function, and where it is."""
        return place_of(self._function)

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        hidden = [each for each in frame.schema.fields if each.name in HIDDEN]
        schema = nullable([*self._declared.fields, *hidden])
        declared = arrow_schema(nullable(self._declared.fields))
        work = CollectRows(self._function, declared, arrow_schema(schema), self.verb, batch.place)
        return in_python(frame, work, schema, batch)
