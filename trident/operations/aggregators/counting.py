"""How many records there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F

from trident.operations.aggregators.base import OneColumn
from trident.operations.base import Fields
from trident.state.layout import Merge


@dataclass(frozen=True, slots=True)
class Count(OneColumn):
    """The number of records, as a bigint."""

    merge: ClassVar[Merge] = Merge.ADD

    def check(self, name: str, fields: Fields) -> None:
        """Any fields will do."""

    def expression(self) -> Column:
        """Count rows, nulls included."""
        return F.count(F.lit(1))
