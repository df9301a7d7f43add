"""States that no batch changes, and which way a query of a state takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StructType

from trident.base.checks import refused
from trident.base.errors import ConfigurationError
from trident.engine.building import apply_own
from trident.language.row_verbs import declared_fields
from trident.language.saying import about
from trident.language.together import read_once
from trident.language.turning import MapGet, SnapshotGet
from trident.language.turning import queried as queried_in_turn
from trident.operations.asking import QueryFunction
from trident.operations.base import Fields, check_comparable, check_field, check_new_names
from trident.operations.sending import check_sendable
from trident.operations.static_query import FunctionQuery, TableQuery, TableRows, most_rows, rows_by_key

if TYPE_CHECKING:
    from trident.language.stream import Stream
    from trident.language.trident_state import TridentState

_NO_SOURCE: Final = (type, str, bytes, int, float, Column, type(None))


@dataclass(frozen=True, init=False)
class CollectionGet:
    """Given to `state_query` of a table: a row for each of the table's rows that have the key that a record names.

    `keys` are the fields that hold the table's keys, in their order; without them those of the keys' own names. Of a
    table without keys each record gets all rows.
    """

    keys: tuple[str, ...]

    def __init__(self, *keys: str) -> None:
        object.__setattr__(self, "keys", tuple(check_field("CollectionGet", name) for name in keys))


Query: TypeAlias = "MapGet | SnapshotGet | CollectionGet | QueryFunction[Any]"


@dataclass(frozen=True, slots=True)
class StaticState:
    """What `new_static_state` returns: a table's rows by their keys, or a user's object that is asked in tasks."""

    table: TableRows | None = field(default=None, repr=False, compare=False)
    source: object = field(default=None, repr=False, compare=False)


def static_state_of(source: object, keys: str | Sequence[str]) -> StaticState:
    """Return a state of a table or an object."""
    if isinstance(source, DataFrame):
        names = [keys] if isinstance(keys, str) else keys
        if not isinstance(names, Sequence) or isinstance(names, bytes) or (not names and names != ()):
            raise refused("new_static_state: keys", "the name of a field, or several", keys)
        return StaticState(_read(source, [check_field("new_static_state: keys", name) for name in names]))
    if isinstance(source, _NO_SOURCE):
        raise refused("new_static_state", "a Spark DataFrame, or an object that a QueryFunction can ask", source)
    if keys != ():
        raise ConfigurationError(
            "new_static_state: keys are of a table; what an object is asked for is said by its QueryFunction"
        )
    check_sendable(f"{type(source).__name__} given to new_static_state", source)
    return StaticState(source=source)


def queried(stream: Stream, state: TridentState | StaticState, query: Query) -> Stream:
    """Return the stream with what a state says beside each record."""
    from trident.language.trident_state import TridentState

    if isinstance(query, QueryFunction):
        _declared(query)
    match state:
        case TridentState():
            if isinstance(query, CollectionGet):
                raise ConfigurationError(
                    f"state_query: the state {state.name!r} has one row for a key; ask with MapGet(…), and make rows "
                    "of an array with flat_each"
                )
            return _followed_by(query, queried_in_turn(stream, state, query), state)
        case StaticState():
            return _of_static(stream, state, query)
        case _:
            raise refused("state_query: state", "what persistent_aggregate or new_static_state returned", state)


def _followed_by(query: Query, asked: Stream, state: TridentState) -> Stream:
    if not isinstance(query, QueryFunction):
        return asked
    return asked._then(FunctionQuery(query, query.fields or state.aggregate.keys, _declared(query)), keeps=True)


def _declared(query: QueryFunction[Any]) -> StructType:
    """Return the fields that a query function adds; refuses one that is not whole."""
    verb = type(query).__name__
    if not isinstance(getattr(query, "schema", None), str):
        raise ConfigurationError(f'state_query: {verb} must set schema to the fields that it adds, "name type, …"')
    if not isinstance(getattr(query, "fields", None), tuple):
        raise ConfigurationError(f"state_query: the __init__ of {verb} must call super().__init__(*fields)")
    check_sendable(f"{verb} given to state_query", query)
    return declared_fields(query.schema, f"state_query, {verb}")


def _of_static(stream: Stream, state: StaticState, query: Query) -> Stream:
    table = state.table
    if table is None:
        if not isinstance(query, QueryFunction):
            raise refused("state_query: query of an object", "a QueryFunction", query)
        return stream._then(FunctionQuery(query, query.fields, _declared(query), state.source), keeps=True)
    operation = _of_table(table, query)
    with about(stream._name):
        sample = apply_own(operation, stream._sample)
    return stream._behind(operation, sample, keeps=True)


def _of_table(table: TableRows, query: Query) -> TableQuery:
    own = tuple(key.name for key in table.keys)
    match query:
        case MapGet() | SnapshotGet():
            keys = query.keys if isinstance(query, MapGet) else ()
            if isinstance(query, MapGet) is not bool(own):
                said = f"has the keys {', '.join(own)}; ask with MapGet(…)" if own else "has no keys"
                raise ConfigurationError(f"state_query: the table {said} or CollectionGet(…)")
            if table.most > 1:
                raise ConfigurationError(
                    f"state_query: the table has up to {table.most} rows for one key, and a record would be of one of "
                    "them; ask with CollectionGet(…) for a row of each, or leave the others out of the table"
                )
            return TableQuery(table, _named(keys, own), several=False)
        case CollectionGet():
            return TableQuery(table, _named(query.keys, own), several=True)
        case _:
            raise refused("state_query: query of a table", "MapGet(…), SnapshotGet() or CollectionGet(…)", query)


def _named(keys: tuple[str, ...], own: tuple[str, ...]) -> tuple[str, ...]:
    if keys and len(keys) != len(own):
        raise ConfigurationError(
            f"state_query names {len(keys)} fields for the {len(own)} keys of the table ({', '.join(own) or 'none'})"
        )
    return keys or own


def _read(table: DataFrame, keys: Sequence[str]) -> TableRows:
    """Read the table's rows, those of a key together."""
    fields = Fields(table.schema)
    check_new_names(fields.names, "new_static_state: the table")
    check_new_names(keys, "new_static_state: keys")
    for name in keys:
        fields.require(name, "new_static_state: keys, of the table,")
        check_comparable(fields.schema[name], "new_static_state")
        if "map<" in fields.schema[name].dataType.simpleString():
            raise ConfigurationError(f"new_static_state: the key {name!r} holds maps, which no store tells apart")
    added = [each for each in fields.schema.fields if each.name not in keys]
    if not added:
        raise ConfigurationError("new_static_state: the table needs a field beside its keys, which a query adds")
    grouped = rows_by_key(table, keys)
    rows = read_once(grouped, "new_static_state", "give an object that asks where it is")
    frame = table.sparkSession.createDataFrame(rows, grouped.schema)
    return TableRows(tuple(fields.schema[name] for name in keys), tuple(added), frame, most_rows(rows))
