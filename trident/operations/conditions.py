"""Ready-made conditions and functions: what Trident calls its built-in filters and functions, as Spark columns."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from trident.base.checks import check_count, check_text
from trident.base.errors import ConfigurationError
from trident.operations.base import Fields, check_field, field
from trident.operations.several import check_same_key


@runtime_checkable
class Condition(Protocol):
    """What `filter` takes beside a column and a function."""

    def check(self, fields: Fields) -> None:
        """Raise `FieldError` or `ConfigurationError` when it says nothing of a stream with these fields."""

    def condition(self) -> Column:
        """Return the boolean column, which is never null."""


class Equals:
    """True where all named fields have the same value; null equals null, NaN equals NaN."""

    def __init__(self, *fields: str) -> None:
        if len(fields) < 2:
            raise ConfigurationError("Equals compares at least two fields")
        self.fields = tuple(check_field("Equals", name) for name in fields)

    def check(self, fields: Fields) -> None:
        """They must be there and of one type: Spark would cast one, and values that differ could become equal."""
        for name in self.fields:
            fields.require(name, "Equals")
            check_same_key("Equals", fields.schema[name], "", fields.schema[self.fields[0]], "")

    def condition(self) -> Column:
        """See `Condition`."""
        first, *others = (field(name) for name in self.fields)
        result = F.lit(True)
        for other in others:
            result = result & first.eqNullSafe(other)
        return result


class FilterNull:
    """True where none of the named fields is null."""

    def __init__(self, *fields: str) -> None:
        if not fields:
            raise ConfigurationError("FilterNull looks at one field at least")
        self.fields = tuple(check_field("FilterNull", name) for name in fields)

    def check(self, fields: Fields) -> None:
        """They must be there."""
        for name in self.fields:
            fields.require(name, "FilterNull")

    def condition(self) -> Column:
        """See `Condition`."""
        result = F.lit(True)
        for name in self.fields:
            result = result & field(name).isNotNull()
        return result


class Negate:
    """True just where the other condition is not: also where a column is null, of which `~column` would be null too."""

    def __init__(self, condition: Column | Condition) -> None:
        if not isinstance(condition, Column | Condition) or isinstance(condition, type):
            raise ConfigurationError(
                f"Negate: condition is a boolean Spark column or such as Equals(…), not {type(condition).__name__}"
            )
        self._negated = condition

    def check(self, fields: Fields) -> None:
        """As the other condition; of a column Spark checks it."""
        if not isinstance(self._negated, Column):
            self._negated.check(fields)

    def condition(self) -> Column:
        """See `Condition`."""
        negated = self._negated
        column = negated if isinstance(negated, Column) else negated.condition()
        return ~F.coalesce(column, F.lit(False))


@dataclass(frozen=True)
class Debug:
    """Given to `peek`: writes the first records of each Arrow batch to the standard error of Spark's Python worker.

    It shows values, as whoever puts it in wants to; a topology that holds secrets goes to production without it.
    """

    label: str
    rows: int = 5

    def __post_init__(self) -> None:
        """Check what was given."""
        check_text("Debug: label", self.label)
        check_count("Debug: rows", self.rows)

    def __call__(self, batch: pa.RecordBatch) -> None:
        """Write them."""
        shown = "".join(f"{self.label}: {row}\n" for row in batch.slice(0, self.rows).to_pylist())
        sys.stderr.write(f"{self.label}: {batch.num_rows} records\n{shown}")


class Split:
    """Given to `flat_map(word=Split("sentence"))`: the words of a text field, parted by white space.

    Nothing between two blanks is no word, and a text that is null or blank has none.
    """

    def __init__(self, name: str) -> None:
        self.name = check_field("Split", name)

    def array(self) -> Column:
        """Return the words as an array column."""
        return F.filter(F.split(field(self.name), r"\s+"), lambda word: word != "")
