"""Combiners whose values are arrays, structures or maps: a state keeps them as texts, which every store holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from trident.base.arrays import AnyArray, is_text
from trident.base.errors import RefusedError
from trident.base.exact import InexactError, exact_array
from trident.base.nested_text import UnreadableTextError, is_told, text_of, value_of
from trident.operations.aggregators.combiner import Combiner
from trident.operations.given import values_of
from trident.state.layout import Value

_SETTLED: Final[tuple[tuple[type, Callable[[pa.DataType], bool]], ...]] = (
    (str, is_text),
    (bool, pa.types.is_boolean),
    (bytes, lambda type_: pa.types.is_binary(type_) or pa.types.is_large_binary(type_)),
)
"""Values that have one form only, where the type is theirs: an int in a decimal's place comes back as a decimal."""


@dataclass(frozen=True, slots=True)
class CombinedTexts:
    """Combines a stored and a staged text by the values that they are of; for `Merge.COMBINE`."""

    combiner: Combiner[object]
    type: pa.DataType

    def __call__(self, stored: Value, staged: Value) -> Value:
        """Return the text of both; raises RefusedError for what is no such text, and for a value of another type."""
        value = self.combiner.combine_values(self._value(stored), self._value(staged))
        try:
            return text_of(value, self.type)
        except InexactError:
            raise RefusedError(
                f"{type(self.combiner).__name__}.combine made a value that is not of its result_type "
                f"{self.combiner.result_type!r}; the stored ones are unchanged"
            ) from None

    def _value(self, text: Value) -> Value:
        assert isinstance(text, str)
        try:
            return value_of(text, self.type)
        except UnreadableTextError as error:
            raise RefusedError(
                f"{type(self.combiner).__name__} found {error} in the state, which something else has changed; the "
                "stored values are unchanged"
            ) from None


@dataclass(frozen=True, slots=True)
class Settling:
    """Gives a value the one form in which a state gives it back; raises `InexactError`."""

    type: pa.DataType

    def __call__(self, value: object) -> object:
        """Return it: floats with one NaN and one zero, decimals of the type's scale, moments in UTC, maps in order."""
        if value is None or self._is_settled(value):
            return value
        if pa.types.is_nested(self.type) and is_told(self.type):
            return value_of(text_of(value, self.type), self.type)
        (found,) = values_of(exact_array([value], self.type), "value", "combiner")
        return found

    def _is_settled(self, value: object) -> bool:
        if type(value) is int and pa.types.is_signed_integer(self.type):
            most = 1 << (self.type.bit_width - 1)
            return -most <= value < most
        return any(type(value) is kind and is_of(self.type) for kind, is_of in _SETTLED)


def texts_of(values: Sequence[object], type_: pa.DataType) -> AnyArray:
    """Return values as their texts; raises `InexactError`."""
    return pa.array([text_of(value, type_) for value in values], pa.string())


def with_values(table: pa.Table, types: Mapping[str, pa.DataType]) -> pa.Table:
    """Return a table with values in place of texts in the columns that have a type here."""
    for place, name in enumerate(table.column_names):
        if name in types:
            try:
                values = [value_of(text, types[name]) for text in table.column(name).to_pylist()]
            except UnreadableTextError as error:
                raise RefusedError(
                    f"column {name!r} of the state has {error}: something else has changed it; the stored values are "
                    "unchanged"
                ) from None
            table = table.set_column(place, pa.field(name, types[name]), exact_array(values, types[name]))
    return table
