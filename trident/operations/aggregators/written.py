"""Values that a user's code has written for a key: nothing is computed of them, and they replace what is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StructField

from trident.operations.aggregators.base import OneColumn
from trident.operations.base import Fields, field
from trident.state.layout import Merge


@dataclass(frozen=True)
class Written(OneColumn):
    """The value that an updater has written: a batch has one for each key that it changes."""

    declared: StructField
    """What the value is; arrays, structures and maps come as their texts."""

    merge: ClassVar[Merge] = Merge.REPLACE

    def check(self, name: str, fields: Fields) -> None:
        """The field is there: the writes were made for it."""
        fields.require(self.declared.name, "partition_persist")

    def expression(self) -> Column:
        """Return the value of the only row."""
        return F.first(field(self.declared.name))
