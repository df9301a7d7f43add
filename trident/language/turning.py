"""Streams that wait for their batch's turn: the new values of a state, and what a state says of records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from trident.base.checks import refused
from trident.base.errors import ConfigurationError
from trident.engine.building import carried_schema, empty_sample, fields_of
from trident.graph.nodes import Asked, NewValuesNode, QueryNode
from trident.operations.base import check_field, check_new_names, field
from trident.state.new_values import BEFORE

if TYPE_CHECKING:
    from trident.language.stream import Stream
    from trident.language.trident_state import TridentState


@dataclass(frozen=True, init=False)
class MapGet:
    """Given to `state_query`: the results of the key that a record names, null where the state has no such key.

    `keys` are the fields that hold the state's keys, in their order; without them those of the keys' own names.
    """

    keys: tuple[str, ...]

    def __init__(self, *keys: str) -> None:
        object.__setattr__(self, "keys", tuple(check_field("MapGet", name) for name in keys))


@dataclass(frozen=True)
class SnapshotGet:
    """Given to `state_query`: the results of a state without keys, null before its first record."""


def new_values_of(state: TridentState, *, previous: bool) -> Stream:
    """Return the stream of a state's new values."""
    shown = _shown(state, "")
    if previous:
        shown |= {BEFORE + name: column for name, column in _shown(state, BEFORE).items()}
    node = NewValuesNode(state.persist, shown)
    keys = list(state.aggregate.keys)
    types = _types(state, shown)
    fields = [*(StructField(name, types[name].dataType) for name in keys), *(types[name] for name in shown)]
    check_new_names([each.name for each in fields], "new_values")
    sample = empty_sample(state.stream._sample.sparkSession, StructType(fields))
    return state.stream._apart(node, sample, f"new values of {state.name}")


def queried(stream: Stream, state: TridentState, query: MapGet | SnapshotGet) -> Stream:
    """Return the stream with the results of a state beside each record."""
    from trident.language.trident_state import TridentState

    if not isinstance(state, TridentState):
        raise refused("state_query: state", "what persistent_aggregate returned", state)
    if state.stream._topology is not stream._topology:
        raise ConfigurationError(
            f"state_query: the state {state.name!r} is another topology's, whose txids say nothing of this one's"
        )
    keys = _keys(stream, state, query)
    shown = _shown(state, "")
    fields = fields_of(stream._sample)
    fields.refuse(list(shown), "state_query")
    types = _types(state, shown)
    node = QueryNode(state.persist, stream._node, Asked(keys, shown), carried_schema(stream._sample))
    sample = empty_sample(
        stream._sample.sparkSession, StructType([*fields.schema.fields, *(types[name] for name in shown)])
    )
    return stream._followed(node, sample)


def _keys(stream: Stream, state: TridentState, query: MapGet | SnapshotGet) -> tuple[str, ...]:
    wanted = state.aggregate.keys
    match query:
        case SnapshotGet():
            if wanted:
                raise ConfigurationError(
                    f"state_query: the state {state.name!r} has the keys {', '.join(wanted)}; ask with MapGet(…)"
                )
            return ()
        case MapGet():
            return _checked_keys(stream, state, query.keys or wanted)
        case _:
            raise refused("state_query: query", "MapGet(…) or SnapshotGet()", query)


def _checked_keys(stream: Stream, state: TridentState, keys: tuple[str, ...]) -> tuple[str, ...]:
    wanted = state.aggregate.keys
    if not wanted:
        raise ConfigurationError(f"state_query: the state {state.name!r} has no keys; ask with SnapshotGet()")
    if len(keys) != len(wanted):
        raise ConfigurationError(
            f"state_query: MapGet names {len(keys)} fields for the keys {', '.join(wanted)} of the state {state.name!r}"
        )
    fields, kept = fields_of(stream._sample), fields_of(state.stream._sample)
    for name, key in zip(keys, wanted, strict=True):
        fields.require(name, "state_query")
        mine, theirs = fields.schema[name].dataType, kept.schema[key].dataType
        if mine.simpleString() != theirs.simpleString():
            raise ConfigurationError(
                f"state_query: the field {name!r} is {mine.simpleString()}, the key {key!r} of the state "
                f"{state.name!r} {theirs.simpleString()}; cast it, so that equal keys are equal"
            )
    return keys


def _shown(state: TridentState, before: str) -> dict[str, Callable[[str], Column]]:
    """Return the results of a state as columns over what it keeps; `before` stands before those columns' names."""
    return {name: _of(state, name, before) for name in state.aggregate.results}


def _of(state: TridentState, name: str, before: str) -> Callable[[str], Column]:
    def column(prefix: str) -> Column:
        kept, aggregator = state.aggregate.results[name]
        return aggregator.shown(*(field(prefix + before + each) for each in kept))

    return column


def _types(state: TridentState, shown: Mapping[str, Callable[[str], Column]]) -> dict[str, StructField]:
    """Return the fields of keys and results, as Spark types them."""
    kept = state.stored_sample()
    both = kept.select("*", *(F.lit(None).cast(each.dataType).alias(BEFORE + each.name) for each in kept.schema.fields))
    results = both.select(*(column("").alias(name) for name, column in shown.items()))
    return {each.name: StructField(each.name, each.dataType) for each in (*kept.schema.fields, *results.schema.fields)}
