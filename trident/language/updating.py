"""A state that a user's own code keeps: `partition_persist`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from trident.base.checks import refused
from trident.base.errors import ConfigurationError
from trident.engine.building import carried_schema, empty_sample, fields_of
from trident.engine.compiled import layout_of
from trident.graph.nodes import IS_STORED, Asked, KeptState, QueryNode
from trident.language.row_verbs import declared_fields
from trident.language.saying import about
from trident.language.together import of_several
from trident.operations.aggregate import Aggregate, check_keys
from trident.operations.aggregators.base import Aggregation
from trident.operations.aggregators.by_row import ByRow, Reducer, result_field
from trident.operations.aggregators.written import Written
from trident.operations.asking import FOUND
from trident.operations.base import check_comparable, check_field, check_new_names, field
from trident.operations.reducing import Reducing
from trident.operations.sending import check_sendable
from trident.operations.updating import VERB, StateUpdater, TakeUpdates, UpdatePartitions, as_stored
from trident.operations.user_objects import check_takes
from trident.spouts.arrow_types import arrow_type
from trident.state.target import State

if TYPE_CHECKING:
    from trident.language.stream import Stream
    from trident.language.trident_state import TridentState


PERSISTENT: Final = "persistent_aggregate"


def persisted(stream: Stream, state: State, updater: StateUpdater, key: str | Sequence[str]) -> TridentState:
    """Return the state that an updater keeps, with the stream of the rows that it emits."""
    from trident.language.trident_state import check_state  # which imports this

    check_state(state, VERB)
    if not isinstance(updater, StateUpdater):
        raise refused(f"{VERB}: updater", "an object of a subclass of StateUpdater", updater)
    return _kept_by(stream, state, updater, _keys(stream, key), *_declared(updater), VERB)


def kept_by_reducers(
    stream: Stream, state: State, keys: tuple[str, ...], aggregators: Mapping[str, Aggregation | ByRow]
) -> TridentState:
    """Return the state whose values are those of reducers, which take up what is stored."""
    reducers = {name: each for name, each in aggregators.items() if isinstance(each, Reducer)}
    others = [name for name in aggregators if name not in reducers]
    if others:
        raise ConfigurationError(
            f"{PERSISTENT}: {_named(reducers)} goes through the records one by one in the batch's turn, and "
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
    return _kept_by(
        stream, state, Reducing(keys, reducers, types), keys, StructType(fields), StructType([]), PERSISTENT
    )


def _named(names: Iterable[str]) -> str:
    return " and ".join(map(repr, names))


def _kept_by(
    stream: Stream,
    state: State,
    updater: StateUpdater,
    keys: tuple[str, ...],
    values: StructType,
    emitted: StructType,
    verb: str,
) -> TridentState:
    from trident.language.stream import Stream  # which imports this

    kept_fields = (*(fields_of(stream._sample).schema[name] for name in keys), *values.fields)
    check_new_names([each.name for each in kept_fields], f"{verb}: the state's columns")
    written: Mapping[str, Aggregation] = {each.name: Written(each) for each in values.fields}
    kept = _kept(stream, state, keys, written, kept_fields)
    placed = stream.partition_by(*keys) if keys else stream.global_()
    updated = of_several(
        UpdatePartitions(updater, keys, kept_fields, tuple(emitted.fields), stream._partitions, verb),
        [_with_found(placed, kept, keys, values)],
    )
    writes = updated._then(TakeUpdates(kept_fields, is_written=True, verb=verb))
    handle = writes._keep(state, keys, written)
    if not emitted.fields:
        return handle
    rows = updated._then(TakeUpdates(tuple(emitted.fields), is_written=False, verb=verb))
    emitted_rows = Stream(stream._topology, rows._node, rows._sample, f"rows emitted to {handle.name}")
    return replace(handle, emits=emitted_rows)


def _keys(stream: Stream, key: str | Sequence[str]) -> tuple[str, ...]:
    if key == ():
        return ()
    names = [key] if isinstance(key, str) else key
    if not isinstance(names, Sequence) or isinstance(names, bytes) or not names:
        raise refused(f"{VERB}: key", "the name of a field, or several", key)
    keys = tuple(check_field(f"{VERB}: key", name) for name in names)
    there = fields_of(stream._sample)
    with about(stream._name):
        for name in keys:
            there.require(name, f"{VERB}: key")
            check_comparable(there.schema[name], VERB)
    return keys


def _declared(updater: StateUpdater) -> tuple[StructType, StructType]:
    """Return the values that an updater keeps and the fields of the rows that it emits."""
    name = type(updater).__name__
    values, schema = getattr(updater, "values", None), getattr(updater, "schema", None)
    if not isinstance(values, str) or not isinstance(schema, str):
        raise ConfigurationError(
            f'{VERB}: {name} must set values to the columns that the state keeps, "name type, …", and may set schema '
            "to the fields of the rows that it emits"
        )
    check_takes(f"update of {name}", updater.update, 2, "what is stored and the rows")
    check_sendable(f"{name} given to {VERB}", updater)
    emitted = declared_fields(schema, f"{VERB}, schema of {name}") if schema.strip() else StructType([])
    check_new_names(emitted.names, f"{VERB}, schema of {name}")
    return declared_fields(values, f"{VERB}, values of {name}"), emitted


def _kept(
    stream: Stream,
    state: State,
    keys: tuple[str, ...],
    written: Mapping[str, Aggregation],
    fields: Sequence[StructField],
) -> KeptState:
    """Return the state as a query knows it: with the very layout that its writes will have."""
    stored = [*fields[: len(keys)], *as_stored(fields[len(keys) :])]
    sample = empty_sample(stream._sample.sparkSession, StructType(stored))
    return KeptState(state, layout_of(state.name, Aggregate(keys, written, stored=True), fields_of(sample).schema))


def _with_found(stream: Stream, kept: KeptState, keys: tuple[str, ...], values: StructType) -> Stream:
    """Return the stream with what the state has for each record's key; a key that was removed it does not have."""
    names = values.names

    def found(prefix: str) -> Column:
        is_there = reduce(Column.__or__, (field(prefix + name).isNotNull() for name in names))
        row = F.struct(*(field(prefix + name).alias(name) for name in names))
        return F.when(field(prefix + IS_STORED) & is_there, row)

    fields = fields_of(stream._sample).schema.fields
    node = QueryNode(kept, stream._node, Asked(keys, {FOUND: found}), carried_schema(stream._sample))
    sample = empty_sample(stream._sample.sparkSession, StructType([*fields, StructField(FOUND, values)]))
    return stream._followed(node, sample)
