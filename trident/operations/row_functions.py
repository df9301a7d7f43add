"""A user's Python function over single rows, run over a task's Arrow batches: simpler to write, and slower.

A row is a dict by field name, with plain Python values: Decimal, date, datetime in UTC, list, dict, None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import GeneratorType
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from trident.base.errors import ConfigurationError
from trident.base.exact import InexactError, exact_array
from trident.operations.arrow import AnyArray
from trident.operations.given import rows_of
from trident.operations.user_objects import OperationContext

Row: TypeAlias = "dict[str, object]"
RowFunction: TypeAlias = "Callable[[Row], object]"
RowFilter: TypeAlias = "Callable[[Row], bool]"
_APPLIED = "nothing of the batch was applied"


class _OfRows:
    """Passes on what an object of a user's has for the beginning and the end of a task."""

    function: Callable[[Row], object]

    def prepare(self, context: OperationContext) -> None:
        """See `ready`."""
        prepare = getattr(self.function, "prepare", None)
        if prepare is not None:
            prepare(context)

    def cleanup(self) -> None:
        """See `ready`."""
        cleanup = getattr(self.function, "cleanup", None)
        if cleanup is not None:
            cleanup()


@dataclass(frozen=True)
class RowMask(_OfRows):
    """A `MaskFunction`: one truth for each row."""

    function: RowFilter
    verb: str

    def __call__(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        """Ask it of each row."""
        found = [self.function(row) for row in rows_of(batch, "function over rows")]
        if any(isinstance(each, GeneratorType) for each in found):
            raise _yields(self.verb, "True or False")
        if not all(isinstance(each, bool | np.bool_) for each in found):
            raise ConfigurationError(
                f"the function given to {self.verb} returned what is neither True nor False (a missing return?); "
                f"{_APPLIED}"
            )
        return pa.array(found, pa.bool_())


@dataclass(frozen=True)
class RowValues(_OfRows):
    """A `BatchFunction`: one row of the declared fields for each row."""

    function: RowFunction
    declared: pa.Schema
    verb: str

    def __call__(self, batch: pa.RecordBatch) -> list[AnyArray]:
        """Make a row of each."""
        made: list[Sequence[object]] = []
        width = len(self.declared)
        for row in rows_of(batch, "function over rows"):
            result = self.function(row)
            if type(result) is tuple and len(result) == width:  # as most are, and each look at a row is paid for
                made.append(result)
                continue
            if result is None:
                raise ConfigurationError(
                    f"the function given to {self.verb} returned None for a row (a missing return?); it must return "
                    f"one row of the fields {', '.join(self.declared.names)}; {_APPLIED}"
                )
            if isinstance(result, GeneratorType):
                raise _yields(self.verb, "one row (flat_map_row takes several)")
            made.append(as_row(result, self.declared, self.verb))
        return columns_of(made, self.declared, self.verb)


@dataclass(frozen=True)
class RowLists(_OfRows):
    """A `ListsFunction`: any number of rows of the declared fields for each row."""

    function: RowFunction
    declared: pa.Schema
    verb: str

    def __call__(self, batch: pa.RecordBatch) -> list[AnyArray]:
        """Make rows of each."""
        made: list[Sequence[object]] = []
        ends = [0]
        for row in rows_of(batch, "function over rows"):
            result = self.function(row)
            if result is None:
                raise ConfigurationError(
                    f"the function given to {self.verb} returned None for a row (a missing return?); it must return "
                    f"rows of the fields {', '.join(self.declared.names)}, and [] for none; {_APPLIED}"
                )
            made.extend(as_rows(result, self.declared, self.verb))
            ends.append(len(made))
        offsets = pa.array(ends, pa.int32())
        return [pa.ListArray.from_arrays(offsets, each) for each in columns_of(made, self.declared, self.verb)]


def as_rows(result: object, declared: pa.Schema, verb: str) -> Iterator[Sequence[object]]:
    """Yield the rows that a user's function returned: none for None, several for a list or generator, else one."""
    if result is None:
        return
    several: Iterable[object] = result if isinstance(result, list | GeneratorType) else [result]
    for each in several:
        yield as_row(each, declared, verb)


def as_row(result: object, declared: pa.Schema, verb: str, giver: str = "") -> Sequence[object]:
    """Return one row in the order of the declared fields: a tuple or a dict by name; of one field its bare value.

    A dict for a single field of maps is its value, whatever its keys say: a key may be called as the field is.
    An error names the `giver`, or else the function that the verb was given.
    """
    if isinstance(result, tuple) and len(result) == len(declared):
        return result
    if isinstance(result, Mapping) and len(declared) == 1 and pa.types.is_map(declared.field(0).type):
        return (result,)
    if isinstance(result, Mapping) and set(result) == set(declared.names):
        return [result[name] for name in declared.names]
    if len(declared) == 1 and not isinstance(result, tuple):
        is_other_row = isinstance(result, Mapping) and not pa.types.is_nested(declared.field(0).type)
        if not is_other_row:
            return (result,)
    raise ConfigurationError(
        f"{giver or _function(verb)} returned {_named(result)} for a row of the fields "
        f"{', '.join(declared.names)}; it must be a tuple in that order, or a dict by these names; {_APPLIED}"
    )


def columns_of(rows: Sequence[Sequence[object]], declared: pa.Schema, verb: str, giver: str = "") -> list[AnyArray]:
    """Return rows as arrays of the declared fields, each value exactly or not at all; see `as_row` for `giver`."""
    columns: Iterable[Sequence[object]] = zip(*rows, strict=True) if rows else ([] for _ in declared)
    return [_column(values, field, giver or _function(verb)) for field, values in zip(declared, columns, strict=True)]


def _column(values: Sequence[object], field: pa.Field[pa.DataType], giver: str) -> AnyArray:
    try:
        return exact_array(list(values), field.type)
    except InexactError:
        # the library's own message would show the value
        raise ConfigurationError(
            f"{giver} returned a value for the field {field.name!r} that the declared "
            f"{field.type} does not hold as it is; {_APPLIED}"
        ) from None


def _function(verb: str) -> str:
    return f"the function given to {verb}"


def _yields(verb: str, wanted: str) -> ConfigurationError:
    return ConfigurationError(
        f"the function given to {verb} is a generator (it has a yield), and must return {wanted}: say return in the "
        f"place of yield; {_APPLIED}"
    )


def _named(result: object) -> str:
    if isinstance(result, tuple):
        return f"a tuple of {len(result)}"
    return "a dict of other names" if isinstance(result, Mapping) else type(result).__name__
