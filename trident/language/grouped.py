"""A stream whose records belong to groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from trident.language.aggregating import aggregation
from trident.language.persisting import persistent
from trident.language.row_verbs import check_assembly
from trident.operations.aggregators.base import Aggregation
from trident.operations.aggregators.by_row import ByRow
from trident.state.target import State

if TYPE_CHECKING:
    from trident.language.static_state import Query, StaticState
    from trident.language.stream import Stream
    from trident.language.trident_state import TridentState


R = TypeVar("R")


class GroupedStream:
    """What `Stream.group_by` returns; immutable, may be used for several aggregations."""

    def __init__(self, stream: Stream, keys: tuple[str, ...]) -> None:
        self._stream = stream
        self._keys = keys

    @property
    def stream(self) -> Stream:
        """The stream that was grouped."""
        return self._stream

    @property
    def keys(self) -> tuple[str, ...]:
        """The fields that records are grouped by; null is a key like any other."""
        return self._keys

    def aggregate(self, *makers: ByRow, **aggregators: Aggregation | ByRow) -> Stream:
        """Return a stream with one row per group and batch: the key fields, then a field per aggregator.

        An `Aggregator` of yours is given by place, as in `aggregate(Mine("amount"), n=Count())`: its fields come before
        those of aggregators with a name. It makes any number of rows, and a group has one for each combination.
        """
        return self._stream._aggregated(aggregation(self._keys, makers, aggregators))

    def apply_assembly(self, assembly: Callable[..., R], /, *arguments: object, **named: object) -> R:
        """Return what a function makes of the groups and the other arguments: see `Stream.apply_assembly`."""
        return check_assembly(assembly)(self, *arguments, **named)

    def state_query(self, state: TridentState | StaticState, query: Query, /) -> GroupedStream:
        """Add what a state says to each record, as `Stream.state_query` does; the groups stay."""
        return GroupedStream(self._stream.state_query(state, query), self._keys)

    def persistent_aggregate(self, state: State, /, **aggregators: Aggregation | ByRow) -> TridentState:
        """Keep one row per key in the state, changed once per txid by what its batch holds for that key.

        Either all aggregators are `Reducer`s or none is. Reducers take up the values that the txid before has left:
        they run in the batch's turn, record by record; a key for which all of them still have None has no row.
        Raises `ConfigurationError` when the state is used already or can't hold a field.
        """
        return persistent(self._stream, state, self._keys, aggregators)
