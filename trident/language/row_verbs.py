"""What a stream does with single rows: renames, looks, and a user's functions over rows in place of Arrow batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql.types import StructType

from trident.base.checks import check_text
from trident.base.errors import ConfigurationError
from trident.graph.nodes import Node
from trident.graph.rooted import refuse_without_roots
from trident.operations.base import Operation, check_field, nullable
from trident.operations.columns import Rename
from trident.operations.functions import FilterFunction, FlatMapLists, MapFunction, Peek, parse_fields
from trident.operations.processing import ProcessFunction
from trident.operations.row_functions import RowFilter, RowFunction, RowLists, RowMask, RowValues
from trident.operations.sending import check_callable_with_batch, check_sendable, refuse_asynchronous, refuse_generators
from trident.operations.task_collector import Collects
from trident.operations.user_objects import check_lifecycle, check_takes
from trident.spouts.arrow_types import arrow_schema

if TYPE_CHECKING:
    from trident.language.stream import Stream

F = TypeVar("F", bound=Callable[..., object])
A = TypeVar("A")


class RowVerbs(ABC):
    """Base of `Stream`.

    Functions over rows are given a dict by field name with Python's own values, and are several times slower than those
    over Arrow batches: each value is made for them. A row that they return is a tuple in the order of the declared
    fields, a dict by their names or, of one field, its bare value; a value that its field can't hold as it is stops the
    topology, and nothing of the batch was applied. They may run again, so they must depend on nothing but the row. An
    object with `prepare(context)` and `cleanup()` is told of the begin and end of each task that it is used in.
    """

    _node: Node

    @abstractmethod
    def _then(self, operation: Operation, *, keeps: bool = False) -> Stream: ...

    def rename(self, names: Mapping[str, str] | None = None, /, **fields: str) -> Stream:
        """Give fields other names: `rename(old="new")`, or a mapping; they stay where they are."""
        wanted = {**_texts(names), **fields}
        for old, new in wanted.items():
            check_field("rename", old)
            check_text("rename: a field", new)
        return self._then(Rename(wanted))

    def peek(self, function: Callable[[pa.RecordBatch], object], /) -> Stream:
        """Give the records to a function over Arrow batches, and pass them on as they were.

        What it does has no part in exactly once: a batch that is tried again is shown to it again, and a task may run
        twice. What it raises fails the batch.
        """
        given = checked(function, "peek")
        refuse_generators("the function given to peek", given, "look at the batch, and return")
        return self._then(Peek(given), keeps=True)

    def filter_row(self, function: RowFilter, /) -> Stream:
        """Keep the records for which a function of the row returns True.

        For example:

            stream.filter_row(lambda row: row["amount"] > 0)
        """
        mask = RowMask(checked(function, "filter_row"), "filter_row")
        return self._then(FilterFunction(mask, "filter_row"), keeps=True)

    def map_row(self, function: RowFunction, schema: str, /) -> Stream:
        """Replace all fields: the function returns one row of the fields that `schema` ("name type, …") declares.

        For example:

            stream.map_row(lambda row: (row["account"], row["amount"] * 2), "account string, twice bigint")
        """
        given = checked(function, "map_row")
        declared = declared_fields(schema, "map_row")
        values = RowValues(given, arrow_schema(nullable(declared.fields)), "map_row")
        return self._then(MapFunction(values, declared, "map_row"))

    def flat_map_row(self, function: RowFunction, schema: str, /) -> Stream:
        """Replace each record by rows of the fields: those of a list or generator, which may be empty, else one.

        For example:

            stream.flat_map_row(lambda row: [(word,) for word in row["account"].split()], "word string")
        """
        return self._then(_lists(function, schema, "flat_map_row", keeps=False))

    def each_row(self, function: RowFunction, schema: str, /) -> Stream:
        """Add fields: the record is repeated for each row of a list or generator (dropped for []), else kept once.

        For example:

            stream.each_row(lambda row: row["amount"] % 2 == 0, "is_even boolean")
        """
        return self._then(_lists(function, schema, "each_row", keeps=True), keeps=True)

    def process(self, function: Collects, schema: str = "", /) -> Stream:
        """Give each record, with a `Collector`, to a function that looks after acks itself, as a bolt of Storm does.

        The stream has the rows that the collector was told to emit. Of a stream of an `AckingSpout` each record has to
        be acked or failed, in its own call or a later one of its task, the last of which is `finish(collector)` of an
        object that has it: the messages of what was failed, or of what was left, go back to where they came from, and
        their batch is processed again without them. All other operations ack what they are given by themselves. The
        function may run again, and a task has a part of a batch.
        """
        what = "the function given to process"
        refuse_asynchronous(what, checked_code(function, "process"))
        for each in filter(None, (function, getattr(function, "finish", None))):
            refuse_generators(what, each, "give each row to collector.emit()")
        check_takes(what, function, 2, "a record and a collector")
        if schema == "":  # a bare TypeError would say neither what it is nor what it is like
            raise ConfigurationError(
                "process needs a function and the fields of what it emits, as in process(check, 'account string, "
                "amount bigint'): the fields (schema) are missing; nothing was started"
            )
        refuse_without_roots(self._node)
        return self._then(ProcessFunction(function, declared_fields(schema, "process")))


def _lists(function: RowFunction, schema: str, verb: str, *, keeps: bool) -> FlatMapLists:
    given = checked(function, verb)
    declared = declared_fields(schema, verb)
    rows = RowLists(given, arrow_schema(nullable(declared.fields)), verb)
    return FlatMapLists(rows, declared, verb, keeps=keeps)


def checked(function: F, verb: str) -> F:
    """Return a user's function of one argument; refuses what is none or can't be sent to Spark's workers."""
    check_callable_with_batch(f"the function given to {verb}", checked_code(function, verb))
    return function


def checked_code(function: F, verb: str) -> F:
    """Return a user's function; refuses what is none or can't be sent to Spark's workers."""
    if not callable(function) or isinstance(function, type | Column):
        raise ConfigurationError(f"{verb} needs a Python function, not {type(function).__name__}")
    what = f"the function given to {verb}"
    check_lifecycle(what, function)
    check_sendable(what, function)
    return function


def check_assembly(assembly: A) -> A:
    """Return what makes something of a stream; refuses what can't be called, and a class."""
    if not callable(assembly) or isinstance(assembly, type):
        raise ConfigurationError(f"apply_assembly takes a function of a stream, not {type(assembly).__name__}")
    return assembly


def declared_fields(schema: object, verb: str) -> StructType:
    """Return the fields that a text declares."""
    return parse_fields(check_text(f"{verb}: the fields", schema, allowed='a text as in "name type, …"'), verb)


def _texts(names: object) -> dict[str, str]:
    if names is None:
        return {}
    if not isinstance(names, Mapping):
        raise ConfigurationError(
            f"rename takes names as in rename(old='new'), or a mapping of them, not {type(names).__name__}"
        )
    return dict(names)
