"""Streams that wait for their batch's turn: the new values of a state, and what a state says of records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from trident.base.checks import refused
from trident.base.errors import ConfigurationError
from trident.engine.building import carried_schema, empty_sample, fields_of
from trident.graph.nodes import IS_STORED, Asked, NewValuesNode, QueryNode
from trident.language.saying import about
from trident.operations.asking import FOUND, QueryFunction
from trident.operations.base import check_field, check_new_names, field
from trident.operations.several import check_same_key
from trident.state.layout import Merge
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
    from trident.language.stream import Stream  # which imports what queries are

    shown = _shown(state, "")
    if previous:
        shown |= {BEFORE + name: column for name, column in _shown(state, BEFORE).items()}
    node = NewValuesNode(state.persist, shown)
    keys = list(state.aggregate.keys)
    types = _types(state, shown)
    fields = [*(StructField(name, types[name].dataType) for name in keys), *(types[name] for name in shown)]
    check_new_names([each.name for each in fields], "new_values")
    sample = empty_sample(state.stream._sample.sparkSession, StructType(fields))
    return Stream(state.stream._topology, node, sample, f"new values of {state.name}")


def queried(stream: Stream, state: TridentState, query: MapGet | SnapshotGet | QueryFunction[Any]) -> Stream:
    """Return the stream with the results of a state of its topology beside each record, or what a function says."""
    if state.stream._topology is not stream._topology:
        raise ConfigurationError(
            f"state_query: the state {state.name!r} is another topology's, whose txids say nothing of this one's"
        )
    if isinstance(query, QueryFunction):
        return _with_found(stream, state, query)
    shown = _shown(state, "")
    with about(stream._name):
        keys = _keys(stream, state, query)
        fields_of(stream._sample).refuse(list(shown), "state_query")
    types = _types(state, shown)
    return _asked(stream, state, Asked(keys, shown), [types[name] for name in shown])


def _with_found(stream: Stream, state: TridentState, query: QueryFunction[Any]) -> Stream:
    """Return the stream with all results beside each record as one structure, which a query function is given."""
    shown = _shown(state, "")
    types = _types(state, shown)

    def found(prefix: str) -> Column:
        row = F.struct(*(column(prefix).alias(name) for name, column in shown.items()))
        return F.when(_is_there(state, prefix), row)

    with about(stream._name):
        keys = _function_keys(stream, state, query)
    added = StructField(FOUND, StructType([types[name] for name in shown]))
    return _asked(stream, state, Asked(keys, {FOUND: found}), [added])


def _is_there(state: TridentState, prefix: str) -> Column:
    """Whether the state has a key: of values that are replaced, nulls only mean that it was removed."""
    values = state.layout.values
    is_stored = field(prefix + IS_STORED)
    if any(column.merge is not Merge.REPLACE for column in values):
        return is_stored
    return is_stored & reduce(Column.__or__, (field(prefix + column.name).isNotNull() for column in values))


def _asked(stream: Stream, state: TridentState, asked: Asked, added: Sequence[StructField]) -> Stream:
    node = QueryNode(state.persist.kept, stream._node, asked, carried_schema(stream._sample))
    fields = fields_of(stream._sample).schema.fields
    sample = empty_sample(stream._sample.sparkSession, StructType([*fields, *added]))
    return stream._followed(node, sample, keeps=True)


def _function_keys(stream: Stream, state: TridentState, query: QueryFunction[Any]) -> tuple[str, ...]:
    if not state.aggregate.keys and not query.fields:
        return ()
    return _checked_keys(stream, state, query.fields or state.aggregate.keys)


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
            raise refused("state_query: query", "MapGet(…), SnapshotGet() or a QueryFunction", query)


def _checked_keys(stream: Stream, state: TridentState, keys: tuple[str, ...]) -> tuple[str, ...]:
    wanted = state.aggregate.keys
    if not wanted:
        raise ConfigurationError(
            f"state_query: the state {state.name!r} has no keys; ask with SnapshotGet(), or a QueryFunction of no field"
        )
    if len(keys) != len(wanted):
        raise ConfigurationError(
            f"state_query names {len(keys)} fields for the keys {', '.join(wanted)} of the state {state.name!r}"
        )
    fields, kept = fields_of(stream._sample), fields_of(state.stream._sample)
    for name, key in zip(keys, wanted, strict=True):
        fields.require(name, "state_query")
        whose = f"that is a key of the state {state.name!r}"
        check_same_key("state_query", fields.schema[name], "of the stream", kept.schema[key], whose)
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
