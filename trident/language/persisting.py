"""A state that a stream's aggregation is kept in: `persistent_aggregate`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from pyspark.sql.types import StructType

from trident.base.errors import ConfigurationError
from trident.engine.building import fields_of
from trident.language.aggregating import Aggregators, kept_aggregation
from trident.language.saying import about
from trident.language.trident_state import TridentState, check_state, kept_in
from trident.language.updating import kept_by
from trident.operations.aggregate import check_keys
from trident.operations.aggregators.by_row import Reducer, result_field
from trident.operations.reducing import Reducing
from trident.operations.sending import check_sendable
from trident.spouts.arrow_types import arrow_type
from trident.state.target import State

if TYPE_CHECKING:
    from trident.language.stream import Stream

_VERB: Final = "persistent_aggregate"


def persistent(stream: Stream, state: State, keys: tuple[str, ...], aggregators: Aggregators) -> TridentState:
    """Return the state that keeps what aggregators make of all batches: joined to what is there, or by reducers."""
    check_state(state, _VERB)
    if any(isinstance(each, Reducer) for each in aggregators.values()):
        return _by_reducers(stream, state, keys, aggregators)
    return kept_in(stream, state, kept_aggregation(keys, aggregators))


def _by_reducers(stream: Stream, state: State, keys: tuple[str, ...], aggregators: Aggregators) -> TridentState:
    """Return the state whose values are those of reducers, which take up what is stored."""
    reducers = {name: each for name, each in aggregators.items() if isinstance(each, Reducer)}
    others = [name for name in aggregators if name not in reducers]
    if others:
        raise ConfigurationError(
            f"{_VERB}: {_named(reducers)} goes through the records one by one in the batch's turn, and "
            f"{_named(others)} does not: keep them in two states"
        )
    there = fields_of(stream._sample)
    with about(stream._name):
        check_keys(keys, there)
        for name, each in reducers.items():
            asked_by = f"{type(each).__name__} for {name!r}"
            each.check_made(asked_by)
            each.check(asked_by, there)
            check_sendable(asked_by, each)
    fields = [result_field(name, each) for name, each in reducers.items()]
    types = {each.name: arrow_type(each.dataType) for each in fields}
    return kept_by(stream, state, Reducing(keys, reducers, types), keys, StructType(fields), StructType([]), _VERB)


def _named(names: Iterable[str]) -> str:
    return " and ".join(map(repr, names))
