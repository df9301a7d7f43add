"""A user's own aggregator, written in Python."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Generic, TypeVar

from pyspark.sql import Column
from pyspark.sql import functions as F

from trident.base.errors import ConfigurationError, RefusedError
from trident.operations.aggregators.base import OneColumn, StoredColumn
from trident.operations.base import Fields, check_field, field, guarded
from trident.state.layout import Merge, Value

V = TypeVar("V")


class Combiner(OneColumn, Generic[V]):
    """Base of a user's own aggregator, in Python, used as in `aggregate(longest=Longest("account"))`.

        class Longest(Combiner[str]):
            result_type = "string"

            def init(self, account):
                return account

            def combine(self, left, right):
                return max(left, right, key=lambda text: (len(text), text))

    `combine` must be associative and commutative: records come in any order and are combined in any grouping,
    within a batch by a Spark task and with the stored value by the coordinator. Both methods must depend on
    their arguments only. None means "no value": such results of `init` are left out, and where there is nothing else
    the result is that of `zero`, which a subclass may define. Arrays are given as lists, structures and maps as
    dicts; a state keeps such values as JSON texts (`base.nested_text`). The class must be importable by Spark's
    Python workers or be defined in the main script. An exception fails the attempt, with nothing applied.
    """

    merge: ClassVar[Merge] = Merge.COMBINE
    result_type: ClassVar[str]
    """The Spark type of a value V, such as "bigint" or "decimal(20,2)"; a subclass must set it.

    Values are held to it: a state makes a column of it, and another type in a later version is another state, which is
    refused at the start.
    """

    def __init__(self, *fields: str) -> None:
        for name in fields:
            check_field(type(self).__name__, name)
        self.fields = fields

    @abstractmethod
    def init(self, *values: object) -> V | None:
        """Return the value of a single record, given the values of the fields."""

    @abstractmethod
    def combine(self, left: V, right: V) -> V:
        """Return the value of all records that `left` and `right` stand for."""

    def zero(self) -> V | None:
        """Return the value of no values, which changes none that it is combined with; None: there is no such value.

        It is the result of records whose `init` is None, of a partition without records, and, without groups, of a
        batch without records, which has no row where nobody says what is in it.
        """
        return None

    @property
    def has_zero(self) -> bool:
        """Whether a subclass says what the value of no values is."""
        return type(self).zero is not Combiner.zero

    def check(self, name: str, fields: Fields) -> None:
        """Every field must be there, and the class must name its type."""
        verb = type(self).__name__
        if not isinstance(getattr(type(self), "result_type", None), str):
            raise ConfigurationError(f"{verb} for {name!r} must set result_type to a Spark type such as 'bigint'")
        if not isinstance(getattr(self, "fields", None), tuple):
            raise ConfigurationError(f"{verb} for {name!r}: its __init__ must call super().__init__(*fields)")
        for wanted in self.fields:
            fields.require(wanted, f"{verb} for {name!r}")

    def expression(self) -> Column:
        """Collect the fields' values; the fold itself follows in a Python task."""
        values = [field(name).alias(f"f{number}") for number, name in enumerate(self.fields)]
        return F.collect_list(guarded(F.struct(*values, F.lit(True).alias("row"))))

    def columns(self) -> tuple[StoredColumn, ...]:
        """Return the one column, which the coordinator merges by `combine`."""
        return (StoredColumn("", self.expression(), self.merge, self.combine_values),)

    def combine_values(self, left: Value, right: Value) -> Value:
        """Combine two values that came out of this combiner."""
        value = self.combine(left, right)  # type: ignore[arg-type]  # both were made by init or combine
        if value is None:
            raise RefusedError(
                f"{type(self).__name__}.combine returned None for a stored and a new value; it must return the value "
                "of both (a missing return?); the stored ones are unchanged"
            )
        return value
