"""Streams together: merge, joins and multi-reduce of several streams inside one batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType

from trident.base.checks import check_able, check_flag, check_instance, check_text, refused
from trident.base.errors import ConfigurationError
from trident.base.policies import policy_of
from trident.engine.building import apply_own, apply_to_several, carried_schema, fields_of
from trident.graph.nodes import RecordOperationNode
from trident.language.row_verbs import declared_fields
from trident.language.saying import about
from trident.operations.base import RecordOperation, check_field, check_new_names
from trident.operations.joining import Join, JoinOutput, JoinSide
from trident.operations.multi_reducing import MultiReduce, MultiReducer
from trident.operations.sending import check_sendable
from trident.operations.static_join import StaticJoin, check_unique, with_levels
from trident.operations.uniting import MergeStreams
from trident.operations.user_objects import check_lifecycle

if TYPE_CHECKING:
    from trident.language.grouped import GroupedStream
    from trident.language.stream import Stream

Keys = str | Sequence[str]
_SIDES: Final = {
    "inner": (JoinSide.INNER, JoinSide.INNER),
    "left": (JoinSide.INNER, JoinSide.OUTER),
    "right": (JoinSide.OUTER, JoinSide.INNER),
    "full": (JoinSide.OUTER, JoinSide.OUTER),
}
"""SQL's words for a join of two streams."""
_LARGEST: Final = 64 << 20


def merged(streams: Sequence[Stream], fields: Sequence[str] | None) -> Stream:
    """Return the records of all streams in one."""
    _check_streams(streams, "merge")
    return of_several(MergeStreams(_names(fields, "merge")), streams)


def joined(
    streams: Sequence[Stream],
    on: Keys | Sequence[Keys],
    how: str | Sequence[JoinSide | str],
    output: JoinOutput | str,
    fields: Sequence[str] | None,
) -> Stream:
    """Return the join of several streams."""
    _check_streams(streams, "join")
    keys = _keys(on, len(streams))
    return of_several(
        Join(keys, _sides(how, len(streams)), policy_of(JoinOutput, output, "output"), _names(fields, "join")), streams
    )


def multi_reduced(streams: Sequence[Stream | GroupedStream], reducer: MultiReducer[Any], schema: str) -> Stream:
    """Return what a user's object makes of the rows of several streams."""
    from trident.language.grouped import GroupedStream  # which imports streams

    if not isinstance(streams, Sequence) or isinstance(streams, str | bytes) or not streams:
        raise refused("multi_reduce: streams", "a list of streams, at least one", streams)
    grouped = [each for each in streams if isinstance(each, GroupedStream)]
    if grouped and len(grouped) < len(streams):
        raise ConfigurationError("multi_reduce takes streams that are all grouped, or none of them")
    plain = [each.stream if isinstance(each, GroupedStream) else each for each in streams]
    _check_streams(plain, "multi_reduce", least=1)
    check_able("multi_reduce: reducer", reducer, ("init", "execute", "complete"), "a MultiReducer object")
    what = f"{type(reducer).__name__} given to multi_reduce"
    check_lifecycle(what, reducer)
    check_sendable(what, reducer)
    keys = tuple(each.keys for each in grouped)
    return of_several(MultiReduce(reducer, declared_fields(schema, "multi_reduce"), keys), plain)


def joined_with_table(stream: Stream, table: DataFrame, on: Keys, how: str, *, unique: bool) -> Stream:
    """Return the stream with a table's fields beside its records."""
    check_able("join_static: table", table, ("toArrow", "join"), "a Spark DataFrame", has=("schema", "columns"))
    if how not in ("inner", "left"):
        raise refused("join_static: how", "'inner' or 'left'", how)
    check_flag("join_static: unique", unique)
    if not isinstance(on, str | Sequence) or isinstance(on, bytes) or not on:
        raise refused("join_static: on", "the name of a field, or several", on)
    names = tuple(check_field("join_static: on", name) for name in ([on] if isinstance(on, str) else on))
    with about(stream._name):
        for name in names:
            fields_of(stream._sample).require(name, "join_static: on")
    check_new_names(table.columns, "join_static, of the table,")
    read = read_once(table, "join_static", "make a stream of it")
    spark = stream._sample.sparkSession
    rows = spark.createDataFrame(read, table.schema)
    operation = StaticJoin(rows, names, keeps=how == "left", is_unique=unique)
    with about(stream._name):
        sample = apply_own(operation, stream._sample)
        if unique:
            check_unique(rows, names)
        else:  # numbered once for the run, too
            numbered = with_levels(rows, names)
            leveled = spark.createDataFrame(numbered.toArrow(), numbered.schema)
            operation = StaticJoin(leveled, names, keeps=how == "left", is_unique=False)
    return stream._behind(operation, sample, keeps=True)


def read_once(table: DataFrame, asked_by: str, other_way: str) -> pa.Table:
    """Read the table, now and once, so that every batch of the run, and every re-run of one, finds the same rows."""
    variants = [each.name for each in table.schema.fields if _holds_variants(each.dataType)]
    if variants:
        raise ConfigurationError(
            f"{asked_by}: {variants[0]!r} of the table holds variants, which can't be kept for the run: make texts of "
            "them (to_json), or structures"
        )
    rows = table.toArrow()
    if rows.nbytes > _LARGEST:
        raise ConfigurationError(
            f"{asked_by}: the table has {rows.nbytes >> 20} MiB, and is sent to every task: 64 MiB at most. Keep it in "
            f"a state and query that, or {other_way}"
        )
    return rows


def _holds_variants(type_: DataType) -> bool:
    match type_:
        case ArrayType():
            return _holds_variants(type_.elementType)
        case MapType():
            return _holds_variants(type_.valueType)  # no key is one
        case StructType():
            return any(_holds_variants(each.dataType) for each in type_.fields)
        case _:
            return isinstance(type_, VariantType)


def of_several(operation: RecordOperation, streams: Sequence[Stream], *, keeps: bool = False) -> Stream:
    """Return the stream behind an operation on these; see `Stream._followed`."""
    with about(*(each._name for each in streams)):
        sample = apply_to_several(operation, [each._sample for each in streams])
    schemas = tuple(carried_schema(each._sample) for each in streams)
    node = RecordOperationNode(operation, tuple(each._node for each in streams), schemas, streams[0]._needs)
    return streams[0]._followed(node, sample, keeps=keeps)


def _check_streams(streams: Sequence[Stream], verb: str, least: int = 2) -> None:
    from trident.language.stream import Stream

    if len(streams) < least:
        raise ConfigurationError(f"{verb} takes at least {least} streams")
    for each in streams:
        check_instance(f"{verb}: another stream", each, Stream)
    if any(each._topology is not streams[0]._topology for each in streams):
        raise ConfigurationError(f"{verb} takes streams of one topology; each topology has txids of its own")


def _names(fields: Sequence[str] | None, verb: str) -> tuple[str, ...] | None:
    if fields is None:
        return None
    if isinstance(fields, str | bytes) or not isinstance(fields, Sequence):
        raise refused(f"{verb}: fields", "a list of names", fields)
    return tuple(check_text(f"{verb}: a field", name) for name in fields)


def _keys(on: Keys | Sequence[Keys], count: int) -> tuple[tuple[str, ...], ...]:
    """Return the join fields of each stream: one for all, several for all, or a list for each."""
    if isinstance(on, str):
        return ((check_field("join: on", on),),) * count
    if not isinstance(on, Sequence) or isinstance(on, bytes) or not on:
        raise refused("join: on", "the name of a field, several names, or a list of names for each stream", on)
    if all(isinstance(each, str) for each in on):
        return (tuple(check_field("join: on", each) for each in on),) * count
    keys = tuple(_key_fields(each) for each in on)
    if len(keys) != count or len({len(each) for each in keys}) != 1 or not keys[0]:
        raise ConfigurationError(
            f"join: on has the fields of {len(keys)} streams for {count}; give each as many, and at least one"
        )
    return keys


def _key_fields(names: Keys) -> tuple[str, ...]:
    if not isinstance(names, str | list | tuple):
        raise refused("join: on", "the name of a field, several names, or a list of names for each stream", names)
    return tuple(check_field("join: on", name) for name in ([names] if isinstance(names, str) else names))


def _sides(how: str | Sequence[JoinSide | str], count: int) -> tuple[JoinSide, ...]:
    if isinstance(how, str) and how in _SIDES:
        sides = _SIDES[how]
        if count == len(sides):
            return sides
        if len(set(sides)) == 1:
            return sides[:1] * count
        raise ConfigurationError(
            f"join: {how!r} is said of two streams, there are {count}: say of each whether it is 'inner' (must have "
            "the key) or 'outer' (may lack it)"
        )
    if isinstance(how, str | bytes) or not isinstance(how, Sequence) or len(how) != count:
        raise refused(
            "join: how",
            "'inner', 'left', 'right' or 'full', or for each stream 'inner' (has the key) or 'outer' (may lack it)",
            how,
        )
    return tuple(policy_of(JoinSide, each, "how") for each in how)
