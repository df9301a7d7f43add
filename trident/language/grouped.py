"""A stream whose records belong to groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trident.operations.aggregate import Aggregate
from trident.operations.aggregators.base import Aggregation
from trident.state.target import State

if TYPE_CHECKING:
    from trident.language.stream import Stream
    from trident.language.trident_state import TridentState


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

    def aggregate(self, **aggregators: Aggregation) -> Stream:
        """Return a stream with one row per group and batch: the key fields, then a field per aggregator."""
        return self._stream._then(Aggregate(self._keys, aggregators))

    def persistent_aggregate(self, state: State, /, **aggregators: Aggregation) -> TridentState:
        """Keep one row per key in the state, changed once per txid by what its batch holds for that key.

        Raises `ConfigurationError` when the state is used already or can't hold a field.
        """
        return self._stream._keep(state, self._keys, aggregators)
