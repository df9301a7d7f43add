"""A state that a user's own code keeps: `partition_persist`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

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
from trident.language.trident_state import TridentState, check_state, kept_in
from trident.operations.aggregate import Aggregate
from trident.operations.aggregators.written import Written
from trident.operations.asking import FOUND
from trident.operations.base import check_comparable, check_field, check_new_names, field
from trident.operations.sending import check_sendable
from trident.operations.updating import VERB, StateUpdater, TakeUpdates, UpdatePartitions, as_stored
from trident.operations.user_objects import check_takes
from trident.state.target import State

if TYPE_CHECKING:
    from trident.language.stream import Stream


def persisted(stream: Stream, state: State, updater: StateUpdater, key: str | Sequence[str]) -> TridentState:
    """Return the state that an updater keeps, with the stream of the rows that it emits."""
    check_state(state, VERB)
    if not isinstance(updater, StateUpdater):
        raise refused(f"{VERB}: updater", "an object of a subclass of StateUpdater", updater)
    return kept_by(stream, state, updater, _keys(stream, key), *_declared(updater), VERB)


def kept_by(
    stream: Stream,
    state: State,
    updater: StateUpdater,
    keys: tuple[str, ...],
    values: StructType,
    emitted: StructType,
    verb: str,
) -> TridentState:
    """Return the state that an updater keeps: what is there is asked in the turn, and its writes end in the state."""
    from trident.language.stream import Stream  # which imports this

    kept_fields = (*(fields_of(stream._sample).schema[name] for name in keys), *values.fields)
    check_new_names([each.name for each in kept_fields], f"{verb}: the state's columns")
    written = Aggregate(keys, {each.name: Written(each) for each in values.fields}, stored=True)
    kept = _kept(stream, state, written, kept_fields)
    placed = stream.partition_by(*keys) if keys else stream.global_()
    updated = of_several(
        UpdatePartitions(updater, keys, kept_fields, tuple(emitted.fields), stream._partitions, verb),
        [_with_found(placed, kept, keys, values)],
    )
    writes = updated._then(TakeUpdates(kept_fields, is_written=True, verb=verb))
    handle = kept_in(writes, state, written)
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


def _kept(stream: Stream, state: State, written: Aggregate, fields: Sequence[StructField]) -> KeptState:
    """Return the state as a query knows it, before there are its writes: their layout is the same."""
    keys = len(written.keys)
    sample = empty_sample(stream._sample.sparkSession, StructType([*fields[:keys], *as_stored(fields[keys:])]))
    return KeptState(state, layout_of(state.name, written, fields_of(sample).schema))


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
