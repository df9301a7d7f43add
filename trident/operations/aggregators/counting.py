"""How many records there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F

from trident.base.errors import ConfigurationError
from trident.operations.aggregators.base import OneColumn
from trident.operations.base import Fields
from trident.state.layout import Merge


@dataclass(frozen=True, slots=True, init=False)
class Count(OneColumn):
    """The number of records, as a bigint; it takes no field."""

    merge: ClassVar[Merge] = Merge.ADD

    def __init__(self, *fields: str) -> None:
        if fields:
            raise ConfigurationError(
                "Count takes no fields, it counts records: Count(). To count those that have a value in a field, leave "
                "the others out first (filter with FilterNull), or sum a field that is 1 or 0"
            )

    def check(self, name: str, fields: Fields) -> None:
        """Any fields will do."""

    def expression(self) -> Column:
        """Count rows, nulls included."""
        return F.count(F.lit(1))
