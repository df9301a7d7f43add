"""`Stream.to_table`: what it takes, checked, and the shape of the rows that are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from trident.base.checks import check_able, check_flag, check_text, refused
from trident.base.names import check_given_name, check_name
from trident.base.policies import policy_of
from trident.engine.types import column_type
from trident.operations.base import Fields
from trident.state.row_tables.shape import RowShape, RowWrite, row_shape
from trident.state.row_tables.sink import RowStore

_KEY: Final = "the name of a field, or several"


def row_shape_of(
    store: RowStore,
    there: Fields,
    write: RowWrite | str,
    key: str | Sequence[str],
    deleted: str | None,
    valid_from: str | None,
    valid_to: str | None,
    skip_unchanged: bool,
) -> RowShape:
    """Return what a stream with these fields writes; raises ConfigurationError for what can't be written so."""
    check_able(
        "to_table: the table", store, ("open", "description"), "a table such as PostgresTable(name)", has=("name",)
    )
    if hasattr(store, "kind"):
        raise refused("to_table: the table", "a table such as PostgresTable(name); a state keeps aggregates", store)
    check_given_name("a sink's name", store.name)
    chosen = policy_of(RowWrite, write, "to_table: write")
    keys = _names(key)
    for what, given in (("deleted", deleted), ("valid_from", valid_from)):
        if given is not None:
            check_text(f"to_table: {what}", given, allowed="the name of a field, or None")
    for given in (*keys, deleted, valid_from):
        if given is not None:
            there.require(given, "to_table")
    if valid_to is not None:
        check_name("to_table: valid_to", valid_to)
    fields = [each for each in there.schema.fields if chosen is not RowWrite.DELETE or each.name in keys]
    columns = pa.schema([(each.name, column_type(each, store.name, "sink")) for each in fields])
    table = store.name if store.table is None else store.table
    if not fields:
        raise refused("to_table: key", "the names of fields that the stream has", keys)
    check_flag("to_table: skip_unchanged", skip_unchanged)
    return row_shape(store.name, table, columns, chosen, keys, deleted, valid_from, valid_to, skip_unchanged)


def _names(key: object) -> tuple[str, ...]:
    if isinstance(key, str):
        return (check_text("to_table: key", key, allowed=_KEY),)
    if not isinstance(key, tuple | list):
        raise refused("to_table: key", _KEY, key)
    return tuple(check_text("to_table: a key's field", name, allowed="the name of a field") for name in key)
