"""Queries by a user's Python function: one call for the keys of some records, and rows for each of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Generic, TypeVar, cast

import pyarrow as pa

from trident.base.errors import ConfigurationError
from trident.operations.arrow import AnyArray
from trident.operations.base import check_field
from trident.operations.given import rows_of, values_of
from trident.operations.row_functions import as_rows, columns_of
from trident.operations.user_objects import OperationContext, ReadyTogether
from trident.state.comparing import NAN, settled

S = TypeVar("S")
Key = tuple[object, ...]
FOUND: Final = "__trident_found"
"""The column of what a state of the topology has for a record's key: its results, null where it has none."""
_APPLIED: Final = "nothing of the batch was applied"


class QueryFunction(ABC, Generic[S]):
    """Base of a user's own query: `class Followers(QueryFunction[Graph])`, used as `Followers("person")`.

    The fields that it is given are the key of a record. It is made once on the driver, pickled, and called in tasks,
    any number of times, with the keys of any part of a batch; what it returns for a key must depend on the key and on
    what the state says of it. It may have `prepare(context)` and `cleanup()`, called once per task.
    """

    schema: ClassVar[str]
    """The fields that are added to a record, as "name type, …"; a subclass must set it."""

    def __init__(self, *fields: str) -> None:
        self.fields = tuple(check_field(type(self).__name__, name) for name in fields)

    @abstractmethod
    def batch_retrieve(self, state: S, keys: Sequence[Key]) -> Sequence[object]:
        """Return a result for each key, in their order; no key is there twice.

        `state` is what `new_static_state` was given, the task's own copy of it; of a state of the topology it is
        `StoredRows`.
        """

    def execute(self, key: Key, result: object) -> object:
        """Return the rows that a result becomes: None for none, a list or generator for several, else the only one."""
        return result


@dataclass(frozen=True)
class StoredRows:
    """What a state of the topology has for the keys of some records, as the txid before has left it."""

    _rows: Mapping[Key, Mapping[str, object] | None]

    def get(self, key: Key = ()) -> Mapping[str, object] | None:
        """Return the results of a key by their names, None where the state has no such key.

        Raises `ConfigurationError` for a key that no record names: only those were asked for.
        """
        try:
            return self._rows[frozen(key)]
        except KeyError:
            raise ConfigurationError(
                "StoredRows was asked for a key that none of the records names, and only theirs were looked up (a key "
                f"is a tuple of the values of its fields, () where there are none); {_APPLIED}. Make fields of other "
                "keys first (each; flat_each for several keys of a record)"
            ) from None

    def multi_get(self, keys: Sequence[Key]) -> list[Mapping[str, object] | None]:
        """Return the same for each of several keys."""
        return [self.get(key) for key in keys]


@dataclass(frozen=True)
class Asking:
    """A `ListsFunction`: the rows that a query function makes for each record's key.

    `source` is what it asks; without one it is what stands in the column `FOUND` of the records.
    """

    function: QueryFunction[Any]
    keys: tuple[str, ...]
    declared: pa.Schema
    source: object = None
    _both: ReadyTogether = field(default_factory=ReadyTogether, compare=False, repr=False)

    def prepare(self, context: OperationContext) -> None:
        """Make source and function ready, in that order; the source is cleaned up if the function fails at it."""
        self._both.prepare((self.source, self.function), context)

    def cleanup(self) -> None:
        """Clean up both, also when one fails at it."""
        self._both.cleanup()

    def __call__(self, batch: pa.RecordBatch) -> list[AnyArray]:
        """Ask for all keys at once."""
        keys = keys_of(batch, self.keys)
        known: dict[Key, Key] = {}
        for key in keys:
            known.setdefault(frozen(key), key)
        rows = dict(zip(known, self._rows(batch, keys, list(known.values())), strict=True))
        mine = [rows[frozen(key)] for key in keys]
        ends = [0]
        for each in mine:
            ends.append(ends[-1] + len(each))
        made = columns_of([row for each in mine for row in each], self.declared, "state_query")
        return [pa.ListArray.from_arrays(pa.array(ends, pa.int32()), each) for each in made]

    def _rows(self, batch: pa.RecordBatch, all_keys: list[Key], keys: list[Key]) -> Iterator[list[Sequence[object]]]:
        source = stored_rows(batch, all_keys) if FOUND in batch.schema.names else self.source
        results = self.function.batch_retrieve(source, keys)
        name = type(self.function).__name__
        if not isinstance(results, Sequence) or isinstance(results, str | bytes):
            raise ConfigurationError(
                f"{name}.batch_retrieve returned {type(results).__name__}, not a list with a result for each key (a "
                f"missing return?); {_APPLIED}"
            )
        if len(results) != len(keys):
            raise ConfigurationError(
                f"{name}.batch_retrieve returned {len(results)} results for {len(keys)} keys; it must return one for "
                f"each, None where there is none; {_APPLIED}"
            )
        for key, result in zip(keys, results, strict=True):
            yield list(as_rows(self.function.execute(key, result), self.declared, "state_query"))


def frozen(value: object) -> Any:
    """Return a key in a form that a dict takes, lists and structures inside of it too; equal keys become equal."""
    if isinstance(value, tuple | list):
        return tuple(frozen(each) for each in value)
    if isinstance(value, Mapping):
        return tuple((name, frozen(each)) for name, each in value.items())
    return NAN if isinstance(value, float) and math.isnan(value) else value  # the one NaN is equal to itself


def keys_of(batch: pa.RecordBatch, names: Sequence[str]) -> list[Key]:
    """Return each record's key, in the one form that values have in every store."""
    columns = [values_of(batch.column(name), name, "query function") for name in names]
    return [tuple(map(_settled, key)) for key in zip(*columns, strict=True)] if columns else [()] * batch.num_rows


def _settled(value: object) -> object:
    """Return a value in its one form: else which of two equal ones a function is given would be up to the batch."""
    if isinstance(value, float):
        return settled(value)
    if isinstance(value, list):
        return [_settled(each) for each in value]
    if isinstance(value, dict):
        return {name: _settled(each) for name, each in value.items()}
    return value


def stored_rows(batch: pa.RecordBatch, keys: Sequence[Key]) -> StoredRows:
    """Return what stands in the column `FOUND` for the keys of the records."""
    found = batch.column(FOUND)
    results = rows_of(pa.RecordBatch.from_struct_array(cast("pa.StructArray", found)), "query function")
    are_there = found.is_valid().to_pylist()
    pairs = zip(keys, results, are_there, strict=True)
    return StoredRows({frozen(key): row if is_there else None for key, row, is_there in pairs})
