"""States that `Reducer`s keep: what is stored is taken up again, and each record of a key adds to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

import pyarrow as pa

from trident.base.errors import ConfigurationError
from trident.base.exact import InexactError
from trident.operations.aggregators.by_row import Reducer, reduced
from trident.operations.aggregators.nested import Settling
from trident.operations.asking import Key, StoredRows, frozen
from trident.operations.row_functions import Row
from trident.operations.updating import StateChanges, StateUpdater
from trident.operations.user_objects import OperationContext, ReadyTogether


@dataclass(frozen=True)
class Reducing(StateUpdater):
    """The updater of a state whose values are those of reducers, by the names of its columns."""

    keys: tuple[str, ...]
    reducers: Mapping[str, Reducer[object]]
    types: Mapping[str, pa.DataType]
    _all: ReadyTogether = field(default_factory=ReadyTogether, compare=False, repr=False)

    def prepare(self, context: OperationContext) -> None:
        """Make all of them ready; those that are, are cleaned up if another one fails at it."""
        self._all.prepare(self.reducers.values(), context)

    def cleanup(self) -> None:
        """Clean all of them up, also when one fails at it."""
        self._all.cleanup()

    def told(self) -> str:
        """Return each result with its reducer, as a user writes it."""
        named = (f"{name} = {type(each).__name__}({', '.join(each.fields)})" for name, each in self.reducers.items())
        return ", ".join(named)

    def update(self, stored: StoredRows, rows: Sequence[Row]) -> StateChanges:
        """Take up each key's values where the txid before has left them."""
        groups: dict[Key, tuple[Key, list[Row]]] = {}
        for row in rows:
            key = tuple(row[name] for name in self.keys)
            groups.setdefault(frozen(key), (key, []))[1].append(row)
        writes = {key: self._values(stored.get(key) or {}, mine) for key, mine in groups.values()}
        return StateChanges({key: row for key, row in writes.items() if any(each is not None for each in row.values())})

    def _values(self, before: Mapping[str, object], rows: Sequence[Row]) -> dict[str, object]:
        return {name: self._value(name, before.get(name), rows) for name in self.reducers}

    def _value(self, name: str, before: object, rows: Sequence[Row]) -> object:
        reducer = self.reducers[name]
        try:
            # a null is what a state has of a column that is new, or what `init` has returned before
            start = reducer.init() if before is None else before
            return reduced(reducer, start, self._given(reducer, rows), Settling(self.types[name]))
        except InexactError:
            # the library's own message would show the value
            raise ConfigurationError(
                f"{type(reducer).__name__} for {name!r} made a value that is not of its result_type "
                f"{reducer.result_type!r}; nothing of the batch was applied"
            ) from None

    def _given(self, reducer: Reducer[object], rows: Sequence[Row]) -> Iterator[Sequence[object]]:
        for row in rows:
            values = tuple(row[name] for name in reducer.fields)
            # what one changes of a list or dict that it is given, no other sees
            yield deepcopy(values) if len(self.reducers) > 1 else values
