"""Several values of a group at once: lists, sets, their number. For one batch's records; no state keeps them yet."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from trident.base.checks import check_count
from trident.operations.aggregators.base import StoredColumn, require_ordered
from trident.operations.base import Fields, check_field, field


@dataclass(frozen=True, slots=True)
class _PerBatch:
    """Base of what two results do not say together."""

    field: str

    def __post_init__(self) -> None:
        check_field(type(self).__name__, self.field)

    def check(self, name: str, fields: Fields) -> None:
        """The field must be there and have an order."""
        require_ordered(type(self).__name__, self.field, name, fields)

    def columns(self) -> tuple[StoredColumn, ...]:
        """Return the one column."""
        return (StoredColumn("", self.expression(), None),)

    def shown(self, *stored: Column) -> Column:
        """Return it."""
        return stored[0]

    def expression(self) -> Column:
        """Return Spark's aggregate expression."""
        raise AssertionError("said by each kind")


@dataclass(frozen=True, slots=True)
class CountDistinct(_PerBatch):
    """How many different values a field has in a batch, nulls left out."""

    def expression(self) -> Column:
        """Spark's own count."""
        return F.count_distinct(field(self.field))


@dataclass(frozen=True, slots=True)
class CollectSet(_PerBatch):
    """The different values of a field in a batch, nulls left out: an array in their order."""

    def expression(self) -> Column:
        """Sorted, so that it is the same in every re-run."""
        return F.sort_array(F.collect_set(field(self.field)))


@dataclass(frozen=True, slots=True)
class CollectList(_PerBatch):
    """All values of a field in a batch, nulls left out: an array in the order of another field, or of the values."""

    by: str | None = None

    def __post_init__(self) -> None:
        """Check what was given."""
        check_field("CollectList", self.field)
        if self.by is not None:
            check_field("CollectList: by", self.by)

    def check(self, name: str, fields: Fields) -> None:
        """Both fields must have an order."""
        require_ordered("CollectList", self.field, name, fields)
        if self.by is not None:
            require_ordered("CollectList", self.by, name, fields)

    def expression(self) -> Column:
        """Sorted, by the value too where the other field does not decide."""
        value = field(self.field)
        if self.by is None:
            return F.sort_array(F.collect_list(value))
        pair = F.when(value.isNotNull(), F.struct(field(self.by).alias("by"), value.alias("value")))
        return F.transform(F.sort_array(F.collect_list(pair)), lambda each: each["value"])


@dataclass(frozen=True, slots=True)
class TopN(_PerBatch):
    """The `n` greatest values of a field in a batch, nulls left out: an array, greatest first."""

    n: int = 10

    def __post_init__(self) -> None:
        """Check what was given."""
        check_field("TopN", self.field)
        check_count("TopN: n", self.n)

    def expression(self) -> Column:
        """Sorted and cut."""
        return F.slice(F.sort_array(F.collect_list(field(self.field)), asc=False), 1, self.n)
