"""A user's own aggregators in Python that are given a group's records one by one: `Reducer` and `Aggregator`.

They make rows of one batch: what two batches made of their own records can't be joined without the records. A state
may be kept by reducers, which take up the value that is there and are given the records in the batch's turn.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from typing import ClassVar, Final, Generic, TypeVar

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql.types import StructField, StructType

from trident.base.errors import ConfigurationError
from trident.base.python_rows import UnfitRowError, row_values
from trident.operations.base import Fields, check_field
from trident.operations.functions import parse_fields
from trident.operations.user_objects import check_takes

V = TypeVar("V")
S = TypeVar("S")
_APPLIED: Final = "nothing of the batch was applied"
_UNCHANGEABLE: Final = (int, float, complex, str, bytes, frozenset, date, Decimal)


class ByRow(ABC):
    """What `Reducer` and `Aggregator` have in common.

    An object is made once on the driver, pickled, and used for every batch and every group of one. Its methods are
    given the values of the fields that it was made with, a null as None, record by record in the order of topic,
    partition and offset (rows of no record, as those of an aggregation, in that of their values): the same in every
    re-run. They may run again and must depend on nothing but what they are given. It may have `prepare(context)` and
    `cleanup()`, called once per task. An exception fails the attempt, with nothing applied.
    """

    def __init__(self, *fields: str) -> None:
        for name in fields:
            check_field(type(self).__name__, name)
        self.fields = fields

    @abstractmethod
    def made_fields(self, name: str) -> StructType:
        """Return the fields of its rows; `name` is what its result is called, where it has a single one."""

    @abstractmethod
    def rows_made(self, records: Iterable[Sequence[object]], made: Sequence[str]) -> list[Sequence[object]]:
        """Return the rows, of the fields `made`, that it makes of a group's records."""

    def check_made(self, asked_by: str) -> None:
        """Raise `ConfigurationError` where a subclass did not call `__init__`."""
        if not isinstance(getattr(self, "fields", None), tuple):
            raise ConfigurationError(f"{asked_by}: its __init__ must call super().__init__(*fields)")

    def check(self, asked_by: str, fields: Fields) -> None:
        """Every field must be there."""
        for wanted in self.fields:
            fields.require(wanted, asked_by)


class Reducer(ByRow, Generic[V]):
    """Base of a user's own aggregator that makes one value of a group's records, taking one after the other.

    `class Latest(Reducer[str])`, used by name as in `last=Latest("page")`. Unlike a `Combiner` it is given the records
    in their order. Without groups it is asked in every batch: one without records gets what `init` returns.
    In a state it goes on from the value that is stored, or from `init` for a key that is new; that is done in the
    batch's turn, after the batch before, and each value is given to `reduce` as the state would give it back.
    """

    result_type: ClassVar[str]
    """The Spark type of a value V, such as "bigint" or "decimal(20,2)"; a subclass must set it."""

    @abstractmethod
    def init(self) -> V:
        """Return the value of no records; a new one at each call if it can be changed, as a list can."""

    @abstractmethod
    def reduce(self, reduced: V, *values: object) -> V:
        """Return the value of the records so far and one more; None only where it was None before."""

    def check(self, asked_by: str, fields: Fields) -> None:
        """Every field must be there, and `reduce` must take them."""
        super().check(asked_by, fields)
        check_takes(
            f"reduce of {asked_by}", self.reduce, 1 + len(self.fields), _with_fields("the value so far", self.fields)
        )

    def made_fields(self, name: str) -> StructType:
        """Return the one field."""
        return StructType([result_field(name, self)])

    def rows_made(self, records: Iterable[Sequence[object]], made: Sequence[str]) -> list[Sequence[object]]:
        """Return one row."""
        return [(reduced(self, self.init(), records),)]


class Aggregator(ByRow, Generic[S]):
    """Base of a user's own aggregator that makes any number of rows of a group's records, with several fields.

    `class Extremes(Aggregator[list[int]])`, used by its place as in `aggregate(Extremes("amount"))`. Without groups it
    is asked in every batch, also in one that has no records.
    """

    schema: ClassVar[str]
    """The fields of its rows, as in "least bigint, most bigint"; a subclass must set it."""

    @abstractmethod
    def init(self) -> S:
        """Return what is kept while a group's records go by, a new one at each call: a list, a dict, an object."""

    @abstractmethod
    def aggregate(self, kept: S, *values: object) -> None:
        """Take one record: change what is kept, and return nothing."""

    @abstractmethod
    def complete(self, kept: S) -> object:
        """Return the group's rows: none for None, several for a list or generator, else one.

        A row is a tuple or a dict by the names of the fields; of one field a tuple or its bare value.
        """

    def check(self, asked_by: str, fields: Fields) -> None:
        """Every field must be there, and `aggregate` must take them."""
        super().check(asked_by, fields)
        given = _with_fields("what init returned", self.fields)
        check_takes(f"aggregate of {asked_by}", self.aggregate, 1 + len(self.fields), given)

    def made_fields(self, name: str) -> StructType:
        """Return the declared fields."""
        verb = type(self).__name__
        if not isinstance(getattr(type(self), "schema", None), str):
            raise ConfigurationError(f"{verb} must set schema to the fields of its rows, as in 'name type, …'")
        return parse_fields(type(self).schema, verb)

    def rows_made(self, records: Iterable[Sequence[object]], made: Sequence[str]) -> list[Sequence[object]]:
        """Return what `complete` does."""
        kept, verb = self.init(), type(self).__name__
        if isinstance(kept, _UNCHANGEABLE):
            raise ConfigurationError(
                f"{verb}.init returned a value of the type {type(kept).__name__}, which aggregate can't change: it "
                f"must return a list, a dict or an object of your own (or make it a Reducer); {_APPLIED}"
            )
        for values in records:
            found: object = self.aggregate(kept, *values)
            if found is not None:
                raise ConfigurationError(
                    f"{verb}.aggregate returned a value of the type {type(found).__name__}, which nobody takes: it "
                    f"must change what it is given and return nothing; rows are what complete returns; {_APPLIED}"
                )
        try:
            return list(_rows(self.complete(kept), made))
        except UnfitRowError as error:
            raise ConfigurationError(
                f"{verb}.complete returned what is no row of its schema: {error}; {_APPLIED}"
            ) from None


def reduced(
    reducer: Reducer[V], start: V, records: Iterable[Sequence[object]], settled: Callable[[V], V] = lambda value: value
) -> V:
    """Return what a reducer makes of a value and some records; it gets each value as `settled` gives it back."""
    current = settled(start)
    for values in records:
        after = settled(reducer.reduce(current, *values))
        if after is None and current is not None:  # a missing return would lose all that was reduced so far
            raise ConfigurationError(
                f"{type(reducer).__name__}.reduce returned None for what it was given and one record more; it must "
                f"return the value of both (a missing return?); {_APPLIED}"
            )
        current = after
    return current


def _with_fields(first: str, fields: Sequence[str]) -> str:
    return " and ".join([first, f"the value of {', '.join(fields)}"] if fields else [first])


def result_field(name: str, made_by: object) -> StructField:
    """Return the field of a result whose class says its `result_type`."""
    verb, declared = type(made_by).__name__, getattr(type(made_by), "result_type", None)
    if not isinstance(declared, str):
        raise ConfigurationError(f"{verb} for {name!r} must set result_type to a Spark type such as 'bigint'")
    try:
        found = StructType.fromDDL(f"value {declared}")
    except (ParseException, AnalysisException) as error:
        raise ConfigurationError(f"{verb} for {name!r}: {declared!r} is not a Spark type such as 'bigint'") from error
    assert isinstance(found, StructType)
    type_ = found.fields[0].dataType
    if re.search(r"\b(var)?char\(", type_.simpleString()):
        raise ConfigurationError(
            f"{verb} for {name!r}: result_type {declared!r} holds texts of a length, which Spark pads and cuts; "
            "say string"
        )
    return StructField(name, type_)


def _rows(result: object, made: Sequence[str]) -> Iterator[Sequence[object]]:
    if result is None:
        return
    several: Iterable[object] = result if isinstance(result, list | Iterator) else [result]
    for each in several:
        is_bare = len(made) == 1 and not isinstance(each, tuple)  # a dict is its field's value, whatever its keys say
        yield (each,) if is_bare else row_values(each, made)
