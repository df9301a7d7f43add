"""Steps given as Python functions over Arrow batches: run in Spark's Python workers, for records only."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from trident.base.errors import ConfigurationError
from trident.base.order import ORDER
from trident.operations.accounting import Account
from trident.operations.arrow import Add, BatchFunction, Expand, Keep, MaskFunction, Replace, RowsFunction
from trident.operations.arrow_lists import ListsFunction, Look, Repeat
from trident.operations.base import HIDDEN, BatchContext, Fields, check_new_names, field, hidden, nullable, order
from trident.operations.tasks import in_python
from trident.operations.user_objects import place_of
from trident.spouts.arrow_types import arrow_schema


def parse_fields(text: str, verb: str) -> StructType:
    """Return the fields that a text such as "account string, amount bigint" declares."""
    try:
        declared = StructType.fromDDL(text)
    except (ParseException, AnalysisException) as error:
        raise ConfigurationError(f'{verb}: {text!r} does not declare fields as in "name type, name type"') from error
    if not isinstance(declared, StructType) or not declared.names:
        raise ConfigurationError(f"{verb}: {text!r} declares no field")
    check_new_names(declared.names, verb)
    return declared


class FilterFunction:
    """Keeps the records for which the function's boolean array is true (null is not)."""

    makes_groups = False
    account = Account.SELECTS
    runs_user_code = True

    def __init__(self, function: MaskFunction, verb: str = "filter") -> None:
        self._function = function
        self.verb = verb

    def check(self, fields: Fields) -> None:
        """Any fields will do."""

    def told(self) -> str:
        """Return the function, and where it is."""
        return place_of(self._function)

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        schema = nullable(frame.schema.fields)
        return in_python(frame, Keep(self._function, arrow_schema(schema), self.verb), schema, batch)


class EachFunction:
    """Adds the declared fields; the function returns one value per record for each of them."""

    verb = "each"
    makes_groups = False
    account = Account.KEEPS
    runs_user_code = True

    def __init__(self, function: BatchFunction, declared: StructType) -> None:
        self._function = function
        self._declared = declared

    def check(self, fields: Fields) -> None:
        """The new names must be new."""
        fields.refuse(self._declared.names, self.verb)

    def told(self) -> str:
        """Return the function, and where it is."""
        return place_of(self._function)

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        schema = nullable([*frame.schema.fields, *self._declared.fields])
        made = Add(self._function, arrow_schema(self._declared), arrow_schema(schema))
        return in_python(frame, made, schema, batch)


class MapFunction:
    """Replaces all fields by the declared ones; the function returns one value per record for each of them."""

    makes_groups = False
    account = Account.KEEPS
    runs_user_code = True

    def __init__(self, function: BatchFunction, declared: StructType, verb: str = "map") -> None:
        self._function = function
        self._declared = declared
        self.verb = verb

    def check(self, fields: Fields) -> None:
        """Any fields will do."""

    def told(self) -> str:
        """Return the function, and where it is."""
        return place_of(self._function)

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        schema = nullable([*self._declared.fields, *_hidden_fields(frame)])
        made = Replace(self._function, arrow_schema(self._declared), arrow_schema(schema), self.verb)
        return in_python(frame, made, schema, batch)


class FlatMapFunction:
    """Replaces the records by the rows that the function returns, any number of them.

    Nobody knows which record a row is of, so where order counts it is given one at a time. Some at once only where the
    batch says so: where a task has the records of each source partition without a gap, and what is made of them meets
    no other row of theirs (`graph/reading.py`).
    """

    verb = "flat_map"
    makes_groups = False
    account = Account.MAKES
    runs_user_code = True

    def __init__(self, function: RowsFunction, declared: StructType) -> None:
        self._function = function
        self._declared = declared

    def check(self, fields: Fields) -> None:
        """Any fields will do."""

    def told(self) -> str:
        """Return the function, and where it is."""
        return place_of(self._function)

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`.

        Its rows count from the first record of a run, so a task's records are put in their order before: those that a
        decoder leaves to the JVM come behind all others.
        """
        in_runs = self in batch.in_runs
        if ORDER in frame.columns and in_runs:
            frame = frame.sortWithinPartitions(order())
        schema = nullable([*self._declared.fields, *_hidden_fields(frame)])
        made = Expand(self._function, arrow_schema(self._declared), arrow_schema(schema), in_runs)
        return in_python(frame, made, schema, batch)


class Peek:
    """Gives the records to a function and passes them on as they were."""

    verb = "peek"
    makes_groups = False
    account = Account.KEEPS
    runs_user_code = True

    def __init__(self, function: Callable[[pa.RecordBatch], object]) -> None:
        self._function = function

    def check(self, fields: Fields) -> None:
        """Any fields will do."""

    def told(self) -> str:
        """Return the function, and where it is."""
        return place_of(self._function)

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        schema = nullable(frame.schema.fields)
        return in_python(frame, Look(self._function, arrow_schema(schema)), schema, batch)


class FlatMapLists:
    """Makes rows of each record by lists that a function returns; `keeps` its fields, or replaces them."""

    makes_groups = False
    account = Account.MAKES
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

    def told(self) -> str:
        """Return the function, and where it is."""
        return place_of(self._function)

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        fields = frame.schema.fields
        before = [each for each in fields if self._keeps or each.name in HIDDEN]
        schema = nullable([*self._declared.fields, *before])
        declared = arrow_schema(nullable(self._declared.fields))
        work = Repeat(self._function, declared, arrow_schema(schema), self.verb, self._keeps)
        made = in_python(frame, work, schema, batch)
        return made.select(*(field(name) for name in self._names(frame)), *hidden(frame))

    def _names(self, frame: DataFrame) -> list[str]:
        own = [name for name in frame.columns if name not in HIDDEN] if self._keeps else []
        return [*own, *self._declared.names]


def _hidden_fields(frame: DataFrame) -> list[StructField]:
    return [each for each in frame.schema.fields if each.name in HIDDEN]
