"""Steps given as Python functions over Arrow batches: run in Spark's Python workers, for records only."""

from __future__ import annotations

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from trident.base.errors import ConfigurationError
from trident.operations.arrow import Add, BatchFunction, Expand, Keep, MaskFunction, Replace, RowsFunction
from trident.operations.base import HIDDEN, BatchContext, Fields, check_new_names, nullable
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

    verb = "filter"
    makes_groups = False
    runs_user_code = True

    def __init__(self, function: MaskFunction) -> None:
        self._function = function

    def check(self, fields: Fields) -> None:
        """Any fields will do."""

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        schema = nullable(frame.schema.fields)
        return frame.mapInArrow(Keep(self._function, arrow_schema(schema)), schema)


class EachFunction:
    """Adds the declared fields; the function returns one value per record for each of them."""

    verb = "each"
    makes_groups = False
    runs_user_code = True

    def __init__(self, function: BatchFunction, declared: StructType) -> None:
        self._function = function
        self._declared = declared

    def check(self, fields: Fields) -> None:
        """The new names must be new."""
        fields.refuse(self._declared.names, self.verb)

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        schema = nullable([*frame.schema.fields, *self._declared.fields])
        return frame.mapInArrow(Add(self._function, arrow_schema(self._declared), arrow_schema(schema)), schema)


class MapFunction:
    """Replaces all fields by the declared ones; the function returns one value per record for each of them."""

    verb = "map"
    makes_groups = False
    runs_user_code = True

    def __init__(self, function: BatchFunction, declared: StructType) -> None:
        self._function = function
        self._declared = declared

    def check(self, fields: Fields) -> None:
        """Any fields will do."""

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        schema = nullable([*self._declared.fields, *_hidden_fields(frame)])
        return frame.mapInArrow(Replace(self._function, arrow_schema(self._declared), arrow_schema(schema)), schema)


class FlatMapFunction:
    """Replaces the records by the rows that the function returns, any number of them."""

    verb = "flat_map"
    makes_groups = False
    runs_user_code = True

    def __init__(self, function: RowsFunction, declared: StructType) -> None:
        self._function = function
        self._declared = declared

    def check(self, fields: Fields) -> None:
        """Any fields will do."""

    def lower(self, frame: DataFrame, batch: BatchContext) -> DataFrame:
        """See `Operation.lower`."""
        schema = nullable([*self._declared.fields, *_hidden_fields(frame)])
        return frame.mapInArrow(Expand(self._function, arrow_schema(self._declared), arrow_schema(schema)), schema)


def _hidden_fields(frame: DataFrame) -> list[StructField]:
    return [each for each in frame.schema.fields if each.name in HIDDEN]
